//===- Decomposition.h - The steps of the definition ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the definition, one linalg.generic each. Index letters: b batch,
// h query head, m query row, n key, d head dim; a tensor of scores is
// [b, h, m, n], a statistic of rows is [b, h, m], both f32.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_DECOMPOSITION_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_DECOMPOSITION_H

#include "LinalgSteps.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace fmha {

/// The keys that a query row may attend to in sequences of different lengths:
/// keys [first, end) of a batch of K, the key position of the row, and its
/// position in the queries. A row outside all sequences sees none.
struct RowKeys {
  mlir::Value exists, batch, first, end, place;
  /// The index of the sequence, that of the row in it, and its number of rows.
  mlir::Value sequence, row, queries;

  /// Converts all but `exists` to a list and back.
  llvm::SmallVector<mlir::Value> numbers() const {
    return {batch, first, end, place, sequence, row, queries};
  }
  static RowKeys of(mlir::ValueRange n) {
    return {{}, n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
  }
};

/// Keys and values under the softmax, and the operands that select valid ones;
/// null if the op has none.
struct KeySource {
  mlir::Value key, value, lengths, starts;
  schedule::Mask mask;
  mlir::OpFoldResult length;
  int64_t number = 0;
  /// With `blocks` how often each block is listed; null without. `isFull` says
  /// whether the lists are those of full blocks.
  mlir::Value timesListed;
  bool isFull = false;
};

/// The maximum of each row, [b, h, m], the exponentials of the differences to
/// it, [b, h, m, n] for each segment, and their sum.
struct Statistics {
  mlir::Value maxima;
  llvm::SmallVector<mlir::Value, 2> weights;
  mlir::Value sums;
};

/// The op while it is decomposed, and builders of its steps.
class DecompositionSteps {
protected:
  DecompositionSteps(mlir::RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), location(op.getLoc()) {}
  mlir::Value index(mlir::OpBuilder &builder, unsigned loop) {
    return mlir::linalg::IndexOp::create(builder, location, loop);
  }
  mlir::Value constant(double value) {
    return mlir::arith::ConstantOp::create(rewriter, location,
                                           rewriter.getF32FloatAttr(value));
  }
  mlir::Value size(mlir::Value tensor, unsigned dimension) {
    return mlir::tensor::DimOp::create(rewriter, location, tensor, dimension);
  }
  mlir::Value filled(mlir::Value element,
                     llvm::ArrayRef<mlir::OpFoldResult> sizes) {
    return filledTensor(rewriter, location, element, sizes);
  }
  mlir::Value generic(unsigned parallelLoops, unsigned reductionLoops,
                      llvm::ArrayRef<Access> inputs, const Access &destination,
                      Body body) {
    return genericOver(rewriter, location, parallelLoops, reductionLoops,
                       inputs, destination, body);
  }

  /// Returns an element in f32.
  static mlir::Value extend(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value element);
  /// Returns the element of `source` at `indices`, clamped to the last ones.
  static mlir::Value clampedElement(mlir::OpBuilder &builder,
                                    mlir::Location location, mlir::Value source,
                                    mlir::ValueRange indices);
  /// Returns `value` times entry `place` of a tensor of scales.
  static mlir::Value scaled(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value value, mlir::Value scales,
                            mlir::Value place);

  mlir::Value asTensor(mlir::Value operand) {
    return tensorOf(rewriter, location, operand);
  }

  mlir::RewriterBase &rewriter;
  AttentionOp op;
  mlir::Location location;
  mlir::Value query;
  /// One or two segments, with `blocks` those of sourcesOfBlocks(); `source` is
  /// the one of the current steps on keys.
  llvm::SmallVector<KeySource, 2> sources;
  KeySource source;
  /// Null without packed queries; the last is, for each packed query row, the
  /// index of its sequence, or the number of sequences.
  mlir::Value startsQ, sequences;
  mlir::Value sink;
  /// Scales of numbers of 8 bits; null without them.
  mlir::Value keyScale, valueScale, queryScale;
  /// The tensors of the captures.
  llvm::DenseMap<mlir::Value, mlir::Value> captures;
  bool isVarlen = false;
  /// The lists of keys of the queries, and their lengths, [b, m]; null without.
  mlir::Value topk, listLength;
  mlir::Value zero, minusInfinity;
  mlir::OpFoldResult batch, queryHeads, queryLength;
};

/// Lists of the blocks of keys that each block of rows sees.
class BlockSteps : protected DecompositionSteps {
protected:
  using DecompositionSteps::DecompositionSteps;
  llvm::SmallVector<KeySource, 2> sourcesOfBlocks(KeySource all);
  mlir::Value timesListed(mlir::OpBuilder &builder, mlir::Location location,
                          mlir::Value key);

private:
  mlir::Value timesInLists(mlir::Value keys, mlir::Value counts,
                           mlir::Value lists);
};

/// Rows and keys where sequences have lengths of their own.
class SequenceSteps : protected BlockSteps {
protected:
  using BlockSteps::BlockSteps;
  mlir::Value rowShift();
  mlir::Value sequenceOfRows();
  RowKeys keysOfRow(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value batch, mlir::Value row);
  RowKeys keysOfSequence(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value sequence, mlir::Value row);
  mlir::Value elementOf(mlir::OpBuilder &builder, mlir::Location location,
                        const RowKeys &row, mlir::Value tensor,
                        llvm::ArrayRef<mlir::Value> indices);
  mlir::Value isVisible(mlir::OpBuilder &builder, mlir::Location location,
                        RowKeys keys, mlir::Value key);
  mlir::Value kept(mlir::OpBuilder &builder, mlir::Location location,
                   mlir::Value row, mlir::Value result, mlir::Value old);

private:
  mlir::Value entry(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value list, mlir::Value number);
};

/// Keys that a list of each query names.
class ListSteps : protected SequenceSteps {
protected:
  using SequenceSteps::SequenceSteps;
  mlir::Value listLengths();
  mlir::Value
  ifListed(mlir::OpBuilder &builder, mlir::Location location, mlir::Value entry,
           mlir::Value number, mlir::Value count, mlir::Value otherwise,
           llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                          mlir::Value position)>
               then);
  mlir::Value listedElement(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value rows, unsigned number, unsigned column,
                            mlir::Value entry, mlir::Value count);
};

/// Scores of queries and keys, scaled, modified and masked.
class ScoreSteps : protected ListSteps {
protected:
  using ListSteps::ListSteps;
  mlir::Value repeatHeads(mlir::Value keysOrValues, mlir::Value scale);
  mlir::Value scores(mlir::Value keys);
  mlir::Value scaleAndMask(mlir::Value scores);

private:
  mlir::Value scoresOfSequences(mlir::Value keys, mlir::Value init);
  mlir::Value scoresOfLists(mlir::Value keys);
  mlir::Value scaleListed(mlir::Value scores, mlir::Value scale);
  mlir::Value masked(mlir::OpBuilder &builder, mlir::Location location,
                     mlir::Value score, mlir::Value shift);
  mlir::Value modifiedAt(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value score, llvm::ArrayRef<mlir::Value> place);
  mlir::Value scoreOfSequences(mlir::OpBuilder &builder,
                               mlir::Location location, mlir::Value scaled);
  mlir::Value modified(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::Value score);
};

/// Maxima, exponentials and sums of rows.
class SoftmaxSteps : protected ScoreSteps {
protected:
  using ScoreSteps::ScoreSteps;
  Statistics statistics(llvm::ArrayRef<mlir::Value> scores, bool withSink);
  mlir::Value rows();
  mlir::Value difference(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value value, mlir::Value max);

private:
  mlir::Value rowMaxima(mlir::Value scores, mlir::Value init);
  mlir::Value exponentials(mlir::Value scores, mlir::Value maxima);
  mlir::Value rowSums(mlir::Value weights, mlir::Value init);
  mlir::Value leastMaxima();
  mlir::Value leastSums(mlir::Value maxima);
};

/// Builds the steps in front of the op and replaces it by them.
class Decomposition : SoftmaxSteps {
public:
  Decomposition(mlir::RewriterBase &rewriter, AttentionOp op);
  void run();

private:
  mlir::Value gatherPages(mlir::Value cache, mlir::Value tables,
                          mlir::Value lens, mlir::Value scale);
  void addSource(mlir::Value key, mlir::Value value, mlir::Value lengths,
                 mlir::Value starts, const schedule::Mask &mask);
  mlir::Value weightedSums(mlir::Value weights, mlir::Value values,
                           mlir::Value init);
  mlir::Value weightedSumsOfSequences(mlir::Value weights, mlir::Value values,
                                      mlir::Value init);
  mlir::Value weightedSumsOfLists(mlir::Value weights, mlir::Value values,
                                  mlir::Value init);
  mlir::Value output(mlir::Value weighted, mlir::Value sums);
  mlir::Value logSumExp(mlir::Value maxima, mlir::Value sums);
  mlir::Value keptRows(mlir::Value rows, mlir::Value destination);
  void replace(mlir::ValueRange results);
};

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_DECOMPOSITION_H
