//===- ScoreSteps.cpp - Code on scores of an attention that is raised -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreSteps.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

Value ScorePlace::number(double value) const {
  return arith::ConstantOp::create(b, location, b.getF32FloatAttr(value));
}

Value ScorePlace::index(int64_t value) const {
  return arith::ConstantIndexOp::create(b, location, value);
}

Value ScorePlace::at(char letter) const {
  switch (letter) {
  case 'b':
    return batch;
  case 'h':
    return head;
  case 'k':
    return arith::DivUIOp::create(b, location, head, index(group));
  case 'g':
    return arith::RemUIOp::create(b, location, head, index(group));
  case 'i':
    return row;
  case 'j':
    return key;
  default:
    return index(0);
  }
}

Value ScorePlace::read(Value tensor, StringRef letters) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices;
  for (char letter : letters)
    indices.push_back(at(letter));
  return ReadOp::create(b, location, type.getElementType(), tensor, indices);
}

Value ScorePlace::keep(Value seen, Value score) const {
  Value hidden = number(-std::numeric_limits<double>::infinity());
  return arith::SelectOp::create(b, location, seen, score, hidden);
}

/// Returns a float as f32.
static Value asF32(const ScorePlace &place, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(place.b, place.location, place.b.getF32Type(),
                               value);
}

/// Returns an integer as an index.
static Value asIndex(const ScorePlace &place, Value value) {
  return arith::IndexCastOp::create(place.b, place.location,
                                    place.b.getIndexType(), value);
}

/// Returns the step that combines the score with a float that it reads.
template <typename Op> static ScoreStep combineWith(Capture capture) {
  std::string letters = capture.letters;
  return {std::move(capture),
          [letters](const ScorePlace &place, Value score, Value tensor) {
            Value by = asF32(place, place.read(tensor, letters));
            return Op::create(place.b, place.location, score, by).getResult();
          }};
}

ScoreStep fmha::raise::multiplyBy(Capture factor) {
  return combineWith<arith::MulFOp>(std::move(factor));
}

ScoreStep fmha::raise::addBias(Capture bias) {
  return combineWith<arith::AddFOp>(std::move(bias));
}

ScoreStep fmha::raise::softCap(double cap) {
  return {std::nullopt, [cap](const ScorePlace &place, Value score, Value) {
            Value limit = place.number(cap);
            Value share =
                arith::DivFOp::create(place.b, place.location, score, limit);
            Value bent = math::TanhOp::create(place.b, place.location, share);
            return arith::MulFOp::create(place.b, place.location, bent, limit)
                .getResult();
          }};
}

ScoreStep fmha::raise::keepWhere(Capture mask) {
  std::string letters = mask.letters;
  return {std::move(mask),
          [letters](const ScorePlace &place, Value score, Value tensor) {
            Value seen = place.read(tensor, letters);
            if (!seen.getType().isInteger(1))
              seen = arith::TruncIOp::create(place.b, place.location,
                                             place.b.getI1Type(), seen);
            return place.keep(seen, score);
          }};
}

/// Returns the step that keeps scores whose index `letter` is below a limit.
static ScoreStep keepBelow(Capture limit, char letter) {
  std::string letters = limit.letters;
  return {std::move(limit), [letters, letter](const ScorePlace &place,
                                              Value score, Value tensor) {
            Value end = asIndex(place, place.read(tensor, letters));
            Value seen = arith::CmpIOp::create(place.b, place.location,
                                               arith::CmpIPredicate::slt,
                                               place.at(letter), end);
            return place.keep(seen, score);
          }};
}

ScoreStep fmha::raise::keepKeysBefore(Capture limit) {
  return keepBelow(std::move(limit), 'j');
}

ScoreStep fmha::raise::keepRowsBefore(Capture limit) {
  return keepBelow(std::move(limit), 'i');
}

ScoreStep fmha::raise::keepCausalFrom(Capture offset) {
  std::string letters = offset.letters;
  return {std::move(offset),
          [letters](const ScorePlace &place, Value score, Value tensor) {
            Value shift = asIndex(place, place.read(tensor, letters));
            Value last = arith::AddIOp::create(place.b, place.location,
                                               place.row, shift);
            Value seen = arith::CmpIOp::create(place.b, place.location,
                                               arith::CmpIPredicate::sle,
                                               place.key, last);
            return place.keep(seen, score);
          }};
}

std::string fmha::raise::maskLetters(int64_t rank) {
  return std::string("bhij").substr(4 - rank);
}
