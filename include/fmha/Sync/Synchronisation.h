//===- Synchronisation.h - Is a run of a kernel ordered? --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One CTA as what its threads do to memory and to barriers, in program order:
// no op, no value. `verify` tells whether every two accesses that conflict are
// ordered for every speed of the threads and of the asynchronous units, whether
// all waits end, and whether nothing is left under way when the CTA exits.
//
// It runs the program once. What a wait learns is only what every run would
// have taught it: the phase of an mbarrier that parity and earlier waits imply,
// with the vector clock of that phase's arrivals. So the answer does not depend
// on the order in which the agents are run.
//
//   softmax: wait s.full; tmem_load [0, 128); arrive p.full
//   mma:     wait p.full; mma writes [0, 128)
//     -> "expected ... a tmem_wait load and a tcgen05_before fence":
//        the arrival comes before the registers are loaded
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SYNC_SYNCHRONISATION_H
#define FMHA_SYNC_SYNCHRONISATION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha::schedule::sync {

/// Registers are those that wgmma uses, each under a number of its own: what is
/// in them is a thread's own.
enum class Memory : uint8_t { Shared, Tensor, Registers };

/// Who accesses memory. All but Threads are asynchronous: what they do is over
/// when TmemWait, a commit's phase, a transaction's phase, BulkWait or
/// WgmmaWait says so.
enum class Unit : uint8_t {
  Threads,
  TmemLoad,
  TmemStore,
  Mma,
  TmaLoad,
  TmaStore,
  Wgmma
};

enum class Action : uint8_t {
  /// `unit` reads or writes [begin, stop) of `memory`.
  Access,
  /// mbarrier.init of `barrier`.
  Init,
  /// mbarrier.inval of `barrier`.
  Inval,
  /// Until the phase of parity `amount` is complete.
  WaitParity,
  /// Until `amount` phases are complete.
  WaitCount,
  /// One arrival by each thread of the agent.
  Arrive,
  /// One arrival by each thread, and `amount` bytes more to come.
  ArriveExpect,
  /// One arrival once all earlier MMAs of this agent are complete.
  Commit,
  /// All earlier TmemLoad (TmemStore, TmaStore) accesses are complete.
  WaitLoads,
  WaitStores,
  WaitBulk,
  /// Fences: around a hand-off of tensor memory, from the generic to the
  /// asynchronous proxy, of initialised barriers.
  FenceBefore,
  FenceAfter,
  FenceProxy,
  FenceInit,
  /// All agents that carry out this very event, of one warp; all of the CTA,
  /// each warp at a synchronisation of its own.
  SyncWarp,
  SyncCta,
  /// End of a channel: `amount` is the message, `end` which one. Orders
  /// nothing.
  ChannelEnd,
  /// The agent's Wgmma accesses since the last one are a group; all of its
  /// groups but the newest `amount` are complete.
  WgmmaCommit,
  WgmmaWait,
  /// `amount` threads meet at the named barrier `barrier`; those that only
  /// arrive go on.
  SyncNamed,
  ArriveNamed
};

enum class End : uint8_t { Acquire, Publish, Receive, Release };

/// Rows of a tile, in eight classes: lane 0 and the other lanes of each warp of
/// a warpgroup. A thread works on its own row.
using Rows = uint8_t;
constexpr Rows allRows = 0xFF;

/// Lanes of tensor memory that a tile of 64 rows leaves to another one: bit 0
/// is lanes 0 to 15 of every warp's 32, bit 1 lanes 16 to 31.
using Halves = uint8_t;
constexpr Halves bothHalves = 3;

/// 32-byte strips of the 128-byte rows of shared memory, a bit each, as they
/// are before the swizzle: one K step of an operand takes one of them.
using Strips = uint8_t;
constexpr Strips allStrips = 0xF;
constexpr unsigned stripBytes = 32, stripRowBytes = 128;

struct Event {
  Action action;
  Unit unit = Unit::Threads;
  Memory memory = Memory::Shared;
  bool write = false;
  End end = End::Acquire;
  /// Each thread touches its own row only, not the whole range.
  bool ownRows = false;
  /// Of tensor memory.
  Halves halves = bothHalves;
  /// Of shared memory.
  Strips strips = allStrips;
  /// Bytes of shared memory, columns of tensor memory, or numbers of registers.
  uint32_t begin = 0, stop = 0;
  /// The mbarrier (index into Program::barriers), or the channel of ChannelEnd.
  uint32_t barrier = 0;
  /// Parity, phases, bytes of a transaction, or message.
  int64_t amount = 0;
  /// MMAs of equal accumulator, shape and kind are executed in order.
  uint64_t chain = 0;
  /// Number of the op, for diagnostics.
  uint32_t source = 0;
};

struct Barrier {
  std::string name;
  unsigned arrivals = 1;
  /// Nobody has to initialise it (before channels are lowered).
  bool ready = false;
};

/// Slots of a channel and what its ends owe each other.
struct Channel {
  std::string name;
  unsigned depth = 1;
  /// Its producer has to acquire before it publishes.
  bool acquired = true;
};

/// Threads that do the same.
struct Agent {
  std::string name;
  unsigned threads = 1;
  /// Warps that they are of, and the rows that they work on.
  uint64_t warps = 0;
  Rows rows = allRows;
  /// Indices into Program::events, in program order.
  std::vector<uint32_t> order;
};

struct Program {
  std::vector<Barrier> barriers;
  std::vector<Channel> channels;
  std::vector<Agent> agents;
  std::vector<Event> events;
};

/// What is wrong at op `source`, with the op that it meets.
struct Violation {
  uint32_t source;
  std::optional<uint32_t> other;
  std::string text;
};
/// The name of Violation before; for code that has not changed yet.
using Complaint = Violation;

/// Returns the rules that `program` violates, none if it is sound; at most a
/// few, since one missing op is often met more than once. Rules, by number:
///
///   Y1  two accesses to the same rows of a place, one of which writes, are
///       ordered, and ordered for the proxy and unit of the second
///   Y2  every wait ends: arrivals and bytes of a phase are what it expects
///   Y3  no phase gets more arrivals than it expects, and no arrival can fall
///       into the phase before
///   Y4  nobody can miss a phase that it waits for
///   Y5  barriers are initialised, with a fence and a synchronisation between
///   Y6  nothing is under way when the CTA exits
///   Y7  messages of a channel go in order: acquire, publish, receive, release
///   Y8  a barrier is invalidated, to be made anew, behind all uses of it
///   Y9  whole warpgroups carry out a wgmma, its commit and its wait
std::vector<Violation> verify(const Program &program);

} // namespace fmha::schedule::sync

#endif // FMHA_SYNC_SYNCHRONISATION_H
