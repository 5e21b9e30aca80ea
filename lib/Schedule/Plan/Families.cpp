//===- Families.cpp - The family that a plan takes ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Families.h"

#include "Families/Family.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Target/Target.h"

using namespace fmha;
using namespace fmha::schedule;

/// Returns whether each key of a cache of 8 bits is used by one row. Tensor
/// cores then multiply 63 empty rows, and plain threads are faster: 206 and 288
/// µs on an H100 (results/h100-e4m3-2026-11-26.md).
static bool hasOneRowPerKey(const Problem &problem) {
  return problem.kvE4M3 && problem.qLenHint == 1 && groupHint(problem) == 1;
}

FamilyKind fmha::schedule::chooseFamily(const Problem &problem,
                                        std::string_view target,
                                        const Overrides &overrides) {
  if (std::optional<unsigned> wanted = overrides[Choice::Family])
    return FamilyKind(*wanted);
  if (hasOneRowPerKey(problem) && fmaFamily.takes(problem) && !problem.score &&
      !problem.cuSeqlensQ && !problem.cuSeqlensK)
    return FamilyKind::Fma;
  return usualFamily(target::findTarget(target), problem);
}

bool fmha::schedule::appendsNewKeys(const Problem &problem,
                                    std::string_view target,
                                    const Overrides &overrides) {
  Problem apart = problem, whole = problem;
  apart.keyNew = false;
  whole.keyNew = true;
  // fmha.append has no caches of 8 bits.
  const Problem &deciding = problem.kvE4M3 ? whole : apart;
  FamilyKind kind = chooseFamily(deciding, target, overrides);
  return familyServing(target::findTarget(target), kind).takes(whole);
}
