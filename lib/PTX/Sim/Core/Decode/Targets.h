//===- Targets.h - Which .target supports an instruction --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_TARGETS_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_TARGETS_H

#include "fmha/PTX/Syntax/AST.h"

#include <string>

namespace ptxsim {

/// Returns the violation of an instruction in a module of .target `target`:
/// "expected .target sm_90 or higher, got sm_80", or an empty string. The rules
/// are the sections "Target ISA Notes" of the PTX manual 9.2; every target
/// supports the forms that these sections do not mention.
std::string missingTarget(const syntax::Instruction &inst,
                          std::string_view target);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_TARGETS_H
