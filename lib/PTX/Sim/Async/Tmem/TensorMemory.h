//===- TensorMemory.h - Tensor memory of a CTA ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TMEM_TENSORMEMORY_H
#define FMHA_LIB_PTX_SIM_ASYNC_TMEM_TENSORMEMORY_H

#include "SharedAccess.h"

#include "fmha/PTX/Sim/Units/TmemMap.h"

#include <functional>
#include <map>
#include <memory>

namespace ptxsim {

/// Groups of 16 lanes times a range of columns. Every operation accesses whole
/// groups, so operations in flight are counted per group and column.
struct TmemRange {
  uint8_t groups = 0xff;
  uint32_t column = 0, count = 0;
};

/// An operation in flight, and the cells that it reads or writes.
struct TmemUser {
  TmemRange range;
  uint8_t use = 0;
  Site site;
};

/// An operation that a thread has issued to the tensor core and that has not
/// completed.
struct PipeEntry {
  /// The keys of copies and of shifts, which every later MMA waits for.
  static constexpr uint64_t copyKey = UINT64_MAX, shiftKey = UINT64_MAX - 1;

  AsyncOpId id = 0;
  uint32_t thread = 0;
  /// Two MMAs with equal keys share accumulator, shape and kind.
  uint64_t key = 0;
};

/// 128 lanes by 512 columns of 32 bits, with their owners and users.
class TensorMemory : public UnitState {
public:
  static constexpr uint32_t granule = 32, blocks = tmemColumns / granule;
  static constexpr uint32_t groupLanes = 16, groups = tmemLanes / groupLanes;
  /// The lanes of one warp, and the columns that one shift moves.
  static constexpr uint32_t warpLanes = 32, shiftColumns = 8;

  TensorMemory();
  void atCtaExit(Cta &cta) override;

  uint32_t &cell(uint32_t lane, uint32_t column) {
    return cells[lane * tmemColumns + column];
  }
  bool isWritten(uint32_t lane, uint32_t column) const {
    return written[column][lane / 64] >> (lane % 64) & 1;
  }
  void setWritten(uint32_t lane, uint32_t column) {
    written[column][lane / 64] |= uint64_t(1) << (lane % 64);
  }

  /// A set of lanes, 64 per word.
  using LaneSet = std::array<uint64_t, 2>;
  static LaneSet laneRange(uint32_t first, uint32_t count);
  /// Returns the first column in which a lane of the set was never written, or
  /// nullopt.
  std::optional<uint32_t> firstUnwritten(const LaneSet &lanes, uint32_t column,
                                         uint32_t count) const;
  void markWritten(const LaneSet &lanes, uint32_t column, uint32_t count);

  /// Moves each of 32 lanes from `lane` on to the lane before it, in 8 columns;
  /// the last lane stays.
  void shiftDown(uint32_t lane, uint32_t column);

  // --- allocation ---
  struct Allocation {
    uint32_t columns = 0;
    Site site;
  };
  /// Allocates columns and returns the first: the lowest that fit, or any that
  /// fit, chosen by `random` if it is not 0. Returns nullopt if none fit.
  std::optional<uint32_t> allocate(uint32_t columns, const Site &site,
                                   uint64_t random);
  void release(uint32_t column);
  std::map<uint32_t, Allocation> allocations;
  bool isAllocated(uint32_t column, uint32_t count) const;
  /// Returns the allocation that holds a column, or null.
  const Allocation *holder(uint32_t column) const;
  /// The last tcgen05.relinquish_alloc_permit, the smallest tcgen05.alloc, and
  /// the instruction that chose the .cta_group; a site without a warp if there
  /// is none.
  Site relinquishedAt, smallestAt, groupAt;
  bool relinquished = false;
  uint32_t smallestAllocation = tmemColumns;
  unsigned ctaGroup = 0;

  // --- what is in flight ---
  /// The use of the cells by an operation: tcgen05.ld reads, an MMA reads A,
  /// scale factors or metadata, or writes D, tcgen05.st writes, tcgen05.cp
  /// writes.
  enum Use : uint8_t {
    LoadReads,
    MmaReads,
    MmaWrites,
    StoreWrites,
    CopyWrites
  };
  static constexpr std::initializer_list<Use> anyRead = {LoadReads, MmaReads};
  static constexpr std::initializer_list<Use> anyWrite = {
      MmaWrites, StoreWrites, CopyWrites};
  void begin(const TmemRange &range, Use use, const Site &site);
  void end(const TmemRange &range, Use use, const Site &site);
  /// Returns the oldest operation in flight that uses any of the cells in one
  /// of these ways, or null.
  const TmemUser *user(const TmemRange &range,
                       std::initializer_list<Use> kinds) const;

  /// MMAs, copies and shifts in issue order.
  std::vector<PipeEntry> pipe;
  void forgetDone(const Cluster &cluster);

private:
  std::vector<uint32_t> cells;
  std::array<std::array<uint64_t, 2>, tmemColumns> written{};
  std::vector<TmemUser> users;
  std::array<bool, blocks> taken{};
};

/// Returns the CTAs of an instruction, the even CTA of a pair first; empty
/// after a fault.
std::vector<Cta *> participants(Warp &warp, const Site &site, unsigned group);

/// Returns true if the operations of the tensor core are taken to execute in
/// issue order. The manual orders few of them; kernels in practice rely on it.
bool inIssueOrder(const Warp &warp);

/// Issues an operation of the tensor core after those in flight whose key
/// `follows` names, or after all of them if they execute in issue order.
void issueInPipe(Warp &warp, unsigned lane, std::unique_ptr<AsyncOp> op,
                 uint64_t key, const std::function<bool(uint64_t)> &follows);

/// Reports a `.cta_group` that differs from earlier ones of the CTA.
void checkCtaGroup(TensorMemory &memory, const Site &site, unsigned group);

/// Checks that the columns are within the 512 and allocated. Returns false
/// after a fault; unallocated columns are only a finding.
bool checkColumns(TensorMemory &memory, const Site &site, uint32_t column,
                  uint32_t count, const char *what);

/// Returns "tcgen05.ld of warp 3 in line 27 is in flight".
Other inFlightUse(const TmemUser &user);

/// Returns "columns 0..127" for reports.
std::string describeColumns(uint32_t column, uint32_t count);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TMEM_TENSORMEMORY_H
