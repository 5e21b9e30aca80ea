//===- AheadOfTime.h - Kernels compiled ahead of time -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_COMPILE_AHEADOFTIME_H
#define FMHA_TOOLS_COMPILE_AHEADOFTIME_H

#include "CompileFlags.h"
#include "fmha/Pipeline/KernelCache.h"

namespace fmha::tools {

/// Returns the text to compile. Below the attention level, flags are not
/// compared with it.
llvm::Expected<Source> sourceOf(const CompileFlags &flags);

/// With --explain, prints the reason why no kernel supports `source`, if none
/// does.
void printRejection(const CompileFlags &flags, const Source &source);

/// Compiles for the target of `flags.problem`, with the cache if `flags` enable
/// it, and prints warnings.
llvm::Expected<CompiledKernel> compileFor(const CompileFlags &flags,
                                          bool cubin);

/// Compiles for all targets, and writes the output of --emit=object, so, header
/// or fatbin.
llvm::Error emitAheadOfTime(const CompileFlags &flags);

} // namespace fmha::tools

#endif // FMHA_TOOLS_COMPILE_AHEADOFTIME_H
