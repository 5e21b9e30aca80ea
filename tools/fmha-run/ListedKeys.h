//===- ListedKeys.h - Lists of keys and of blocks ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_LISTEDKEYS_H
#define FMHA_TOOLS_RUN_LISTEDKEYS_H

#include "Inputs.h"

namespace fmha::tools {

/// Makes random lists with numbers of `seed`, unless a file gave them: each has
/// 0 to n positions, n being half of the keys rounded up, some of them twice;
/// then -1, then numbers that must not be read. Sequences have the lengths that
/// their lists say.
void chooseTopk(HostProblem &problem, uint64_t seed);

/// Makes random lists of blocks with numbers of `seed`, unless files gave them:
/// each names about half of the blocks, in order, and of these, with full
/// lists, about a third as full; some are empty. After them are numbers that
/// must not be read. Batch and heads of the lists are those of q or 1. Returns
/// an error if files gave only some of the lists.
llvm::Error chooseBlocks(HostProblem &problem, const schedule::Problem &spec,
                         uint64_t seed);

/// Fills the rows of k and v that no list names with NaN, unless files gave
/// them.
void fillUnlisted(HostProblem &problem, const schedule::Problem &spec,
                  const InputFiles &files);

/// How often lists name each key, [batch or 1, heads or 1, q_len, kv_len].
struct ListedTimes {
  std::vector<int32_t> times;
  std::array<int64_t, 4> dims;
};
ListedTimes listedTimes(const HostProblem &problem,
                        const schedule::Problem &spec);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_LISTEDKEYS_H
