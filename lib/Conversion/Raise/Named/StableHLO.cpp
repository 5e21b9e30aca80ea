//===- StableHLO.cpp - Composites and custom calls of StableHLO -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// Returns the attribute of a composite with that name, or null.
static Attribute compositeAttribute(Operation *op, StringRef name) {
  auto attributes = op->getAttrOfType<DictionaryAttr>("composite_attributes");
  return attributes ? attributes.get(name) : Attribute();
}

/// Returns why the composite has an attribute that is not among `known`.
static std::optional<Refusal> checkComposite(Operation *op,
                                             ArrayRef<StringRef> known) {
  auto attributes = op->getAttrOfType<DictionaryAttr>("composite_attributes");
  return attributes ? checkKnown(attributes, known) : std::nullopt;
}

/// Reads the attribute scale, a float or an integer.
static std::optional<Refusal> readScale(Operation *op, AttentionForm &form) {
  Attribute scale = compositeAttribute(op, "scale");
  if (!scale)
    return std::nullopt;
  auto read = readNumber(scale, "scale", 0);
  if (auto *refusal = std::get_if<Refusal>(&read))
    return *refusal;
  form.scale = std::get<double>(read);
  return std::nullopt;
}

/// Adds the soft cap that the attribute logit_cap is, before masks.
static std::optional<Refusal> readCap(Operation *op, AttentionForm &form) {
  auto read = readNumber(compositeAttribute(op, "logit_cap"), "logit_cap", 0);
  if (auto *refusal = std::get_if<Refusal>(&read))
    return *refusal;
  return addSoftCap(form, std::get<double>(read), "logit_cap");
}

Reading fmha::raise::readTenstorrent(Operation *op, const ReadOptions &) {
  unsigned operands = op->getNumOperands();
  if (operands < 3 || operands > 4 || op->getNumResults() != 1)
    return Refusal(Reason::Operands, "3 or 4 operands and a result",
                   std::to_string(operands));
  Value mask = operands == 4 ? op->getOperand(3) : Value();
  Reading reading = readSdpa(op, mask);
  auto *named = std::get_if<NamedForm>(&reading);
  if (!named)
    return reading;
  if (auto refusal = checkComposite(op, {"is_causal", "scale"}))
    return *refusal;
  if (auto refusal = readScale(op, named->attention))
    return *refusal;
  auto causal = readNumber(compositeAttribute(op, "is_causal"), "is_causal", 0);
  if (auto *refusal = std::get_if<Refusal>(&causal))
    return *refusal;
  if (std::get<double>(causal) == 0)
    return reading;
  if (mask)
    return Refusal(Reason::CausalAndMask);
  setCausalTopLeft(named->attention);
  return reading;
}

/// Adds an operand of rank 4, [batch, heads, rows, keys] with broadcasting.
static std::optional<Refusal> readMask(Value mask, AttentionForm &form) {
  auto read = viewOf(mask, "bhij");
  if (auto *refusal = std::get_if<Refusal>(&read))
    return *refusal;
  return addMask(form, {mask, std::get<TensorView>(read).type, "bhij"});
}

/// Sets the scale, given as a tensor of one element.
static std::optional<Refusal> readScaleTensor(Value scale,
                                              AttentionForm &form) {
  if (std::optional<double> constant = numberOf(constantOf(scale))) {
    form.scale = constant;
    return std::nullopt;
  }
  RankedTensorType type = tensorTypeOf(scale);
  if (!type || !type.hasStaticShape() || type.getNumElements() != 1 ||
      !isa<FloatType>(type.getElementType()))
    return Refusal(Reason::Operands, "a scale of one element",
                   textOf(scale.getType()) + " after 4");
  form.scale = 1.0;
  form.score.push_back(
      multiplyBy({scale, type, std::string(type.getRank(), '0')}));
  return std::nullopt;
}

Reading fmha::raise::readOdml(Operation *op, const ReadOptions &) {
  unsigned operands = op->getNumOperands();
  if (operands < 3 || operands > 5 || op->getNumResults() != 1)
    return Refusal(Reason::Operands, "3 to 5 operands and a result",
                   std::to_string(operands));
  NamedForm named;
  AttentionForm &form = named.attention;
  if (auto refusal = readViews(op, "blhd", "blhd", form))
    return *refusal;
  if (auto refusal = checkComposite(op, {"scale", "logit_cap"}))
    return *refusal;
  if (auto refusal = readScale(op, form))
    return *refusal;
  if (operands == 5)
    if (auto refusal = readScaleTensor(op->getOperand(4), form))
      return *refusal;
  if (auto refusal = readCap(op, form))
    return *refusal;
  if (operands >= 4)
    if (auto refusal = readMask(op->getOperand(3), form))
      return *refusal;
  return named;
}
