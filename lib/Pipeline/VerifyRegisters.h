//===- VerifyRegisters.h - Kernels that ptxas does not spill ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_VERIFYREGISTERS_H
#define FMHA_LIB_PIPELINE_VERIFYREGISTERS_H

#include "fmha/Pipeline/Compiler.h"

#include <functional>

namespace fmha {

/// Returns `first`, a kernel that `again` made of `options`, if ptxas assembles
/// it without spills, and otherwise the kernel of the best runner-up of its
/// plan for which this is so, with a warning that names the schedule it
/// replaces.
CompileResult withoutSpills(
    CompileResult first, const CompileOptions &options,
    const std::function<CompileResult(const CompileOptions &)> &again);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_VERIFYREGISTERS_H
