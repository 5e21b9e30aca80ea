//===- FamilyTest.cpp - The list of kernel families -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families/Family.h"

#include "fmha/Target/Target.h"

#include "gtest/gtest.h"

using namespace fmha;
using namespace fmha::schedule;

TEST(Family, ServesEachTargetThatCompiles) {
  for (const std::string &name : target::names(/*supported=*/true)) {
    const target::Target *gpu = target::findTarget(name);
    EXPECT_TRUE(familyServing(name).serves(*gpu)) << name;
    EXPECT_NE(tcgen05Family.serves(*gpu), wgmmaFamily.serves(*gpu)) << name;
  }
}

TEST(Family, OfAnUnknownTargetIsTheFirst) {
  EXPECT_EQ(&familyServing("sm_1"), &tcgen05Family);
}
