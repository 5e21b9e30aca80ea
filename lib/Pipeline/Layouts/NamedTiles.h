//===- NamedTiles.h - Names of the tiles of a kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_LAYOUTS_NAMEDTILES_H
#define FMHA_LIB_PIPELINE_LAYOUTS_NAMEDTILES_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fmha {

/// The types of each tile, without repetitions, in the order of a kernel.
using NamedTiles =
    llvm::MapVector<llvm::StringRef, llvm::SetVector<tile::TileType>>;

/// Returns the tiles of a kernel of the placed level: Q, K, S, P, V and O.
NamedTiles namedTiles(mlir::Operation *kernel);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_LAYOUTS_NAMEDTILES_H
