//===- KernelFamily.h - The interface of a kernel family --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the shared passes ask of the way in which a target multiplies. Each
// family has one such record in its folder; KernelFamily.cpp lists them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H

#include "Common/PartitionFamily.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Target/Target.h"

namespace fmha::tile {

/// Where tiles lie (Memory/AssignMemory.cpp).
struct MemoryRules {
  /// Products accumulate in tensor memory, and ops on registers take copies;
  /// else they accumulate in the registers of the warpgroup, which may also
  /// hold the first factor.
  bool productsInTmem;
  /// A tile that threads write for a product is copied where the product takes
  /// it, since the product before may read the place until then; else as soon
  /// as the tile is made.
  bool copiesAtUse;
  /// Rows of a product's result.
  llvm::ArrayRef<int64_t> productRows;
  /// Columns of a tile in registers are a multiple of this.
  int64_t columnStep;
};

struct KernelFamily {
  bool (*serves)(const target::Target &target);
  const PartitionFamily &partition;
  MemoryRules memory;
  /// Rewrites the ops on tiles of all roles for the threads that execute them.
  mlir::LogicalResult (*distribute)(SpecialiseOp op, const KernelInfo &info);
};

/// Returns the family of the target that `schedule` names.
const KernelFamily &familyOf(const schedule::Schedule &schedule);

const KernelFamily &tcgen05Family();
const KernelFamily &wgmmaFamily();

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H
