//===- BarrierReinitTest.cpp - Barriers that are reused ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A keeper and a worker process two tiles: in each the keeper signals the
// worker, and an MMA of the worker signals the keeper, by barriers that the
// keeper reinitializes in between. The worker waits for the first one again.
// The program is sound; every test removes something.
//
//===----------------------------------------------------------------------===//

#include "fmha/Sync/Synchronization.h"

#include <gtest/gtest.h>

#include <set>

using namespace fmha::schedule::sync;

namespace {

/// Steps of a tile, in program order.
enum Step {
  Inits,
  InitFence,
  Ready,
  Signal,
  Wait,
  Product,
  Done,
  Again,
  WaitDone,
  Over,
  Invals
};

class Tiles {
public:
  explicit Tiles(std::set<std::pair<int, Step>> missing)
      : missing(std::move(missing)) {
    program.barriers = {{"go"}, {"done"}};
    program.agents = {{"keeper", 1, 1, 1, {}}, {"worker", 1, 2, 1, {}}};
    for (tile = 0; tile < 2; ++tile)
      build();
    Event last{Action::SyncCta};
    add({Keeper, Worker}, last);
  }
  Program program;

private:
  enum Who : unsigned { Keeper, Worker };

  void build() {
    for (uint32_t barrier : {0, 1})
      on(Inits, Keeper, Action::Init, barrier, 1);
    on(InitFence, Keeper, Action::FenceInit);
    both(Ready);
    on(Signal, Keeper, Action::Arrive, 0);
    on(Wait, Worker, Action::WaitParity, 0);
    Event product{Action::Access, Unit::Mma, Memory::Tensor, true};
    product.stop = 64;
    if (has(Product))
      add({Worker}, product);
    on(Done, Worker, Action::Commit, 1);
    on(Again, Worker, Action::WaitParity, 0);
    on(WaitDone, Keeper, Action::WaitParity, 1);
    both(Over);
    for (uint32_t barrier : {0, 1})
      on(Invals, Keeper, Action::Inval, barrier);
  }
  /// Each warp at an instruction of its own.
  void both(Step step) {
    on(step, Keeper, Action::SyncCta);
    on(step, Worker, Action::SyncCta);
  }
  bool has(Step step) const { return !missing.count({tile, step}); }
  void on(Step step, Who who, Action action, uint32_t barrier = 0,
          int64_t amount = 0) {
    Event event{action};
    event.barrier = barrier;
    event.amount = amount;
    if (has(step))
      add({who}, event);
  }
  void add(std::vector<Who> agents, Event event) {
    event.source = uint32_t(program.events.size());
    program.events.push_back(event);
    for (Who agent : agents)
      program.agents[agent].order.push_back(event.source);
  }

  std::set<std::pair<int, Step>> missing;
  int tile = 0;
};

std::string without(std::set<std::pair<int, Step>> missing) {
  auto violations = verify(Tiles(std::move(missing)).program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(BarrierReinit, PhasesCountFromTheInit) { EXPECT_EQ(without({}), "sound"); }

TEST(BarrierReinit, EveryoneIsThroughBefore) {
  EXPECT_EQ(without({{0, Over}}).substr(0, 2), "Y8");
  EXPECT_NE(without({{0, Over}}).find("worker may still use"),
            std::string::npos);
}

TEST(BarrierReinit, NothingUnderWayMaySignal) {
  std::string text = without({{0, WaitDone}});
  EXPECT_EQ(text.substr(0, 2), "Y8");
  EXPECT_NE(text.find("may still be signalled"), std::string::npos);
}

TEST(BarrierReinit, BarriersAreInvalidatedInitializedFencedAndHandedOver) {
  EXPECT_NE(without({{0, Invals}}).find("Y5: initializes barrier"),
            std::string::npos);
  EXPECT_EQ(without({{1, Inits}}).substr(0, 2), "Y5");
  EXPECT_EQ(without({{1, InitFence}}).substr(0, 2), "Y5");
  // The worker may come to a barrier before it is reinitialized, or ready.
  EXPECT_NE(without({{1, Ready}}), "sound");
}

TEST(BarrierReinit, BarriersAreNotUsedInBetween) {
  // Neither invalidated nor reinitialized: the second tile's parities are
  // wrong.
  EXPECT_NE(without({{0, Invals}, {1, Inits}}), "sound");
}

} // namespace
