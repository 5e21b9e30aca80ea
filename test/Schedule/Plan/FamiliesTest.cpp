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

TEST(FamiliesTest, CachesOf8Bits) {
  Problem problem;
  problem.kvE4M3 = true;
  for (const char *target : {"sm_90a", "sm_100a", "sm_103a"})
    EXPECT_EQ(chooseFamily(problem, target, {}), FamilyKind::Mma) << target;
  // No other kernel appends to such caches.
  EXPECT_TRUE(appendsNewKeys(problem, "sm_90a", {}));
  Problem decoding = withHints(problem, {64, 32, 32, 1, 1024});
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", {}), FamilyKind::Fma);
  Overrides splits, copies;
  splits.fix(Choice::Splits, 2);
  copies.fix(Choice::KvCopy, unsigned(KvCopy::Convert));
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", splits), FamilyKind::Fma);
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", copies), FamilyKind::Mma);
  decoding.headDim = decoding.headDimV = 320;
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", {}), FamilyKind::Mma);
  decoding = withHints(problem, {64, 32, 8, 1, 1024});
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", {}), FamilyKind::Mma);
  decoding.scalePerPage = true;
  EXPECT_EQ(chooseFamily(decoding, "sm_90a", {}), FamilyKind::Mma);
  Problem half = problem, full = problem;
  half.outF16 = full.outF32 = true;
  for (const Problem &other : {half, full})
    EXPECT_EQ(chooseFamily(other, "sm_90a", {}), FamilyKind::Fma);
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
