//===- Score.cpp - Code between the first product and the softmax ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Score.h"

#include "Linalg/Masks.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/IR/ScoreCost.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

namespace {
/// A part of an index: weight * (position / slow % extent), with the position
/// that a letter of ScorePlace::at stands for. An extent of 0 has no end.
struct IndexPart {
  char letter;
  int64_t slow, extent, weight;
};
} // namespace

/// Returns the letter of ScorePlace::at, and the digits of the role, that
/// `digit` belongs to.
static std::pair<char, const Index *> axisOf(const Roles &roles, Digit digit) {
  const std::pair<char, const Index *> axes[] = {{'b', &roles.batch},
                                                 {'h', &roles.heads},
                                                 {'i', &roles.rows},
                                                 {'j', &roles.keys}};
  for (const auto &axis : axes)
    if (llvm::is_contained(*axis.second, digit))
      return axis;
  return {0, nullptr};
}

/// Returns the parts of an index, or nothing if an extent that it needs is
/// dynamic.
static std::optional<SmallVector<IndexPart>> indexParts(const Source &source,
                                                        ArrayRef<Digit> index) {
  SmallVector<IndexPart> parts;
  while (!index.empty()) {
    auto [letter, axis] = axisOf(source.roles, index.front());
    if (!letter)
      return std::nullopt;
    ArrayRef<Digit> rest(*axis);
    size_t first = llvm::find(rest, index.front()) - rest.begin();
    rest = rest.drop_front(first);
    size_t count = 0;
    while (count < rest.size() && count < index.size() &&
           rest[count] == index[count])
      ++count;
    int64_t slow = source.digits.extent(rest.drop_front(count));
    int64_t extent = first ? source.digits.extent(rest.take_front(count)) : 0;
    index = index.drop_front(count);
    int64_t weight = source.digits.extent(index);
    for (int64_t number : {slow, extent, weight})
      if (ShapedType::isDynamic(number))
        return std::nullopt;
    parts.push_back({letter, std::max<int64_t>(slow, 1), extent, weight});
  }
  return parts;
}

/// Returns the value of an index whose parts are known.
static Value valueOf(const ScorePlace &place, ArrayRef<IndexPart> parts) {
  OpBuilder &b = place.b;
  Location location = place.location;
  Value sum;
  for (const IndexPart &part : parts) {
    Value value = place.at(part.letter);
    if (part.slow != 1)
      value =
          arith::DivUIOp::create(b, location, value, place.index(part.slow));
    if (part.extent)
      value =
          arith::RemUIOp::create(b, location, value, place.index(part.extent));
    if (part.weight != 1)
      value =
          arith::MulIOp::create(b, location, value, place.index(part.weight));
    sum = sum ? Value(arith::AddIOp::create(b, location, sum, value)) : value;
  }
  return sum ? sum : place.index(0);
}

/// Returns the letters of a capture's dimensions, for the check of extents.
static std::string lettersOf(const Source &source, const Place &place) {
  std::string letters;
  for (const Index &index : place) {
    auto parts = indexParts(source, index);
    bool isWhole = parts && parts->size() == 1 && parts->front().slow == 1 &&
                   parts->front().extent == 0 && parts->front().weight == 1;
    letters.push_back(isWhole ? parts->front().letter : '0');
  }
  return letters;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

namespace {
/// Code on scores, and the tensors that it reads as they become known.
struct ScoreCode {
  std::shared_ptr<Source> source;
  Code *root, *start;
  DenseMap<Code *, Value> tensors;

  /// Creates the code and returns the score that it makes of `score`.
  Value create(const ScorePlace &place, Value score);

private:
  Value createPart(const ScorePlace &place, Code *code,
                   DenseMap<Code *, Value> &made);
};
} // namespace

/// Returns a float as one of another type.
static Value converted(const ScorePlace &place, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(place.b, place.location, type, value);
  return arith::TruncFOp::create(place.b, place.location, type, value);
}

/// Returns the element of a captured tensor, which may hold a scalar.
static Value readCapture(const ScorePlace &place, Code *code, Value tensor,
                         const Source &source) {
  SmallVector<Value> indices;
  for (const Index &index : code->place)
    indices.push_back(valueOf(place, *indexParts(source, index)));
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value value =
      ReadOp::create(place.b, place.location, element, tensor, indices);
  if (code->type.isIndex())
    value =
        arith::IndexCastOp::create(place.b, place.location, code->type, value);
  return value;
}

Value ScoreCode::createPart(const ScorePlace &place, Code *code,
                            DenseMap<Code *, Value> &made) {
  OpBuilder &b = place.b;
  switch (code->kind) {
  case Code::Constant:
    return arith::ConstantOp::create(b, place.location, code->constant);
  case Code::Position:
    return valueOf(place, *indexParts(*source, code->place[0]));
  case Code::Load:
  case Code::Scalar:
    // A trial has no tensors of scalars yet.
    if (Value tensor = tensors.lookup(code))
      return readCapture(place, code, tensor, *source);
    return arith::ConstantOp::create(b, place.location,
                                     b.getZeroAttr(code->type));
  case Code::Op:
    break;
  }
  OperationState state(place.location, code->op->getName());
  for (Code *operand : code->operands)
    state.addOperands(made.lookup(operand));
  state.addTypes(code->type);
  state.addAttributes(code->op->getAttrs());
  return b.create(state)->getResult(0);
}

Value ScoreCode::create(const ScorePlace &place, Value score) {
  DenseMap<Code *, Value> made;
  for (Code *code : partsOf(root, start))
    made[code] = code == start ? converted(place, score, code->type)
                               : createPart(place, code, made);
  return converted(place, made.lookup(root), place.b.getF32Type());
}

SmallVector<ScoreStep> ScorePlan::prepare(OpBuilder &b,
                                          Location location) const {
  SmallVector<ScoreStep> ready(steps);
  for (auto [number, scalar] : scalars) {
    Value value = scalar;
    RankedTensorType type = ready[number].capture->type;
    if (value.getType().isIndex())
      value =
          arith::IndexCastOp::create(b, location, type.getElementType(), value);
    ready[number].capture->value =
        tensor::FromElementsOp::create(b, location, type, value);
  }
  return ready;
}

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

/// Returns `product` times the constant factors that follow it, and multiplies
/// `scale` by them.
static Code *scaledProduct(Code *scores, Code *product, double &scale) {
  DenseMap<Code *, SmallVector<Code *>> users;
  for (Code *code : partsOf(scores))
    for (Code *operand : code->operands)
      users[operand].push_back(code);
  Code *start = product;
  while (start != scores && users[start].size() == 1) {
    Code *user = users[start].front();
    if (user->isOp<arith::MulFOp>()) {
      Code *other = user->operands[user->operands[0] == start];
      if (!other->number || !std::isfinite(scale * *other->number))
        break;
      scale *= *other->number;
    } else if (user->isOp<arith::DivFOp>() && user->operands[0] == start) {
      Code *other = user->operands[1];
      if (!other->number || !std::isfinite(scale / *other->number))
        break;
      scale /= *other->number;
    } else if (!isPreciseCast(user)) {
      break;
    }
    start = user;
  }
  return start;
}

/// Returns whether `code` divides integers by a divisor that may be 0 or -1,
/// also for a row or a key that does not exist.
static bool mayDivideByZero(Code *code) {
  if (!code->is(Code::Op) || !isDivision(code->op) ||
      isa<FloatType>(code->type))
    return false;
  const std::optional<int64_t> &by = code->operands[1]->integer;
  return !by || *by == 0 || *by == -1;
}

/// Returns why the region `score` cannot compute `code`, or nothing.
static std::optional<Refusal> checkCode(const Source &source, Code *code) {
  if (code->is(Code::Load) && code->type.isIndex())
    return Refusal(Reason::ScoreOp, describe(code) + " of type index");
  for (const Index &index : code->place)
    if (!indexParts(source, index))
      return Refusal(Reason::ScoreOp,
                     describe(code) + " at an index of dynamic extents");
  if (mayDivideByZero(code))
    return Refusal(Reason::ScoreOp, describe(code) +
                                        " by a divisor that may be 0 or "
                                        "-1");
  if (code->is(Code::Constant) && code->type.isIndex() &&
      !llvm::isInt<32>(*code->integer))
    return Refusal(Reason::ScoreOp, "an index of more than 32 bits");
  return std::nullopt;
}

/// Returns why the ops of the code may not stand in the region `score`, by a
/// trial in a block of its own.
static std::optional<Refusal> checkOps(ScoreCode &code, MLIRContext *context) {
  Block block;
  OpBuilder b(context);
  b.setInsertionPointToStart(&block);
  Location location = b.getUnknownLoc();
  Value score = block.addArgument(b.getF32Type(), location);
  SmallVector<Value> places;
  for (unsigned number = 0; number < 6; ++number)
    places.push_back(block.addArgument(b.getIndexType(), location));
  ScorePlace place{b,         location,  places[0], places[1], places[2],
                   places[3], places[4], places[5], 0};
  code.create(place, score);
  for (Operation &op : block)
    if (!mayStandInScore(&op))
      return Refusal(Reason::ScoreOp,
                     op.getName().getStringRef().str() + " : " +
                         textOf(op.getNumOperands()
                                    ? op.getOperand(0).getType()
                                    : op.getResult(0).getType()));
  return std::nullopt;
}

/// Adds the step that makes the tensor of a load or scalar known to the code.
static void addCapture(ScorePlan &plan, const std::shared_ptr<ScoreCode> &code,
                       Code *part) {
  Capture capture;
  if (part->is(Code::Load)) {
    capture.value = part->value;
    capture.type = cast<RankedTensorType>(part->value.getType());
    capture.letters = lettersOf(*code->source, part->place);
    code->tensors[part] = part->value;
  } else {
    Type element = part->type.isIndex()
                       ? IntegerType::get(part->type.getContext(), 64)
                       : part->type;
    capture.type = RankedTensorType::get({}, element);
    plan.scalars.push_back({plan.steps.size(), part->value});
  }
  plan.steps.push_back(
      {capture, [code, part](const ScorePlace &, Value score, Value tensor) {
         code->tensors[part] = tensor;
         return score;
       }});
}

/// Sets the steps of the plan for code that is more than a factor.
static std::optional<Refusal> planCode(std::shared_ptr<ScoreCode> code,
                                       ScorePlan &plan) {
  SetVector<Value> captured;
  for (Code *part : partsOf(code->root, code->start)) {
    if (part == code->start)
      continue;
    if (auto refusal = checkCode(*code->source, part))
      return refusal;
    if (!part->is(Code::Load) && !part->is(Code::Scalar))
      continue;
    captured.insert(part->value);
    addCapture(plan, code, part);
    RankedTensorType type = plan.steps.back().capture->type;
    if (!isScoreCapture(type) || type.getEncoding())
      return Refusal(Reason::Capture, textOf(Type(type)));
  }
  if (captured.size() > maxScoreCaptures)
    return Refusal(Reason::ScoreCaptures, std::to_string(captured.size()));
  if (auto refusal = checkOps(*code, code->root->type.getContext()))
    return refusal;
  plan.steps.push_back(
      {std::nullopt, [code](const ScorePlace &place, Value score, Value) {
         return code->create(place, score);
       }});
  return std::nullopt;
}

std::optional<Refusal>
fmha::raise::planScore(std::shared_ptr<Source> source, Code *scores,
                       Code *product, double factor, int64_t queryLength,
                       int64_t keyLength, ScorePlan &plan) {
  plan = {};
  plan.scale = factor;
  scores = takeMask(source->reader->graph, source->roles, scores, queryLength,
                    keyLength, plan.mask);
  scores = withoutCasts(scores);
  product = scaledProduct(scores, product, plan.scale);
  if (withoutCasts(product) == scores)
    product = scores;
  if (product == scores)
    return std::nullopt;
  auto code = std::make_shared<ScoreCode>();
  code->source = std::move(source);
  code->root = scores;
  code->start = product;
  return planCode(std::move(code), plan);
}
