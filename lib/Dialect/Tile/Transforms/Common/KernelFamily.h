//===- KernelFamily.h - The interface of a kernel family --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The properties of the instructions by which a target multiplies, for the
// shared passes. Each family has a record in its folder; KernelFamily.cpp lists
// the records.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H

#include "Common/PartitionFamily.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Target/Target.h"

#include <vector>

namespace fmha::tile {

/// The places of tiles (Memory/AssignMemory.cpp).
struct MemoryRules {
  /// Products accumulate in tensor memory, and ops on registers use copies;
  /// otherwise products accumulate in the registers of the warpgroup, which may
  /// also hold the first factor.
  bool productsInTmem;
  /// A tile that threads write for a product is copied to its place just before
  /// the product, because the previous product may read the place until then;
  /// otherwise it is copied right after its definition.
  bool copiesAtUse;
  /// Possible numbers of rows of a product's result.
  llvm::ArrayRef<int64_t> productRows;
  /// Columns of a tile in registers are a multiple of this.
  int64_t columnStep;
};

struct KernelFamily {
  bool (*serves)(const target::Target &target);
  const PartitionFamily &partition;
  MemoryRules memory;
  /// Rewrites the ops on tiles of all roles for the threads that execute them.
  mlir::LogicalResult (*distribute)(WarpSpecializeOp op,
                                    const KernelInfo &info);
  /// Returns the instruction of a product of tiles, and the warps that share
  /// it; null if no thread holds a factor or a result.
  layout::algebra::TiledMma (*productOf)(DotOp op,
                                         const KernelInfo &info) = nullptr;
  /// Returns the copies between shared memory and fragments that are emitted
  /// for an op: of the factors of a product by ldmatrix, or of its tile by
  /// stmatrix; null if there are none.
  std::vector<layout::algebra::TiledCopy> (*copiesOf)(mlir::Operation *op) =
      nullptr;
};

/// Attributes of ops: the layout of the result, the product of a tile.dot, and
/// the copies of an op.
constexpr llvm::StringLiteral layoutName = "tile.layout",
                              productName = "tile.mma",
                              copiesName = "tile.copies";

/// Returns the family of the target of `schedule`.
const KernelFamily &familyOf(const schedule::Schedule &schedule);

/// Fails with a diagnostic if kernels for `target` need an attention op: a
/// family whose kernels have one role lowers no copies between roles.
mlir::LogicalResult checkTakesPrograms(mlir::gpu::GPUFuncOp func,
                                       llvm::StringRef target);

const KernelFamily &tcgen05Family();
const KernelFamily &wgmmaFamily();
const KernelFamily &mmaSyncFamily();

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_KERNELFAMILY_H
