//===- Topk.h - Lists of keys of each query ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_TOPK_H
#define FMHA_TOOLS_RUN_TOPK_H

#include "Inputs.h"

namespace fmha::tools {

/// Makes random lists with numbers of `seed`, unless a file gave them: each has
/// 0 to n positions, n being half of the keys rounded up, some of them twice;
/// then -1, then numbers that must not be read. Sequences have the lengths that
/// their lists say.
void chooseTopk(HostProblem &problem, uint64_t seed);

/// Fills the rows of k and v that no list names with NaN, unless files gave
/// them.
void fillUnlisted(HostProblem &problem, const InputFiles &files);

/// Returns how often the list of each query names each key, [batch, q_len,
/// kv_len].
std::vector<int32_t> listedTimes(const HostProblem &problem);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_TOPK_H
