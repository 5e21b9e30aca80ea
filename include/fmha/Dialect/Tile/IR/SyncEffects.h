//===- SyncEffects.h - What an op does to synchronisation -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H
#define FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H

#include "fmha/Sync/Synchronisation.h"

#include "mlir/IR/Value.h"

namespace fmha::tile {

/// One effect of SyncOpInterface: an event (Sync/Synchronisation.h) whose
/// place, barrier and phase are still values.
struct SyncEffect {
  using Action = schedule::sync::Action;
  using Unit = schedule::sync::Unit;
  using Memory = schedule::sync::Memory;

  Action action;
  Unit unit = Unit::Threads;
  Memory memory = Memory::Shared;
  bool write = false;
  /// Every thread has a row of its own.
  bool ownRows = false;
  /// Of tensor memory: 16 of every warp's lanes from the address on, not all.
  bool halfLanes = false;
  /// Of shared memory: 32 bytes of each of the 128-byte rows of a panel.
  bool strip = false;
  /// An access covers [address + offset, ... + extent); without an address it
  /// begins at `offset`. A pointer and a matrix descriptor count from the start
  /// of dynamic shared memory, or from the first allocated column; a lane is
  /// `1 << 16` columns (layout::tmemAddress).
  mlir::Value address = {};
  int64_t offset = 0, extent = 0;
  /// The address is a matrix descriptor, computed with: it counts 16 bytes.
  bool ofDescriptor = false;
  /// In place of an address, of Memory::Registers.
  mlir::Value registers = {};
  /// The tensor whose TMA box gives the extent.
  mlir::Value tensor = {};
  /// Without a stage, all stages.
  mlir::Value barrier = {}, stage = {}, parity = {};
  /// Arrivals of Init, bytes of ArriveExpect, groups of WgmmaWait, threads of a
  /// named barrier, whose number is `offset`.
  int64_t amount = 0;
  /// Accumulator, and shape and kind, of an MMA: what the machine orders by.
  mlir::Value accumulator = {};
  uint32_t shape = 0;
};

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H
