//===- RowPlaces.h - Where rows of a view lie -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_ROWPLACES_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_ROWPLACES_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Finds the rows of a view whose rows a list names, or that are in pages, or
/// both. Each step reads memory or computes, so that a caller can let the reads
/// of several rows overlap:
///   key = keyOf(row); page = pageOf(key); rowInPage(key)
class RowPlaces {
public:
  RowPlaces(mlir::ImplicitLocOpBuilder &b, ViewOp view) : b(b), view(view) {}

  /// Returns the row of the sequence that is row `row` of the view: the one
  /// that the list names, if there is a list, within the bound of its entries.
  /// Rows after the end of the view stand for the last one.
  mlir::Value keyOf(mlir::Value row);
  /// Returns the page of `key`, a row of the sequence within its length, or the
  /// batch without pages.
  mlir::Value pageOf(mlir::Value key);
  /// Returns the place of `key` in its page, or `key` without pages.
  mlir::Value rowInPage(mlir::Value key);
  /// Returns the nearest page that the source has.
  mlir::Value existingPage(mlir::Value entry);

private:
  mlir::Value index(int64_t value);

  mlir::ImplicitLocOpBuilder &b;
  ViewOp view;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_ROWPLACES_H
