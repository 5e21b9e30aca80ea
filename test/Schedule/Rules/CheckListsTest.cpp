//===- CheckListsTest.cpp - Rules of lists, kept and broken ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace fmha::schedule;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Check, C3ListedBlocks) {
  auto with = [](const std::function<void(Problem &, Schedule &)> &change) {
    return violation([&](Problem &p, Schedule &s) {
      p.kvNumBlocks = p.kvIndices = true;
      p.blockRows = p.blockKeys = 256;
      change(p, s);
    });
  };
  EXPECT_EQ(with([](auto &, auto &) {}), "");
  for (unsigned rows : {16u, 32u, 64u, 128u, 512u, 1024u})
    EXPECT_EQ(with([=](Problem &p, auto &) { p.blockRows = rows; }), "")
        << rows;
  EXPECT_EQ(with([](Problem &p, auto &) { p.blockRows = 192; }),
            "plan.C3: expected the rows of a CTA to divide the 192 rows of a "
            "block, or to be a multiple of them of at most 16, got 256; "
            "take other q_tiles, or blocks of a power of two rows");
  EXPECT_THAT(with([](Problem &p, auto &) { p.blockRows = 8; }),
              HasSubstr("to divide the 8 rows of a block"));
  EXPECT_EQ(with([](Problem &p, auto &) { p.blockKeys = 320; }),
            "plan.C3: expected kv_block to divide the 320 keys of a block, "
            "got 128; take a divisor, or blocks of a multiple of 16 "
            "keys");
  EXPECT_THAT(
      with([](auto &, Schedule &s) { s.packHeads = 2; }),
      StartsWith("plan.C3: expected pack_heads = 1 with blocks, got 2"));
  EXPECT_THAT(with([](auto &, Schedule &s) {
                s.splits = 2;
                s.rescaleThreshold = 0;
              }),
              StartsWith("plan.C3: expected splits = 1 with blocks, got 2"));
}

TEST(Check, C8SlotsByLengthNeedLengths) {
  auto with = [](const std::function<void(Problem &, Schedule &)> &change) {
    return violation([&](Problem &p, Schedule &s) {
      p.kvLens = true;
      s.splits = 2;
      s.rescaleThreshold = 0;
      s.splitBy = SplitBy::Length;
      change(p, s);
    });
  };
  EXPECT_EQ(with([](auto &, auto &) {}), "");
  EXPECT_EQ(with([](Problem &p, auto &) { p.kvLens = false; }),
            "plan.C8: expected lengths of sequences (kv_lens) with split_by = "
            "length, got none; take split_by = sequence");
  EXPECT_THAT(with([](Problem &p, auto &) { p.cuSeqlensQ = true; }),
              HasSubstr("got packed sequences (cu_seqlens_q)"));
  EXPECT_THAT(with([](Problem &p, Schedule &s) {
                p.topk = true;
                s.qTiles = 1;
                s.packHeads = s.qTileRows;
              }),
              HasSubstr("expected keys that are not listed"));
  EXPECT_THAT(with([](auto &, Schedule &s) {
                s.scheduler = Scheduler::Static;
                s.qTiles = 1;
              }),
              HasSubstr("expected scheduler = single with split_by = length"));
  EXPECT_THAT(with([](auto &, Schedule &s) { s.splitBy = SplitBy(2); }),
              HasSubstr("expected split_by to be sequence or length"));
}
