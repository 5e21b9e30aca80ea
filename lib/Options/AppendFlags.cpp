//===- AppendFlags.cpp - Flags of new keys and values ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Options/FlagTable.h"
#include "fmha/Options/ProblemFlags.h"
#include "fmha/Runtime/Files.h"
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
  table.addWord(
      "rotary", {"none", "half", "interleaved"},
      "rotary embedding of q and key-new: half pairs columns j and j + "
      "rotary-dim / 2, interleaved pairs 2j and 2j + 1",
      rotary);
  table.addCount("rotary-dim",
                 "columns that rotate, an even number (default all)", rotaryDim,
                 2, 65536);
}

/// Returns whether a kernel of fmha.append takes the caches.
static bool canAppendApart(const schedule::Problem &problem) {
  return schedule::bytesOf(problem.dtype) == 2 && !problem.kvE4M3 &&
         !problem.keyVectors;
}

/// Returns whether an op of attention with these lists and segments may have no
/// new keys.
static bool excludesNewKeys(const schedule::Problem &problem) {
  return problem.topk || problem.kvIndices || problem.cuSeqlensQ ||
         problem.source2;
}

bool ProblemFlags::appendsInKernel(const schedule::Problem &problem) const {
  // Only a tool that launches can launch fmha.append before.
  bool isApart = appendsApart.value_or(needsFiles && excludesNewKeys(problem));
  if (!keyNew || (isApart && canAppendApart(problem)))
    return false;
  if (appendsApart && !isApart)
    return true;
  return schedule::appendsNewKeys(withHints(problem, hintsOf(*this)), target,
                                  overrides);
}

void ProblemFlags::describeAppend(schedule::Problem &problem) const {
  problem.keyNew = appendsInKernel(problem);
  problem.kvLens |= problem.keyNew;
  if (!problem.keyNew || !hasRotary())
    return;
  problem.rotaryDim = unsigned(rotaryDim.value_or(problem.headDim));
  problem.rotaryInterleaved = rotary == "interleaved";
}

llvm::Error ProblemFlags::adoptAppend(const KernelSpec &spec) {
  const schedule::Problem &problem = spec.problem;
  // Without new keys in the op, fmha.append appends and rotates.
  if (!problem.keyNew)
    return llvm::Error::success();
  if (appendsApart.value_or(false))
    return runtime::failure("--append-apart contradicts '" + input +
                            "': expected an op without new keys, got one that "
                            "appends; leave the flag out");
  newLen = spec.newLen;
  if (!keyNew && !valueNew)
    keyNew = valueNew = "";
  std::string own = !problem.rotates()          ? "none"
                    : problem.rotaryInterleaved ? "interleaved"
                                                : "half";
  bool isOther = hasRotary() && rotary != own;
  if (isOther || (rotaryDim && *rotaryDim != problem.rotaryDim)) {
    std::string given = isOther ? "--rotary=" + rotary
                                : "--rotary-dim=" + std::to_string(*rotaryDim);
    return runtime::failure(
        given + " contradicts '" + input + "': expected " + own +
        (problem.rotates()
             ? " of " + std::to_string(problem.rotaryDim) + " columns"
             : "") +
        "; leave the flag out, or change the file");
  }
  rotary = own;
  if (problem.rotates())
    rotaryDim = problem.rotaryDim;
  return llvm::Error::success();
}

} // namespace fmha::tools
