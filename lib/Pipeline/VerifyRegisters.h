//===- VerifyRegisters.h - Replace kernels that ptxas spills ----*- C++ -*-===//
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

/// Returns the result of `compile` for `options`. If they request the
/// verification of registers and ptxas spills that kernel, returns the kernel
/// of the best runner-up of its plan that it does not spill, with a warning
/// that names the schedule it replaces.
CompileResult compileVerified(
    const CompileOptions &options,
    const std::function<CompileResult(const CompileOptions &)> &compile);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_VERIFYREGISTERS_H
