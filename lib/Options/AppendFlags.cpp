//===- AppendFlags.cpp - Flags of new keys and values ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Options/FlagTable.h"
#include "fmha/Options/ProblemFlags.h"
#include "fmha/Schedule/Plan/Families.h"

namespace fmha::tools {

void ProblemFlags::addAppend(FlagTable &table) {
  table.addOptionalText(
      "key-new", "F.npy",
      "the last keys of each sequence, [batch, n, kv_heads, dim], which are "
      "appended to k; kv-lens counts them. Without a file: random, as many as "
      "q-len",
      [this](std::string text) { keyNew = std::move(text); });
  table.addOptionalText(
      "value-new", "F.npy", "their values",
      [this](std::string text) { valueNew = std::move(text); });
}

/// Returns whether a kernel of fmha.append takes the caches.
static bool canAppendApart(const schedule::Problem &problem) {
  return schedule::bytesOf(problem.dtype) == 2 && !problem.kvE4M3 &&
         !problem.keyVectors;
}

bool ProblemFlags::appendsInKernel(const schedule::Problem &problem) const {
  using schedule::Choice, schedule::FamilyKind;
  bool hasFma = overrides[Choice::Family] == unsigned(FamilyKind::Fma);
  bool isApart = appendsApart.value_or(false);
  if (!keyNew || (isApart && canAppendApart(problem) && !hasFma))
    return false;
  if (appendsApart && !isApart)
    return true;
  return schedule::appendsNewKeys(withHints(problem, hintsOf(*this)), target,
                                  overrides);
}

} // namespace fmha::tools
