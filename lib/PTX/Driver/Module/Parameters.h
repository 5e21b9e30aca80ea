//===- Parameters.h - The bytes of a kernel's parameters --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_MODULE_PARAMETERS_H
#define FMHA_LIB_PTX_DRIVER_MODULE_PARAMETERS_H

#include "fmha/PTX/Sim/Simulator.h"

#include <variant>

namespace ptxsim::driver {

/// Returns the offset of each parameter in the packed buffer of a launch, in
/// bytes. The alignment is that of the address in the constant bank, and the
/// first bytes of the bank belong to the driver: on sm_90 (0x210 of them) a
/// 64-byte aligned parameter after 16 bytes has offset 48.
std::vector<size_t> parameterOffsets(const Module::Entry &entry, unsigned cc);

using ParameterBytes = std::vector<std::vector<uint8_t>>;

/// Gathers the parameters from the two ways a launch may pass them. Returns the
/// bytes, or the reason why the driver returns INVALID_VALUE.
std::variant<ParameterBytes, std::string>
gatherParameters(const Module::Entry &entry, unsigned cc, void *const *pointers,
                 void *const *extra);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_MODULE_PARAMETERS_H
