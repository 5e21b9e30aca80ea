//===- AppendOp.cpp - Constraints of fmha.append --------------------------===//
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

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Letters of dimensions: b batch, n new tokens, h KV
/// heads, d and v head dims, l length of a dense cache, p pages, s page size,
/// t max_pages, m and g rows and heads of queries, r positions, c columns of
/// angles.
using Operand = LetteredOperand;

class Verifier : LetteredVerifier<AppendOp, Operand> {
public:
  explicit Verifier(AppendOp op)
      : LetteredVerifier(op, "append.A",
                         {{"key_new", op.getKeyNew(), "bnhd"},
                          {"value_new", op.getValueNew(), "bnhv"},
                          {"kv_lens", op.getKvLens(), "b"},
                          {"block_tables", op.getBlockTables(), "bt"},
                          {"cos", op.getCos(), "rc"},
                          {"sin", op.getSin(), "rc"},
                          {"query", op.getQuery(), "bmgd"},
                          {"key_cache", op.getKeyCache(),
                           op.getBlockTables() ? "pshd" : "blhd"},
                          {"value_cache", op.getValueCache(),
                           op.getBlockTables() ? "pshv" : "blhv"},
                          {"query_out", op.getQueryOut(), "bmgd"}}) {}

  LogicalResult run() {
    using Rule = LogicalResult (Verifier::*)();
    static constexpr Rule rules[] = {
        &Verifier::kinds,    &Verifier::ranks,   &Verifier::elementTypes,
        &Verifier::headDims, &Verifier::extents, &Verifier::pageSize,
        &Verifier::rotary,   &Verifier::layouts, &Verifier::aliases};
    for (Rule rule : rules)
      if (failed((this->*rule)()))
        return failure();
    return success();
  }

private:
  LogicalResult elementTypes();
  LogicalResult headDims() { return checkHeadDims("dv"); }
  LogicalResult pageSize();
  LogicalResult rotary();
  LogicalResult rotaryColumns();
  LogicalResult layouts();
  LogicalResult layout(const Operand &operand);
  LogicalResult dense(const Operand &operand, ArrayRef<int64_t> strides);
  LogicalResult aliases();
};

} // namespace

LogicalResult Verifier::elementTypes() {
  Type rows = all[0].type().getElementType();
  if (!rows.isF16() && !rows.isBF16())
    return error(3) << "expected the element type of key_new to be f16 or "
                       "bf16, got "
                    << rows;
  MLIRContext *ctx = op.getContext();
  for (const Operand &operand : all) {
    bool isMatrix = operand.dims.size() == 4, isAngle = operand.dims == "rc";
    Type wanted = isMatrix  ? rows
                  : isAngle ? Type(Float32Type::get(ctx))
                            : Type(IntegerType::get(ctx, 32));
    Type got = operand.type().getElementType();
    if (got != wanted)
      return error(3) << "expected the element type of " << operand.name
                      << " to be " << wanted
                      << (isMatrix ? ", that of key_new" : "") << ", got "
                      << got;
  }
  return success();
}

LogicalResult Verifier::pageSize() {
  for (const Operand &operand : all) {
    if (!operand.dims.contains('s'))
      continue;
    int64_t rows = operand.type().getDimSize(AppendOp::Length);
    if (ShapedType::isDynamic(rows) || rows > AppendOp::maxPageSize ||
        !llvm::isPowerOf2_64(uint64_t(rows)))
      return error(6) << "expected pages of a static number of keys, a power "
                         "of two of at most "
                      << AppendOp::maxPageSize << ", in dimension 1 of "
                      << operand.name << ", got " << operand.type();
  }
  return success();
}

LogicalResult Verifier::rotary() {
  bool hasRotary = bool(op.getRotary());
  if (failed(verifyAnglePresence(hasRotary, op.getCos(), op.getSin(),
                                 [&] { return error(7); })))
    return failure();
  if (bool(op.getQuery()) != bool(op.getQueryOut()))
    return error(7) << "expected both query and query_out, or neither, "
                       "got only one; add the other, or remove it";
  if (op.getQuery() && !hasRotary)
    return error(7) << "expected query only with rotary, got it without; "
                       "remove query and query_out, since only rotary "
                       "changes queries";
  return hasRotary ? rotaryColumns() : success();
}

LogicalResult Verifier::rotaryColumns() {
  for (const Operand &operand : all)
    if (operand.dims == "rc" &&
        failed(verifyAngleColumns(operand.name, operand.type(), op.getHeadDim(),
                                  [&] { return error(7); })))
      return failure();
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
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return error(8) << "expected a strided layout of " << operand.name
                    << ", got " << type;
  if (!isGlobalMemory(type.getMemorySpace()))
    return error(8) << "expected " << operand.name
                    << " to lie in global memory, got " << type;
  for (int64_t stride : strides)
    if (!ShapedType::isDynamic(stride) && stride < 0)
      return error(8) << "expected strides of " << operand.name
                      << " that are not negative, got " << stride;
  return dense(operand, strides);
}

/// Checks that rows are contiguous, and that those of block_tables follow each
/// other.
LogicalResult Verifier::dense(const Operand &operand,
                              ArrayRef<int64_t> strides) {
  auto mayBe = [](int64_t stride, int64_t wanted) {
    return ShapedType::isDynamic(stride) || ShapedType::isDynamic(wanted) ||
           stride == wanted;
  };
  ArrayRef<int64_t> shape = operand.type().getShape();
  if (shape.back() != 1 && !mayBe(strides.back(), 1))
    return error(8) << "expected the last dimension of " << operand.name
                    << " to be contiguous, got stride " << strides.back();
  if (operand.value != op.getBlockTables() || shape[0] == 1 ||
      mayBe(strides[0], shape[1]))
    return success();
  return error(8) << "expected block_tables to be contiguous, got "
                  << operand.type() << "; copy it to a dense matrix";
}

LogicalResult Verifier::aliases() {
  if (!isa<MemRefType>(all[0].type()))
    return success();
  auto isWritten = [&](const Operand &operand) {
    return llvm::is_contained(op.getDpsInits(), operand.value);
  };
  for (size_t n = 0; n < all.size(); ++n)
    for (size_t other = 0; isWritten(all[n]) && other < all.size(); ++other) {
      // Two destinations are compared once.
      if (other == n || (other > n && isWritten(all[other])))
        continue;
      if (auto how = sharedMemory(all[n].value, all[other].value))
        return error(9) << "expected " << all[n].name << " and "
                        << all[other].name << " to share no memory, got "
                        << *how << "; give " << all[n].name
                        << " a separate memref";
    }
  return success();
}

LogicalResult AppendOp::verify() {
  return failed(verifyDiscardables(*this)) ? failure() : Verifier(*this).run();
}

void AppendOp::getEffects(
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

LogicalResult
AppendOp::reifyResultShapes(OpBuilder &builder,
                            ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  for (OpResult result : getOperation()->getResults())
    reifiedReturnShapes.push_back(tensor::getMixedSizes(
        builder, getLoc(), getTiedOpOperand(result)->get()));
  return success();
}
