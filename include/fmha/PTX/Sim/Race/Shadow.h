//===- Shadow.h - Who last touched each byte --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FastTrack (Flanagan and Freund, PLDI 2009): a cell keeps the moment of the
// last write and of the last read; only where reads are not ordered does it
// keep a set of them. A cell stands for 64 or 16 bytes while they are uniform,
// and splits by four down to single bytes where they are not. Memory grows with
// what is touched.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_SHADOW_H
#define FMHA_PTX_SIM_RACE_SHADOW_H

#include "fmha/PTX/Sim/Race/Lanes.h"
#include "fmha/PTX/Sim/Race/Ordering.h"

#include <array>
#include <deque>
#include <unordered_map>

namespace ptxsim::race {

/// Who acts, for reports and for the pairs that the tensor core pipelines.
enum class Kind : uint8_t {
  Thread,
  BulkLoad,
  BulkRead,
  BulkWrite,
  CpAsync,
  Mma,
  TmemCopy,
  TmemLoad,
  TmemStore,
  TryCancel,
  Wgmma,
};

/// One access, as the shadow remembers it. `warp` counts over the cluster;
/// `key` numbers accumulator, shape and kind of a tcgen05.mma.
struct Stamp {
  Moment when = 0;
  uint32_t line : 24 = 0, key : 8 = 0;
  uint16_t warp = 0;
  /// 0 .. 31, kManyLanes or kWholeWarp; of an agent, the lane that issued it.
  uint8_t lane = 0;
  Scope scope : 2 = Scope::Weak;
  bool async : 1 = false;
  Kind kind : 5 = Kind::Thread;
};
static_assert(sizeof(Stamp) == 16);

/// Proxy fences by thread, apart from any order: a lane's fence cleans what
/// that lane wrote, and what others wrote only after it has met them.
class FenceLog {
public:
  /// `lanes` of `warp`, which have seen `seen`, fence at `now`.
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

/// The lanes of each cluster that others may still have to judge.
using LanesOfClusters = std::unordered_map<uint32_t, std::shared_ptr<Lanes>>;

/// An access that is checked. Its knowledge is that of the thread that issues
/// it, also where an agent carries it out.
struct Access {
  Stamp stamp;
  uint32_t cluster = 1;
  /// The lanes of that cluster, and of others; without them a warp is one
  /// actor.
  const Lanes *lanes = nullptr;
  const LanesOfClusters *foreign = nullptr;
  /// Warps of a CTA, to tell scopes.
  uint32_t ctaWarps = 1;
  const Knowledge *knows = nullptr;
  bool write = false;
  /// In practice: a write of what lies there already, which does not race with
  /// the write that put it there.
  bool repeats = false;
  /// For the async proxy: the view that vouches for generic writes, and the
  /// fences; Seen elsewhere.
  Knowledge::View proxy = Knowledge::View::Seen;
  const FenceLog *fences = nullptr;
  /// Generic reads before it want a proxy fence as well.
  bool fencesReads = false;
  /// The response to a try_cancel: earlier ones, and reads of these, come
  /// before it already where a relaxed barrier.cluster says so.
  bool followsClusters = false;
  /// For tensor memory: tcgen05 operations that tcgen05.fence::
  /// after_thread_sync has ordered before; null where no fence is asked for.
  const VectorClock *tensorFenced = nullptr;
  /// In tensor memory all MMAs of a thread execute in issue order, whatever
  /// their accumulators.
  bool inIssueOrder = false;
  /// Lanes of the same warp that have issued tcgen05 operations which nothing
  /// orders before this one: they are other threads.
  uint32_t strangers = 0;
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

/// Whether `other` is in a view of who accesses: a lane, not its warp.
bool knows(const Access &access, Knowledge::View view, const Stamp &other);
/// Whether a proxy fence lies between a generic write and the async access.
bool proxyFenced(const Access &access, const Stamp &other);
/// What is wrong with `access` after `other`, which conflicts with it.
Conflict::Fault judgeMemory(const Access &access, const Stamp &other,
                            bool otherWrites);
/// The same in tensor memory, with the rules of tcgen05.
Conflict::Fault judgeTensor(const Access &access, const Stamp &other,
                            bool otherWrites);

/// Sets of reads that nothing orders, each kept once.
class ReadSets {
public:
  using Set = std::vector<Stamp>;
  const Set &at(uint64_t number) const { return sets[number]; }
  /// The set `from` (0 = only `single`) and a read; reads that it covers are
  /// dropped, and those of other clusters beyond kForeign.
  uint64_t add(uint64_t from, const Stamp &single, const Access &access);
  static constexpr unsigned kForeign = 4;

private:
  uint64_t intern(Set set);
  std::vector<Set> sets{1};
  std::unordered_map<uint64_t, std::vector<uint64_t>> byHash;
  struct {
    uint64_t from = 0, result = 0;
    Moment single = 0;
    Stamp read;
  } last;
};

struct Cell {
  Stamp write, read;
};

/// Cells and how accesses change them; `judge` is one of the above.
class CellRules {
public:
  using Judge = Conflict::Fault (*)(const Access &, const Stamp &, bool);
  explicit CellRules(Judge judge) : judge(judge) {}
  void apply(Cell &cell, const Access &access, uint64_t address) {
    if (changesNothing(cell, access))
      return;
    access.write ? write(cell, access, address) : read(cell, access, address);
  }
  /// Checks without remembering.
  void check(const Cell &cell, const Access &access, uint64_t address);
  /// The lane has done the same since its warp last synchronised.
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
  void judgeOne(const Access &access, const Stamp &other, bool otherWrites,
                uint64_t address);
  Judge judge;
  ReadSets sets;
};

/// A flat memory, shared or global.
class Shadow {
public:
  /// Largest uniform piece in bytes: 16 or 64.
  explicit Shadow(uint32_t piece);
  void apply(uint64_t address, uint64_t bytes, const Access &access);
  /// Checks without remembering.
  void check(uint64_t address, uint64_t bytes, const Access &access);
  /// Bytes that the shadow takes, for tests.
  size_t footprint() const;

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
  /// Calls visit(cell, its first byte, offset, size) for each cell of a range.
  template <typename Visit>
  void forCells(uint64_t address, uint64_t bytes, Visit visit);
  void visit(Cell &cell, uint32_t span, uint64_t base, uint32_t offset,
             uint32_t size, const Access &access);
  void checkCell(const Cell &cell, uint32_t span, uint64_t base,
                 uint32_t offset, uint32_t size, const Access &access);
  void split(Cell &cell);
  void unite(Cell &cell, const Access &access);

  struct Recent {
    uint64_t number = 0;
    Page *page = nullptr;
  };
  Page &findPage(uint64_t number, Recent &recent);
  uint32_t piece;
  std::array<Recent, kWays> recents{};
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  std::deque<Block> blocks;
  std::vector<Block *> freeBlocks;
  CellRules rules{judgeMemory};
};

/// Tensor memory of a CTA: groups of 16 lanes by 512 columns.
class TensorShadow {
public:
  static constexpr uint32_t kGroups = 8, kColumns = 512;
  /// Bit g of `groups` is the group of lanes 16 g.
  void apply(uint8_t groups, uint32_t column, uint32_t count,
             const Access &access);
  void forget(uint32_t column, uint32_t count);

private:
  std::vector<Cell> cells;
  CellRules rules{judgeTensor};
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_SHADOW_H
