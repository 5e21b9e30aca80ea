//===- MergeProblem.h - The problem of a merge op ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_MERGEPROBLEM_H
#define FMHA_CONVERSION_MERGEPROBLEM_H

#include "fmha/Kernel/MergeAbi.h"

namespace fmha {
class MergeOp;

/// Returns the problem of the merge kernel for `op`.
MergeProblem mergeOf(MergeOp op);

} // namespace fmha

#endif // FMHA_CONVERSION_MERGEPROBLEM_H
