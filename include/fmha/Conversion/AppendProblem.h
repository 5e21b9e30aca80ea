//===- AppendProblem.h - The problem of an append op ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_APPENDPROBLEM_H
#define FMHA_CONVERSION_APPENDPROBLEM_H

#include "fmha/Kernel/AppendAbi.h"

namespace fmha {
class AppendOp;

/// Returns the problem of the kernel for `op`.
AppendProblem appendOf(AppendOp op);

} // namespace fmha

#endif // FMHA_CONVERSION_APPENDPROBLEM_H
