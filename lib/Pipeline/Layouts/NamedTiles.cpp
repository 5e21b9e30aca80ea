//===- NamedTiles.cpp - Names of the tiles of a kernel --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands and results of products have names, and so have the tiles that
// are moved to or from them:
//
//   S = tile.dot Q, K transpose_b      P' = tile.cast ...   P = tile.move P'
//   O = tile.dot P, V                  O' = tile.normalize O, ...
//
//===----------------------------------------------------------------------===//

#include "Layouts/NamedTiles.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Adds types under a name, along moves.
class Namer {
public:
  Namer() {
    for (StringRef name : {"Q", "K", "V", "S", "P", "O"})
      tiles[name];
  }

  void visit(DotOp op) {
    bool scores = op.getTransposeB();
    addSource(scores ? "Q" : "P", op.getA());
    addSource(scores ? "K" : "V", op.getB());
    addResult(scores ? "S" : "O", op.getResult());
  }
  void visit(NormalizeOp op) {
    addSource("O", op.getInput());
    addResult("O", op.getResult());
  }

  NamedTiles finish() {
    tiles.remove_if([](const auto &entry) { return entry.second.empty(); });
    return std::move(tiles);
  }

private:
  /// Adds a tile and what it was moved from. Columns of a tile are no tile of
  /// their own.
  void addSource(StringRef name, Value value) {
    if (auto slice = value.getDefiningOp<SliceOp>())
      return addSource(name, slice.getInput());
    if (auto move = value.getDefiningOp<MoveOp>())
      addSource(name, move.getInput());
    tiles[name].insert(cast<TileType>(value.getType()));
  }
  /// Adds a tile and what it is moved to.
  void addResult(StringRef name, Value value) {
    tiles[name].insert(cast<TileType>(value.getType()));
    for (Operation *user : value.getUsers())
      if (auto move = dyn_cast<MoveOp>(user))
        addResult(name, move.getResult());
  }

  NamedTiles tiles;
};

} // namespace

NamedTiles fmha::namedTiles(Operation *kernel) {
  Namer namer;
  kernel->walk([&](Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op))
      namer.visit(dot);
    else if (auto normalize = dyn_cast<NormalizeOp>(op))
      namer.visit(normalize);
  });
  return namer.finish();
}
