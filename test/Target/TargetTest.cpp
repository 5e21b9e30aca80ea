//===- TargetTest.cpp - The table of GPUs -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Target/Target.h"

#include "gtest/gtest.h"

#include <set>

using namespace fmha::target;

TEST(Target, IsFoundByItsExactName) {
  for (const std::string &name : names()) {
    ASSERT_NE(findTarget(name), nullptr);
    EXPECT_EQ(findTarget(name)->name, name);
  }
  for (const char *name : {"", "sm_100", "SM_100A", "sm_100a ", "sm_13"})
    EXPECT_EQ(findTarget(name), nullptr) << name;
}

TEST(Target, NamesAreUniqueAndSupportedOnesLead) {
  std::vector<std::string> all = names(), supported = names(true);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  ASSERT_LE(supported.size(), all.size());
  EXPECT_TRUE(std::equal(supported.begin(), supported.end(), all.begin()));
  EXPECT_EQ(supportedNames(),
            "sm_100a, sm_103a, sm_120, sm_80, sm_86, sm_89, sm_90a");
}

TEST(Target, SupportedOnesHaveWhatTheLoweringUses) {
  for (const std::string &name : names()) {
    const Target &target = *findTarget(name);
    EXPECT_EQ(target.supported, std::string(target.reason).empty()) << name;
    if (!target.supported)
      continue;
    bool isMmaSync = target.mmaRows == 16;
    EXPECT_TRUE(target.hasTma || isMmaSync) << name;
    EXPECT_EQ(target.hasTcgen05 + target.hasWgmma + isMmaSync, 1) << name;
    EXPECT_EQ(target.tmemColumns, target.hasTcgen05 ? 512u : 0u);
    unsigned most = !isMmaSync ? 227 : name == "sm_80" ? 163 : 99;
    EXPECT_EQ(target.smemBytesPerCta, most * 1024) << name;
    EXPECT_EQ(target.registersPerSm, 64u * 1024);
    EXPECT_EQ(target.tmemBytesPerClock > 0, target.hasTcgen05) << name;
    // PTX ISA 8.8 or newer.
    std::string features = target.features;
    ASSERT_EQ(features.substr(0, 4), "+ptx");
    EXPECT_GE(std::stoi(features.substr(4)), 88);
  }
}

TEST(Target, HintsAtTheNameWithKernels) {
  EXPECT_EQ(hint("sm_90"), "; did you mean sm_90a?");
  EXPECT_EQ(hint("sm_90a"), "");
  EXPECT_EQ(hint("sm_100f"), "; did you mean sm_100a?");
  EXPECT_EQ(hint("sm_86a"), "; did you mean sm_86?");
  EXPECT_EQ(hint("sm_120a"), "; did you mean sm_120?");
  EXPECT_EQ(hint("sm_86"), "");
  EXPECT_EQ(hint("sm_75a"), "");
  EXPECT_EQ(hint("ampere"), "");
  EXPECT_EQ(hint(""), "");
  EXPECT_EQ(hint("sm_70"), "");
}

TEST(Target, B300HasTwiceTheExponentials) {
  EXPECT_EQ(findTarget("sm_103a")->mufuPerClock,
            2 * findTarget("sm_100a")->mufuPerClock);
}
