//===- Code.cpp - Scalar code of elements of tensors ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Code.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace fmha::raise;

/// Limits of code, which no attention reaches.
static constexpr size_t maxCodes = 20000;
static constexpr unsigned maxDepth = 500;

bool fmha::raise::isReduction(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto structured = dyn_cast_or_null<linalg::LinalgOp>(op))
    return structured.getNumReductionLoops() != 0;
  return isa_and_nonnull<linalg::SoftmaxOp>(op);
}

void Code::Profile(llvm::FoldingSetNodeID &id) const {
  id.AddInteger(unsigned(kind));
  id.AddPointer(type.getAsOpaquePointer());
  id.AddPointer(Attribute(constant).getAsOpaquePointer());
  id.AddPointer(value.getAsOpaquePointer());
  for (const Index &index : place) {
    id.AddInteger(index.size());
    for (Digit digit : index)
      id.AddInteger(digit);
  }
  if (op) {
    id.AddPointer(op->getName().getAsOpaquePointer());
    id.AddPointer(op->getAttrDictionary().getAsOpaquePointer());
  }
  for (const Code *operand : operands)
    id.AddPointer(operand);
}

Code *CodeGraph::intern(Code &&code) {
  llvm::FoldingSetNodeID id;
  code.Profile(id);
  void *place = nullptr;
  if (Code *known = unique.FindNodeOrInsertPos(id, place))
    return known;
  Code *made = &storage.emplace_back(std::move(code));
  unique.InsertNode(made, place);
  return made;
}

Code *CodeGraph::constant(TypedAttr value) {
  Code code(Code::Constant, value.getType());
  code.constant = value;
  if (auto number = dyn_cast<FloatAttr>(value))
    code.number = number.getValueAsDouble();
  auto integer = dyn_cast<IntegerAttr>(value);
  if (integer && integer.getValue().getSignificantBits() <= 64)
    code.integer = integer.getValue().getSExtValue();
  return intern(std::move(code));
}

Code *CodeGraph::scalar(Value value) {
  Code code(Code::Scalar, value.getType());
  code.value = value;
  return intern(std::move(code));
}

Code *CodeGraph::position(MLIRContext *context, const Index &index) {
  if (index.empty())
    return constant(IntegerAttr::get(IndexType::get(context), 0));
  Code code(Code::Position, IndexType::get(context));
  code.place.push_back(index);
  return intern(std::move(code));
}

Code *CodeGraph::load(Value tensor, Place place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [index, extent] : llvm::zip_equal(place, type.getShape()))
    if (extent == 1)
      index.clear();
  Code code(Code::Load, type.getElementType());
  code.value = tensor;
  code.place = std::move(place);
  code.hasReduction = isReduction(tensor);
  return intern(std::move(code));
}

/// Returns `number` rounded to a type of floats.
static std::optional<double> roundedTo(std::optional<double> number,
                                       Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!number || !floatType)
    return std::nullopt;
  APFloat value(*number);
  bool losesInfo;
  value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

/// Returns what an op of numbers alone computes, before rounding.
static std::optional<double> computed(Operation *op,
                                      ArrayRef<Code *> operands) {
  if (isa<arith::SIToFPOp>(op) && operands[0]->integer)
    return double(*operands[0]->integer);
  if (!llvm::all_of(operands, [](Code *code) { return code->number; }))
    return std::nullopt;
  double first = *operands[0]->number;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return first;
  if (isa<arith::NegFOp>(op))
    return -first;
  if (isa<math::SqrtOp>(op))
    return std::sqrt(first);
  if (isa<math::RsqrtOp>(op))
    return 1 / std::sqrt(first);
  if (operands.size() != 2)
    return std::nullopt;
  double second = *operands[1]->number;
  if (isa<arith::MulFOp>(op))
    return first * second;
  if (isa<arith::DivFOp>(op))
    return first / second;
  if (isa<arith::AddFOp>(op))
    return first + second;
  if (isa<arith::SubFOp>(op))
    return first - second;
  return std::nullopt;
}

/// Returns x if the op is max(-inf, x), or null.
static Code *onlyOperand(Operation *op, ArrayRef<Code *> operands) {
  if (!isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return nullptr;
  for (unsigned side : {0u, 1u})
    if (isNumber(operands[side], -INFINITY))
      return operands[1 - side];
  return nullptr;
}

Code *CodeGraph::apply(Operation *op, ArrayRef<Code *> operands) {
  if (llvm::is_contained(operands, nullptr) || storage.size() > maxCodes)
    return nullptr;
  if (Code *only = onlyOperand(op, operands))
    return only;
  Code code(Code::Op, getElementTypeOrSelf(op->getResult(0)));
  code.op = op;
  code.operands.assign(operands.begin(), operands.end());
  for (const Code *operand : operands) {
    code.hasReduction |= operand->hasReduction;
    code.depth = std::max(code.depth, operand->depth + 1);
  }
  if (!operands.empty())
    code.number = roundedTo(computed(op, operands), code.type);
  return code.depth > maxDepth ? nullptr : intern(std::move(code));
}

/// Returns whether attention may be computed in `type`.
static bool isPrecise(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

bool fmha::raise::isPreciseCast(const Code *code) {
  return code->isOp<arith::ExtFOp, arith::TruncFOp>() &&
         isPrecise(code->type) && isPrecise(code->operands[0]->type);
}

Code *fmha::raise::withoutCasts(Code *code) {
  while (code && isPreciseCast(code))
    code = code->operands[0];
  return code;
}

bool fmha::raise::isNumber(const Code *code, double number) {
  return code && code->number == number;
}

std::pair<Code *, Code *> fmha::raise::differenceOf(Code *code) {
  if (code->isOp<arith::SubFOp>())
    return {code->operands[0], code->operands[1]};
  if (code->isOp<arith::AddFOp>())
    for (unsigned side : {0u, 1u})
      if (code->operands[side]->isOp<arith::NegFOp>())
        return {code->operands[1 - side], code->operands[side]->operands[0]};
  return {nullptr, nullptr};
}

SmallVector<Code *> fmha::raise::partsOf(Code *code, const Code *leaf) {
  SetVector<Code *> parts;
  SmallVector<std::pair<Code *, bool>> stack = {{code, false}};
  while (!stack.empty()) {
    auto [top, isDone] = stack.pop_back_val();
    if (isDone) {
      parts.insert(top);
      continue;
    }
    if (parts.contains(top))
      continue;
    stack.push_back({top, true});
    if (top == leaf)
      continue;
    for (Code *operand : top->operands)
      stack.push_back({operand, false});
  }
  return parts.takeVector();
}

std::string fmha::raise::describe(const Code *code) {
  if (!code)
    return "code that is not elementwise";
  switch (code->kind) {
  case Code::Constant:
    return "a constant";
  case Code::Scalar:
    return "a scalar";
  case Code::Position:
    return "an index";
  case Code::Op:
    return code->op->getName().getStringRef().str();
  case Code::Load:
    break;
  }
  Operation *producer = code->value.getDefiningOp();
  return producer ? "an element of " + producer->getName().getStringRef().str()
                  : "an element of an argument";
}
