//===- SpecialiseParts.h - The ops that roles are cut from ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_SPECIALISEPARTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_SPECIALISEPARTS_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// What makes and hands over one slice of P: all of it, or the keys that
/// `slice` takes of the scores.
struct SlicePart {
  SliceOp slice;
  Exp2Op exp;
  CastOp cast;
  MoveOp out;
};

/// acc += p·v over the keys that one slice of P and one message of V share:
/// the numbers of both in their block.
struct ProductPart {
  DotOp dot;
  size_t slice = 0, message = 0;
};

/// The ops of a placed kernel that serve one query tile. All are there but
/// `scale` (a positive scale needs none), `modify`, `join` (nor does P in one
/// slice), `sink`, `addSink`, `lse`, `rowMax` and `rowStores`; either
/// `normalize` and `store` or `write`.
struct QueryTileParts {
  LoadOp query;
  FillOp maxInit, sumInit;
  /// One for each message of K; A is the query or a slice of it.
  llvm::SmallVector<DotOp, 4> scores;
  /// In the order of keys; A is a slice of P, as handed over or a part of it.
  llvm::SmallVector<ProductPart, 4> products;
  llvm::SmallVector<SlicePart, 4> slices;
  ScaleOp scale;
  ModifyOp modify;
  MaskOp mask;
  RowMaxOp max;
  JoinOp join;
  RowSumOp sum;
  RescaleOp rescale;
  NormalizeOp normalize;
  StoreOp store;
  LoadRowsOp sink;
  WriteOp write;
  AddSinkOp addSink;
  LseOp lse;
  /// The maximum in natural units, and the stores of it, of `lse` and of the
  /// sum that the loop leaves.
  ScaleOp rowMax;
  llvm::SmallVector<StoreRowsOp, 3> rowStores;
  /// Moves: scores to registers, alpha and the final sum to shared memory and
  /// back.
  MoveOp scoresOut, alphaOut, alphaIn, sumOut, sumIn;
};

/// A placed kernel taken apart.
struct KernelParts {
  mlir::scf::ForOp loop;
  /// Messages of one KV block in the order of their columns, and of their keys.
  /// `values` is empty where V is a slice of the one message of K,
  /// `valueSlice`, or that message itself.
  llvm::SmallVector<LoadOp, 4> keys, values;
  SliceOp valueSlice;
  llvm::SmallVector<QueryTileParts, 2> tiles;
  /// The key that a block begins with, as the loop makes it.
  mlir::Value firstKey;
};

/// Fails with a diagnostic that names the first missing part: the kernel is not
/// what tile-place leaves behind.
mlir::FailureOr<KernelParts> findParts(mlir::gpu::GPUFuncOp func,
                                       const schedule::Schedule &schedule);
/// Erases the sequential program, of which roles have been made.
void eraseSequential(mlir::gpu::GPUFuncOp func);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_SPECIALISEPARTS_H
