//===- WarpgroupsTest.cpp - Each rule of warpgroups breaks once -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three blocks of a small kernel: a thread loads a tile by TMA, which two
// warpgroups take turns to multiply by what they have written to shared memory
// themselves. It is sound; every test leaves one event out or changes it.
//
//===----------------------------------------------------------------------===//

#include "fmha/Sync/Synchronization.h"

#include <gtest/gtest.h>

#include <functional>

using namespace fmha::schedule::sync;

namespace {

enum BarrierNumber : uint32_t { Full, Free };
enum AgentNumber : unsigned { Load, First, Second };
/// Bytes of the tile, and of what each warpgroup writes, one after the other.
constexpr uint32_t tileBytes = 1024;
/// Named barriers: turns are 1 and 2, a warpgroup's own are 3 and 4.
constexpr uint32_t turns = 1, own = 3;

class Builder {
public:
  explicit Builder(std::function<bool(unsigned, Event &)> change)
      : change(std::move(change)) {
    program.barriers = {{"full", 1, true}, {"free", 256, true}};
    program.agents = {{"load", 1, 1, 1, {}},
                      {"first", 128, 0xF0, allRows, {}},
                      {"second", 128, 0xF00, allRows, {}}};
    for (int64_t block = 0; block < 3; ++block) {
      load(block);
      multiply(First, block);
      multiply(Second, block);
    }
    // The turn that the second one passes on last.
    meet(First, Action::SyncNamed, turns, 256);
  }
  Program program;

private:
  void load(int64_t block) {
    on(Load, Action::WaitCount, Free, block);
    on(Load, Action::ArriveExpect, Full, tileBytes);
    access(Load, Unit::TmaLoad, Memory::Shared, true, 0, tileBytes);
  }

  void multiply(AgentNumber agent, int64_t block) {
    uint32_t group = agent - First, p = (1 + group) * tileBytes;
    access(agent, Unit::Threads, Memory::Shared, true, p, p + tileBytes);
    add(agent, {Action::FenceProxy});
    meet(agent, Action::SyncNamed, own + group, 128);
    on(agent, Action::WaitCount, Full, block + 1);
    if (agent != First || block)
      meet(agent, Action::SyncNamed, turns + group, 256);
    access(agent, Unit::Wgmma, Memory::Shared, false, 0, tileBytes);
    access(agent, Unit::Wgmma, Memory::Shared, false, p, p + tileBytes);
    access(agent, Unit::Wgmma, Memory::Registers, true, group, group + 1);
    add(agent, {Action::WgmmaCommit});
    meet(agent, Action::ArriveNamed, turns + 1 - group, 256);
    add(agent, {Action::WgmmaWait});
    access(agent, Unit::Threads, Memory::Registers, true, group, group + 1);
    on(agent, Action::Arrive, Free, 0);
  }

  void add(unsigned agent, Event event) {
    event.source = next++;
    if (!change(agent, event))
      return;
    program.agents[agent].order.push_back(program.events.size());
    program.events.push_back(event);
  }
  void on(unsigned agent, Action action, uint32_t barrier, int64_t amount) {
    Event event{action};
    event.barrier = barrier;
    event.amount = amount;
    add(agent, event);
  }
  void meet(unsigned agent, Action action, uint32_t barrier, int64_t threads) {
    on(agent, action, barrier, threads);
  }
  void access(unsigned agent, Unit unit, Memory memory, bool write,
              uint32_t begin, uint32_t stop) {
    Event event{Action::Access, unit, memory, write};
    event.begin = begin;
    event.stop = stop;
    event.barrier = Full;
    event.amount = unit == Unit::TmaLoad ? tileBytes : 0;
    add(agent, event);
  }

  std::function<bool(unsigned, Event &)> change;
  uint32_t next = 0;
};

/// What is said of the kernel with events changed, or left out where `change`
/// says no.
std::string saidOf(std::function<bool(unsigned, Event &)> change) {
  std::string text;
  for (const Violation &violation : verify(Builder(std::move(change)).program))
    text += violation.text + '\n';
  return text;
}

std::string without(Action action, unsigned agent) {
  return saidOf([=](unsigned of, Event &event) {
    return of != agent || event.action != action;
  });
}

std::string withoutMeeting(uint32_t barrier) {
  return saidOf([=](unsigned, Event &event) {
    return event.action != Action::SyncNamed || event.barrier != barrier;
  });
}

#define EXPECT_SAYS(text, part)                                                \
  EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(WarpgroupsTest, theKernelIsSound) {
  EXPECT_EQ(saidOf([](unsigned, Event &) { return true; }), "");
}

TEST(WarpgroupsTest, aProductOfNoGroupIsNotAwaited) {
  EXPECT_SAYS(without(Action::WgmmaCommit, First),
              "Y1: threads of first writes its registers, which a wgmma of "
              "first writes: expected wgmma_commit after the wgmma");
}

TEST(WarpgroupsTest, aWaitMustNotLetItsProductRunOn) {
  EXPECT_SAYS(saidOf([](unsigned, Event &event) {
                event.amount += event.action == Action::WgmmaWait;
                return true;
              }),
              "and a wgmma_wait that leaves fewer groups in flight");
}

TEST(WarpgroupsTest, theTileIsFreeWhenBothHaveRead) {
  std::string text = saidOf([](unsigned of, Event &event) {
    return of != Second || (event.action != Action::WgmmaWait &&
                            event.memory != Memory::Registers);
  });
  EXPECT_SAYS(text, "Y1: threads of second writes bytes [2048, 3072) of shared "
                    "memory, which a wgmma of second reads");
}

TEST(WarpgroupsTest, theLastProductIsAwaited) {
  unsigned waits = 0;
  EXPECT_SAYS(saidOf([&](unsigned of, Event &event) {
                bool last = of == First && event.action == Action::WgmmaWait &&
                            ++waits == 3;
                bool touched = waits == 3 && of == First &&
                               event.unit == Unit::Threads &&
                               event.memory == Memory::Registers;
                return !last && !touched;
              }),
              "Y6: this wgmma may run on after the CTA has exited");
}

TEST(WarpgroupsTest, whatAWarpWroteIsFencedAndMet) {
  EXPECT_SAYS(without(Action::FenceProxy, First),
              "expected a fence proxy_async by the writing threads");
  EXPECT_SAYS(withoutMeeting(own), "which threads of first writes: expected a "
                                   "barrier, or a channel, between the two");
}

TEST(WarpgroupsTest, turnsAreMet) {
  EXPECT_SAYS(without(Action::ArriveNamed, First),
              "waits at named barrier 2 for threads that never come: got 128 "
              "of 256");
  unsigned turn = 0;
  EXPECT_SAYS(saidOf([&](unsigned, Event &event) {
                bool first =
                    event.action == Action::SyncNamed && event.barrier == turns;
                return !first || ++turn != 3;
              }),
              "Y6: named barrier 1 is left with 128 of 256 threads");
}

TEST(WarpgroupsTest, noThreadArrivesTwiceForOneTurn) {
  EXPECT_SAYS(withoutMeeting(turns), "Y3: may come to named barrier 1 before "
                                     "those of the time before are through");
}

TEST(WarpgroupsTest, allExpectTheSameNumber) {
  EXPECT_SAYS(saidOf([](unsigned, Event &event) {
                if (event.action == Action::ArriveNamed)
                  event.amount = 160;
                return true;
              }),
              "Y3: expects 256 threads at named barrier 2, of which others "
              "expect 160");
}

TEST(WarpgroupsTest, warpgroupsMultiplyAsAWhole) {
  Program program = Builder([](unsigned, Event &) { return true; }).program;
  program.agents[Second].warps = 0x700;
  program.agents[Second].threads = 96;
  program.barriers[Free].arrivals = 224;
  std::vector<Violation> violations = verify(program);
  ASSERT_FALSE(violations.empty());
  EXPECT_SAYS(violations.front().text,
              "Y9: expected the 128 threads of a warpgroup, or of several, to "
              "carry this out together, got 96 of 3 warps");
}

} // namespace
