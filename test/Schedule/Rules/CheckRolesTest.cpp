//===- CheckRolesTest.cpp - Who does what with how much --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fmha::schedule;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Check, C9Roles) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.roles.clear(); }),
              StartsWith("plan.C9: expected a role \"softmax0\""));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "spare").name = "helper"; }),
      AllOf(StartsWith("plan.C9: "), HasSubstr("got \"helper\"")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "spare").name = "store"; }),
      AllOf(StartsWith("plan.C9: "), HasSubstr("\"store\" twice")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "correction").warps = 3; }),
      HasSubstr("\"correction\" to have 4 warps, got 3"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "softmax1").firstWarp = 5; }),
      HasSubstr("multiple of 4 warps"));
}

TEST(Check, C9OneTileNeedsNoSecondSoftmax) {
  // Twelve warps: the idle softmax group is left out.
  auto without = [](unsigned qTiles) {
    return violation([=](auto &, Schedule &s) {
      s.qTiles = qTiles;
      s.roles = {{"softmax0", 0, 4, 216}, {"correction", 4, 4, 136},
                 {"load", 8, 1, 136},     {"mma", 9, 1, 136},
                 {"store", 10, 1, 136},   {"spare", 11, 1, 136}};
    });
  };
  EXPECT_EQ(without(1), "");
  EXPECT_THAT(without(2), HasSubstr("role \"softmax1\" for 2 query tiles"));
}

TEST(Check, C10Warps) {
  EXPECT_THAT(violation([](auto &, Schedule &s) { s.roles.pop_back(); }),
              AllOf(StartsWith("plan.C10: warp 15 has no role"),
                    HasSubstr("\"spare\"")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "store").firstWarp = 13; }),
      AllOf(StartsWith("plan.C10: expected one role per warp"),
            HasSubstr("\"mma\" and \"store\" on warp 13")));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "spare").firstWarp = 32; }),
      HasSubstr("ends at warp 33, a CTA has at most 32 warps"));
  EXPECT_THAT(violation([](auto &, Schedule &s) {
                role(s, "spare") = {"spare", ~0u, ~0u, 48};
              }),
              StartsWith("plan.C10: "));
}

TEST(Check, C11Registers) {
  auto softmax = [](unsigned registers) {
    return violation([=](auto &, Schedule &s) {
      role(s, "softmax0").registers = registers;
    });
  };
  EXPECT_EQ(softmax(184), "");
  for (unsigned bad : {0u, 16u, 190u, 264u})
    EXPECT_THAT(softmax(bad), StartsWith("plan.C11: expected registers to be a "
                                         "multiple of 8 from 24 to 256"));
  EXPECT_EQ(softmax(192),
            "plan.C11: the roles need 66560 registers, 65536 are available "
            "(1024 too many): a CTA of 512 threads starts with 128 each");
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { role(s, "mma").registers = 40; }),
      StartsWith("plan.C11: expected the same registers for all roles of "
                 "warpgroup 3"));
}

TEST(Check, C11RolesHaveWhatThePlannerGives) {
  auto with = [](unsigned kvBlock, unsigned rolesFor, bool emulating = false) {
    return violation([=](auto &, Schedule &s) {
      s.kvBlock = kvBlock;
      s.roles = defaultRoles(2, emulating, rolesFor);
    });
  };
  EXPECT_EQ(with(128, 128), "");
  EXPECT_EQ(with(64, 64), "");
  EXPECT_THAT(
      with(128, 64),
      AllOf(StartsWith("plan.C11: expected at least 184 registers of role "
                       "\"softmax0\""),
            HasSubstr("got 168")));
  EXPECT_THAT(
      with(64, 128, true),
      AllOf(StartsWith("plan.C11: expected at least 88 registers of role "
                       "\"correction\""),
            HasSubstr("got 56")));
}
