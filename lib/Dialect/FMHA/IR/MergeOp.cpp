//===- MergeOp.cpp - Constraints of fmha.merge ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per constraint, in the order of the op's description.
//
//===----------------------------------------------------------------------===//

#include "LetteredOperands.h"
#include "OperandRules.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Letters of dimensions: p parts, b batch, m length, h heads, d head dim.
struct Operand : LetteredOperand {
  /// Whether the last dimension is contiguous, and others step by 16 bytes.
  bool isMatrix = false, isDestination = false;
};

class Verifier : LetteredVerifier<MergeOp, Operand> {
public:
  explicit Verifier(MergeOp op)
      : LetteredVerifier(op, "merge.M",
                         {{{"parts", op.getParts(), "pbmhd"}, true},
                          {{"maxima", op.getMaxima(), "pbhm"}},
                          {{"sums", op.getSums(), "pbhm"}},
                          {{"sink", op.getSink(), "h"}},
                          {{"output", op.getOutput(), "bmhd"}, true, true},
                          {{"lse", op.getLse(), "bhm"}, false, true},
                          {{"row_max", op.getRowMax(), "bhm"}, false, true},
                          {{"row_sum", op.getRowSum(), "bhm"}, false, true}}) {}

  LogicalResult run() {
    using Rule = LogicalResult (Verifier::*)();
    static constexpr Rule rules[] = {
        &Verifier::kinds,   &Verifier::ranks,   &Verifier::elementTypes,
        &Verifier::headDim, &Verifier::extents, &Verifier::layouts,
        &Verifier::aliases};
    for (Rule rule : rules)
      if (failed((this->*rule)()))
        return failure();
    return success();
  }

private:
  LogicalResult elementTypes();
  LogicalResult headDim() { return checkHeadDims("d"); }
  LogicalResult layouts();
  LogicalResult layout(const Operand &operand);
  LogicalResult aliases();
};

} // namespace

LogicalResult Verifier::elementTypes() {
  for (const Operand &operand : all) {
    Type type = operand.type().getElementType();
    bool isOutput = operand.value == op.getOutput();
    if (type.isF32() || (isOutput && (type.isF16() || type.isBF16())))
      continue;
    return error(3) << "expected the element type of " << operand.name
                    << " to be " << (isOutput ? "f16, bf16 or " : "")
                    << "f32, got " << type;
  }
  return success();
}

LogicalResult Verifier::layouts() {
  for (const Operand &operand : all)
    if (isa<MemRefType>(operand.type()) && failed(layout(operand)))
      return failure();
  return success();
}

LogicalResult Verifier::layout(const Operand &operand) {
  auto type = cast<MemRefType>(operand.type());
  constexpr int64_t unitBytes = 16;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return error(6) << "expected a strided layout of " << operand.name
                    << ", got " << type;
  if (!isGlobalMemory(type.getMemorySpace()))
    return error(6) << "expected " << operand.name
                    << " to lie in global memory, got " << type;
  if (!operand.isMatrix && operand.dims.size() > 1)
    return success();
  int64_t last = strides.pop_back_val();
  if (!ShapedType::isDynamic(last) && last != 1)
    return error(6) << "expected the last dimension of " << operand.name
                    << " to be contiguous, got stride " << last;
  if (!operand.isMatrix)
    return success();
  strides.push_back(offset);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  for (int64_t step : strides)
    if (!ShapedType::isDynamic(step) &&
        (step < 0 || step * bytes % unitBytes != 0))
      return error(6) << "expected strides and offset of " << operand.name
                      << " to be non-negative multiples of 16 bytes, got "
                      << step << " elements of " << bytes << " bytes";
  return success();
}

LogicalResult Verifier::aliases() {
  if (!isa<MemRefType>(all[0].type()))
    return success();
  for (size_t n = 0; n < all.size(); ++n)
    for (size_t other = 0; other < n; ++other) {
      if (!all[n].isDestination)
        continue;
      if (sharedMemory(all[n].value, all[other].value))
        return error(7) << "expected " << all[n].name << " and "
                        << all[other].name << " to share no memory; give "
                        << all[n].name << " a separate memref";
    }
  return success();
}

LogicalResult MergeOp::verify() {
  return failed(verifyDiscardables(*this)) ? failure() : Verifier(*this).run();
}

void MergeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    MemoryEffects::Effect *effect = MemoryEffects::Read::get();
    if (isDpsInit(&operand))
      effect = MemoryEffects::Write::get();
    effects.emplace_back(effect, &operand, SideEffects::DefaultResource::get());
  }
}

Speculation::Speculatability MergeOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

LogicalResult
MergeOp::reifyResultShapes(OpBuilder &builder,
                           ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  for (OpResult result : getOperation()->getResults())
    reifiedReturnShapes.push_back(tensor::getMixedSizes(
        builder, getLoc(), getTiedOpOperand(result)->get()));
  return success();
}
