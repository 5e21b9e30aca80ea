//===- FamilyTest.cpp - The list of kernel families -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families/Family.h"

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include "gtest/gtest.h"

using namespace fmha;
using namespace fmha::schedule;

TEST(Family, ServesEachTargetThatCompiles) {
  for (const std::string &name : target::names(/*supported=*/true)) {
    const target::Target *gpu = target::findTarget(name);
    for (FamilyKind kind : {FamilyKind::Mma, FamilyKind::Fma}) {
      const Family &family = familyServing(gpu, kind);
      EXPECT_EQ(family.kind, kind) << name;
      EXPECT_TRUE(family.serves(*gpu)) << name;
    }
    int serving = 0;
    for (const Family *family : {&tcgen05Family, &wgmmaFamily, &mmaSyncFamily})
      serving += family->serves(*gpu);
    EXPECT_EQ(serving, 1) << name;
  }
}

TEST(Family, OfAnUnknownTargetIsTheFirst) {
  EXPECT_EQ(&familyServing(nullptr, FamilyKind::Mma), &tcgen05Family);
  EXPECT_EQ(&familyServing(nullptr, FamilyKind::Fma), &tcgen05Family);
}

TEST(Family, UsuallyHasTensorCoresForTypesOf16Bits) {
  for (const std::string &name : target::names(/*supported=*/true)) {
    const target::Target *gpu = target::findTarget(name);
    auto usual = [&](DataType type, bool keyVectors) {
      Problem problem;
      problem.dtype = type;
      problem.keyVectors = keyVectors;
      return usualFamily(gpu, problem);
    };
    EXPECT_EQ(usual(DataType::F16, false), FamilyKind::Mma) << name;
    EXPECT_EQ(usual(DataType::BF16, false), FamilyKind::Mma) << name;
    EXPECT_EQ(usual(DataType::F32, false), FamilyKind::Fma) << name;
    EXPECT_EQ(usual(DataType::BF16, true), FamilyKind::Fma) << name;
    Problem cached;
    cached.kvE4M3 = true;
    EXPECT_EQ(usualFamily(gpu, cached),
              mmaSyncFamily.serves(*gpu) ? FamilyKind::Fma : FamilyKind::Mma)
        << name;
  }
}
