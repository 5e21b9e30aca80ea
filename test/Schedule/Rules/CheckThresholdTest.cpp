//===- CheckThresholdTest.cpp - plan.C7: growth of P and its sums ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <functional>

using namespace fmha::schedule;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Check, C7Threshold) {
  auto with = [](DataType type, double threshold) {
    return violation([=](Problem &p, Schedule &s) {
      p.dtype = type;
      s.rescaleThreshold = threshold;
    });
  };
  EXPECT_EQ(with(DataType::F16, 0), "");
  EXPECT_EQ(with(DataType::F16, 15), "");
  EXPECT_THAT(with(DataType::F16, 15.5), StartsWith("plan.C7: "));
  EXPECT_EQ(with(DataType::BF16, 15.5), "");
  EXPECT_THAT(with(DataType::BF16, 127), StartsWith("plan.C7: "));
  EXPECT_THAT(with(DataType::BF16, -1), StartsWith("plan.C7: "));
  EXPECT_THAT(with(DataType::BF16, NAN), StartsWith("plan.C7: "));
}

/// P grows to 2^(threshold + offset).
TEST(Check, C7OffsetBesideTheThreshold) {
  auto with = [](DataType type, double threshold, unsigned offset) {
    return violation([=](Problem &p, Schedule &s) {
      p.dtype = type;
      s.rescaleThreshold = threshold;
      s.pOffset = offset;
    });
  };
  EXPECT_EQ(with(DataType::F16, 8, 7), "");
  EXPECT_EQ(with(DataType::F16, 0, 15), "");
  EXPECT_THAT(with(DataType::F16, 8, 8),
              StartsWith("plan.C7: expected p_offset of at most 7 for f16"));
  EXPECT_THAT(with(DataType::F16, 0.5, 15),
              StartsWith("plan.C7: expected p_offset"));
  EXPECT_THAT(with(DataType::F16, 0, ~0u),
              StartsWith("plan.C7: expected p_offset"));
  EXPECT_EQ(with(DataType::BF16, 8, 88), "");
  EXPECT_THAT(with(DataType::BF16, 8, 89),
              StartsWith("plan.C7: expected p_offset"));
}

TEST(Check, C7WhatDependsOnTheTrueMaximum) {
  const char *rule = "plan.C7: expected rescale_threshold = 0 with row_max";
  for (bool Problem::*wanted :
       {&Problem::rowMax, &Problem::rowSum, &Problem::unnormalised})
    for (double threshold : {0.0, 0.5}) {
      std::string said = violation([=](Problem &p, Schedule &s) {
        p.*wanted = true;
        s.rescaleThreshold = threshold;
      });
      if (threshold == 0)
        EXPECT_EQ(said, "");
      else
        EXPECT_THAT(said, StartsWith(rule));
    }
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.splits = 2; }),
              AllOf(StartsWith(rule),
                    EndsWith("got 8; write rescale_threshold = 0.0")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.rescaleThreshold = 1e300; }),
      HasSubstr("got 1e+300: "));
  // An output in f32 alone is divided by the sum of whatever maximum.
  EXPECT_EQ(violation([](Problem &p, Schedule &) { p.outF32 = true; }), "");
}
