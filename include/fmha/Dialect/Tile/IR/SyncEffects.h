//===- SyncEffects.h - Synchronization effects of ops -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H
#define FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H

#include "fmha/Sync/Synchronization.h"

#include "mlir/IR/Value.h"

namespace fmha::tile {

/// One effect of SyncOpInterface: an event (Sync/Synchronization.h) whose
/// place, barrier and phase are still values.
struct SyncEffect {
  using Action = schedule::sync::Action;
  using Unit = schedule::sync::Unit;
  using Memory = schedule::sync::Memory;

  Action action;
  Unit unit = Unit::Threads;
  Memory memory = Memory::Shared;
  bool write = false;
  /// Each thread accesses its own row.
  bool ownRows = false;
  /// In tensor memory, an access to 16 of every warp's 32 lanes, which begin at
  /// the address.
  bool halfLanes = false;
  /// In shared memory, an access to 32 bytes of each 128-byte row of a panel.
  bool strip = false;
  /// An access covers [address + offset, address + offset + extent); without an
  /// address it begins at `offset`. Pointers and matrix descriptors count from
  /// the start of dynamic shared memory, or from the first allocated column of
  /// tensor memory, where a lane is `1 << 16` columns (layout::tmemAddress).
  mlir::Value address = {};
  int64_t offset = 0, extent = 0;
  /// The address is a matrix descriptor, whose arithmetic is in units of 16
  /// bytes.
  bool ofDescriptor = false;
  /// If not 0, the address is an index of elements of this many bytes.
  int64_t pitch = 0;
  /// The registers of an access to Memory::Registers, which has no address.
  mlir::Value registers = {};
  /// The tensor whose TMA box has the extent of the access.
  mlir::Value tensor = {};
  /// The barrier, its stage and the parity of a wait. Without a stage the
  /// effect is on all stages.
  mlir::Value barrier = {}, stage = {}, parity = {};
  /// Arrivals of Init, bytes of ArriveExpect, groups of WgmmaWait, or threads
  /// of a named barrier, whose number is `offset`.
  int64_t amount = 0;
  /// The accumulator of an MMA, and its shape and kind. The tensor core runs
  /// MMAs in order if they have all of them in common.
  mlir::Value accumulator = {};
  uint32_t shape = 0;
};

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_IR_SYNCEFFECTS_H
