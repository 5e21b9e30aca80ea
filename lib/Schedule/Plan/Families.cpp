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

FamilyKind fmha::schedule::chooseFamily(const Problem &problem,
                                        std::string_view target,
                                        const Overrides &overrides) {
  if (std::optional<unsigned> wanted = overrides[Choice::Family])
    return FamilyKind(*wanted);
  return usualFamily(target::findTarget(target), problem);
}

bool fmha::schedule::appendsNewKeys(const Problem &problem,
                                    std::string_view target,
                                    const Overrides &overrides) {
  Problem apart = problem, whole = problem;
  apart.keyNew = false;
  whole.keyNew = true;
  FamilyKind kind = chooseFamily(apart, target, overrides);
  return familyServing(target::findTarget(target), kind).takes(whole);
}
