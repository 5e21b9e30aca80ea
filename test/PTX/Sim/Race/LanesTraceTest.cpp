//===- LanesTraceTest.cpp - Random traces of lanes against a graph --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the oracle each lane is a thread of its own. What a lane acquires its warp
// knows, in both: the detector does not tell that apart.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <random>

using namespace ptxsim::race;

namespace {

constexpr uint32_t kWarps = 3, kLanes = 4, kLocks = 2,
                   kAll = (1u << kLanes) - 1;

struct Event {
  enum What { Touch, Release, Acquire, Meet } what = Touch;
  uint32_t warp = 0, lanes = 1, lock = 0;
  uint64_t address = 0, bytes = 1;
  bool write = false;
};
using Trace = std::vector<Event>;

/// `together`: lanes may read the same bytes in one event.
Trace randomTrace(std::mt19937 &random, bool together) {
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  Trace trace(6 + below(30));
  for (Event &e : trace) {
    uint32_t kind = below(10);
    e.what = kind < 2   ? Event::Release
             : kind < 4 ? Event::Acquire
             : kind < 5 ? Event::Meet
                        : Event::Touch;
    e.warp = below(kWarps);
    e.lanes = 1u << below(kLanes);
    e.lock = below(kLocks);
    e.write = below(2);
    e.address = below(24);
    e.bytes = 1u << below(5);
    bool several = e.what == Event::Release || (together && !e.write);
    if (e.what == Event::Meet || (several && below(3) == 0))
      e.lanes = kAll;
    else if (several && below(3) == 0)
      e.lanes |= 1u << below(kLanes);
  }
  return trace;
}

/// The first event that races with an earlier one, by reachability.
size_t oracle(const Trace &trace) {
  // before[i]: events that happened before event i as some lane does it; the
  // lanes of one event are the same node but for touches and releases.
  struct Node {
    uint32_t lane;
    size_t event;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<bool>> knows;
  std::array<std::array<std::vector<bool>, kLanes>, kWarps> lanes;
  std::array<std::vector<bool>, kLocks> locks;
  auto join = [](std::vector<bool> &to, const std::vector<bool> &from) {
    to.resize(std::max(to.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = to[i] || from[i];
  };
  for (size_t i = 0; i < trace.size(); ++i) {
    const Event &e = trace[i];
    auto &warp = lanes[e.warp];
    std::vector<bool> all;
    for (const auto &lane : warp)
      join(all, lane);
    size_t first = nodes.size();
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if (!(e.lanes >> lane & 1))
        continue;
      std::vector<bool> &own = warp[lane];
      if (e.what == Event::Release)
        join(locks[e.lock], own);
      if (e.what == Event::Meet)
        own = all;
      if (e.what != Event::Touch)
        continue;
      for (size_t n = 0; n < nodes.size(); ++n) {
        const Event &old = trace[nodes[n].event];
        bool overlap = old.address < e.address + e.bytes &&
                       e.address < old.address + old.bytes;
        bool known = n < own.size() && own[n];
        if (overlap && (e.write || old.write) && !known && n < first)
          return i;
      }
      own.resize(std::max(own.size(), nodes.size() + 1));
      own[nodes.size()] = true;
      nodes.push_back({lane, i});
    }
    if (e.what == Event::Acquire)
      for (auto &lane : warp)
        join(lane, locks[e.lock]);
  }
  return trace.size();
}

class Detector {
public:
  size_t run(const Trace &trace) {
    for (size_t i = 0; i < trace.size(); ++i) {
      step(trace[i]);
      if (faulty)
        return i;
    }
    return trace.size();
  }

private:
  void handOn(Knowledge &to, const Event &e) {
    if (e.lanes == kAll)
      return to.seen.raise(e.warp, times[e.warp]);
    for (uint32_t left = e.lanes; left; left &= left - 1)
      to.seen.raise(
          lanes.actorOrNew(e.warp, unsigned(std::countr_zero(left)), next),
          times[e.warp]);
  }
  void step(const Event &e) {
    switch (e.what) {
    case Event::Release:
      locks[e.lock].join(knows[e.warp]);
      handOn(locks[e.lock], e);
      ++times[e.warp];
      return;
    case Event::Acquire:
      return knows[e.warp].join(locks[e.lock]);
    case Event::Meet:
      handOn(knows[e.warp], e);
      ++times[e.warp];
      return;
    case Event::Touch:
      return touch(e);
    }
  }
  void touch(const Event &e) {
    if (active[e.warp] != e.lanes)
      lanes.active(e.warp, ++times[e.warp], active[e.warp] = e.lanes);
    Access access;
    access.stamp.when = momentOf(1, e.warp, times[e.warp]);
    access.stamp.warp = uint16_t(e.warp);
    access.knows = &knows[e.warp];
    access.lanes = &lanes;
    access.foreign = &foreign;
    access.write = e.write;
    access.report = [](const Access &a, const Conflict &) {
      static_cast<Detector *>(const_cast<void *>(a.context))->faulty = true;
    };
    access.context = this;
    for (uint32_t left = e.lanes; left; left &= left - 1) {
      access.stamp.lane = uint8_t(std::countr_zero(left));
      shadow.apply(e.address, e.bytes, access);
    }
  }
  std::array<Knowledge, kWarps> knows;
  std::array<Knowledge, kLocks> locks;
  std::array<Time, kWarps> times{1, 1, 1};
  std::array<uint32_t, kWarps> active{};
  Lanes lanes{kWarps};
  LanesOfClusters foreign;
  Actor next = kWarps;
  Shadow shadow{16};
  bool faulty = false;
};

uint32_t firstSeed() {
  const char *given = std::getenv("FMHA_TEST_SEED");
  return given ? uint32_t(std::atoi(given)) : 20251121u;
}

/// Runs traces; how many of the faults are found where they first are.
void compare(bool together, unsigned leastPercent) {
  unsigned found = 0, inAll = 0, clean = 0;
  for (uint32_t seed = firstSeed(), i = 0; i < 20000; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    std::mt19937 random(seed + i);
    Trace trace = randomTrace(random, together);
    size_t expected = oracle(trace), got = Detector().run(trace);
    // Nothing is invented.
    ASSERT_GE(got, expected);
    bool faulty = expected < trace.size();
    inAll += faulty;
    clean += !faulty;
    found += faulty && got == expected;
  }
  EXPECT_GT(inAll, 1000u);
  EXPECT_GT(clean, 1000u);
  EXPECT_GE(found * 100, inAll * leastPercent);
}

TEST(LanesTrace, SingleLanesAreThreads) { compare(false, 100); }

TEST(LanesTrace, LanesThatReadTogetherInventNothing) { compare(true, 95); }

} // namespace
