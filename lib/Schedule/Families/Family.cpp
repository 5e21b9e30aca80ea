//===- Family.cpp - The list of kernel families -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families/Family.h"

#include "fmha/Target/Target.h"

using namespace fmha;
using namespace fmha::schedule;

static constexpr const Family *families[] = {&tcgen05Family, &wgmmaFamily,
                                             &mmaSyncFamily, &fmaFamily};

const Family &fmha::schedule::familyServing(const target::Target *target,
                                            FamilyKind kind) {
  for (const Family *family : families)
    if (target && family->kind == kind && family->serves(*target))
      return *family;
  // The rules of a schedule report a target that no family serves.
  return *families[0];
}

FamilyKind fmha::schedule::usualFamily(const target::Target *target,
                                       const Problem &problem) {
  for (const Family *family : families)
    if (target && family->serves(*target) && family->takes(problem))
      return family->kind;
  return families[0]->kind;
}
