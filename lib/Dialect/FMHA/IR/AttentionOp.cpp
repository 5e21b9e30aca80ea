//===- AttentionOp.cpp - Interfaces of fmha.attention ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScore.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Schedule/Model/Lists.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Support/DebugStringHelper.h"
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

/// A static extent as a hint; 0 says unknown.
static unsigned hintOf(int64_t extent) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return ShapedType::isDynamic(extent) ? 0 : unsigned(std::min(extent, most));
}

/// What a cast gives another type, and nothing else.
static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::CastOp, tensor::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// V begins where K does and steps as K does. That it has all of K's batches,
/// keys and heads is C8 to C10, and C28.
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
  return isColumnsOf(getValue(), getKey()) &&
         (!getKey2() || isColumnsOf(getValue2(), getKey2()));
}

int64_t AttentionOp::getSequenceCount() {
  auto entries = [](Value list, int64_t extra) {
    int64_t count = cast<ShapedType>(list.getType()).getDimSize(0);
    return ShapedType::isDynamic(count) ? count : count - extra;
  };
  if (!getCuSeqlensQ())
    return getQuery().getType().getDimSize(Batch);
  if (!getCuSeqlensK())
    return getKey().getType().getDimSize(Batch);
  return entries(getCuSeqlensQ(), 1);
}

schedule::Problem AttentionOp::getProblem() {
  schedule::Problem problem;
  problem.dtype = getElementType().isF16() ? schedule::DataType::F16
                                           : schedule::DataType::BF16;
  problem.headDim = getHeadDim();
  problem.headDimV = getHeadDimV();
  problem.mask = getMask();
  problem.lse = bool(getLse());
  problem.rowMax = bool(getRowMax());
  problem.rowSum = bool(getRowSum());
  problem.unnormalised = getUnnormalised();
  problem.outF32 = getOutput().getType().getElementType().isF32();
  problem.vInK = isValueInKey();
  problem.kvLens = bool(getKvLens());
  problem.cuSeqlensQ = bool(getCuSeqlensQ());
  problem.cuSeqlensK = bool(getCuSeqlensK());
  problem.sink = bool(getSink());
  problem.source2 = bool(getKey2());
  problem.source2Lens = bool(getSource2Lens());
  problem.mask2 = getSource2Mask();
  problem.score = getScore() != nullptr;
  problem.scoreByKey = readsByKey();
  problem.scoreIsLong = isScoreLong();
  for (Value source : getCaptures()) {
    auto type = cast<ShapedType>(source.getType());
    problem.captures.push_back(
        {mlir::debugString(type.getElementType()), unsigned(type.getRank())});
  }
  // The length of packed rows is that of all sequences, which says little.
  if (!problem.cuSeqlensQ)
    problem.qLenHint = hintOf(getQuery().getType().getDimSize(Length));
  if (!problem.cuSeqlensK)
    problem.kvLenHint = hintOf(getKey().getType().getDimSize(Length));
  problem.batchHint = hintOf(getSequenceCount());
  problem.qHeadsHint = hintOf(getQuery().getType().getDimSize(Heads));
  problem.kvHeadsHint = hintOf(getKey().getType().getDimSize(Heads));
  return problem;
}

/// Returns memref<?x?xf32> for a tensor or memref of that rank and element
/// type. Kernels read an i1 as an i8.
static ArrayAttr getCaptureTypes(AttentionOp op) {
  SmallVector<Attribute> types;
  for (Value source : op.getCaptures()) {
    auto type = cast<ShapedType>(source.getType());
    SmallVector<int64_t> shape(type.getRank(), ShapedType::kDynamic);
    Type element = type.getElementType();
    if (element.isInteger(1))
      element = IntegerType::get(op.getContext(), 8);
    types.push_back(TypeAttr::get(MemRefType::get(shape, element)));
  }
  return ArrayAttr::get(op.getContext(), types);
}

DictionaryAttr AttentionOp::getProblemAttr() {
  Builder b(getContext());
  schedule::Problem problem = getProblem();
  // The kernel of a split computes parts.
  if (ScheduleAttr schedule = getScheduleAttr())
    problem = schedule::kernelProblem(problem, schedule.getValue());
  SmallVector<NamedAttribute> entries = {
      b.getNamedAttr("element", TypeAttr::get(getElementType())),
      b.getNamedAttr("head_dim", b.getI64IntegerAttr(getHeadDim())),
      b.getNamedAttr("head_dim_v", b.getI64IntegerAttr(getHeadDimV())),
      b.getNamedAttr("lse", b.getBoolAttr(problem.lse)),
      b.getNamedAttr("mask", b.getStringAttr(stringify(getMask().kind))),
      b.getNamedAttr("scale", b.getF64FloatAttr(getScaleOrDefault()))};
  auto flag = [&](bool on, StringRef name) {
    if (on)
      entries.push_back(b.getNamedAttr(name, b.getUnitAttr()));
  };
  flag(problem.vInK, "v_in_k");
  flag(problem.rowMax, "row_max");
  flag(problem.rowSum, "row_sum");
  flag(problem.unnormalised, "unnormalised");
  flag(problem.isPart, "part");
  if (problem.outF32)
    entries.push_back(b.getNamedAttr("output", TypeAttr::get(b.getF32Type())));
  for (const schedule::ListField &list : schedule::listFields)
    if (problem.*list.there)
      entries.push_back(b.getNamedAttr(list.name, b.getUnitAttr()));
  if (problem.source2)
    entries.push_back(b.getNamedAttr(
        "source2", b.getStringAttr(stringify(problem.mask2.kind))));
  if (problem.score)
    entries.push_back(b.getNamedAttr("score", b.getUnitAttr()));
  if (problem.scoreByKey)
    entries.push_back(b.getNamedAttr("score_by_key", b.getUnitAttr()));
  if (problem.scoreIsLong)
    entries.push_back(b.getNamedAttr("score_is_long", b.getUnitAttr()));
  if (!problem.captures.empty())
    entries.push_back(b.getNamedAttr("captures", getCaptureTypes(*this)));
  if (getMask().left)
    entries.push_back(
        b.getNamedAttr("window_left", b.getI64IntegerAttr(*getMask().left)));
  if (getMask().right)
    entries.push_back(
        b.getNamedAttr("window_right", b.getI64IntegerAttr(*getMask().right)));
  return b.getDictionaryAttr(entries);
}

void AttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // Tensors are values: only memrefs are read and written.
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
  if (Region *score = getScore())
    score->walk([&](ReadOp read) { read.getEffects(effects); });
}

Speculation::Speculatability AttentionOp::getSpeculatability() {
  bool hasLists =
      getKvLens() || getCuSeqlensQ() || getCuSeqlensK() || getSource2Lens();
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
