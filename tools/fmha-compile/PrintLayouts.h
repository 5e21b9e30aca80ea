//===- PrintLayouts.h - --print-layouts -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_COMPILE_PRINTLAYOUTS_H
#define FMHA_TOOLS_COMPILE_PRINTLAYOUTS_H

#include "CompileFlags.h"

namespace fmha::tools {

/// Prints the layouts that --print-layouts names, or writes a file for each.
llvm::Error printLayouts(const CompileFlags &flags,
                         const CompileResult &result);

} // namespace fmha::tools

#endif // FMHA_TOOLS_COMPILE_PRINTLAYOUTS_H
