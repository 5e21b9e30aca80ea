//===- ClockTest.cpp - Vector clocks and knowledge ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <gtest/gtest.h>

using namespace ptxsim::race;
using View = Knowledge::View;

namespace {

TEST(Clock, AMomentKeepsItsParts) {
  Moment moment = momentOf((1u << 22) - 1, kActors - 1, (1u << kTimeBits) - 1);
  EXPECT_EQ(clusterOf(moment), (1u << 22) - 1);
  EXPECT_EQ(actorOf(moment), kActors - 1);
  EXPECT_EQ(timeOf(moment), (1u << kTimeBits) - 1);
  EXPECT_EQ(actorOf(momentOf(1, 5, 7)), 5u);
  EXPECT_EQ(timeOf(momentOf(1, 5, 7)), 7u);
}

TEST(Clock, AJoinTakesTheLaterOfEachActor) {
  VectorClock a, b;
  a.raise(0, 3);
  a.raise(2, 5);
  b.raise(0, 4);
  b.raise(7, 1);
  a.join(b);
  EXPECT_EQ(a.at(0), 4u);
  EXPECT_EQ(a.at(1), 0u);
  EXPECT_EQ(a.at(2), 5u);
  EXPECT_EQ(a.at(7), 1u);
  EXPECT_EQ(a.at(100), 0u);
  a.raise(2, 4);
  EXPECT_EQ(a.at(2), 5u) << "a clock never goes back";
}

TEST(Clock, OtherClustersAreKnownThroughWhatTheyReleased) {
  Knowledge first, second, third;
  first.seen.raise(1, 9);
  second.seen.raise(1, 2);
  second.joinForeign(1, first, 2);
  EXPECT_TRUE(second.has(View::Seen, 2, momentOf(1, 1, 9)));
  EXPECT_FALSE(second.has(View::Seen, 2, momentOf(1, 1, 10)));
  EXPECT_FALSE(second.has(View::Seen, 2, momentOf(2, 1, 3)));
  // Through a second cluster, and merged with what is known already.
  third.joinForeign(2, second, 3);
  EXPECT_TRUE(third.has(View::Seen, 3, momentOf(1, 1, 9)));
  EXPECT_TRUE(third.has(View::Seen, 3, momentOf(2, 1, 2)));
  first.seen.raise(4, 1);
  third.joinForeign(1, first, 3);
  EXPECT_TRUE(third.has(View::Seen, 3, momentOf(1, 4, 1)));
  EXPECT_TRUE(third.has(View::Seen, 3, momentOf(1, 1, 9)));
  EXPECT_FALSE(third.has(View::Tensor, 3, momentOf(1, 1, 9)));
}

TEST(Clock, AFenceCleansTheLanesOwnWritesAndThoseItHasMet) {
  FenceLog log;
  VectorClock seen;
  seen.raise(0, 4);
  seen.raise(1, 3);
  log.fence(0, 0x2, 6, seen, 2, Lanes(2));
  EXPECT_TRUE(log.fenced(0, 1, 6));
  EXPECT_FALSE(log.fenced(0, 1, 7)) << "written after the fence";
  EXPECT_FALSE(log.fenced(0, 0, 5)) << "another lane, not met";
  EXPECT_TRUE(log.fenced(0, 0, 4)) << "another lane, met";
  EXPECT_TRUE(log.fenced(1, 9, 3)) << "another warp, known";
  EXPECT_FALSE(log.fenced(1, 9, 4));
}

void nothing(const Access &, const Conflict &) { FAIL(); }

TEST(Shadow, MemoryGrowsWithWhatIsTouchedAndCellsUniteAgain) {
  Shadow shadow(64);
  Knowledge knows;
  knows.seen.raise(0, 1);
  Access access;
  access.stamp.when = momentOf(1, 0, 1);
  access.knows = &knows;
  access.report = nothing;
  EXPECT_EQ(shadow.bytesUsed(), 0u);
  access.write = true;
  shadow.apply(0, 1 << 20, access);
  size_t uniform = shadow.bytesUsed();
  EXPECT_LE(uniform, size_t(1) << 20);
  // Bytes split their cell; a write of all of it unites it, so that the same
  // parts serve again.
  for (uint64_t round = 0; round < 1000; ++round) {
    knows.seen.raise(0, Time(2 + round));
    access.stamp.when = momentOf(1, 0, Time(2 + round));
    shadow.apply(64 * round + 3, 1, access);
    knows.seen.raise(0, Time(3 + round));
    access.stamp.when = momentOf(1, 0, Time(3 + round));
    shadow.apply(64 * round, 64, access);
  }
  EXPECT_LE(shadow.bytesUsed(), uniform + 16 * sizeof(Cell));
}

} // namespace
