//===- CopiesTest.cpp - Ways to copy K and V with wgmma -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaCase.h"

#include "gmock/gmock.h"

#include <functional>

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::wgmma;
using testing::StartsWith;

namespace {

using Change = std::function<void(Problem &, Schedule &)>;

/// Returns the rule that a schedule violates in which threads copy K and V by
/// cp.async, after `change`.
std::string gathered(const Change &change) {
  return violation([&](Problem &p, Schedule &s) {
    s.kvCopy = KvCopy::CpAsync;
    s.roles.clear();
    change(p, s);
  });
}

/// Returns the rule that a schedule violates in which a warpgroup converts
/// caches of e4m3, after `change`.
std::string converted(const Change &change) {
  return violation([&](Problem &p, Schedule &s) {
    p.kvE4M3 = true;
    s.kvCopy = KvCopy::Convert;
    s.kvBlock = 64;
    s.roles.clear();
    change(p, s);
  });
}

} // namespace

TEST(WgmmaCopies, C8CopiesByThreads) {
  EXPECT_EQ(gathered([](auto &, auto &) {}), "");
  EXPECT_THAT(gathered([](Problem &p, auto &) { p.source2 = true; }),
              StartsWith("plan.C8: expected one KV segment with kv_copy = "
                         "cp_async, got two; take kv_copy = tma"));
  EXPECT_THAT(gathered([](auto &, Schedule &s) {
                s.qTiles = 1;
                s.ctasPerSm = 3;
                s.kvBlock = 64;
              }),
              StartsWith("plan.C8: expected ctas_per_sm of at most 2 with"));
  EXPECT_THAT(
      gathered([](auto &, Schedule &s) { s.qTiles = 3, s.kvBlock = 64; }),
      StartsWith("plan.C8: expected at most two consumers with"));
}

TEST(WgmmaCopies, C8NoGatheredRows) {
  EXPECT_THAT(
      violation([](Problem &p, Schedule &s) {
        p.topk = true;
        s.kvCopy = KvCopy::Gather4;
        s.qTiles = 1;
        s.packHeads = s.qTileRows;
        s.roles.clear();
      }),
      StartsWith("plan.C8: expected kv_copy to be tma, cp_async or convert on "
                 "sm_90a, whose TMA does not gather rows, got gather4; leave "
                 "kv_copy out"));
}

TEST(WgmmaCopies, C8ConversionIsForE4M3) {
  EXPECT_THAT(
      violation([](Problem &p, auto &) { p.kvE4M3 = true; }),
      StartsWith("plan.C8: expected kv_copy = convert if and only if K and V "
                 "are of e4m3, got tma and K of e4m3; take kv_copy = convert"));
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.kvCopy = KvCopy::Convert; }),
      StartsWith("plan.C8: expected kv_copy = convert if and only if K and V "
                 "are of e4m3, got convert and K of bf16; leave kv_copy out"));
}

TEST(WgmmaCopies, C8ShapesThatAWarpgroupConverts) {
  EXPECT_EQ(converted([](auto &, auto &) {}), "");
  EXPECT_THAT(converted([](auto &, Schedule &s) { s.kvBlock = 48; }),
              StartsWith("plan.C8: expected kv_block to be a multiple of 32"));
  EXPECT_THAT(converted([](Problem &p, Schedule &s) {
                p.scalePerPage = true;
                s.kvBlock = 160;
              }),
              StartsWith("plan.C8: expected kv_block of at most 128 with a "
                         "scale per page"));
  EXPECT_THAT(converted([](Problem &p, auto &) { p.headDim = 72; }),
              StartsWith("plan.C8: expected head dims to be multiples of 16"));
  EXPECT_THAT(converted([](auto &, Schedule &s) { s.qTiles = 3; }),
              StartsWith("plan.C8: expected at most two consumers"));
  EXPECT_THAT(converted([](auto &, Schedule &s) {
                s.qTiles = 1;
                s.ctasPerSm = 2;
              }),
              StartsWith("plan.C8: expected ctas_per_sm = 1"));
  EXPECT_EQ(converted([](Problem &p, Schedule &s) {
              p.vInK = s.shareKv = true;
              s.kvStages = 2;
            }),
            "");
  EXPECT_THAT(converted([](Problem &p, auto &) { p.source2 = true; }),
              StartsWith("plan.C8: expected one KV segment with kv_copy = "
                         "convert, got two; compute each"));
}

TEST(WgmmaCopies, C2RegistersNextToAWarpgroupThatConverts) {
  EXPECT_THAT(converted([](Problem &p, auto &) { p.headDimV = 208; }),
              StartsWith("plan.C2: a thread starts with 128 registers where a "
                         "CTA has 2 consumers and a warpgroup that converts"));
}

TEST(WgmmaCopies, C9ARoleForTheCopies) {
  // The roles are those that the planner chose for TMA.
  EXPECT_THAT(
      violation([](auto &, Schedule &s) { s.kvCopy = KvCopy::CpAsync; }),
      StartsWith("plan.C9: expected a role \"gather\" for"));
}
