//===- Torch.cpp - PyTorch's attention ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.aten.scaled_dot_product_attention, and the ops that were traced from
// it.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// Returns the letters of [..., heads, length, dim].
static std::string torchLetters(int64_t rank) {
  return std::string("bhld").substr(4 - rank);
}

/// Reads query, key, value and the type of the output.
static std::optional<Refusal> readMatrices(Operation *op, AttentionForm &form) {
  RankedTensorType query = tensorTypeOf(op->getOperand(0));
  if (!query)
    return Refusal(Reason::Unranked, textOf(op->getOperand(0).getType()));
  if (query.getRank() < 2 || query.getRank() > 4)
    return Refusal(Reason::Rank, "queries of rank 2 to 4",
                   std::to_string(query.getRank()));
  std::string letters = torchLetters(query.getRank());
  return readViews(op, letters, letters, form);
}

Reading fmha::raise::readSdpa(Operation *op, Value mask) {
  NamedForm named;
  AttentionForm &form = named.attention;
  if (auto refusal = readMatrices(op, form))
    return *refusal;
  if (isNone(mask))
    return named;
  RankedTensorType type = tensorTypeOf(mask);
  if (!type)
    return Refusal(Reason::Unranked, textOf(mask.getType()));
  if (type.getRank() < 2 || type.getRank() > form.query.type.getRank())
    return Refusal(Reason::Rank, "a mask of rank 2 to that of the query",
                   std::to_string(type.getRank()));
  if (auto refusal = addMask(form, {mask, type, maskLetters(type.getRank())}))
    return *refusal;
  return named;
}

/// Reads a flag or a number of PyTorch's function; `fallback` if it is none.
static std::variant<double, Refusal> readArgument(Value value, StringRef name,
                                                  double fallback) {
  if (isNone(value))
    return fallback;
  std::optional<double> number = numberOf(constantOf(value));
  if (!number)
    return Refusal(Reason::NotConstant, name.str());
  return *number;
}

namespace {
struct TorchArguments {
  double dropout = 0, causal = 0, grouped = 0;
  std::optional<double> scale;
};
} // namespace

/// Reads the operands after the mask.
static std::variant<TorchArguments, Refusal> readArguments(Operation *op) {
  TorchArguments arguments;
  double scale = 0;
  struct {
    unsigned operand;
    StringRef name;
    double *number;
  } const fields[] = {{4, "dropout_p", &arguments.dropout},
                      {5, "is_causal", &arguments.causal},
                      {6, "scale", &scale},
                      {7, "enable_gqa", &arguments.grouped}};
  for (auto [operand, name, number] : fields) {
    auto read = readArgument(op->getOperand(operand), name, 0.0);
    if (auto *refusal = std::get_if<Refusal>(&read))
      return *refusal;
    *number = std::get<double>(read);
  }
  if (!isNone(op->getOperand(6)))
    arguments.scale = scale;
  return arguments;
}

/// Returns why the arguments do not fit, or nothing.
static std::optional<Refusal> checkArguments(const TorchArguments &arguments,
                                             const AttentionForm &form,
                                             bool hasMask) {
  if (arguments.dropout != 0)
    return Refusal(Reason::Dropout,
                   "a probability of " + std::to_string(arguments.dropout));
  if (arguments.causal != 0 && hasMask)
    return Refusal(Reason::CausalAndMask);
  int64_t heads = form.query.extent('h'), kvHeads = form.key.extent('h');
  bool known = !ShapedType::isDynamic(heads) && !ShapedType::isDynamic(kvHeads);
  if (arguments.grouped == 0 && known && heads != kvHeads)
    return Refusal(Reason::Grouped,
                   std::to_string(heads) + " and " + std::to_string(kvHeads));
  return std::nullopt;
}

Reading fmha::raise::readTorch(Operation *op, const ReadOptions &) {
  if (op->getNumOperands() != 8 || op->getNumResults() != 1)
    return Refusal(Reason::Operands, "8 operands and a result",
                   std::to_string(op->getNumOperands()));
  Reading reading = readSdpa(op, op->getOperand(3));
  auto *named = std::get_if<NamedForm>(&reading);
  if (!named)
    return reading;
  auto arguments = readArguments(op);
  if (auto *refusal = std::get_if<Refusal>(&arguments))
    return *refusal;
  const auto &read = std::get<TorchArguments>(arguments);
  if (auto refusal =
          checkArguments(read, named->attention, !isNone(op->getOperand(3))))
    return *refusal;
  named->attention.scale = read.scale;
  if (read.causal != 0)
    setCausalTopLeft(named->attention);
  return reading;
}

/// Returns the number of inputs of a destination-style op: those before its
/// outputs.
static unsigned inputsOf(Operation *op) {
  if (auto segments =
          op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes"))
    return segments.empty() ? 0 : segments[0];
  return op->getNumOperands() ? op->getNumOperands() - 1 : 0;
}

Reading fmha::raise::readTMTensor(Operation *op, const ReadOptions &) {
  if (auto refusal =
          checkKnown(op->getAttrDictionary(), {"operandSegmentSizes", "scale"}))
    return *refusal;
  unsigned inputs = inputsOf(op);
  if (inputs < 3 || inputs > 4 || op->getNumOperands() != inputs + 1 ||
      op->getNumResults() != 1)
    return Refusal(Reason::Operands, "3 or 4 inputs, an output and a result",
                   std::to_string(op->getNumOperands()));
  Value mask = inputs == 4 ? op->getOperand(3) : Value();
  Reading reading = readSdpa(op, mask);
  auto *named = std::get_if<NamedForm>(&reading);
  Attribute scale = op->getAttr("scale");
  if (!named || !scale)
    return reading;
  auto number = readNumber(scale, "scale", 0);
  if (auto *refusal = std::get_if<Refusal>(&number))
    return *refusal;
  named->attention.scale = std::get<double>(number);
  return reading;
}
