//===- Shadow.h - The last accesses of each byte ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FastTrack (Flanagan and Freund, PLDI 2009): a cell keeps the moment of the
// last write and of the last read. It keeps a set of reads only if these are
// not ordered. A cell covers 64 or 16 bytes while they are uniform, and
// otherwise splits by four down to single bytes. The memory used grows with the
// memory accessed.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_SHADOW_H
#define FMHA_PTX_SIM_RACE_SHADOW_H

#include "fmha/PTX/Sim/Race/Lanes.h"
#include "fmha/PTX/Sim/Race/Ordering.h"

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace ptxsim::race {

/// The kind of actor, for reports and for the pairs that the tensor core
/// pipelines.
enum class Kind : uint8_t {
  Thread,
  BulkLoad,
  BulkRead,
  BulkWrite,
  CpAsync,
  Mma,
  TmemCopy,
  TmemRefresh, ///< tcgen05.cp.4x256b, which follows a shift.
  TmemShift,
  TmemLoad,
  TmemStore,
  TryCancel,
  Wgmma,
};

/// One access, as stored in the shadow. `warp` is the index in the cluster;
/// `key` numbers accumulator, shape and kind of a tcgen05.mma.
struct Stamp {
  Moment when = 0;
  uint32_t line : 24 = 0, key : 8 = 0;
  uint16_t warp = 0;
  /// 0 .. 31, kManyLanes or kWholeWarp; for an operation, the lane that issued
  /// it.
  uint8_t lane = 0;
  Scope scope : 2 = Scope::Weak;
  bool async : 1 = false;
  Kind kind : 5 = Kind::Thread;
};
static_assert(sizeof(Stamp) == 16);

/// Proxy fences per thread, regardless of order: a lane's fence covers what
/// that lane wrote, and what others wrote only if it has synchronized with them
/// before.
class FenceLog {
public:
  /// Records that `lanes` of `warp`, which have seen `seen`, execute a fence at
  /// `now`.
  void fence(uint32_t warp, uint32_t lanes, Time now, const VectorClock &seen,
             uint32_t warps, const Lanes &named);
  bool fenced(uint32_t warp, unsigned lane, Time time) const;

private:
  struct PerWarp {
    std::array<Time, 32> lanes{};
    Time byOthers = 0;
  };
  std::vector<PerWarp> entries;
};

struct Conflict;

/// The lanes of each cluster that later accesses may still be checked against.
using LanesOfClusters = std::unordered_map<uint32_t, std::shared_ptr<Lanes>>;

/// An access to check. Its knowledge is that of the issuing thread, even if an
/// operation performs the access.
struct Access {
  Stamp stamp;
  uint32_t cluster = 1;
  /// The lanes of that cluster, and of others; without them a warp is one
  /// actor.
  const Lanes *lanes = nullptr;
  const LanesOfClusters *foreign = nullptr;
  /// Number of warps of a CTA, to compare scopes.
  uint32_t ctaWarps = 1;
  const Knowledge *knows = nullptr;
  bool write = false;
  /// In practice: a write of the value already stored, which does not race with
  /// the write that stored it.
  bool repeats = false;
  /// The shadow is that of an earlier grid, and nothing orders the access after
  /// it. Strong accesses are no exception: the values of an overlap are not
  /// modelled.
  bool overlaps = false;
  /// For the async proxy: the view that must contain generic writes, and the
  /// fences; otherwise Seen.
  Knowledge::View proxy = Knowledge::View::Seen;
  const FenceLog *fences = nullptr;
  /// Earlier generic reads also need a proxy fence.
  bool fencesReads = false;
  /// The response to a try_cancel: a relaxed barrier.cluster is enough to order
  /// it after earlier responses and the reads of these.
  bool followsClusters = false;
  /// For tensor memory: tcgen05 operations that
  /// tcgen05.fence::after_thread_sync has ordered before; null if no fence is
  /// required.
  const VectorClock *tensorFenced = nullptr;
  /// In tensor memory all MMAs of a thread execute in issue order, regardless
  /// of their accumulators.
  bool inIssueOrder = false;
  /// Lanes of the same warp with issued tcgen05 operations that are not ordered
  /// before this one: they are other threads.
  uint32_t unorderedLanes = 0;
  void (*report)(const Access &access, const Conflict &conflict) = nullptr;
  const void *context = nullptr;
};

struct Conflict {
  enum class Fault : uint8_t { None, Race, ProxyFence, TensorFence, InitFence };
  Fault fault = Fault::None;
  const Stamp &other;
  bool otherWrites = false;
  uint64_t address = 0;
};

/// Returns true if `other` is in a view of the accessing lane, not only of its
/// warp.
bool knows(const Access &access, Knowledge::View view, const Stamp &other);
/// Returns true if a proxy fence separates a generic write from the async
/// access.
bool proxyFenced(const Access &access, const Stamp &other);
/// Returns the fault of `access` after `other`, which conflicts with it.
Conflict::Fault memoryFault(const Access &access, const Stamp &other,
                            bool otherWrites);
/// Same for tensor memory, with the rules of tcgen05.
Conflict::Fault tensorFault(const Access &access, const Stamp &other,
                            bool otherWrites);

/// Sets of unordered reads, each stored once. They live as long as the shadow,
/// in blocks of stamps: launches of many clusters make millions.
class ReadSets {
public:
  using Set = std::span<const Stamp>;
  Set at(uint64_t number) const { return sets[number].stamps; }
  /// Returns the union of the set `from` (0 = only `single`) and a read. Reads
  /// that the new read covers are dropped, and reads of other clusters beyond
  /// kForeign.
  uint64_t add(uint64_t from, const Stamp &single, const Access &access);
  static constexpr unsigned kForeign = 4;

private:
  struct Stored {
    Set stamps;
    uint64_t hash = 0;
  };
  /// Returns the number of the set that `scratch` holds.
  uint64_t intern();
  Set store(Set set);
  void growTable();
  std::vector<Stored> sets{1};
  /// Numbers of sets at the places of their hashes, or the next free ones; 0 is
  /// free. Less than half of it is used.
  std::vector<uint64_t> table;
  std::vector<std::unique_ptr<Stamp[]>> blocks;
  std::span<Stamp> room;
  std::vector<Stamp> scratch;
  struct {
    uint64_t from = 0, result = 0;
    Moment single = 0;
    Stamp read;
  } last;
};

struct Cell {
  Stamp write, read;
};

/// Cells, and the rules by which accesses change them; `faultOf` is one of the
/// above.
class CellRules {
public:
  using FaultOf = Conflict::Fault (*)(const Access &, const Stamp &, bool);
  explicit CellRules(FaultOf faultOf) : faultOf(faultOf) {}
  void apply(Cell &cell, const Access &access, uint64_t address) {
    if (changesNothing(cell, access))
      return;
    access.write ? write(cell, access, address) : read(cell, access, address);
  }
  /// Checks without recording the access.
  void check(const Cell &cell, const Access &access, uint64_t address) const;
  /// Returns true if the lane has done the same since its warp last
  /// synchronized.
  static bool changesNothing(const Cell &cell, const Access &access) {
    const Stamp &old = access.write ? cell.write : cell.read;
    const Stamp &now = access.stamp;
    return old.when == now.when && old.scope == now.scope &&
           old.async == now.async && old.key == now.key &&
           (old.lane == now.lane ||
            (!access.write && old.lane == kManyLanes)) &&
           (!access.write || !cell.read.when);
  }

private:
  void write(Cell &cell, const Access &access, uint64_t address);
  void read(Cell &cell, const Access &access, uint64_t address);
  void checkPair(const Access &access, const Stamp &other, bool otherWrites,
                 uint64_t address) const;
  FaultOf faultOf;
  ReadSets sets;
};

/// A flat memory, shared or global.
class Shadow {
public:
  /// `cellBytes` is the largest uniform cell in bytes: 16 or 64.
  explicit Shadow(uint32_t cellBytes);
  void apply(uint64_t address, uint64_t bytes, const Access &access);
  /// Checks without recording the access; may run in several threads at once.
  void check(uint64_t address, uint64_t bytes, const Access &access) const;
  /// Returns the bytes used by the shadow, for tests.
  size_t bytesUsed() const;

private:
  static constexpr uint32_t kPageCells = 64, kWays = 256;
  using Page = std::array<Cell, kPageCells>;
  using Block = std::array<Cell, 4>;
  Page &page(uint64_t number) {
    Recent &recent = recents[number % kWays];
    if (recent.page && recent.number == number)
      return *recent.page;
    return findPage(number, recent);
  }
  /// Calls visit(number of the cell, offset, size) for each cell of a range.
  template <typename Visit>
  void forCells(uint64_t address, uint64_t bytes, Visit visit) const;
  void visit(Cell &cell, uint32_t span, uint64_t base, uint32_t offset,
             uint32_t size, const Access &access);
  void checkCell(const Cell &cell, uint32_t span, uint64_t base,
                 uint32_t offset, uint32_t size, const Access &access) const;
  void split(Cell &cell);
  void unite(Cell &cell, const Access &access);

  struct Recent {
    uint64_t number = 0;
    Page *page = nullptr;
  };
  Page &findPage(uint64_t number, Recent &recent);
  uint32_t cellBytes;
  std::array<Recent, kWays> recents{};
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  std::deque<Block> blocks;
  std::vector<Block *> freeBlocks;
  CellRules rules{memoryFault};
};

/// Tensor memory of a CTA: groups of 16 lanes by 512 columns.
class TensorShadow {
public:
  static constexpr uint32_t kGroups = 8, kColumns = 512;
  /// Accesses columns of groups of lanes; bit g of `groups` is the group of
  /// lanes that starts at 16 g.
  void apply(uint8_t groups, uint32_t column, uint32_t count,
             const Access &access);
  void forget(uint32_t column, uint32_t count);

private:
  std::vector<Cell> cells;
  CellRules rules{tensorFault};
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_SHADOW_H
