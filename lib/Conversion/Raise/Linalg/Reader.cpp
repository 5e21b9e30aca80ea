//===- Reader.cpp - Read ops on tensors as scalar code --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Reader.h"

#include "fmha/Dialect/FMHA/IR/ScoreCost.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// The deepest nesting of tensors and code that is read.
static constexpr unsigned maxNesting = 1000;
/// The most ops that replace a tensor which needs no reduction.
static constexpr size_t maxInlined = 32;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::optional<Index> Reader::indexOf(AffineExpr expression,
                                     const Iteration &at) {
  if (auto loop = dyn_cast<AffineDimExpr>(expression))
    return at.loops[loop.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue() == 0 ? std::optional(Index()) : std::nullopt;
  // d floordiv c and d mod c, if c divides the extent.
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary || (binary.getKind() != AffineExprKind::FloorDiv &&
                  binary.getKind() != AffineExprKind::Mod))
    return std::nullopt;
  auto loop = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!loop || !divisor || divisor.getValue() < 1 ||
      !at.loops[loop.getPosition()])
    return std::nullopt;
  const Index &index = *at.loops[loop.getPosition()];
  int64_t extent = digits.extent(index), fast = divisor.getValue();
  if (ShapedType::isDynamic(extent) || extent % fast)
    return std::nullopt;
  std::optional<Place> parts = digits.divide(index, {extent / fast, fast});
  if (!parts)
    return std::nullopt;
  return (*parts)[binary.getKind() == AffineExprKind::Mod];
}

std::optional<Place> Reader::placeOf(AffineMap map, const Iteration &at) {
  Place place;
  for (AffineExpr expression : map.getResults()) {
    std::optional<Index> index = indexOf(expression, at);
    if (!index)
      return std::nullopt;
    place.push_back(*index);
  }
  return place;
}

std::optional<Iteration>
Reader::iterationOf(linalg::LinalgOp op, OpResult result, const Place &place) {
  if (!op.hasPureTensorSemantics())
    return std::nullopt;
  Iteration at;
  at.op = op;
  for (int64_t range : op.getStaticLoopRanges())
    at.loops.push_back(range == 1 ? std::optional(Index()) : std::nullopt);
  AffineMap map = op.getIndexingMapMatchingResult(result);
  for (auto [expression, index] : llvm::zip_equal(map.getResults(), place)) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    if (constant && constant.getValue() == 0 && index.empty())
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop)
      return std::nullopt;
    std::optional<Index> &known = at.loops[loop.getPosition()];
    if (known && *known != index)
      return std::nullopt;
    known = index;
  }
  return at;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Returns the attribute of a scalar constant, or null.
static TypedAttr constantOf(Value value) {
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)) &&
      isa<FloatAttr, IntegerAttr>(constant))
    return constant;
  return {};
}

/// Returns the number that all elements of a constant share, or null.
static TypedAttr splatOf(Value value) {
  SplatElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) ||
      !isa<FloatType, IntegerType, IndexType>(elements.getElementType()))
    return {};
  return elements.getSplatValue<TypedAttr>();
}

/// Returns whether `op` computes one scalar or tensor from others, elementwise.
static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op) &&
         isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect());
}

Code *Reader::scalar(Value value) {
  if (!value.getType().isIntOrIndexOrFloat())
    return nullptr;
  if (TypedAttr constant = constantOf(value))
    return graph.constant(constant);
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op))
    if (TypedAttr constant = splatOf(extract.getTensor()))
      return graph.constant(constant);
  if (!op || !isElementwise(op) || nesting > maxNesting)
    return graph.scalar(value);
  ++nesting;
  SmallVector<Code *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalar(operand));
  --nesting;
  Code *code = graph.apply(op, operands);
  // The program computes scalars that are not numbers, once.
  return code && code->number ? code : graph.scalar(value);
}

Code *Reader::elementOf(OpOperand &operand, const Iteration &at) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return scalar(operand.get());
  linalg::LinalgOp op = at.op;
  std::optional<Place> place = placeOf(op.getMatchingIndexingMap(&operand), at);
  return place ? graph.load(operand.get(), *place) : nullptr;
}

Code *Reader::bodyCode(const Iteration &at, Value wanted, Value accumulator) {
  linalg::LinalgOp op = at.op;
  Block *body = op.getBlock();
  DenseMap<Value, Code *> known;
  auto codeOf = [&](Value value) -> Code * {
    if (value == accumulator)
      return nullptr;
    if (auto place = known.find(value); place != known.end())
      return place->second;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == body)
      return known[value] = elementOf(*op.getMatchingOpOperand(argument), at);
    return value.getParentBlock() == body ? nullptr : scalar(value);
  };
  for (Operation &inner : body->without_terminator()) {
    if (inner.getNumResults() != 1)
      continue;
    Value result = inner.getResult(0);
    if (TypedAttr constant = constantOf(result)) {
      known[result] = graph.constant(constant);
    } else if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      const std::optional<Index> &loop = at.loops[index.getDim()];
      known[result] = loop ? graph.position(op->getContext(), *loop) : nullptr;
    } else if (isElementwise(&inner)) {
      SmallVector<Code *> operands = llvm::map_to_vector(
          inner.getOperands(), [&](Value value) { return codeOf(value); });
      known[result] = graph.apply(&inner, operands);
    }
  }
  return codeOf(wanted);
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

Code *Reader::stepStructured(linalg::LinalgOp op, OpResult result,
                             const Place &place) {
  if (op.getNumReductionLoops())
    return nullptr;
  std::optional<Iteration> at = iterationOf(op, result, place);
  if (!at || llvm::is_contained(at->loops, std::nullopt))
    return nullptr;
  Value yielded =
      op.getBlock()->getTerminator()->getOperand(result.getResultNumber());
  return bodyCode(*at, yielded, /*accumulator=*/Value());
}

Code *Reader::stepElementwise(Operation *op, const Place &place) {
  SmallVector<Code *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<RankedTensorType>(operand.getType())
                           ? graph.load(operand, place)
                           : scalar(operand));
  return graph.apply(op, operands);
}

/// Returns the index of the dimension that the indices `parts` of dimensions
/// with `extents` are collapsed to, or nothing if one of them does not run over
/// its dimension.
static std::optional<Index> collapsed(const Digits &digits,
                                      ArrayRef<Index> parts,
                                      ArrayRef<int64_t> extents) {
  Index index = parts.front();
  for (auto [part, extent] :
       llvm::zip_equal(parts.drop_front(), extents.drop_front())) {
    int64_t own = digits.extent(part);
    bool isUnknown =
        ShapedType::isDynamic(own) || ShapedType::isDynamic(extent);
    if (isUnknown ? part.empty() : own != extent)
      return std::nullopt;
    index.append(part.begin(), part.end());
  }
  return index;
}

Code *Reader::stepReshape(Operation *op, const Place &place) {
  Value source = op->getOperand(0);
  Place sourcePlace;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    for (auto [group, index] :
         llvm::zip(collapse.getReassociationIndices(), place)) {
      std::optional<Place> parts =
          digits.divide(index, shape.slice(group.front(), group.size()));
      if (!parts)
        return nullptr;
      sourcePlace.append(*parts);
    }
    // Without groups all dimensions have extent 1.
    sourcePlace.resize(shape.size());
    return graph.load(source, sourcePlace);
  }
  auto expand = cast<tensor::ExpandShapeOp>(op);
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  for (const ReassociationIndices &group : expand.getReassociationIndices()) {
    std::optional<Index> index =
        collapsed(digits, ArrayRef(place).slice(group.front(), group.size()),
                  shape.slice(group.front(), group.size()));
    if (!index)
      return nullptr;
    sourcePlace.push_back(*index);
  }
  return graph.load(source, sourcePlace);
}

Code *Reader::stepOf(Code *load) {
  Operation *op = load->value.getDefiningOp();
  if (!op)
    return nullptr;
  if (TypedAttr constant = splatOf(load->value))
    return graph.constant(constant);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return scalar(splat.getInput());
  auto elements = dyn_cast<tensor::FromElementsOp>(op);
  if (elements && elements.getElements().size() == 1)
    return scalar(elements.getElements().front());
  auto conversion = dyn_cast<tensor::CastOp>(op);
  if (conversion && isa<RankedTensorType>(conversion.getSource().getType()))
    return graph.load(conversion.getSource(), load->place);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return stepReshape(op, load->place);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return stepStructured(structured, cast<OpResult>(load->value), load->place);
  return isElementwise(op) ? stepElementwise(op, load->place) : nullptr;
}

Code *Reader::step(Code *load) {
  Code *code = stepOf(load);
  if (code)
    ops.insert(load->value.getDefiningOp());
  return code;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Returns which operand of a comparison is the larger one if it holds, or
/// nothing.
static std::optional<unsigned> largerOperand(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
    return 0;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    return 1;
  default:
    return std::nullopt;
  }
}

/// Returns whether `op` selects the larger one of two floats.
static bool isMaxBySelect(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  if (!compare)
    return false;
  std::optional<unsigned> larger = largerOperand(compare.getPredicate());
  return larger && select.getTrueValue() == compare->getOperand(*larger) &&
         select.getFalseValue() == compare->getOperand(1 - *larger);
}

static Reduction::Kind kindOf(Operation *combiner) {
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    return Reduction::Sum;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner) ||
      isMaxBySelect(combiner))
    return Reduction::Max;
  return Reduction::Other;
}

namespace {
/// The op that combines the accumulator with an element, in the body of a
/// structured op.
struct Combiner {
  Operation *op = nullptr;
  Value accumulator, item;
};
} // namespace

static std::optional<Combiner> combinerOf(linalg::LinalgOp op,
                                          unsigned result) {
  Block *body = op.getBlock();
  Combiner found;
  found.op = body->getTerminator()->getOperand(result).getDefiningOp();
  if (!found.op || found.op->getBlock() != body)
    return std::nullopt;
  found.accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  // The first operand of a select is its condition.
  for (Value operand : found.op->getOperands().take_back(2))
    if (operand != found.accumulator)
      found.item = operand;
  bool usesBoth = llvm::is_contained(found.op->getOperands().take_back(2),
                                     found.accumulator) &&
                  found.item;
  return usesBoth ? std::optional(found) : std::nullopt;
}

std::optional<Reduction> Reader::reduction(Code *load,
                                           ArrayRef<Index> reduced) {
  auto op = load->is(Code::Load) ? load->value.getDefiningOp<linalg::LinalgOp>()
                                 : linalg::LinalgOp();
  if (!op || op.getNumReductionLoops() != reduced.size())
    return std::nullopt;
  auto result = cast<OpResult>(load->value);
  std::optional<Iteration> at = iterationOf(op, result, load->place);
  std::optional<Combiner> combiner = combinerOf(op, result.getResultNumber());
  if (!at || !combiner)
    return std::nullopt;
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  for (auto [dim, index] : llvm::zip_equal(dims, reduced))
    at->loops[dim] = index;
  if (llvm::is_contained(at->loops, std::nullopt))
    return std::nullopt;
  Reduction found;
  found.kind = kindOf(combiner->op);
  found.combiner = combiner->op;
  found.item = bodyCode(*at, combiner->item, combiner->accumulator);
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  Code *initial = elementOf(*init, *at);
  found.init = initial ? expand(initial) : nullptr;
  ops.insert(op);
  return found;
}

std::optional<Product> Reader::product(const Reduction &sum) {
  Code *code = withoutCasts(sum.item);
  if (sum.kind != Reduction::Sum || !code || !code->isOp<arith::MulFOp>())
    return std::nullopt;
  return Product{code->operands[0], code->operands[1]};
}

bool fmha::raise::isProduct(Operation *op) {
  auto structured = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!structured || !structured.getNumReductionLoops() ||
      structured.getNumDpsInits() != 1 || !structured.hasPureTensorSemantics())
    return false;
  std::optional<Combiner> combiner = combinerOf(structured, 0);
  if (!combiner || !isa<arith::AddFOp, arith::AddIOp>(combiner->op))
    return false;
  Operation *item = combiner->item.getDefiningOp();
  while (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp>(item))
    item = item->getOperand(0).getDefiningOp();
  // A square is no product of two tensors.
  return isa_and_nonnull<arith::MulFOp, arith::MulIOp>(item) &&
         item->getOperand(0) != item->getOperand(1);
}

//===----------------------------------------------------------------------===//
// Code of many ops
//===----------------------------------------------------------------------===//

/// Returns the bits of an element in memory; an i1 is stored as a byte.
static unsigned bitsOf(Type type) {
  return type.isIntOrFloat() ? std::max(8u, type.getIntOrFloatBitWidth()) : 64;
}

bool Reader::mayInline(Code *load, Code *code) {
  if (!code->is(Code::Op) || code->hasReduction)
    return true;
  if (!isScoreCapture(cast<ShapedType>(load->value.getType())))
    return true;
  unsigned bits = 0;
  size_t size = 0;
  SmallVector<Code *> parts = partsOf(code);
  for (Code *part : parts)
    if (part->is(Code::Load) && !part->place.empty())
      bits += bitsOf(part->type);
  for (Code *part : parts) {
    if (!part->is(Code::Op) || part->number)
      continue;
    ++size;
    // Code on indices alone may be a mask that the op has a name for.
    bool isCheap = !isDivision(part->op) &&
                   !isa<math::MathDialect>(part->op->getDialect()) &&
                   (!bits || bitsOf(part->type) <= 32 || part->type.isIndex());
    if (!isCheap)
      return false;
  }
  return size <= maxInlined && bits <= bitsOf(load->type);
}

Code *Reader::expandLoad(Code *load) {
  Code *code = step(load);
  Code *whole = code ? expand(code) : nullptr;
  return whole && mayInline(load, whole) ? whole : load;
}

Code *Reader::expand(Code *code) {
  if (nesting > maxNesting)
    return code;
  if (Code *known = expanded.lookup(code))
    return known;
  ++nesting;
  Code *made = code;
  if (code->is(Code::Load)) {
    made = expandLoad(code);
  } else if (code->is(Code::Op) && !code->operands.empty()) {
    SmallVector<Code *> operands = llvm::map_to_vector(
        code->operands, [&](Code *operand) { return expand(operand); });
    made = graph.apply(code->op, operands);
  }
  --nesting;
  // Code that became too large stays as it is.
  made = made ? made : code;
  expanded[code] = made;
  return made;
}
