//===- TimelineTest.cpp - Who owns tensor memory when -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Cost/Timeline.h"
#include "fmha/Schedule/Report/Pictures.h"

#include <algorithm>
#include <map>

using namespace fmha::schedule;

static std::vector<Span> spansOf(unsigned headDim, unsigned qTiles,
                                 PPlacement placement, unsigned slices) {
  Problem problem = problemOf(headDim);
  Overrides wanted;
  wanted.fix(Choice::QTiles, qTiles).pPlacement = placement;
  wanted.fix(Choice::PSlices, slices);
  Plan plan = mustPlan(problem, "sm_100a", wanted);
  return playOut(problem, plan.schedule, 4);
}

TEST(Timeline, ARegionHasOneOwnerAtATime) {
  for (unsigned headDim : {64u, 128u})
    for (unsigned qTiles : {1u, 2u})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem})
        for (unsigned slices : {1u, 2u, 4u}) {
          std::map<std::pair<std::string, unsigned>, double> busyUntil;
          bool inTmem = placement == PPlacement::Tmem;
          unsigned stages = inTmem && qTiles == 1 ? 2 : 1;
          for (const Span &span : spansOf(headDim, qTiles, placement, slices)) {
            unsigned stage = span.region[0] == 'O' ? 0 : span.block % stages;
            double &until = busyUntil[{span.region, stage}];
            EXPECT_LT(span.begin, span.end) << span.region << " " << span.what;
            EXPECT_GE(span.begin, until - 1e-9)
                << span.region << " " << span.what << " " << span.block;
            until = span.end;
          }
          EXPECT_EQ(busyUntil.size(), qTiles * ((inTmem ? 2 : 1) * stages + 1));
        }
}

TEST(Timeline, TheMmaPipeDoesOneProductAtATime) {
  for (unsigned slices : {1u, 2u}) {
    std::vector<Span> products;
    for (const Span &span : spansOf(128, 2, PPlacement::Tmem, slices))
      if (span.what == "S = Q K^T" || span.what == "O += P V")
        products.push_back(span);
    EXPECT_EQ(products.size(), 2u * (1 + slices) * 4);
    for (size_t i = 1; i < products.size(); ++i)
      EXPECT_GE(products[i].begin, products[i - 1].end - 1e-9);
  }
}

/// Once the loop runs, a block takes what the cost model says.
TEST(Timeline, TheLoopSettlesAtTheModeledClocks) {
  for (unsigned headDim : {64u, 128u})
    for (unsigned qTiles : {1u, 2u})
      for (PPlacement placement : {PPlacement::Tmem, PPlacement::Smem})
        for (unsigned slices : {1u, 2u, 4u}) {
          Problem problem = problemOf(headDim);
          Schedule schedule;
          if (qTiles == 1 && placement == PPlacement::Tmem)
            schedule.sStages = 2;
          schedule.qTiles = qTiles;
          schedule.pPlacement = placement;
          schedule.pSlices = slices;
          // Deep enough for loads to come in time.
          schedule.kvStages = 8;
          double begins[33] = {};
          for (const Span &span : playOut(problem, schedule, 33))
            if (span.what == "O += P V" && span.region == "O0")
              begins[span.block] = span.begin;
          Cost cost = modelCost(problem, schedule);
          // What is played out is the exp unit and the MMA pipe, not the width
          // of shared memory.
          if (cost.clocks == std::max(cost.chain, cost.turns)) {
            EXPECT_NEAR((begins[32] - begins[16]) / 16, cost.clocks, 1)
                << headDim << " " << qTiles << " " << stringify(placement)
                << " " << slices;
          }
        }
}

TEST(Timeline, NoBlocksNoSpans) {
  EXPECT_TRUE(playOut(problemOf(64), Schedule(), 0).empty());
}

TEST(Pictures, SayWhatTheMapSays) {
  Problem problem = problemOf(128);
  Plan plan = mustPlan(problem, "sm_100a");
  std::vector<Picture> pictures = drawPictures(problem, plan);
  ASSERT_EQ(pictures.size(), 3u);
  auto has = [](const Picture &picture, const std::string &text) {
    return picture.svg.find(text) != std::string::npos;
  };
  for (const TmemRegion &region : plan.map.tmem)
    EXPECT_TRUE(has(pictures[0], ">" + region.name + "<")) << region.name;
  for (const SmemRegion &region : plan.map.smem)
    EXPECT_TRUE(has(pictures[1], region.name)) << region.name;
  // Row 1 has chunk 0 in the second place, byte 144 of the panel.
  EXPECT_TRUE(has(pictures[2], "row 1, columns 0 to 7: byte 144"));
}
