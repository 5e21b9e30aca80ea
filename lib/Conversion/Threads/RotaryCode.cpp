//===- RotaryCode.cpp - Rotary embedding of rows --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RotaryCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

static Value choose(ImplicitLocOpBuilder &b, Value condition, Value yes,
                    Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

Value RotaryCode::i32(int64_t n) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(n)));
}

Value RotaryCode::isBelow(Value column, int32_t bound) {
  return arith::CmpIOp::create(b, Predicate::slt, column, i32(bound));
}

Value RotaryCode::addressOf(Value base, Value place, Type type) {
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), place);
  return LLVM::GEPOp::create(b, base.getType(), type, base,
                             ArrayRef<LLVM::GEPArg>{wide});
}

Value RotaryCode::elementOf(Value vector, int32_t n) {
  return vector::ExtractOp::create(b, vector, int64_t(n));
}

Value RotaryCode::branch(Type type, Value condition, function_ref<Value()> yes,
                         function_ref<Value()> no) {
  auto made = scf::IfOp::create(b, TypeRange(type), condition,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.thenBlock());
  scf::YieldOp::create(b, yes());
  b.setInsertionPointToStart(made.elseBlock());
  scf::YieldOp::create(b, no());
  return made.getResult(0);
}

RotaryCode::Row fmha::rowOfAngles(ImplicitLocOpBuilder &b,
                                  const AngleTables &tables, Value position) {
  auto rowIn = [&](Value table, Value stride) -> Value {
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), position);
    Value offset = arith::MulIOp::create(b, wide, stride);
    return LLVM::GEPOp::create(b, table.getType(), b.getF32Type(), table,
                               ArrayRef<LLVM::GEPArg>{offset});
  };
  RotaryCode::Row row;
  row.cos = rowIn(tables.cos, tables.cosStride);
  row.sin = rowIn(tables.sin, tables.sinStride);
  // An unsigned comparison: a negative position is too large.
  row.hasAngles =
      arith::CmpIOp::create(b, Predicate::ult, position, tables.positions);
  return row;
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// Loads the vector of a row from column `column` on.
Value RotaryCode::load(const Row &row, Value column) {
  if (row.isAligned)
    return LLVM::LoadOp::create(b, vectorOf(element),
                                addressOf(row.address, column, element),
                                /*alignment=*/16);
  Values elements;
  for (int32_t n = 0; n < count; ++n)
    elements.push_back(LLVM::LoadOp::create(
        b, element,
        addressOf(row.address, make<arith::AddIOp>(column, i32(n)), element)));
  return vector::FromElementsOp::create(b, vectorOf(element), elements);
}

/// Returns whether column `column` + n is the first of its pair.
Value RotaryCode::isFirstOfPair(Value column, int32_t n) {
  if (isInterleaved)
    return arith::ConstantOp::create(b, b.getBoolAttr(n % 2 == 0));
  // All columns of a vector are the first or none is, if pairs allow.
  Value at = pairs() % count ? make<arith::AddIOp>(column, i32(n)) : column;
  return isBelow(at, pairs());
}

/// Returns the other columns of the pairs of `vector`; any for columns that do
/// not rotate.
Value RotaryCode::partners(Value vector, Value column, const Row &row) {
  if (isInterleaved) {
    auto places = llvm::map_to_vector(llvm::seq<int64_t>(0, count),
                                      [](int64_t n) { return n ^ 1; });
    return vector::ShuffleOp::create(b, vector, vector, places);
  }
  auto other = [&](Value column) {
    return choose(b, isBelow(column, pairs()),
                  make<arith::AddIOp>(column, i32(pairs())),
                  make<arith::SubIOp>(column, i32(pairs())));
  };
  if (pairs() % count == 0)
    return load(row, other(column));
  Values elements;
  for (int32_t n = 0; n < count; ++n)
    elements.push_back(LLVM::LoadOp::create(
        b, element,
        addressOf(row.address, other(make<arith::AddIOp>(column, i32(n))),
                  element)));
  return vector::FromElementsOp::create(b, vectorOf(element), elements);
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

/// Returns the number of a column's pair, or of any if it does not rotate.
Value RotaryCode::pairOf(Value column) {
  Value pair = isInterleaved
                   ? make<arith::DivUIOp>(column, i32(2))
                   : choose(b, isBelow(column, pairs()), column,
                            make<arith::SubIOp>(column, i32(pairs())));
  return dim % count ? make<arith::MinSIOp>(pair, i32(pairs() - 1)) : pair;
}

/// Returns the angle of each column of a vector.
Value RotaryCode::angles(Value table, Value column, bool isAligned) {
  Type type = b.getF32Type();
  // Interleaved columns share the angle of their pair.
  int32_t perPair = isInterleaved ? 2 : 1;
  bool isVector = isAligned && hasAngleVectors();
  Values all;
  Value loaded;
  for (int32_t n = 0; n < count; ++n) {
    int32_t number = n / perPair;
    if (n % perPair == 0 && (!isVector || number % perLoad == 0)) {
      Value pair = pairOf(make<arith::AddIOp>(column, i32(n)));
      Value place = addressOf(table, pair, type);
      loaded = isVector
                   ? LLVM::LoadOp::create(b, VectorType::get({perLoad}, type),
                                          place, /*alignment=*/16)
                   : LLVM::LoadOp::create(b, type, place);
    }
    all.push_back(isVector ? elementOf(loaded, number % perLoad) : loaded);
  }
  return vector::FromElementsOp::create(b, vectorOf(type), all);
}

/// Returns the same, with a branch if it is not known whether they are aligned.
Value RotaryCode::angles(Value table, Value column, const Row &row) {
  if (row.areAnglesAligned || !hasAngleVectors())
    return angles(table, column, row.areAnglesAligned.value_or(false));
  Value number = LLVM::PtrToIntOp::create(b, b.getI64Type(), table);
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(n));
  };
  constexpr int64_t mask = 15;
  Value isAligned = arith::CmpIOp::create(
      b, Predicate::eq, make<arith::AndIOp>(number, constant(mask)),
      constant(0));
  return branch(
      vectorOf(b.getF32Type()), isAligned,
      [&] { return angles(table, column, true); },
      [&] { return angles(table, column, false); });
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

/// Returns a number in f32. A shift widens bf16, since kernels of attention
/// flush subnormals in conversions to f32.
Value RotaryCode::widened(Value narrow) {
  if (element.isF32())
    return narrow;
  if (element.isF16())
    return arith::ExtFOp::create(b, b.getF32Type(), narrow);
  constexpr int64_t halfWord = 16;
  Value bits = arith::BitcastOp::create(b, b.getI16Type(), narrow);
  Value word = arith::ExtUIOp::create(b, b.getI32Type(), bits);
  return arith::BitcastOp::create(b, b.getF32Type(),
                                  make<arith::ShLIOp>(word, i32(halfWord)));
}

/// Returns own * cos - other * sin for the first element of a pair, own * cos +
/// other * sin for the second. The fused operation multiplies by 1 or -1, so
/// that its only rounding is that of the sum.
Value RotaryCode::turned(Value own, Value other, Value cos, Value sin,
                         Value isFirst) {
  auto call = [&](const char *name, ValueRange arguments) {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                         b.getStringAttr(name), arguments)
        .getResult(0);
  };
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  };
  Value kept = call("llvm.nvvm.mul.rn.f", {widened(own), cos});
  Value mixed = call("llvm.nvvm.mul.rn.f", {widened(other), sin});
  Value sum =
      call("llvm.nvvm.fma.rn.f",
           {mixed, choose(b, isFirst, constant(-1), constant(1)), kept});
  return element.isF32() ? sum
                         : arith::TruncFOp::create(b, element, sum).getResult();
}

/// Columns after the rotated ones stay.
Value RotaryCode::rotated(Value vector, Value column, const Row &row) {
  Value isRotated = make<arith::AndIOp>(isBelow(column, dim), row.hasAngles);
  auto turn = [&] {
    Value others = partners(vector, column, row);
    Value cosines = angles(row.cos, column, row);
    Value sines = angles(row.sin, column, row);
    Values elements;
    for (int32_t n = 0; n < count; ++n) {
      Value own = elementOf(vector, n);
      Value made = turned(own, elementOf(others, n), elementOf(cosines, n),
                          elementOf(sines, n), isFirstOfPair(column, n));
      if (dim % count)
        made = choose(b, isBelow(make<arith::AddIOp>(column, i32(n)), dim),
                      made, own);
      elements.push_back(made);
    }
    return vector::FromElementsOp::create(b, vectorOf(element), elements)
        .getResult();
  };
  return branch(vectorOf(element), isRotated, turn, [&] { return vector; });
}
