//===- WgmmaParts.cpp - The ops that consumers are cut from -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaParts.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

static bool makesScores(Operation *op) {
  auto reads = [](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && dot.getTransposeB();
  };
  return reads(op) || (isa<SliceOp>(op) && llvm::any_of(op->getUsers(), reads));
}

static bool makesProduct(Operation *op) {
  return isa<DotOp>(op) ||
         (isa<SliceOp>(op) && llvm::any_of(op->getUsers(), [](Operation *user) {
            return isa<DotOp>(user);
          }));
}

static void addInLoop(ConsumerParts &tile, Operation *op) {
  if (auto rescale = dyn_cast<RescaleOp>(op))
    tile.rescale = rescale;
  else if (makesScores(op))
    tile.scores.push_back(op);
  else if (makesProduct(op))
    tile.products.push_back(op);
  else if (isa<CastOp, MoveOp>(op))
    tile.casts.push_back(op);
  else
    tile.softmax.push_back(op);
}

static void addOutside(ConsumerParts &tile, Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    tile.query = load;
  else if (isa<FillOp>(op))
    tile.fills.push_back(op);
  else if (auto store = dyn_cast<StoreOp>(op))
    tile.store = store;
  else
    tile.ending.push_back(op);
  if (auto normalize = dyn_cast<NormalizeOp>(op))
    tile.normalize = normalize;
}

/// Messages of the ring have no tile of their own.
static void addLoop(WgmmaParts &parts, scf::ForOp loop) {
  parts.loop = loop;
  for (Operation &op : loop.getBody()->without_terminator()) {
    std::optional<unsigned> tile = queryTileOf(&op);
    if (tile && *tile < parts.tiles.size())
      addInLoop(parts.tiles[*tile], &op);
    else if (auto load = dyn_cast<LoadOp>(op))
      (llvm::any_of(load->getUsers(), makesScores) ? parts.key : parts.value) =
          load;
  }
  for (auto [n, init] : llvm::enumerate(loop.getInitArgs())) {
    Operation *fill = init.getDefiningOp();
    std::optional<unsigned> tile = fill ? queryTileOf(fill) : std::nullopt;
    if (tile && *tile < parts.tiles.size())
      parts.tiles[*tile].states.push_back(n);
  }
}

//===----------------------------------------------------------------------===//
// What is missing, and what is too much
//===----------------------------------------------------------------------===//

template <typename... OpTys> static bool has(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [](Operation *op) { return isa<OpTys...>(op); });
}

/// The name of the first part that is missing, empty if none is.
static StringRef missingPart(WgmmaParts &parts) {
  if (!parts.loop)
    return "loop over KV blocks";
  if (!parts.key || !parts.value)
    return "load of key and value";
  for (ConsumerParts &tile : parts.tiles) {
    const std::pair<StringRef, bool> needed[] = {
        {"load of the query", !!tile.query},
        {"dot of query and key", !tile.scores.empty()},
        {"mask", has<MaskOp>(tile.softmax)},
        {"row_max", has<RowMaxOp>(tile.softmax)},
        {"exp2", has<Exp2Op>(tile.softmax)},
        {"row_sum", has<RowSumOp>(tile.softmax)},
        {"cast of P", !tile.casts.empty()},
        {"rescale", !!tile.rescale},
        {"dot of P and value", !tile.products.empty()},
        {"initial maximum, sum and accumulator", tile.states.size() == 3},
        {"normalize or write", has<NormalizeOp, WriteOp>(tile.ending)},
        {"store", tile.store || !tile.normalize},
        {"store_rows behind lse",
         !has<LseOp>(tile.ending) || has<StoreRowsOp>(tile.ending)}};
    for (auto [name, there] : needed)
      if (!there)
        return name;
  }
  return {};
}

/// Tiles that the consumer of `tile` has at some time: its own ones, K, V and
/// what the loop carries.
static bool isKnown(Value value, WgmmaParts &parts, unsigned tile) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == parts.loop.getBody())
    return llvm::is_contained(parts.tiles[tile].states,
                              argument.getArgNumber() - 1);
  Operation *op = value.getDefiningOp();
  return op && (op == parts.loop || op == parts.key || op == parts.value ||
                queryTileOf(op) == tile);
}

/// A consumer begins with the scores and gives P away last: what it takes from
/// elsewhere nobody would bring it.
static LogicalResult checkOperands(WgmmaParts &parts) {
  for (auto [number, tile] : llvm::enumerate(parts.tiles))
    for (const auto *list : {&tile.scores, &tile.softmax, &tile.casts,
                             &tile.products, &tile.ending})
      for (Operation *op : *list)
        for (Value operand : op->getOperands())
          if (isa<TileType>(operand.getType()) &&
              !isKnown(operand, parts, number))
            return op->emitOpError()
                   << "takes a tile that no part of query tile " << number
                   << " makes: expected the only load of K, that of V, or one "
                      "with its tile.q_tile; run tile-wgmma-place on a kernel "
                      "of convert-fmha-to-tile first";
  return success();
}

/// Maximum and sum of rows, then the accumulator.
static LogicalResult checkStates(WgmmaParts &parts) {
  for (auto [number, tile] : llvm::enumerate(parts.tiles))
    for (auto [n, place] : llvm::enumerate(tile.states)) {
      Value state = parts.loop.getRegionIterArgs()[place];
      auto type = dyn_cast<TileType>(state.getType());
      bool isRows = n + 1 < tile.states.size();
      if (!type || type.getShape().size() != (isRows ? 1 : 2))
        return parts.loop.emitOpError()
               << "expected maximum, sum and accumulator of query tile "
               << number << " to be carried in this order, got "
               << state.getType() << " in place " << n;
    }
  return success();
}

FailureOr<WgmmaParts> fmha::tile::findWgmmaParts(gpu::GPUFuncOp func,
                                                 unsigned tiles) {
  WgmmaParts parts;
  parts.tiles.resize(tiles);
  for (Operation &op : func.getBody().front()) {
    std::optional<unsigned> tile = queryTileOf(&op);
    if (tile && *tile < tiles)
      addOutside(parts.tiles[*tile], &op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      addLoop(parts, loop);
  }
  if (StringRef name = missingPart(parts); !name.empty())
    return func.emitError()
           << "has no " << name
           << ", which tile-wgmma-specialise needs; run tile-wgmma-place on a "
              "kernel of convert-fmha-to-tile first";
  if (failed(checkStates(parts)) || failed(checkOperands(parts)))
    return failure();
  return parts;
}
