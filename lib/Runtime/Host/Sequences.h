//===- Sequences.h - Checks of varlen metadata ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_SEQUENCES_H
#define FMHA_LIB_RUNTIME_HOST_SEQUENCES_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Returns an error for varlen metadata that is missing or unexpected.
llvm::Error checkLists(const Manifest &manifest,
                       const AttentionTensors &tensors);

/// Returns the number of rows of the longest sequence of queries.
int64_t longestQueries(const AttentionTensors &tensors);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_SEQUENCES_H
