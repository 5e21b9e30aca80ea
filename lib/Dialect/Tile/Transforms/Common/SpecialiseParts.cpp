//===- SpecialiseParts.cpp - The ops that roles are cut from ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecialiseParts.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha::tile;

/// Which of a query tile's five single moves this is follows from what it
/// moves, and where to.
static MoveOp *moveField(QueryTileParts &tile, MoveOp move) {
  bool toRegisters = move.getType().inRegisters();
  Operation *source = move.getInput().getDefiningOp();
  if (isa_and_nonnull<DotOp>(source))
    return &tile.scoresOut;
  if (isa_and_nonnull<RowMaxOp>(source))
    return &tile.alphaOut;
  if (isa_and_nonnull<MoveOp>(source))
    return source->getParentOp() && isa<scf::ForOp>(source->getParentOp())
               ? &tile.alphaIn
               : &tile.sumIn;
  return toRegisters ? nullptr : &tile.sumOut;
}

static void addFill(QueryTileParts &tile, FillOp fill) {
  if (fill.getType().getShape().size() != 1)
    return;
  bool isMax = fill.getValue().isInfinity();
  (isMax ? tile.maxInit : tile.sumInit) = fill;
}

/// A move of a slice of P that a cast made of exponentials, from registers to
/// where the product reads it.
static void addSlice(QueryTileParts &tile, MoveOp out) {
  SlicePart part;
  part.out = out;
  part.cast = out.getInput().getDefiningOp<CastOp>();
  part.exp = part.cast.getInput().getDefiningOp<Exp2Op>();
  if (part.exp)
    part.slice = part.exp.getInput().getDefiningOp<SliceOp>();
  tile.slices.push_back(part);
}

static void addMove(QueryTileParts &tile, MoveOp move) {
  if (move.getInput().getDefiningOp<CastOp>())
    addSlice(tile, move);
  else if (MoveOp *field = moveField(tile, move))
    *field = move;
}

static void addDot(QueryTileParts &tile, DotOp dot) {
  if (dot.getTransposeB())
    tile.scores.push_back(dot);
  else
    tile.products.push_back({dot});
}

static void addPart(QueryTileParts &tile, Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](LoadOp part) { tile.query = part; })
      .Case<FillOp>([&](FillOp part) { addFill(tile, part); })
      .Case<DotOp>([&](DotOp part) { addDot(tile, part); })
      .Case<ScaleOp>([&](ScaleOp part) {
        bool ofRows = part.getType().getShape().size() == 1;
        (ofRows ? tile.rowMax : tile.scale) = part;
      })
      .Case<ModifyOp>([&](ModifyOp part) { tile.modify = part; })
      .Case<MaskOp>([&](MaskOp part) { tile.mask = part; })
      .Case<RowMaxOp>([&](RowMaxOp part) { tile.max = part; })
      .Case<JoinOp>([&](JoinOp part) { tile.join = part; })
      .Case<RowSumOp>([&](RowSumOp part) { tile.sum = part; })
      .Case<RescaleOp>([&](RescaleOp part) { tile.rescale = part; })
      .Case<NormalizeOp>([&](NormalizeOp part) { tile.normalize = part; })
      .Case<StoreOp>([&](StoreOp part) { tile.store = part; })
      .Case<LoadRowsOp>([&](LoadRowsOp part) { tile.sink = part; })
      .Case<WriteOp>([&](WriteOp part) { tile.write = part; })
      .Case<AddSinkOp>([&](AddSinkOp part) { tile.addSink = part; })
      .Case<LseOp>([&](LseOp part) { tile.lse = part; })
      .Case<StoreRowsOp>(
          [&](StoreRowsOp part) { tile.rowStores.push_back(part); })
      .Case<MoveOp>([&](MoveOp part) { addMove(tile, part); });
}

/// The name of the first part that is missing, empty if none is.
static StringRef missingPart(const QueryTileParts &tile) {
  bool exps = llvm::all_of(tile.slices,
                           [](const SlicePart &part) { return !!part.exp; });
  const std::pair<StringRef, bool> parts[] = {
      {"load of the query", !!tile.query},
      {"initial maximum", !!tile.maxInit},
      {"initial sum", !!tile.sumInit},
      {"dot of query and key", !tile.scores.empty()},
      {"move of the scores to registers", !!tile.scoresOut},
      {"mask", !!tile.mask},
      {"row_max", !!tile.max},
      {"move of P", !tile.slices.empty()},
      {"exp2", exps},
      {"join of the slices of P", tile.slices.size() == 1 || tile.join},
      {"row_sum", !!tile.sum},
      {"move of alpha to shared memory", !!tile.alphaOut},
      {"move of alpha to registers", !!tile.alphaIn},
      {"rescale", !!tile.rescale},
      {"dot of P and value", !tile.products.empty()},
      {"move of the sum to shared memory", !!tile.sumOut},
      {"move of the sum to registers", !!tile.sumIn},
      {"normalize", tile.normalize || tile.write},
      {"store", tile.store || tile.write},
      {"load_rows ahead of add_sink",
       tile.sink ||
           (!tile.addSink && !(tile.lse && LseOp(tile.lse).getSink()))},
      {"store_rows behind lse", !tile.lse || !tile.rowStores.empty()},
  };
  for (auto [name, there] : parts)
    if (!there)
      return name;
  return {};
}

/// K is the ring's tile that scores are made from, V the other one.
static void addRingLoad(KernelParts &parts, LoadOp load) {
  bool isKey = llvm::any_of(load->getUsers(), [](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && dot.getTransposeB();
  });
  (isKey ? parts.keys : parts.values).push_back(load);
}

/// What `value` is a slice of, or itself.
static Value wholeOf(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  return slice ? slice.getInput() : value;
}

/// Finds the slice of P and the message of V that each product reads.
static void numberProducts(KernelParts &parts) {
  for (QueryTileParts &tile : parts.tiles)
    for (ProductPart &product : tile.products) {
      Value p = wholeOf(product.dot.getA()), v = product.dot.getB();
      auto slice = llvm::find_if(tile.slices, [&](const SlicePart &part) {
        return MoveOp(part.out).getResult() == p;
      });
      auto load = llvm::find_if(
          parts.values, [&](LoadOp part) { return part.getResult() == v; });
      product.slice = slice - tile.slices.begin();
      product.message = load - parts.values.begin();
    }
}

/// Products go through the slices of P, and through the messages of V, in
/// order, and leave none out.
static bool coversAll(const QueryTileParts &tile, size_t messages,
                      size_t ProductPart::*number) {
  size_t next = 0;
  for (const ProductPart &product : tile.products) {
    size_t at = product.*number;
    if (at != next && at + 1 != next)
      return false;
    next = at + 1;
  }
  return next == messages;
}

/// Each message of K and of V has its product with every query tile; V may be
/// the message of K.
static LogicalResult verifyChains(gpu::GPUFuncOp func,
                                  const KernelParts &parts) {
  bool shared = parts.values.empty();
  size_t keys = parts.keys.size(), values = shared ? 1 : parts.values.size();
  for (const QueryTileParts &tile : parts.tiles) {
    size_t slices = tile.slices.size();
    if (tile.scores.size() != keys ||
        !coversAll(tile, values, &ProductPart::message) ||
        !coversAll(tile, slices, &ProductPart::slice))
      return func.emitError()
             << "expected dots of " << keys << " messages of K, and of "
             << values << " of V with " << slices
             << " slices of P in the order of keys, got " << tile.scores.size()
             << " and " << tile.products.size()
             << "; run tile-place on a kernel of convert-fmha-to-tile first";
  }
  return success();
}

/// Whether products read the one message of K, or a slice of it.
static bool isShared(const KernelParts &parts) {
  if (parts.keys.size() != 1)
    return false;
  LoadOp key = parts.keys.front();
  auto readsKey = [&](const ProductPart &product) {
    return wholeOf(DotOp(product.dot).getB()) == key.getResult();
  };
  return llvm::all_of(parts.tiles, [&](const QueryTileParts &tile) {
    return !tile.products.empty() && llvm::all_of(tile.products, readsKey);
  });
}

static LogicalResult verifyParts(gpu::GPUFuncOp func,
                                 const KernelParts &parts) {
  auto missing = [&](StringRef what) {
    return func.emitError() << "has no " << what
                            << ", which tile-specialise needs; run tile-place "
                               "on a kernel of convert-fmha-to-tile first";
  };
  if (!parts.loop)
    return missing("loop over KV blocks");
  if (parts.keys.empty())
    return missing("load of the key");
  if (parts.values.empty() && !isShared(parts))
    return missing("load of the value");
  for (const QueryTileParts &tile : parts.tiles)
    if (StringRef name = missingPart(tile); !name.empty())
      return missing(name);
  return verifyChains(func, parts);
}

/// Whether arithmetic on numbers makes `value`, of the loop's index and of what
/// is there before the loop: roles do it anew for each block.
static bool isNumberOfBlock(Value value, scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  return op &&
         (isa<ViewOp>(op) || isa<arith::ArithDialect>(op->getDialect())) &&
         llvm::all_of(op->getOperands(),
                      [&](Value v) { return isNumberOfBlock(v, loop); });
}

/// The key of a V message: that of the block, and for later chunks the keys
/// before them.
static Value withoutChunk(Value key, int64_t keysBefore) {
  auto sum = key.getDefiningOp<arith::AddIOp>();
  bool isLater =
      keysBefore && sum && isConstantIntValue(sum.getRhs(), keysBefore);
  return isLater ? sum.getLhs() : key;
}

/// Whether `op` takes a number that arithmetic does not make, as an operand or
/// in its region.
static bool hasOtherNumbers(Operation *op, scf::ForOp loop) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [&](Value value) {
    return !isa<TileType>(value.getType()) && !isNumberOfBlock(value, loop);
  });
}

/// Roles make the key that a block begins with anew, so all ops must mean the
/// same one.
static LogicalResult findFirstKey(KernelParts &parts) {
  Operation *other = nullptr;
  auto agree = [&](Operation *op, Value key) {
    if (!parts.firstKey)
      parts.firstKey = key;
    if (key != parts.firstKey || hasOtherNumbers(op, parts.loop))
      other = other ? other : op;
  };
  for (QueryTileParts &tile : parts.tiles) {
    agree(tile.mask, tile.mask.getCol());
    if (tile.modify)
      agree(tile.modify, tile.modify.getCol());
  }
  for (LoadOp key : parts.keys)
    agree(key, key.getRow());
  int64_t keys = 0;
  for (LoadOp value : parts.values) {
    agree(value, withoutChunk(value.getRow(), keys));
    keys += value.getType().getRows();
  }
  if (other)
    return other->emitError()
           << "expected one key that the KV block begins with, in every mask "
              "and load, made by arithmetic on the loop's index and values "
              "from "
              "outside of the loop; run tile-place on a kernel of "
              "convert-fmha-to-tile first";
  return success();
}

/// Places were made for so many slices of P.
static LogicalResult verifySlices(gpu::GPUFuncOp func, const KernelParts &parts,
                                  const fmha::schedule::Schedule &schedule) {
  for (const QueryTileParts &tile : parts.tiles)
    if (tile.slices.size() != schedule.pSlices)
      return func.emitError()
             << "expected p_slices = " << tile.slices.size()
             << ", the slices in which the kernel moves P, got "
             << schedule.pSlices
             << "; make the kernel anew by convert-fmha-to-tile";
  return success();
}

FailureOr<KernelParts>
fmha::tile::findParts(gpu::GPUFuncOp func,
                      const fmha::schedule::Schedule &schedule) {
  KernelParts parts;
  parts.tiles.resize(schedule.qTiles);
  func.walk([&](Operation *op) {
    std::optional<unsigned> tile = queryTileOf(op);
    if (tile && *tile < schedule.qTiles)
      addPart(parts.tiles[*tile], op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      parts.loop = loop;
    else if (auto load = dyn_cast<LoadOp>(op))
      addRingLoad(parts, load);
    else if (auto slice = dyn_cast<SliceOp>(op))
      parts.valueSlice = slice;
  });
  numberProducts(parts);
  if (failed(verifyParts(func, parts)) ||
      failed(verifySlices(func, parts, schedule)) ||
      failed(findFirstKey(parts)))
    return failure();
  return parts;
}

/// Uses before definitions.
void fmha::tile::eraseSequential(gpu::GPUFuncOp func) {
  Block &entry = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry)))
    if (isa<scf::ForOp>(op) ||
        (queryTileOf(&op) && isa<TileDialect>(op.getDialect())) ||
        isOpTriviallyDead(&op))
      op.erase();
}
