//===- AttentionOp.cpp - Interfaces of fmha.attention ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScore.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace fmha;

#define GET_OP_CLASSES
#include "fmha/Dialect/FMHA/IR/FMHAOps.cpp.inc"

double AttentionOp::getScaleOrDefault() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(double(getHeadDim()));
}

/// Returns a static extent as a hint; 0 means unknown.
static unsigned hintOf(int64_t extent) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return ShapedType::isDynamic(extent) ? 0 : unsigned(std::min(extent, most));
}

/// Returns the source of casts, which only change the type.
static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::CastOp, tensor::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Returns whether V starts where K does and has its strides. Other rules
/// require it to have the batches, keys and heads of K.
static bool isColumnsOf(Value value, Value key) {
  key = withoutCasts(key);
  value = withoutCasts(value);
  if (value == key)
    return true;
  auto view = value.getDefiningOp<OffsetSizeAndStrideOpInterface>();
  if (!view || !isa<memref::SubViewOp, tensor::ExtractSliceOp>(view) ||
      withoutCasts(view->getOperand(0)) != key)
    return false;
  auto isZero = [](OpFoldResult n) { return isConstantIntValue(n, 0); };
  auto isOne = [](OpFoldResult n) { return isConstantIntValue(n, 1); };
  return llvm::all_of(view.getMixedOffsets(), isZero) &&
         llvm::all_of(view.getMixedStrides(), isOne);
}

bool AttentionOp::isValueInKey() {
  return !hasKeyVectors() && isColumnsOf(getValue(), getKey()) &&
         (!getKey2() || isColumnsOf(getValue2(), getKey2()));
}

int64_t AttentionOp::getSequenceCount() {
  auto entries = [](Value list, int64_t extra) {
    int64_t count = cast<ShapedType>(list.getType()).getDimSize(0);
    return ShapedType::isDynamic(count) ? count : count - extra;
  };
  if (!getCuSeqlensQ())
    return getQuery().getType().getDimSize(Batch);
  if (getBlockTables())
    return entries(getKvLens(), 0);
  if (!getCuSeqlensK())
    return getKey().getType().getDimSize(Batch);
  return entries(getCuSeqlensQ(), 1);
}

int64_t AttentionOp::getMaxKeys() {
  int64_t rows = getKey().getType().getDimSize(Length);
  if (!getBlockTables())
    return rows;
  int64_t pages = cast<ShapedType>(getBlockTables().getType()).getDimSize(1);
  // A table that is too long is reported before launch.
  int64_t keys = 0;
  bool isLong =
      !ShapedType::isDynamic(pages) && llvm::MulOverflow(pages, rows, keys);
  return ShapedType::isDynamic(pages) || isLong ? ShapedType::kDynamic : keys;
}

static schedule::DataType dataTypeOf(Type element) {
  return element.isF32()                  ? schedule::DataType::F32
         : element.isF16()                ? schedule::DataType::F16
         : isa<Float8E4M3FNType>(element) ? schedule::DataType::E4M3
                                          : schedule::DataType::BF16;
}

schedule::Problem AttentionOp::getProblem() {
  schedule::Problem problem;
  problem.dtype = dataTypeOf(getElementType());
  problem.headDim = getHeadDim();
  problem.headDimV = getHeadDimV();
  if (getBlockTables())
    problem.pageSize = getKey().getType().getDimSize(Length);
  problem.rotaryDim = getRotaryDim();
  problem.blockRows = getBlockRows().value_or(0);
  problem.blockKeys = getBlockKeys().value_or(0);
  problem.mask = getMask();
  problem.mask2 = getSource2Mask();
  AttentionOp op = *this;
#define FMHA_FACT(kind, member, name, value, ...) problem.member = bool(value);
#include "fmha/Schedule/Model/Facts.def"
  for (Value source : getCaptures()) {
    auto type = cast<ShapedType>(source.getType());
    problem.captures.push_back(
        {mlir::debugString(type.getElementType()), unsigned(type.getRank())});
  }
  // The length of packed rows is the sum over all sequences, which is no hint.
  if (!problem.cuSeqlensQ)
    problem.qLenHint = hintOf(getQuery().getType().getDimSize(Length));
  if (!problem.cuSeqlensK)
    problem.kvLenHint = hintOf(getMaxKeys());
  if (getTopk())
    problem.kvLenHint =
        hintOf(cast<ShapedType>(getTopk().getType()).getDimSize(2));
  problem.batchHint = hintOf(getSequenceCount());
  problem.qHeadsHint = hintOf(getQuery().getType().getDimSize(Heads));
  problem.kvHeadsHint = hintOf(getKey().getType().getDimSize(Heads));
  return problem;
}

ProblemAttr AttentionOp::getProblemAttr() {
  schedule::Problem problem = schedule::withoutHints(getProblem());
  // A partial kernel of split-KV has another problem.
  if (ScheduleAttr schedule = getScheduleAttr())
    problem = schedule::kernelProblem(problem, schedule.getValue());
  // Kernels read an i1 as an i8.
  for (schedule::Capture &capture : problem.captures)
    if (capture.element == "i1")
      capture.element = "i8";
  return ProblemAttr::get(getContext(), {problem, getScaleOrDefault()});
}

void AttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // Tensors are values; only memrefs have read and write effects.
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    bool isCache = operand.get() == getKey() || operand.get() == getValue();
    if (isCache && getKeyNew())
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
  if (Region *score = getScore())
    score->walk([&](ReadOp read) { read.getEffects(effects); });
}

Speculation::Speculatability AttentionOp::getSpeculatability() {
  bool hasLists = getKvLens() || getCuSeqlensQ() || getCuSeqlensK() ||
                  getSource2Lens() || getTopk() || getKvNumBlocks();
  if (!hasPureTensorSemantics() || hasLists)
    return Speculation::NotSpeculatable;
  // The region may divide.
  return Speculation::RecursivelySpeculatable;
}

namespace {

/// fmha.attention ... ({})  ->  fmha.attention ... without a region
///
/// Only the generic form has an empty region. Patterns that rebuild an op, such
/// as folding tensor.cast into its consumer, assume that a region has a block,
/// so this pattern runs first.
struct DropEmptyScore : OpRewritePattern<AttentionOp> {
  explicit DropEmptyScore(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/100) {}

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumRegions() != 1 || op.getScore())
      return failure();
    OperationState state(op.getLoc(), op->getName(), op->getOperands(),
                         op->getResultTypes(), op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                              MLIRContext *context) {
  results.add<DropEmptyScore>(context);
}

LogicalResult AttentionOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  // A result has the shape of the destination that it is tied to.
  for (OpResult result : getOperation()->getResults())
    reifiedReturnShapes.push_back(tensor::getMixedSizes(
        builder, getLoc(), getTiedOpOperand(result)->get()));
  return success();
}
