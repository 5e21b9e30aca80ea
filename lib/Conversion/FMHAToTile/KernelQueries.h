//===- KernelQueries.h - The query tiles of a kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELQUERIES_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELQUERIES_H

#include "KernelPlace.h"

namespace fmha {

/// The query tiles of a CTA.
class QueryTiles {
public:
  /// Builds the view of the queries and loads the tiles.
  QueryTiles(KernelContext &k, const Coordinates &at);

  mlir::Value getView() const { return view; }
  mlir::Value getTile(unsigned tile) const { return tiles[tile]; }

  /// Returns the values of `body`, or `otherwise` if the CTA has no rows for
  /// `tile`. It emits a branch if that is possible:
  ///   %s:3 = scf.if %active { ...; yield %max, %sum, %acc } else { yield %old }
  llvm::SmallVector<mlir::Value>
  ifActive(unsigned tile, mlir::ValueRange otherwise,
           llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value view;
  llvm::SmallVector<mlir::Value> tiles;
  /// Whether the CTA has rows for each query tile; null if the tile is computed
  /// in any case.
  llvm::SmallVector<mlir::Value> active;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELQUERIES_H
