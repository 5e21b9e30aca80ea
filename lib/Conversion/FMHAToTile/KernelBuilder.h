//===- KernelBuilder.h - Builds the tiled kernel of an op -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/KernelAbi.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace fmha {

/// The rows of a tensor that one sequence has: those of a batch, `start` null,
/// or `length` rows from `start` on. All of type index.
struct Sequence {
  mlir::Value batch, start, length;
};

/// What one CTA knows of its place in the grid, all of type index.
struct Coordinates {
  /// The number of the sequence, which is that of its batch or of its entry.
  mlir::Value sequence;
  mlir::Value head, kvHead;
  /// Where rows are packed of several heads: `head` is the first of them,
  /// `member` its number in the group of `kvHead`, and `count` how many the
  /// group has from there on. Null otherwise.
  mlir::Value member, count;
  Sequence queries, keys;
  /// The batch of what is written: that of the queries, behind those of the
  /// parts before.
  mlir::Value outputBatch;
  /// First query row of each tile.
  llvm::SmallVector<mlir::Value> rows;
  /// The first key that some row of the CTA may see, down to a whole block;
  /// null for 0. And the KV blocks from there on that rows of it may see.
  mlir::Value firstKey, blocks;
  /// The key that query row 0 sits at: kv_len - q_len, or 0; null without a
  /// mask.
  mlir::Value offset;
  /// First column of V and O that the CTA computes; null if it computes all.
  mlir::Value column;
  /// The part of the KV blocks that the CTA goes through; null if it is all.
  mlir::Value split;
};

/// The keys of a second source, as a CTA sees them; blocks of it follow those
/// of the first one in the loop.
struct SecondKeys {
  Sequence keys;
  mlir::Value offset, firstKey, blocks;
};

/// Views of the chunks of the columns of K, and of V.
struct KeyViews {
  llvm::SmallVector<mlir::Value> keys;
  mlir::Value values;
};

/// Views of what the kernel writes, and of the sinks; null where it has none.
struct OutputViews {
  mlir::Value output, lse, rowMax, rowSum, sinks;
};

/// What one KV block has, in the loop over blocks.
struct KeyBlock {
  /// The keys of its source, of which it has those from `column` on.
  Sequence keys;
  mlir::Value column;
  /// Row r sees keys r + `lower` to r + `upper`; null where nothing bounds it.
  mlir::Value lower, upper;
  /// Whether it is of the second source; null if there is none.
  mlir::Value second;
  KeyViews views;
};

/// Messages of one KV block: chunks of the columns of K, of the keys of V.
struct BlockTiles {
  llvm::SmallVector<mlir::Value> keys, values;
};

/// Running maximum, running sum and output accumulator of one query tile.
struct State {
  mlir::Value max, sum, acc;

  llvm::SmallVector<mlir::Value> values() const { return {max, sum, acc}; }
};

/// P of one block and one query tile in 16 bits, in slices of keys, and the
/// running sum with it.
struct Exponentials {
  llvm::SmallVector<mlir::Value> slices;
  mlir::Value sum;
};

/// Builds the kernel of one attention op.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp op, mlir::gpu::GPUFuncOp func)
      : op(op), plan(op.getScheduleAttr().getValue()),
        problem(schedule::kernelProblem(op.getProblem(), plan)), func(func),
        b(mlir::ImplicitLocOpBuilder::atBlockEnd(op.getLoc(),
                                                 &func.getBody().front())) {}
  void build();

private:
  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  mlir::Value extent(unsigned argument, int64_t dimension) {
    return mlir::memref::DimOp::create(b, func.getArgument(argument),
                                       dimension);
  }
  /// The operand of that name; null if the kernel has none.
  mlir::Value operand(const std::string &name) {
    auto n = parameterIndex(kernelOperands(problem), name);
    return n ? mlir::Value(func.getArgument(*n)) : mlir::Value();
  }
  template <typename OpTy> mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  /// Log2 of the factor that P has, and the accumulator with it.
  mlir::IntegerAttr offsetAttr() { return b.getI32IntegerAttr(plan.pOffset); }
  bool isPacked() { return plan.packHeads > 1; }
  /// Query rows that a query tile has, of each of its heads.
  int64_t rowsOfTile() { return plan.qTileRows / plan.packHeads; }
  tile::TileType tileType(int64_t columns, mlir::Type element) {
    return tile::TileType::get(b.getContext(), {plan.qTileRows, columns},
                               element, mlir::Attribute());
  }
  /// Columns of the query and key tiles, and of those of value and output.
  int64_t keyColumns() { return schedule::paddedColumns(op.getHeadDim()); }
  int64_t outputColumns() {
    return schedule::outputColumns(op.getProblem(), plan);
  }
  tile::ViewOp view(mlir::Value source, const tile::ViewPlace &place,
                    uint32_t heads = 1) {
    return tile::ViewOp::create(b, source, place, heads);
  }
  mlir::Value slice(mlir::Value tile, int64_t first, int64_t count) {
    auto type = llvm::cast<tile::TileType>(tile.getType());
    if (count == type.getColumns())
      return tile;
    return tile::SliceOp::create(b, type.columns(first, count), tile, first);
  }
  tile::TileType rowType() {
    return tile::TileType::get(b.getContext(), {plan.qTileRows}, b.getF32Type(),
                               mlir::Attribute());
  }
  /// Names the region of the memory map in which the result of `made` lies or
  /// is handed over, and the one for rows that reach it from another role.
  template <typename OpTy>
  OpTy inRegion(OpTy made, const llvm::Twine &name, int64_t column = 0,
                const llvm::Twine &rows = "") {
    made->setAttr(
        "tile.region",
        tile::RegionAttr::get(b.getContext(), name.str(), column, rows.str()));
    return made;
  }

  /// Whether code of the op's own makes scores of products, and scales them.
  bool hasScoreCode() { return op.getScore() != nullptr; }
  /// |scale|·log2 e as the kernel knows it: in f32, where a subnormal counts as
  /// 0. 0 stands for scores that are all equal.
  float log2Scale() {
    if (hasScoreCode())
      return llvm::numbers::log2e;
    float scale = std::abs(op.getScaleOrDefault()) * llvm::numbers::log2e;
    return scale < std::numeric_limits<float>::min() ? 0.0f : scale;
  }
  /// Scores that have been multiplied by 0 need no further scale.
  mlir::FloatAttr softmaxScale() {
    float scale = log2Scale();
    return b.getF32FloatAttr(scale == 0 ? 1.0f : scale);
  }

  mlir::Value buildEntry(mlir::Value list, mlir::Value number);
  mlir::Value clamp(mlir::Value number, mlir::Value least, mlir::Value most);
  Sequence buildSequence(mlir::Value extent, mlir::Value batch,
                         mlir::Value starts, mlir::Value lengths);
  Coordinates buildCoordinates();
  mlir::Value buildRowBlock(mlir::Value id, mlir::Value rowBlocks);
  mlir::Value buildOffset(const Coordinates &at, const schedule::Mask &mask);
  mlir::Value buildFirstKey(const Coordinates &at);
  mlir::Value buildBlockCount(const Coordinates &at,
                              const schedule::Mask &mask);
  void buildSecond(const Coordinates &at);
  KeyBlock buildKeyBlock(const Coordinates &at, mlir::Value block);
  tile::ViewPlace placeOfQueries(const Coordinates &at);
  KeyViews viewKeys(const Coordinates &at, const Sequence &keys,
                    mlir::Value isSecond);
  mlir::Value select(mlir::Value second, mlir::Value of2, mlir::Value of1);
  llvm::SmallVector<mlir::Value> buildInitialState();
  llvm::SmallVector<mlir::Value>
  ifActive(unsigned tile, mlir::ValueRange otherwise,
           llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);
  void buildBlock(const Coordinates &at, llvm::ArrayRef<mlir::Value> queries,
                  mlir::Value block, llvm::SmallVectorImpl<State> &states);
  BlockTiles loadBlock(const KeyBlock &keys);
  mlir::Value buildScores(unsigned tile, mlir::Value query,
                          llvm::ArrayRef<mlir::Value> keys);
  Exponentials buildExponentials(unsigned tile, mlir::Value s,
                                 tile::RowMaxOp max, mlir::Value oldSum);
  mlir::Value buildProduct(llvm::ArrayRef<mlir::Value> slices,
                           llvm::ArrayRef<mlir::Value> values, mlir::Value acc);
  mlir::Value buildScoreCode(const Coordinates &at, unsigned tile,
                             mlir::Value s, const KeyBlock &keys);
  State buildStep(const Coordinates &at, unsigned tile, mlir::Value query,
                  const BlockTiles &block, const KeyBlock &keys, State state);
  void buildPass(Coordinates &at, mlir::Value &id);
  mlir::Value buildHeads(Coordinates &at, mlir::Value id, mlir::Value heads,
                         mlir::Value kvHeads);
  void buildSplit(Coordinates &at, mlir::Value &id);
  void takePart(Coordinates &at);
  mlir::Value buildOutputBatch(const Coordinates &at);
  void buildOutput(mlir::Value view, mlir::Value row, unsigned tile,
                   mlir::Value acc, mlir::Value sum);
  OutputViews viewOutputs(const Coordinates &at);
  void buildRowOutputs(const OutputViews &views, mlir::Value row,
                       const State &state, mlir::Value sink);
  void buildEpilogue(const Coordinates &at, mlir::ValueRange results);
  void buildTileEpilogue(const OutputViews &views, mlir::Value row,
                         unsigned tile, const State &state);

  AttentionOp op;
  const schedule::Schedule &plan;
  /// What the kernel computes: of a split, parts.
  schedule::Problem problem;
  mlir::gpu::GPUFuncOp func;
  mlir::ImplicitLocOpBuilder b;
  std::optional<SecondKeys> second;
  /// Views that are made before the loop; of the keys, where there is one
  /// source of them.
  mlir::Value queryView;
  KeyViews keyViews;
  /// Whether the CTA has rows for each query tile; null where its work is done
  /// in any case.
  llvm::SmallVector<mlir::Value> active;
  /// First columns of the chunks of K, made before the loop; null for 0.
  llvm::SmallVector<mlir::Value> chunkColumns;
};

enum Argument : unsigned { Query = 0, Key = 1, Values = 2, Output = 3 };

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBUILDER_H
