//===- BuildId.h - Identify the build of the compiler -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_BUILDID_H
#define FMHA_LIB_PIPELINE_BUILDID_H

#include <string>

namespace fmha {

/// Returns the linker's build id of the program or shared library that contains
/// this code, in hexadecimal, or, if the linker wrote none, the size and
/// modification time of that file.
const std::string &buildId();

/// Returns "SIZE TIME" of the file at `path`, to detect changes; "" if it
/// cannot be read.
std::string fileIdentity(const std::string &path);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_BUILDID_H
