//===- Cubin.h - Models a cubin by a trips file -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_TRIPS_CUBIN_H
#define FMHA_TOOLS_PTXSIM_TRIPS_CUBIN_H

#include "CommandLine.h"

namespace ptxsim::tool {

/// Models a cubin as --trips says, writes a first trips file, or lists its
/// functions. Returns the text for the standard output. Throws BadInput or
/// Error.
std::string runCubin(const CommandLine &line);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_TRIPS_CUBIN_H
