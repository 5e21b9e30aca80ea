//===- AheadOfTime.h - Finished kernels, and C programs of them -*- C++ -*-===//
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

/// The text to compile; below the attention level there is nothing to compare
/// the flags with.
llvm::Expected<Source> sourceOf(const CompileFlags &flags);

/// Prints, with --explain, why no kernel serves `source`; nothing where one
/// does.
void printRefusal(const CompileFlags &flags, const Source &source);

/// Compiles for the target of `flags.problem`, with the cache if `flags` say
/// so, and prints warnings.
llvm::Expected<CompiledKernel> compileFor(const CompileFlags &flags,
                                          bool cubin);

/// Compiles for all targets, and writes what --emit=object, so, header or
/// fatbin asks for.
llvm::Error emitAheadOfTime(const CompileFlags &flags);

} // namespace fmha::tools

#endif // FMHA_TOOLS_COMPILE_AHEADOFTIME_H
