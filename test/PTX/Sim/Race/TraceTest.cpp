//===- TraceTest.cpp - Random traces against a graph ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle draws every event as a node of a graph and every edge of
// happens-before as an edge, and searches paths. It knows no clocks.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

using namespace ptxsim::race;
using Fault = Conflict::Fault;

namespace {

constexpr uint32_t kWarps = 4, kStreams = 3, kLocks = 3, kCtaWarps = 2;

struct Event {
  enum What { Touch, Release, Acquire, ProxyFence, Finish, Lost } what = Lost;
  uint32_t warp = 0;
  /// Of Touch: the stream that acts, or -1 for the warp. Of Finish: up to
  /// which of the stream's operations.
  int stream = -1;
  uint32_t lock = 0, upTo = 0;
  uint64_t address = 0, bytes = 0;
  bool write = false;
  Scope scope = Scope::Weak;
};
using Trace = std::vector<Event>;

uint32_t warpOf(int stream) { return uint32_t(stream) % kWarps; }

Trace randomTrace(std::mt19937 &random, bool strong) {
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  Trace trace;
  std::array<uint32_t, kStreams> issued{};
  static constexpr uint64_t kSizes[] = {1, 2, 4, 8, 16, 24, 64, 100};
  for (uint32_t i = 0, n = 4 + below(28); i < n; ++i) {
    Event e;
    e.warp = below(kWarps);
    switch (below(10)) {
    case 0:
    case 1:
      e.what = Event::Release;
      e.lock = below(kLocks);
      break;
    case 2:
    case 3:
    case 4:
      e.what = Event::Acquire;
      e.lock = below(kLocks);
      break;
    case 5:
      e.what = Event::ProxyFence;
      break;
    case 6:
      e.what = Event::Finish;
      e.stream = int(below(kStreams));
      e.warp = warpOf(e.stream);
      e.upTo = below(issued[unsigned(e.stream)] + 1);
      break;
    default:
      e.what = Event::Touch;
      e.write = below(2);
      e.bytes = kSizes[below(8)];
      e.address = below(160);
      e.scope = strong ? Scope(below(4)) : Scope::Weak;
      if (below(3) == 0) {
        e.stream = int(below(kStreams));
        e.warp = warpOf(e.stream);
        e.scope = Scope::Weak;
        ++issued[unsigned(e.stream)];
      }
    }
    trace.push_back(e);
  }
  return trace;
}

// --- the oracle ---

class Graph {
public:
  explicit Graph(const Trace &trace) : trace(trace), to(trace.size()) {
    std::array<int, kWarps> last;
    last.fill(-1);
    for (size_t i = 0; i < trace.size(); ++i) {
      const Event &e = trace[i];
      if (last[e.warp] >= 0)
        to[size_t(last[e.warp])].push_back(i);
      // Nothing of the warp comes after an operation until it is finished.
      if (e.stream < 0 || e.what != Event::Touch)
        last[e.warp] = int(i);
      for (size_t before = 0; before < i; ++before)
        if (linked(before, i))
          to[before].push_back(i);
    }
  }
  bool path(size_t from, size_t target) const {
    if (from == target)
      return true;
    for (size_t next : to[from])
      if (path(next, target))
        return true;
    return false;
  }

private:
  bool linked(size_t before, size_t i) const {
    const Event &a = trace[before], &b = trace[i];
    if (a.what == Event::Release && b.what == Event::Acquire)
      return a.lock == b.lock;
    if (b.what != Event::Finish || a.what != Event::Touch ||
        a.stream != b.stream)
      return false;
    uint32_t number = 0;
    for (size_t j = 0; j <= before; ++j)
      number += trace[j].what == Event::Touch && trace[j].stream == a.stream;
    return number <= b.upTo;
  }
  const Trace &trace;
  std::vector<std::vector<size_t>> to;
};

bool overlap(const Event &a, const Event &b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes &&
         (a.write || b.write);
}

bool bothStrong(const Event &a, const Event &b) {
  bool sameCta = a.warp / kCtaWarps == b.warp / kCtaWarps;
  Scope need = sameCta ? Scope::Cta : Scope::Cluster;
  return a.scope >= need && b.scope >= need;
}

/// How `i` conflicts with `before`.
Fault faultOf(const Trace &trace, const Graph &graph, size_t before, size_t i) {
  const Event &a = trace[before], &b = trace[i];
  if (a.what != Event::Touch || b.what != Event::Touch || !overlap(a, b))
    return Fault::None;
  if (!graph.path(before, i))
    return bothStrong(a, b) ? Fault::None : Fault::Race;
  if (b.stream < 0 || a.stream >= 0 || !a.write)
    return Fault::None;
  for (size_t f = 0; f < trace.size(); ++f)
    if (trace[f].what == Event::ProxyFence && graph.path(before, f) &&
        graph.path(f, i))
      return Fault::None;
  return Fault::ProxyFence;
}

/// All faults of the first event that has any.
std::pair<size_t, std::set<Fault>> oracle(const Trace &trace) {
  Graph graph(trace);
  for (size_t i = 0; i < trace.size(); ++i) {
    std::set<Fault> faults;
    for (size_t before = 0; before < i; ++before)
      faults.insert(faultOf(trace, graph, before, i));
    faults.erase(Fault::None);
    if (!faults.empty())
      return {i, faults};
  }
  return {trace.size(), {}};
}

// --- the detector ---

class Detector {
public:
  Detector() {
    for (uint32_t w = 0; w < kWarps; ++w)
      knows[w].seen.raise(w, 1);
  }
  std::pair<size_t, std::set<Fault>> run(const Trace &trace) {
    for (size_t i = 0; i < trace.size(); ++i) {
      step(trace[i]);
      if (!faults.empty())
        return {i, faults};
    }
    return {trace.size(), {}};
  }

private:
  void tick(uint32_t w) { knows[w].seen.raise(w, knows[w].seen.at(w) + 1); }
  void step(const Event &e) {
    Knowledge &mine = knows[e.warp];
    switch (e.what) {
    case Event::Release:
      locks[e.lock].join(mine);
      return tick(e.warp);
    case Event::Acquire:
      return mine.join(locks[e.lock]);
    case Event::ProxyFence:
      mine.sharedProxy.join(mine.seen);
      return tick(e.warp);
    case Event::Finish:
      return mine.seen.raise(kWarps + uint32_t(e.stream), e.upTo);
    default:
      return touch(e);
    }
  }
  void touch(const Event &e) {
    Access access;
    uint32_t stream = uint32_t(e.stream);
    access.stamp.when = e.stream < 0
                            ? momentOf(1, e.warp, knows[e.warp].seen.at(e.warp))
                            : momentOf(1, kWarps + stream, ++issued[stream]);
    access.stamp.warp = uint16_t(e.warp);
    access.stamp.scope = e.scope;
    access.stamp.async = e.stream >= 0;
    access.ctaWarps = kCtaWarps;
    access.knows = &knows[e.warp];
    access.write = e.write;
    if (e.stream >= 0)
      access.proxy = Knowledge::View::SharedProxy;
    access.report = [](const Access &a, const Conflict &conflict) {
      static_cast<Detector *>(const_cast<void *>(a.context))
          ->faults.insert(conflict.fault);
    };
    access.context = this;
    shadow.apply(e.address, e.bytes, access);
  }
  std::array<Knowledge, kWarps> knows;
  std::array<Knowledge, kLocks> locks;
  std::array<Time, kStreams> issued{};
  std::set<Fault> faults;
  Shadow shadow{64};
};

uint32_t firstSeed() {
  const char *given = std::getenv("FMHA_TEST_SEED");
  return given ? uint32_t(std::atoi(given)) : 20251121u;
}

TEST(Trace, TheFirstFaultIsTheOraclesFirstFault) {
  unsigned faulty = 0, clean = 0;
  for (uint32_t seed = firstSeed(), i = 0; i < 20000; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    std::mt19937 random(seed + i);
    Trace trace = randomTrace(random, false);
    auto expected = oracle(trace);
    auto got = Detector().run(trace);
    ASSERT_EQ(got.first, expected.first);
    // A read that another has replaced may have had a fault of its own kind.
    for (Fault fault : got.second)
      ASSERT_TRUE(expected.second.count(fault));
    (expected.first < trace.size() ? faulty : clean)++;
  }
  EXPECT_GT(faulty, 1000u);
  EXPECT_GT(clean, 1000u);
}

TEST(Trace, WithStrongOperationsNoFaultIsInvented) {
  unsigned found = 0, inAll = 0;
  for (uint32_t seed = firstSeed(), i = 0; i < 20000; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    std::mt19937 random(seed + i);
    Trace trace = randomTrace(random, true);
    auto expected = oracle(trace);
    auto got = Detector().run(trace);
    // Two strong writes leave one stamp, so a fault may be found later only.
    ASSERT_GE(got.first, expected.first);
    found += got.first == expected.first && expected.first < trace.size();
    inAll += expected.first < trace.size();
  }
  EXPECT_GT(found, inAll * 9 / 10);
}

} // namespace
