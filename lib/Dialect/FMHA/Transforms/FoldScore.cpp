//===- FoldScore.cpp - Fold producers of captured tensors -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor that elementwise code computes only for the score region need not
// exist: the region can compute its elements from the inputs of that code.
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/IR/ScoreCost.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fmha;

namespace {

/// An operand of elementwise code: a tensor, and the loop that indexes each of
/// its dimensions, or none for an index that is always 0.
struct TensorInput {
  Value tensor;
  SmallVector<std::optional<unsigned>> loops;
};

/// Code that computes one element of a tensor from elements of others.
struct ElementCode {
  /// The loop that indexes each dimension of the result.
  SmallVector<unsigned> loops;
  SmallVector<int64_t> extents;
  SmallVector<TensorInput> inputs;
  /// The op itself if it is elementwise, or a structured one with a body.
  Operation *op = nullptr;
  /// The values of `op` or its body that correspond to the inputs, in order.
  SmallVector<Value> elements;
  /// Those that correspond to constants.
  SmallVector<std::pair<Value, TypedAttr>> constants;

  bool hasBody() const { return isa<linalg::LinalgOp>(op); }
};

} // namespace

/// Returns the scalar that a constant or filled tensor repeats, or null.
static TypedAttr scalarOf(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return scalarOf(splat.getInput());
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return scalarOf(fill.value());
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  if (auto elements = dyn_cast<SplatElementsAttr>(constant))
    constant = elements.getSplatValue<Attribute>();
  return isa<ElementsAttr>(constant) ? TypedAttr()
                                     : dyn_cast<TypedAttr>(constant);
}

/// Adds `operand` to the inputs or constants of `code`, as `element`. Returns
/// false if it is neither a tensor that a region may read nor a constant.
static bool addOperand(ElementCode &code, Value operand, Value element,
                       SmallVector<std::optional<unsigned>> loops) {
  if (TypedAttr constant = scalarOf(operand)) {
    code.constants.push_back({element, constant});
    return true;
  }
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type || !isScoreCapture(type))
    return false;
  code.inputs.push_back({operand, std::move(loops)});
  code.elements.push_back(element);
  return true;
}

/// Returns the loops of a map of dimensions and zeros, or nothing.
static std::optional<SmallVector<std::optional<unsigned>>>
loopsOf(AffineMap map) {
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  SmallVector<std::optional<unsigned>> loops;
  for (AffineExpr result : map.getResults()) {
    auto dimension = dyn_cast<AffineDimExpr>(result);
    loops.push_back(dimension ? std::optional(dimension.getPosition())
                              : std::nullopt);
  }
  return loops;
}

static std::optional<ElementCode> readStructured(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  OpOperand *init = op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(init);
  if (!map.isPermutation() || op.payloadUsesValueFromOperand(init))
    return std::nullopt;
  ElementCode code;
  code.op = op;
  code.extents =
      llvm::to_vector(cast<ShapedType>(init->get().getType()).getShape());
  for (AffineExpr result : map.getResults())
    code.loops.push_back(cast<AffineDimExpr>(result).getPosition());
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!op.payloadUsesValueFromOperand(input))
      continue;
    auto loops = loopsOf(op.getMatchingIndexingMap(input));
    if (!loops || !addOperand(code, input->get(),
                              op.getMatchingBlockArgument(input), *loops))
      return std::nullopt;
  }
  return code;
}

static std::optional<ElementCode> readElementwise(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || op->getNumResults() != 1 || op->getNumRegions())
    return std::nullopt;
  ElementCode code;
  code.op = op;
  code.extents = llvm::to_vector(type.getShape());
  code.loops = llvm::to_vector(llvm::seq<unsigned>(type.getRank()));
  SmallVector<std::optional<unsigned>> loops(code.loops.begin(),
                                             code.loops.end());
  for (Value operand : op->getOperands())
    if (!addOperand(code, operand, operand, loops))
      return std::nullopt;
  return code;
}

static std::optional<ElementCode> readCode(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return readStructured(structured);
  if (OpTrait::hasElementwiseMappableTraits(op))
    return readElementwise(op);
  return std::nullopt;
}

/// Returns whether `op` costs only a few instructions per score.
static bool isCheap(Operation *op) {
  return mayStandInScore(op) && !isDivision(op) && !isWide(op) &&
         !isa<math::MathDialect>(op->getDialect());
}

/// Returns whether `op` of `body` uses only values of the body and constants.
static bool isClosed(Operation &op, Block *body) {
  return llvm::all_of(op.getOperands(), [&](Value operand) {
    return operand.getParentBlock() == body ||
           matchPattern(operand, m_Constant());
  });
}

/// Returns whether the score region may contain the code. It must be cheap, and
/// indices must be of static extents, to which the region clamps them.
static bool mayMove(const ElementCode &code) {
  if (!code.hasBody())
    return !isa<math::MathDialect>(code.op->getDialect()) &&
           isa<arith::ArithDialect>(code.op->getDialect()) &&
           !isDivision(code.op) && !isWide(code.op);
  Block *body = cast<linalg::LinalgOp>(code.op).getBlock();
  return isClosed(body->back(), body) &&
         llvm::all_of(body->without_terminator(), [&](Operation &inner) {
           if (!isClosed(inner, body))
             return false;
           auto index = dyn_cast<linalg::IndexOp>(inner);
           if (!index)
             return isCheap(&inner);
           unsigned dimension = std::distance(
               code.loops.begin(), llvm::find(code.loops, index.getDim()));
           return !ShapedType::isDynamic(code.extents[dimension]);
         });
}

/// Returns the bits of an element in memory; an i1 is stored as a byte.
static unsigned bitsOf(Value tensor) {
  return std::max(8u, getElementTypeOrSelf(tensor).getIntOrFloatBitWidth());
}

/// Returns whether the region would read no more bits per key than `read` does.
/// Elements that do not depend on the key are read once for many keys.
static bool readsNoMore(AttentionOp op, ReadOp read, const ElementCode &code) {
  DenseSet<Value> varying = valuesByKey(*op.getScore());
  unsigned before = 0, after = 0;
  SmallVector<bool> loopVaries(code.loops.size());
  for (auto [index, loop] : llvm::zip_equal(read.getIndices(), code.loops)) {
    loopVaries[loop] = varying.contains(index);
    if (loopVaries[loop])
      before = bitsOf(read.getSource());
  }
  for (const TensorInput &input : code.inputs)
    if (llvm::any_of(input.loops, [&](std::optional<unsigned> loop) {
          return loop && loopVaries[*loop];
        }))
      after += bitsOf(input.tensor);
  return after <= before;
}

namespace {
/// %bias = linalg.generic ins(%mask : tensor<?x?xi8>) { select(m, 0, -inf) }
/// fmha.attention ... score(...) { %e = fmha.read %bias[%i, %j] ... }
/// ->
/// fmha.attention ... score(...) {
///   %m = fmha.read %mask[%i, %j]
///   %e = select(%m, 0, -inf) ... }
///
/// if %bias has no other users and the region reads no more bits per key.
struct FoldScoreInput : OpRewritePattern<ReadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReadOp read,
                                PatternRewriter &rewriter) const override {
    auto op = dyn_cast<AttentionOp>(read->getParentOp());
    Value source = read.getSource();
    Operation *producer = source.getDefiningOp();
    if (!op || !producer || !isa<RankedTensorType>(source.getType()) ||
        !source.hasOneUse())
      return rewriter.notifyMatchFailure(read, "others need the source");
    std::optional<ElementCode> code = readCode(producer);
    if (!code || !mayMove(*code) || !readsNoMore(op, read, *code) ||
        op.getCaptures().size() + code->inputs.size() > maxScoreCaptures + 1)
      return rewriter.notifyMatchFailure(read, "the source stays as it is");
    rewriter.replaceOp(read, moveCode(rewriter, read, *code));
    rewriter.eraseOp(producer);
    return success();
  }

private:
  /// Returns the element that `read` reads, computed before it.
  static Value moveCode(PatternRewriter &rewriter, ReadOp read,
                        const ElementCode &code) {
    Location location = read.getLoc();
    SmallVector<Value> indices(code.loops.size());
    for (auto [index, loop] : llvm::zip_equal(read.getIndices(), code.loops))
      indices[loop] = index;
    IRMapping mapping;
    for (const auto &[element, constant] : code.constants)
      mapping.map(element,
                  arith::ConstantOp::create(rewriter, location, constant));
    for (auto [input, element] : llvm::zip_equal(code.inputs, code.elements))
      mapping.map(element, readInput(rewriter, location, input, indices));
    if (!code.hasBody())
      return cloneScalar(rewriter, code.op, mapping);
    Block *body = cast<linalg::LinalgOp>(code.op).getBlock();
    for (Operation &inner : body->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(),
                    limited(rewriter, location, code, index, indices));
      else
        rewriter.clone(inner, mapping);
    }
    return mapping.lookupOrDefault(body->getTerminator()->getOperand(0));
  }

  static Value readInput(PatternRewriter &rewriter, Location location,
                         const TensorInput &input, ArrayRef<Value> indices) {
    SmallVector<Value> places;
    for (std::optional<unsigned> loop : input.loops)
      places.push_back(
          loop ? indices[*loop]
               : arith::ConstantIndexOp::create(rewriter, location, 0));
    return ReadOp::create(rewriter, location,
                          getElementTypeOrSelf(input.tensor), input.tensor,
                          places);
  }

  /// Clones an elementwise op on tensors as one on their elements.
  static Value cloneScalar(PatternRewriter &rewriter, Operation *op,
                           IRMapping &mapping) {
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands())
      state.addOperands(mapping.lookup(operand));
    state.addTypes(getElementTypeOrSelf(op->getResult(0)));
    state.addAttributes(op->getAttrs());
    return rewriter.create(state)->getResult(0);
  }

  /// Returns `index` clamped to the last element, as fmha.read does.
  static Value limited(PatternRewriter &rewriter, Location location,
                       const ElementCode &code, linalg::IndexOp index,
                       ArrayRef<Value> indices) {
    unsigned dimension = std::distance(code.loops.begin(),
                                       llvm::find(code.loops, index.getDim()));
    Value last = arith::ConstantIndexOp::create(rewriter, location,
                                                code.extents[dimension] - 1);
    return arith::MinUIOp::create(rewriter, location, indices[index.getDim()],
                                  last);
  }
};
} // namespace

void fmha::populateFoldScorePatterns(RewritePatternSet &patterns) {
  patterns.add<FoldScoreInput>(patterns.getContext());
}
