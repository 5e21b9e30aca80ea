//===- WgmmaTurns.h - Turns of consumers ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATURNS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATURNS_H

#include "fmha/Dialect/Tile/IR/Tile.h"

namespace fmha::tile {

/// Threads of a warpgroup.
constexpr unsigned groupThreads = 128;

/// A role with products, which is one of `count`.
struct Consumer {
  RoleOp role;
  unsigned number, count;
  bool takesTurns;
};

/// Whether `a` and `b` are computed from the same values by equal ops.
bool areSame(mlir::Value a, mlir::Value b);

/// Returns whether each of `roles` has one rotated loop, and all have the same
/// number of iterations, computed and skipped together. Every arrival at a
/// named barrier then has a wait.
bool canTakeTurns(llvm::ArrayRef<RoleOp> roles);

/// Emits the named barriers by which consumers issue their products in turn.
void takeTurns(Consumer consumer);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMATURNS_H
