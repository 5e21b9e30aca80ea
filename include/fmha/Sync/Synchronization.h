//===- Synchronization.h - Order of the accesses of a kernel ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of one CTA: the accesses to memory and the operations on barriers of
// its threads, in program order, without ops and values. `verify` checks that
// every two conflicting accesses are ordered at any speed of the threads and of
// the asynchronous units, that all waits end, and that no operation is in
// flight when the CTA exits.
//
// It runs the program once. A wait acquires only what it acquires in every run:
// the phase of an mbarrier that parity and earlier waits imply, with the vector
// clock of that phase's arrivals. The result is therefore independent of the
// order in which the agents run.
//
//   softmax: wait s.full; tmem_load [0, 128); arrive p.full
//   mma:     wait p.full; mma writes [0, 128)
//     -> "expected ... a tmem_wait load and a tcgen05_before fence":
//        the arrival comes before the registers are loaded
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SYNC_SYNCHRONIZATION_H
#define FMHA_SYNC_SYNCHRONIZATION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha::schedule::sync {

/// Registers are those that wgmma uses. Each has a separate number, and each
/// thread has separate contents.
enum class Memory : uint8_t { Shared, Tensor, Registers };

/// The unit that accesses memory. All but Threads are asynchronous: their
/// accesses are complete after TmemWait, BulkWait or WgmmaWait, or in the phase
/// that a commit, a transaction or an arrival of Copies completes. Copies are
/// cp.async, of the generic proxy.
enum class Unit : uint8_t {
  Threads,
  Copies,
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
  /// Waits until the phase of parity `amount` is complete.
  WaitParity,
  /// Waits until `amount` phases are complete.
  WaitCount,
  /// One arrival by each thread of the agent. With the unit Copies it happens
  /// once all earlier copies of the thread are complete.
  Arrive,
  /// One arrival by each thread, which also expects `amount` more bytes.
  ArriveExpect,
  /// One arrival once all earlier MMAs of this agent are complete.
  Commit,
  /// Wait until all earlier TmemLoad (TmemStore, TmaStore) accesses are
  /// complete.
  WaitLoads,
  WaitStores,
  WaitBulk,
  /// Fences: before and after a hand-off of tensor memory, from the generic to
  /// the asynchronous proxy, and of initialized barriers.
  FenceBefore,
  FenceAfter,
  FenceProxy,
  FenceInit,
  /// Synchronizes the agents of one warp that execute this same event; all
  /// agents of the CTA, where each warp has a separate event.
  SyncWarp,
  SyncCta,
  /// An operation on the end `end` of a channel, for message `amount`. Orders
  /// nothing.
  ChannelEnd,
  /// Makes the agent's Wgmma accesses since the last commit a group; waits
  /// until all of its groups but the newest `amount` are complete.
  WgmmaCommit,
  WgmmaWait,
  /// Synchronizes `amount` threads at the named barrier `barrier`; those that
  /// only arrive do not wait.
  SyncNamed,
  ArriveNamed,
  /// Makes the agent's Copies since the last commit a group; waits until all of
  /// its groups but the newest `amount` are complete.
  CommitCopies,
  AwaitCopies
};

enum class End : uint8_t { Acquire, Publish, Receive, Release };

/// Rows of a tile, in eight classes: lane 0 and the other lanes of each warp of
/// a warpgroup. Each thread accesses its own row.
using Rows = uint8_t;
constexpr Rows allRows = 0xFF;

/// Halves of the lanes of tensor memory, of which a tile of 64 rows uses one:
/// bit 0 is lanes 0 to 15 of every warp's 32, bit 1 lanes 16 to 31.
using Halves = uint8_t;
constexpr Halves bothHalves = 3;

/// 32-byte strips of the 128-byte rows of shared memory before the swizzle, one
/// bit per strip: one K step of an operand reads one strip.
using Strips = uint8_t;
constexpr Strips allStrips = 0xF;
constexpr unsigned stripBytes = 32, stripRowBytes = 128;

struct Event {
  Action action;
  Unit unit = Unit::Threads;
  Memory memory = Memory::Shared;
  bool write = false;
  End end = End::Acquire;
  /// Each thread accesses only its own row, not the whole range.
  bool ownRows = false;
  /// For tensor memory.
  Halves halves = bothHalves;
  /// For shared memory.
  Strips strips = allStrips;
  /// Bytes of shared memory, columns of tensor memory, or numbers of registers.
  uint32_t begin = 0, stop = 0;
  /// The mbarrier (index into Program::barriers), or the channel of ChannelEnd.
  uint32_t barrier = 0;
  /// Parity, phases, bytes of a transaction, or message.
  int64_t amount = 0;
  /// MMAs with an equal accumulator, shape and kind execute in order.
  uint64_t chain = 0;
  /// Number of the op, for diagnostics.
  uint32_t source = 0;
};

struct Barrier {
  std::string name;
  unsigned arrivals = 1;
  /// The barrier needs no initialization (before channels are lowered).
  bool ready = false;
};

/// The slots of a channel, and the order of operations on its ends.
struct Channel {
  std::string name;
  unsigned depth = 1;
  /// The producer must acquire before it publishes.
  bool acquired = true;
};

/// Threads that execute the same events.
struct Agent {
  std::string name;
  unsigned threads = 1;
  /// The warps of the threads, and the rows that they access.
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

/// A violated rule at op `source`, and the conflicting op.
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
///   Y1  two accesses to the same rows of a range, one of which writes, are
///       ordered, also for the proxy and unit of the second
///   Y2  every wait ends: a phase gets the arrivals and bytes that it expects
///   Y3  no phase gets more arrivals than it expects, and no arrival can count
///       for the previous phase
///   Y4  no agent can miss a phase that it waits for
///   Y5  barriers are initialized, with a fence and a synchronization between
///   Y6  no operation is in flight when the CTA exits
///   Y7  messages of a channel go in order: acquire, publish, receive, release
///   Y8  a barrier is invalidated, to be reinitialized, after all uses of it
///   Y9  whole warpgroups execute a wgmma, its commit and its wait
std::vector<Violation> verify(const Program &program);

} // namespace fmha::schedule::sync

#endif // FMHA_SYNC_SYNCHRONIZATION_H
