//===- AttentionForm.cpp - An attention that other ops describe -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionForm.h"
#include "Views.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

std::optional<Compute> fmha::raise::computeOf(StringRef word) {
  return llvm::StringSwitch<std::optional<Compute>>(word)
      .Case("", Compute::Refuse)
      .Case("keep", Compute::Keep)
      .Case("f16", Compute::F16)
      .Case("bf16", Compute::BF16)
      .Default(std::nullopt);
}

/// Returns a refusal that expects `what` if two extents differ, or nothing.
static std::optional<Refusal> checkEqual(StringRef what, int64_t left,
                                         int64_t right) {
  if (left == right || ShapedType::isDynamic(left) ||
      ShapedType::isDynamic(right))
    return std::nullopt;
  return Refusal(Reason::Extents, what.str(),
                 std::to_string(left) + " and " + std::to_string(right));
}

static std::optional<Refusal> checkTypes(const AttentionForm &form,
                                         Compute compute) {
  Type element = form.query.type.getElementType();
  bool same = element == form.key.type.getElementType() &&
              element == form.value.type.getElementType();
  if (!same || !(element.isF16() || element.isBF16() || element.isF32()))
    return Refusal(Reason::ElementType,
                   textOf(element) + ", " +
                       textOf(form.key.type.getElementType()) + " and " +
                       textOf(form.value.type.getElementType()));
  for (const TensorView *view :
       {&form.query, &form.key, &form.value, &form.output})
    if (Attribute encoding = view->type.getEncoding())
      return Refusal(Reason::Encoding, textOf(encoding));
  Type result = form.output.type.getElementType();
  if (result != element && !result.isF32())
    return Refusal(Reason::Results, "an output of the type of the query or f32",
                   textOf(result));
  if (element.isF32() && compute == Compute::Refuse)
    return Refusal(Reason::NeedsCompute);
  return std::nullopt;
}

static std::optional<Refusal> checkHeadDims(const AttentionForm &form) {
  int64_t query = form.query.extent('d'), key = form.key.extent('d'),
          value = form.value.extent('d');
  for (int64_t dim : {query, key, value})
    if (ShapedType::isDynamic(dim))
      return Refusal(Reason::DynamicHeadDim, shapeText({query, key, value}));
  if (query != key || query < 1 || value < 1 ||
      std::max(query, value) > AttentionOp::maxHeadDim)
    return Refusal(Reason::HeadDim, shapeText({query, key, value}));
  return checkEqual("an output with the head dim of the values",
                    form.output.extent('d'), value);
}

static std::optional<Refusal> checkExtents(const AttentionForm &form) {
  const TensorView &q = form.query, &k = form.key, &v = form.value,
                   &o = form.output;
  if (auto refusal = checkEqual("queries and keys of one batch", q.extent('b'),
                                k.extent('b')))
    return refusal;
  if (auto refusal = checkEqual("keys and values of one batch", k.extent('b'),
                                v.extent('b')))
    return refusal;
  if (auto refusal = checkEqual("keys and values of one length", k.extent('l'),
                                v.extent('l')))
    return refusal;
  if (auto refusal = checkEqual("keys and values of as many heads",
                                k.extent('h'), v.extent('h')))
    return refusal;
  if (form.kvLens)
    if (auto refusal = checkEqual(
            "lengths for each sequence of the batch",
            cast<RankedTensorType>(form.kvLens.getType()).getDimSize(0),
            q.extent('b')))
      return refusal;
  for (char letter : {'b', 'l', 'h'})
    if (auto refusal = checkEqual("an output with the shape of the queries",
                                  o.extent(letter), q.extent(letter)))
      return refusal;
  return std::nullopt;
}

static std::optional<Refusal> checkHeads(const AttentionForm &form) {
  int64_t query = form.query.extent('h'), key = form.key.extent('h');
  if (!ShapedType::isDynamic(key) &&
      (key == 0 || (!ShapedType::isDynamic(query) && query % key)))
    return Refusal(Reason::Heads,
                   std::to_string(query) + " and " + std::to_string(key));
  return std::nullopt;
}

/// Returns the extent that a dimension of a capture with that letter has unless
/// it is 1, or the dynamic size.
static int64_t capturedExtent(const AttentionForm &form, char letter) {
  switch (letter) {
  case 'b':
    return form.query.extent('b');
  case 'h':
    return form.query.extent('h');
  case 'k':
    return form.key.extent('h');
  case 'i':
    return form.query.extent('l');
  case 'j':
    return form.key.extent('l');
  default:
    return ShapedType::kDynamic;
  }
}

static std::optional<Refusal> checkCapture(const AttentionForm &form,
                                           const Capture &capture) {
  if (!isScoreCapture(capture.type) || capture.type.getRank() > 5)
    return Refusal(Reason::Capture, textOf(Type(capture.type)));
  for (auto [letter, size] :
       llvm::zip_equal(capture.letters, capture.type.getShape())) {
    if (size == 1 || (capture.partial && letter == 'j'))
      continue;
    if (auto refusal = checkEqual("a mask or bias that fits the scores", size,
                                  capturedExtent(form, letter)))
      return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> fmha::raise::check(const AttentionForm &form,
                                          Compute compute) {
  if (auto refusal = checkTypes(form, compute))
    return refusal;
  if (auto refusal = checkHeadDims(form))
    return refusal;
  if (auto refusal = checkExtents(form))
    return refusal;
  if (auto refusal = checkHeads(form))
    return refusal;
  if (form.scale && !(std::fabs(*form.scale) <= AttentionOp::maxScale))
    return Refusal(Reason::ScaleRange, std::to_string(*form.scale));
  for (const ScoreStep &step : form.score)
    if (step.capture)
      if (auto refusal = checkCapture(form, *step.capture))
        return refusal;
  return std::nullopt;
}

/// Returns the type in which operands of `element` are computed.
static Type computedType(Type element, Compute compute) {
  if (!element.isF32() || compute == Compute::Keep)
    return element;
  MLIRContext *context = element.getContext();
  return compute == Compute::F16 ? Type(Float16Type::get(context))
                                 : Type(BFloat16Type::get(context));
}

/// Returns `tensor` rounded to `element`.
static Value rounded(OpBuilder &b, Location location, Value tensor,
                     Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  return arith::TruncFOp::create(b, location, type.clone(element), tensor);
}

/// Returns an operand as [batch, length, heads, head dim], rounded to
/// `element`.
static Value readyOperand(OpBuilder &b, Location location,
                          const TensorView &view, Type element) {
  Value tensor = asTensor(b, location, view.value, view.type);
  return toLogical(b, location, rounded(b, location, tensor, element), view);
}

/// Returns lengths as i32.
static Value readyLengths(OpBuilder &b, Location location, Value lengths) {
  auto type = cast<RankedTensorType>(lengths.getType());
  if (type.getElementType().isInteger(32))
    return lengths;
  return arith::TruncIOp::create(b, location, type.clone(b.getI32Type()),
                                 lengths);
}

/// Adds the region `score` with the steps of the form.
static void buildScore(OpBuilder &b, AttentionOp op, const AttentionForm &form,
                       ArrayRef<Value> captures) {
  OpBuilder::InsertionGuard guard(b);
  Location location = op.getLoc();
  Type index = b.getIndexType();
  SmallVector<Type> types = {b.getF32Type(), index, index, index,
                             index,          index, index};
  SmallVector<Location> locations(types.size(), location);
  Block *block =
      b.createBlock(&op.getScoreRegions().front(), {}, types, locations);
  int64_t heads = form.query.extent('h'), kvHeads = form.key.extent('h');
  bool known = !ShapedType::isDynamic(heads) && !ShapedType::isDynamic(kvHeads);
  ScorePlace place{b,
                   location,
                   block->getArgument(1),
                   block->getArgument(2),
                   block->getArgument(3),
                   block->getArgument(4),
                   block->getArgument(5),
                   block->getArgument(6),
                   known ? heads / kvHeads : 0};
  Value score = block->getArgument(0);
  for (auto [step, capture] : llvm::zip_equal(form.score, captures))
    score = step.code(place, score, capture);
  YieldOp::create(b, location, score);
}

/// Returns the tensors that the steps of the form read, null for those without.
static SmallVector<Value> readyCaptures(OpBuilder &b, Location location,
                                        const AttentionForm &form) {
  SmallVector<Value> tensors;
  for (const ScoreStep &step : form.score)
    tensors.push_back(step.capture ? asTensor(b, location, step.capture->value,
                                              step.capture->type)
                                   : Value());
  return tensors;
}

/// Creates the op on query, key and value in its order of dimensions.
static AttentionOp buildOp(OpBuilder &b, Location location,
                           const AttentionForm &form, ValueRange operands,
                           Value output, Value lse) {
  SmallVector<Type> types = {output.getType()};
  if (lse)
    types.push_back(lse.getType());
  OperationState state(location, AttentionOp::getOperationName());
  AttentionOp::Properties &properties =
      state.getOrAddProperties<AttentionOp::Properties>();
  state.addOperands(operands);
  if (form.kvLens)
    state.addOperands(readyLengths(b, location, form.kvLens));
  state.addOperands(output);
  if (lse)
    state.addOperands(lse);
  auto &segments = properties.operandSegmentSizes;
  segments[0] = segments[1] = segments[2] = 1;
  segments[3] = form.kvLens ? 1 : 0;
  segments[AttentionOp::outputIndex] = 1;
  segments[AttentionOp::outputIndex + 1] = lse ? 1 : 0;
  if (form.scale)
    properties.scale = b.getF64FloatAttr(*form.scale);
  properties.mask = MaskAttr::get(b.getContext(), form.mask);
  state.addTypes(types);
  if (!form.score.empty())
    state.addRegion();
  return cast<AttentionOp>(b.create(state));
}

/// Returns an empty f32 [batch, heads, length].
static Value makeRows(OpBuilder &b, Location location, Value query) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, query);
  return tensor::EmptyOp::create(
      b, location, ArrayRef<OpFoldResult>{sizes[0], sizes[2], sizes[1]},
      b.getF32Type());
}

RaisedAttention fmha::raise::buildAttention(OpBuilder &b, Location location,
                                            const AttentionForm &form,
                                            Compute compute) {
  Type element = computedType(form.query.type.getElementType(), compute);
  Value query = readyOperand(b, location, form.query, element);
  Value key = readyOperand(b, location, form.key, element);
  Value value = readyOperand(b, location, form.value, element);
  SmallVector<Value> captures = readyCaptures(b, location, form);
  Destination destination = makeDestination(b, location, form, query, value,
                                            form.output.type.getElementType());
  Value rows = form.lse ? makeRows(b, location, query) : Value();
  AttentionOp op = buildOp(b, location, form, {query, key, value},
                           destination.logical, rows);
  if (!form.score.empty())
    buildScore(b, op, form, captures);
  Value output = fromLogical(b, location, op->getResult(0), destination, form);
  return {output, form.lse ? op->getResult(1) : Value()};
}
