//===- Families.cpp - The family that a plan takes ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Families.h"

#include "Families/Family.h"
#include "Relax.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha;
using namespace fmha::schedule;

/// Returns whether only one row uses each key of a cache of 8 bits. Tensor
/// cores would multiply 63 empty rows; plain threads are faster (206 us instead
/// of 288 on an H100, results/h100-e4m3-2026-11-26.md).
static bool hasOneRowPerKey(const Problem &problem) {
  return problem.kvE4M3 && problem.qLenHint == 1 && groupHint(problem) == 1;
}

/// Returns whether kernels of plain threads serve `problem`.
static bool fmaServes(const Problem &problem) {
  constexpr unsigned widest = 256;
  return std::max(problem.headDim, problem.headDimV) <= widest &&
         !problem.score && !problem.source2 && !problem.cuSeqlensQ &&
         !problem.cuSeqlensK;
}

/// Returns whether a CTA of tensor cores has all rows that see a new key. It
/// has up to 128 rows with every head dim of up to 256.
static bool oneTileSeesNewKeys(const Problem &problem) {
  constexpr unsigned mostHeads = 64, mostRows = 128, widest = 256;
  unsigned heads = std::bit_ceil(groupHint(problem));
  return groupHint(problem) && problem.qLenHint && heads <= mostHeads &&
         problem.qLenHint <= mostRows / heads && problem.headDimV <= widest;
}

/// Returns whether `overrides` fixes a field that describes tiles: any but the
/// number of splits.
static bool fixesTiles(const Overrides &overrides) {
  return overrides.pPlacement != PPlacement::Auto ||
         std::ranges::any_of(scheduleFields(), [&](const ScheduleField &field) {
           return field.choice != Choice::Splits && overrides[field.choice];
         });
}

FamilyKind fmha::schedule::chooseFamily(const Problem &problem,
                                        std::string_view target,
                                        const Overrides &overrides) {
  if (std::optional<unsigned> wanted = overrides[Choice::Family])
    return FamilyKind(*wanted);
  // Tensor cores take P in 16 bits, which an output of f32 would show.
  bool prefersThreads = hasOneRowPerKey(problem) ||
                        (problem.kvE4M3 && problem.outF32) ||
                        (problem.keyNew && !oneTileSeesNewKeys(problem));
  if (prefersThreads && fmaServes(problem) && !fixesTiles(overrides))
    return FamilyKind::Fma;
  return usualFamily(target::findTarget(target), problem);
}

bool fmha::schedule::readsNewKeys(const Schedule &schedule) {
  return familyOf(schedule).kernel.readsNewKeys;
}

bool fmha::schedule::appendsNewKeys(const Problem &problem,
                                    std::string_view target,
                                    const Overrides &overrides) {
  Problem apart = problem, whole = problem;
  apart.keyNew = false;
  // kv_lens counts the new keys.
  whole.keyNew = whole.kvLens = true;
  // fmha.append does not support caches of 8 bits.
  const Problem &deciding = problem.kvE4M3 ? whole : apart;
  FamilyKind kind = chooseFamily(deciding, target, overrides);
  const Family &family = familyServing(target::findTarget(target), kind);
  if (!family.takes(whole))
    return false;
  if (family.kernel.readsNewKeys)
    return true;
  // Other kernels of tensor cores have several CTAs that see a new key.
  Overrides chosen = overrides;
  chosen.fix(Choice::Family, unsigned(kind));
  std::string error;
  return oneTileSeesNewKeys(whole) &&
         planStrictly(whole, target, chosen, error).has_value();
}
