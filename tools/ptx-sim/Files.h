//===- Files.h - Reading whole files ----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_FILES_H
#define FMHA_TOOLS_PTXSIM_FILES_H

#include <string>

namespace ptxsim::tool {

/// Returns all bytes of a file, or of the standard input for "-". Throws
/// BadInput with the system's reason.
std::string readFile(const std::string &path);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_FILES_H
