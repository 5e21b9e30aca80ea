//===- SynchronizationTest.cpp - Each rule breaks once ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two blocks of a small kernel: a thread loads a tile by TMA and multiplies it
// into tensor memory, a warpgroup reads the product and writes it to shared
// memory, a thread stores that. It is sound; every test leaves one event out or
// changes it.
//
//===----------------------------------------------------------------------===//

#include "fmha/Sync/Synchronization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace fmha::schedule::sync;

namespace {

enum BarrierNumber : uint32_t { Loaded, Product, Read, Out, Count };
/// Bytes of the tile, and of the output after it.
constexpr uint32_t tileEnd = 1024, outEnd = 2048, columns = 64;

class Builder {
public:
  explicit Builder(std::function<bool(Event &)> change)
      : change(std::move(change)) {
    for (const char *name : {"loaded", "product", "read", "out"})
      program.barriers.push_back({name});
    program.barriers[Read].arrivals = 128;
    program.barriers[Out].arrivals = 128;
    program.agents = {{"issue", 1, 1, 1, {}},
                      {"softmax", 128, 0xF0, allRows, {}},
                      {"store", 1, 2, 1, {}}};
    prologue();
    for (int64_t block = 0; block < 2; ++block) {
      issue(block);
      softmax(block);
    }
    store();
    epilogue();
  }
  Program program;

private:
  void prologue();
  void issue(int64_t block);
  void softmax(int64_t block);
  void store();
  void epilogue();

  void add(std::vector<unsigned> agents, Event event) {
    event.source = next++;
    if (!change(event))
      return;
    program.events.push_back(event);
    for (unsigned agent : agents)
      program.agents[agent].order.push_back(program.events.size() - 1);
  }
  void plain(std::vector<unsigned> agents, Action action) {
    add(agents, {action});
  }
  void barrier(unsigned agent, Action action, uint32_t which,
               int64_t amount = 0) {
    Event event{action};
    event.barrier = which;
    event.amount = amount;
    add({agent}, event);
  }
  void access(unsigned agent, Unit unit, Memory memory, bool write,
              uint32_t begin, uint32_t stop, uint32_t which = 0,
              int64_t bytes = 0) {
    Event event{Action::Access, unit, memory, write};
    event.begin = begin;
    event.stop = stop;
    event.barrier = which;
    event.amount = bytes;
    add({agent}, event);
  }

  std::function<bool(Event &)> change;
  uint32_t next = 0;
};

void Builder::prologue() {
  for (uint32_t which = 0; which < Count; ++which)
    barrier(0, Action::Init, which, program.barriers[which].arrivals);
  plain({0}, Action::FenceInit);
  plain({0, 1, 2}, Action::SyncCta);
}

void Builder::issue(int64_t block) {
  if (block > 0) {
    // The product before has been read, so the tile has been, too.
    barrier(0, Action::WaitParity, Read, (block - 1) & 1);
    plain({0}, Action::FenceAfter);
  }
  barrier(0, Action::ArriveExpect, Loaded, tileEnd);
  access(0, Unit::TmaLoad, Memory::Shared, true, 0, tileEnd, Loaded, tileEnd);
  barrier(0, Action::WaitParity, Loaded, block & 1);
  access(0, Unit::Mma, Memory::Shared, false, 0, tileEnd);
  access(0, Unit::Mma, Memory::Tensor, true, 0, columns);
  barrier(0, Action::Commit, Product);
}

void Builder::softmax(int64_t block) {
  barrier(1, Action::WaitParity, Product, block & 1);
  plain({1}, Action::FenceAfter);
  access(1, Unit::TmemLoad, Memory::Tensor, false, 0, columns);
  plain({1}, Action::WaitLoads);
  plain({1}, Action::FenceBefore);
  barrier(1, Action::Arrive, Read);
  if (block == 0)
    return;
  access(1, Unit::Threads, Memory::Shared, true, tileEnd, outEnd);
  plain({1}, Action::FenceProxy);
  barrier(1, Action::Arrive, Out);
}

void Builder::store() {
  barrier(2, Action::WaitParity, Out, 0);
  access(2, Unit::TmaStore, Memory::Shared, false, tileEnd, outEnd);
  plain({2}, Action::WaitBulk);
}

void Builder::epilogue() { plain({0, 1, 2}, Action::SyncCta); }

using Change = std::function<bool(Event &)>;

/// The rule that breaks first, or "sound".
std::string broken(const Change &change) {
  auto violations = verify(Builder(change).program);
  return violations.empty() ? "sound" : violations.front().text.substr(0, 2);
}

/// Leaves out the n-th event of `action`, from 0.
Change without(Action action, int n = 0) {
  return
      [=](Event &event) mutable { return event.action != action || n-- != 0; };
}

std::string textWithout(Action action, int n = 0) {
  auto violations = verify(Builder(without(action, n)).program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, ASoundKernelHasNoViolations) {
  EXPECT_EQ(broken([](Event &) { return true; }), "sound");
}

TEST(Synchronization, RegistersAreLoadedBeforeTheColumnsAreHandedBack) {
  EXPECT_NE(textWithout(Action::WaitLoads).find("expected tmem_wait load"),
            std::string::npos);
}

TEST(Synchronization, TensorMemoryIsFencedOnBothSides) {
  EXPECT_NE(textWithout(Action::FenceBefore).find("tcgen05_before"),
            std::string::npos);
  EXPECT_NE(textWithout(Action::FenceAfter, 0).find("tcgen05_after"),
            std::string::npos);
  EXPECT_NE(textWithout(Action::FenceAfter, 1).find("tcgen05_after"),
            std::string::npos);
}

/// Every hand-back of the columns left out, and the product and the loads in
/// these halves of the lanes.
std::string inHalves(Halves product, Halves loaded) {
  Change change = [=](Event &event) {
    event.halves = event.unit == Unit::Mma        ? product
                   : event.unit == Unit::TmemLoad ? loaded
                                                  : bothHalves;
    return event.action != Action::FenceBefore;
  };
  auto violations = verify(Builder(change).program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, TilesInDifferentHalvesOfTheLanesDoNotMeet) {
  EXPECT_EQ(inHalves(1, 2), "sound");
  EXPECT_EQ(inHalves(2, 1), "sound");
  EXPECT_NE(inHalves(1, 1).find("columns [0, 64), lanes 0 to 15 of each warp"),
            std::string::npos);
  EXPECT_NE(inHalves(2, 2).find("columns [0, 64), lanes 16 to 31 of each warp"),
            std::string::npos);
  EXPECT_NE(inHalves(bothHalves, 2).find("columns [0, 64) of tensor memory"),
            std::string::npos);
  EXPECT_NE(inHalves(2, bothHalves), "sound");
}

TEST(Synchronization, GenericWritesAreFencedForTma) {
  EXPECT_NE(textWithout(Action::FenceProxy).find("fence proxy_async"),
            std::string::npos);
}

/// Softmax reads the first tile, arrives, and TMA loads the next tile over it.
std::string overTileThatWasRead(bool fenced) {
  Program program = Builder([](Event &) { return true; }).program;
  Event read{Action::Access, Unit::Threads};
  read.stop = tileEnd;
  uint32_t first = program.events.size();
  program.events.insert(program.events.end(), {read, {Action::FenceProxy}});
  std::vector<uint32_t> &order = program.agents[1].order;
  auto arrival = std::find_if(order.begin(), order.end(), [&](uint32_t index) {
    return program.events[index].action == Action::Arrive;
  });
  arrival = order.insert(arrival, first);
  if (fenced)
    order.insert(arrival + 1, first + 1);
  auto violations = verify(program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, GenericReadsAreFencedForTma) {
  EXPECT_EQ(overTileThatWasRead(true), "sound");
  EXPECT_EQ(overTileThatWasRead(false),
            "Y1: a TMA load of issue writes bytes [0, 1024) of shared memory, "
            "which threads of softmax reads: expected a fence proxy_async by "
            "the reading threads before they signal");
}

/// Returns the first violation of a kernel in which 64 threads copy a tile and
/// signal as `arrival`, and another agent waits and reads the tile as `reader`.
std::string copied(Unit arrival, bool fenced, Unit reader) {
  Program program;
  program.barriers = {{"full", 64}};
  program.agents = {{"gather", 64, 0xC, allRows, {}}, {"store", 1, 1, 1, {}}};
  auto add = [&](std::vector<unsigned> agents, Event event) {
    event.source = program.events.size();
    program.events.push_back(event);
    for (unsigned agent : agents)
      program.agents[agent].order.push_back(event.source);
  };
  auto access = [](Unit unit, bool write) {
    Event event{Action::Access, unit, Memory::Shared, write};
    event.stop = tileEnd;
    return event;
  };
  Event init{Action::Init};
  init.amount = 64;
  add({1}, init);
  add({1}, {Action::FenceInit});
  add({0, 1}, {Action::SyncCta});
  add({0}, access(Unit::Copies, true));
  add({0}, {Action::Arrive, arrival});
  add({1}, {Action::WaitParity});
  if (fenced)
    add({1}, {Action::FenceProxy});
  add({1}, access(reader, false));
  add({1}, {Action::WaitBulk});
  add({0, 1}, {Action::SyncCta});
  auto violations = verify(program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, CopiesAreWaitedForAndFencedByWhoReadsThem) {
  EXPECT_EQ(copied(Unit::Copies, true, Unit::TmaStore), "sound");
  EXPECT_EQ(copied(Unit::Copies, false, Unit::Threads), "sound");
  EXPECT_EQ(copied(Unit::Copies, false, Unit::TmaStore),
            "Y1: a TMA store of store reads bytes [0, 1024) of shared memory, "
            "which a cp.async of gather writes: expected a fence proxy_async "
            "after the wait for the copies");
  EXPECT_EQ(
      copied(Unit::Threads, true, Unit::Threads),
      "Y1: threads of store reads bytes [0, 1024) of shared memory, which "
      "a cp.async of gather writes: expected arrive_copies after the "
      "copies, and a wait for its phase");
}

/// What the verifier says of a ring of one slot that two threads fill by groups
/// of copies and both read, without the event `left` of the second message.
std::string inGroups(std::optional<Action> left, int64_t pending = 0) {
  Program program;
  program.agents = {{"first", 64, 3, allRows, {}},
                    {"second", 64, 12, allRows, {}}};
  auto add = [&](Event event) {
    if (event.action == Action::Access) {
      event.begin = 0;
      event.stop = 1024;
    }
    event.source = program.events.size();
    program.events.push_back(event);
    for (Agent &agent : program.agents)
      agent.order.push_back(event.source);
  };
  for (bool last : {false, true}) {
    auto unless = [&](Event event) {
      if (!last || event.action != left)
        add(event);
    };
    add({Action::Access, Unit::Copies, Memory::Shared, true});
    unless({Action::CommitCopies});
    Event wait{Action::AwaitCopies};
    wait.amount = last ? pending : 0;
    unless(wait);
    unless({Action::SyncCta});
    add({Action::Access, Unit::Threads, Memory::Shared, false});
    // The next message has the same slot.
    if (left != Action::Access)
      add({Action::SyncCta});
  }
  auto violations = verify(program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, GroupsOfCopiesAreAwaitedByEachAndMetAtABarrier) {
  EXPECT_EQ(inGroups(std::nullopt), "sound");
  auto isInFlight = [](const std::string &text) {
    return text.starts_with("Y1: threads of ") &&
           text.ends_with("writes: expected commit_copies after the copies, "
                          "await_copies of that group, and a barrier if they "
                          "are another thread's");
  };
  EXPECT_TRUE(isInFlight(inGroups(Action::CommitCopies)));
  EXPECT_TRUE(isInFlight(inGroups(Action::AwaitCopies)));
  EXPECT_TRUE(isInFlight(inGroups(std::nullopt, 1)));
  EXPECT_NE(inGroups(Action::SyncCta).find("a cp.async of second writes"),
            std::string::npos);
  // Without a barrier between a read and the next copy of another thread.
  EXPECT_TRUE(inGroups(Action::Access).starts_with("Y1: "));
}

/// What the verifier says of writes of these strips that no fence follows, and
/// a store that reads those.
std::string inStrips(Strips written, Strips read) {
  Change change = [=](Event &event) {
    if (event.unit == Unit::Threads)
      event.strips = written;
    if (event.unit == Unit::TmaStore)
      event.strips = read;
    return event.action != Action::FenceProxy;
  };
  auto violations = verify(Builder(change).program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Synchronization, DifferentStripsOfARowDoNotMeet) {
  EXPECT_EQ(inStrips(0b0011, 0b1100), "sound");
  EXPECT_EQ(inStrips(0b1000, 0b0111), "sound");
  EXPECT_NE(inStrips(0b0011, 0b0110)
                .find("bytes [1024, 2048), of each 128 from 32 to 96, of "
                      "shared memory"),
            std::string::npos);
  EXPECT_NE(inStrips(0b1000, allStrips).find("bytes [1024, 2048) of shared"),
            std::string::npos);
}

TEST(Synchronization, EveryWaitOfTheProductsIsNeeded) {
  // Waits in program order: loaded, product, (read, loaded), product, out.
  for (int n = 0; n < 6; ++n)
    EXPECT_NE(broken(without(Action::WaitParity, n)), "sound") << n;
}

TEST(Synchronization, ArrivalsThatLackMakeAWaitHang) {
  EXPECT_EQ(broken(without(Action::Arrive, 0)), "Y2");
  EXPECT_EQ(broken(without(Action::Commit, 0)), "Y2");
  EXPECT_EQ(broken(without(Action::ArriveExpect, 0)), "Y2");
}

TEST(Synchronization, BytesThatLackAreCounted) {
  auto violations = verify(Builder([](Event &event) {
                             if (event.action == Action::ArriveExpect)
                               event.amount += 512;
                             return true;
                           }).program);
  ASSERT_FALSE(violations.empty());
  EXPECT_NE(violations.front().text.find("lacks 512 bytes"), std::string::npos)
      << violations.front().text;
}

TEST(Synchronization, MoreArrivalsThanThePhaseExpects) {
  Program program = Builder([](Event &) { return true; }).program;
  program.agents[1].threads = 129;
  auto violations = verify(program);
  ASSERT_FALSE(violations.empty());
  EXPECT_NE(violations.front().text.find("expects 128 arrivals, got 129"),
            std::string::npos)
      << violations.front().text;
}

TEST(Synchronization, BarriersAreInitializedWithTheCountThatIsDeclared) {
  auto violations = verify(Builder([](Event &event) {
                             event.amount += event.action == Action::Init &&
                                             event.barrier == Read;
                             return true;
                           }).program);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations.front().text,
            "Y3: initializes barrier \"read\" with 129 arrivals, but it is "
            "declared with 128");
}

TEST(Synchronization, ASecondArrivalMayFallIntoThePhaseBefore) {
  // Without its wait for the first product softmax arrives twice in a row.
  Change eager = [](Event &event) {
    bool softmax =
        event.action == Action::WaitParity && event.barrier == Product;
    return !softmax;
  };
  auto violations = verify(Builder(eager).program);
  bool found = false;
  for (const Violation &violation : violations)
    found |= violation.text.substr(0, 2) == "Y3";
  EXPECT_TRUE(found);
}

TEST(Synchronization, AWaiterThatNobodyWaitsForMayMissItsPhase) {
  // No thread hands the product back, so the next one may come at any time.
  Change careless = [](Event &event) {
    return event.action == Action::Access || event.barrier != Read ||
           event.action == Action::Init;
  };
  auto violations = verify(Builder(careless).program);
  bool found = false;
  for (const Violation &violation : violations)
    found |= violation.text.substr(0, 2) == "Y4";
  EXPECT_TRUE(found);
}

TEST(Synchronization, BarriersAreInitializedFencedAndHandedOver) {
  EXPECT_EQ(broken(without(Action::Init, Product)), "Y5");
  EXPECT_EQ(broken(without(Action::FenceInit)), "Y5");
  EXPECT_EQ(broken(without(Action::SyncCta, 0)), "Y5");
}

TEST(Synchronization, NothingIsUnderWayAtTheExit) {
  EXPECT_EQ(broken(without(Action::WaitBulk)), "Y6");
  // No thread waits for the last load.
  Change early = [n = 0](Event &event) mutable {
    bool second = event.action == Action::WaitParity && ++n >= 4;
    return !second && !(event.unit == Unit::TmaStore);
  };
  EXPECT_NE(broken(early), "sound");
}

TEST(Synchronization, TheAnswerDoesNotDependOnTheOrderOfTheAgents) {
  for (int n = 0; n < 6; ++n) {
    Program program = Builder(without(Action::WaitParity, n)).program;
    std::swap(program.agents[0], program.agents[2]);
    EXPECT_FALSE(verify(program).empty()) << n;
  }
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// One agent that does `ends` on a channel of depth 2 that is acquired.
std::string ends(std::vector<std::pair<End, int64_t>> list) {
  Program program;
  program.channels = {{"kv", 2, true}};
  program.agents = {{"load", 1, 1, 1, {}}};
  for (auto [end, message] : list) {
    Event event{Action::ChannelEnd};
    event.end = end;
    event.amount = message;
    program.agents[0].order.push_back(program.events.size());
    program.events.push_back(event);
  }
  auto violations = verify(program);
  return violations.empty() ? "sound" : violations.front().text;
}

TEST(Channels, MessagesGoInOrderInEachSlot) {
  EXPECT_EQ(ends({{End::Receive, 1}, {End::Receive, 0}, {End::Receive, 2}}),
            "sound");
  EXPECT_NE(ends({{End::Acquire, 0}, {End::Acquire, 0}}).find("taken twice"),
            std::string::npos);
  EXPECT_NE(ends({{End::Receive, 0}, {End::Receive, 4}}).find("left out"),
            std::string::npos);
  EXPECT_NE(ends({{End::Receive, -1}}).find("count from 0"), std::string::npos);
}

TEST(Channels, AMessageIsLookedAtAgainUntilItIsReleased) {
  EXPECT_EQ(ends({{End::Receive, 0}, {End::Receive, 0}, {End::Release, 0}}),
            "sound");
  EXPECT_NE(ends({{End::Receive, 0}, {End::Release, 0}, {End::Receive, 0}})
                .find("taken twice"),
            std::string::npos);
}

TEST(Channels, PublishWantsAcquireAndReleaseWantsReceive) {
  EXPECT_EQ(ends({{End::Acquire, 0}, {End::Publish, 0}}), "sound");
  EXPECT_NE(ends({{End::Publish, 0}}).find("without acquire"),
            std::string::npos);
  EXPECT_EQ(ends({{End::Receive, 0}, {End::Release, 0}}), "sound");
  EXPECT_NE(ends({{End::Release, 0}}).find("without receive"),
            std::string::npos);
}

} // namespace
