//===- FamiliesTest.cpp - The family that a plan takes --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Plan/Families.h"

#include "fmha/Schedule/Model/Overrides.h"

#include "gtest/gtest.h"

using namespace fmha::schedule;

namespace {

TEST(FamiliesTest, TensorCoresComeFirst) {
  Problem problem;
  for (const char *target : {"sm_90a", "sm_100a"}) {
    problem.dtype = DataType::F16;
    EXPECT_EQ(chooseFamily(problem, target, {}), FamilyKind::Mma);
    EXPECT_FALSE(appendsNewKeys(problem, target, {}));
    problem.dtype = DataType::F32;
    EXPECT_EQ(chooseFamily(problem, target, {}), FamilyKind::Fma);
    EXPECT_TRUE(appendsNewKeys(problem, target, {}));
  }
}

TEST(FamiliesTest, NewKeysDoNotChooseTheFamily) {
  Problem problem;
  problem.keyNew = true;
  EXPECT_FALSE(appendsNewKeys(problem, "sm_90a", {}));
  problem.keyVectors = true;
  EXPECT_TRUE(appendsNewKeys(problem, "sm_90a", {}));
}

TEST(FamiliesTest, OverridesDecide) {
  Problem problem;
  Overrides plain, cores;
  plain.fix(Choice::Family, unsigned(FamilyKind::Fma));
  cores.fix(Choice::Family, unsigned(FamilyKind::Mma));
  EXPECT_EQ(chooseFamily(problem, "sm_90a", plain), FamilyKind::Fma);
  EXPECT_TRUE(appendsNewKeys(problem, "sm_90a", plain));
  problem.dtype = DataType::F32;
  EXPECT_EQ(chooseFamily(problem, "sm_90a", cores), FamilyKind::Mma);
  EXPECT_FALSE(appendsNewKeys(problem, "sm_90a", cores));
}

} // namespace
