//===- IndexMath.cpp - Index arithmetic and views of memrefs --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/IndexMath.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

Value IndexMath::constant(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value IndexMath::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value IndexMath::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value IndexMath::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}
Value IndexMath::div(Value x, Value y) {
  return b.createOrFold<arith::DivUIOp>(loc, x, y);
}
Value IndexMath::rem(Value x, Value y) {
  return b.createOrFold<arith::RemUIOp>(loc, x, y);
}
Value IndexMath::ceilDiv(Value x, int64_t divisor) {
  if (divisor == 1)
    return x;
  return div(add(x, constant(divisor - 1)), constant(divisor));
}
Value IndexMath::min(Value x, Value y) {
  return b.createOrFold<arith::MinUIOp>(loc, x, y);
}
Value IndexMath::max(Value x, Value y) {
  return b.createOrFold<arith::MaxUIOp>(loc, x, y);
}
Value IndexMath::compare(Predicate predicate, Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
}
Value IndexMath::both(Value x, Value y) {
  return b.createOrFold<arith::AndIOp>(loc, x, y);
}
Value IndexMath::either(Value x, Value y) {
  return b.createOrFold<arith::OrIOp>(loc, x, y);
}
Value IndexMath::select(Value condition, Value yes, Value no) {
  return b.createOrFold<arith::SelectOp>(loc, condition, yes, no);
}
Value IndexMath::cast(Value value, unsigned bits) {
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIntegerType(bits), value);
}

std::optional<int64_t> fmha::knownNumber(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

TensorView fmha::viewOf(IndexMath math, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  TensorView view;
  view.elementBytes = std::max(type.getElementTypeBitWidth() / 8, 1u);
  memref::ExtractStridedMetadataOp metadata;
  auto valueOf = [&](int64_t known, auto unknown) -> Value {
    if (!ShapedType::isDynamic(known))
      return math.constant(known);
    if (!metadata)
      metadata =
          memref::ExtractStridedMetadataOp::create(math.b, math.loc, memref);
    return unknown();
  };
  for (unsigned n = 0; n < type.getRank(); ++n) {
    view.sizes.push_back(valueOf(
        type.getDimSize(n), [&]() -> Value { return metadata.getSizes()[n]; }));
    view.strides.push_back(valueOf(
        strides[n], [&]() -> Value { return metadata.getStrides()[n]; }));
  }
  Value first =
      valueOf(offset, [&]() -> Value { return metadata.getOffset(); });
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(
      math.b, math.loc, math.b.getIndexType(), memref);
  view.address =
      math.add(base, math.mul(first, math.constant(view.elementBytes)));
  return view;
}

namespace {

/// The bytes that one tensor covers.
struct Cover {
  IndexMath math;
  const TensorView &view;

  Value stride(unsigned n) {
    return math.mul(view.strides[n], math.constant(view.elementBytes));
  }
  /// Returns the distance from the first to the last element of dimension n.
  Value reach(unsigned n) {
    Value last =
        math.sub(math.max(view.sizes[n], math.constant(1)), math.constant(1));
    return math.mul(last, stride(n));
  }
  Value isEmpty() {
    Value empty = arith::ConstantIntOp::create(math.b, math.loc, 0, 1);
    for (Value size : view.sizes)
      empty = math.either(empty,
                          math.compare(Predicate::eq, size, math.constant(0)));
    return empty;
  }
  /// Returns the bytes from the first to the end of the last element.
  Value span() {
    Value bytes = math.constant(view.elementBytes);
    for (unsigned n = 0; n < view.sizes.size(); ++n)
      bytes = math.add(bytes, reach(n));
    return bytes;
  }
  /// Returns the bytes of a block, if the tensor is blocks at multiples of
  /// `period`, and whether all larger strides are such multiples.
  std::pair<Value, Value> blocks(Value period);
};

std::pair<Value, Value> Cover::blocks(Value period) {
  Value bytes = math.constant(view.elementBytes);
  Value fits = math.compare(Predicate::ne, period, math.constant(0));
  Value divisor = math.max(period, math.constant(1));
  for (unsigned n = 0; n < view.sizes.size(); ++n) {
    Value inside = math.compare(Predicate::ult, stride(n), period);
    bytes = math.add(bytes, math.select(inside, reach(n), math.constant(0)));
    Value isMultiple = math.compare(Predicate::eq, math.rem(stride(n), divisor),
                                    math.constant(0));
    Value isOne = math.compare(Predicate::ule, view.sizes[n], math.constant(1));
    fits = math.both(fits, math.either(inside, math.either(isMultiple, isOne)));
  }
  return {bytes, fits};
}

/// Returns whether blocks of `a` and `b` at multiples of `period` are disjoint.
Value areApart(IndexMath math, Cover a, Cover b, Value period) {
  auto [blockA, fitsA] = a.blocks(period);
  auto [blockB, fitsB] = b.blocks(period);
  Value divisor = math.max(period, math.constant(1));
  // The distance from a to b modulo the period, whichever comes first.
  Value wrapped = math.sub(math.add(math.rem(b.view.address, divisor), divisor),
                           math.rem(a.view.address, divisor));
  Value distance = math.rem(wrapped, divisor);
  Value after = math.compare(Predicate::uge, distance, blockA);
  Value before =
      math.compare(Predicate::ule, math.add(distance, blockB), period);
  return math.both(math.both(fitsA, fitsB), math.both(after, before));
}

} // namespace

Value fmha::mayOverlap(IndexMath math, const TensorView &a,
                       const TensorView &b) {
  Cover first{math, a}, second{math, b};
  auto endsBefore = [&](Cover x, Cover y) {
    return math.compare(Predicate::ule, math.add(x.view.address, x.span()),
                        y.view.address);
  };
  Value apart =
      math.either(endsBefore(first, second), endsBefore(second, first));
  apart = math.either(apart, math.either(first.isEmpty(), second.isEmpty()));
  // The innermost dimension is contiguous and separates nothing.
  for (unsigned n = 0; n + 1 < a.sizes.size(); ++n)
    apart = math.either(apart, areApart(math, first, second, first.stride(n)));
  Value yes = arith::ConstantIntOp::create(math.b, math.loc, 1, 1);
  return math.b.createOrFold<arith::XOrIOp>(math.loc, apart, yes);
}
