//===- Values.cpp - Types and constants of foreign operands ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// Returns the sizes of a list of PyTorch such as 2,?,64, or nothing.
static std::optional<SmallVector<int64_t>> parseSizes(StringRef list) {
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> words;
  list.split(words, ',', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    int64_t size = ShapedType::kDynamic;
    if (word.trim() != "?" && (word.trim().getAsInteger(10, size) || size < 0))
      return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

/// Returns the element type that PyTorch's types call `word`, or null.
static Type parseElement(StringRef word, MLIRContext *context) {
  word = word.trim();
  // Builtin tensors have integers without signs, to which torch_c converts.
  if (word.consume_front("s") || word.consume_front("u"))
    return word.starts_with("i") ? parseElement(word, context) : Type();
  if (word != "f16" && word != "bf16" && word != "f32" && word != "f64" &&
      word != "i1" && word != "i8" && word != "i32" && word != "i64")
    return Type();
  return parseType(word, context);
}

/// Returns the tensor type of one such as !torch.vtensor<[2,?,64],f32>, or
/// null.
static RankedTensorType parseTorchTensor(Type type) {
  std::string text = textOf(type);
  StringRef rest = text;
  if (!rest.consume_front("!torch.vtensor<[") || !rest.consume_back(">"))
    return {};
  auto [list, element] = rest.split("],");
  std::optional<SmallVector<int64_t>> sizes = parseSizes(list);
  Type elementType = parseElement(element, type.getContext());
  if (!sizes || !elementType)
    return {};
  return RankedTensorType::get(*sizes, elementType);
}

RankedTensorType fmha::raise::tensorTypeOf(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type;
  return parseTorchTensor(value.getType());
}

bool fmha::raise::isNone(Value value) {
  return !value || isa<NoneType>(value.getType()) ||
         textOf(value.getType()) == "!torch.none";
}

std::optional<double> fmha::raise::numberOf(Attribute attribute) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute)) {
    bool isUnsigned =
        number.getType().isInteger(1) || number.getType().isUnsignedInteger();
    return number.getValue().roundToDouble(!isUnsigned);
  }
  if (auto elements = dyn_cast_or_null<SplatElementsAttr>(attribute))
    return numberOf(elements.getSplatValue<Attribute>());
  return std::nullopt;
}

Attribute fmha::raise::constantOf(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  StringRef name = op->getName().getStringRef();
  bool isConstant = name.starts_with("torch.constant.") ||
                    name == "stablehlo.constant" || name == "onnx.Constant";
  return isConstant ? op->getAttr("value") : Attribute();
}

std::variant<double, Refusal>
fmha::raise::readNumber(Attribute attribute, StringRef name, double fallback) {
  if (!attribute)
    return fallback;
  std::optional<double> number = numberOf(attribute);
  if (!number || !std::isfinite(*number))
    return Refusal(Reason::Attribute, name.str() + " that is a finite number",
                   textOf(attribute));
  return *number;
}

std::optional<Refusal> fmha::raise::checkKnown(DictionaryAttr attributes,
                                               ArrayRef<StringRef> known) {
  for (NamedAttribute attribute : attributes)
    if (!attribute.getName().getValue().contains('.') &&
        !llvm::is_contained(known, attribute.getName().getValue()))
      return Refusal(Reason::Attribute,
                     "attributes among " + llvm::join(known, ", "),
                     attribute.getName().str());
  return std::nullopt;
}

std::optional<Refusal> fmha::raise::addMask(AttentionForm &form, Capture mask) {
  Type element = mask.type.getElementType();
  if (isa<FloatType>(element))
    form.score.push_back(addBias(std::move(mask)));
  else if (element.isSignlessInteger(1))
    form.score.push_back(keepWhere(std::move(mask)));
  else
    return Refusal(Reason::Mask, textOf(Type(mask.type)));
  return std::nullopt;
}

std::optional<Refusal> fmha::raise::addSoftCap(AttentionForm &form, double cap,
                                               StringRef name) {
  if (cap == 0)
    return std::nullopt;
  if (!(cap > 0) || float(cap) == 0 || std::isinf(float(cap)))
    return Refusal(Reason::Attribute, name.str() + " that f32 has, above 0",
                   std::to_string(cap));
  form.score.push_back(softCap(cap));
  return std::nullopt;
}

std::variant<TensorView, Refusal> fmha::raise::viewOf(Value value,
                                                      StringRef letters) {
  RankedTensorType type = tensorTypeOf(value);
  if (!type)
    return Refusal(Reason::Unranked, textOf(value.getType()));
  if (type.getRank() != int64_t(letters.size()))
    return Refusal(Reason::Rank,
                   "a tensor of rank " + std::to_string(letters.size()),
                   std::to_string(type.getRank()));
  return TensorView{value, type, letters.str()};
}

std::optional<Refusal> fmha::raise::checkResult(Value result,
                                                ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorTypeOf(result);
  if (type && succeeded(verifyCompatibleShape(type.getShape(), shape)))
    return std::nullopt;
  return Refusal(Reason::Results, "a result of shape " + shapeText(shape),
                 textOf(result.getType()));
}

std::optional<Refusal> fmha::raise::readViews(Operation *op, StringRef letters,
                                              StringRef outputLetters,
                                              AttentionForm &form) {
  struct {
    TensorView *view;
    Value value;
    StringRef letters;
  } const views[] = {{&form.query, op->getOperand(0), letters},
                     {&form.key, op->getOperand(1), letters},
                     {&form.value, op->getOperand(2), letters},
                     {&form.output, op->getResult(0), outputLetters}};
  for (auto [view, value, own] : views) {
    auto read = viewOf(value, own);
    if (auto *refusal = std::get_if<Refusal>(&read))
      return *refusal;
    *view = std::get<TensorView>(read);
  }
  return std::nullopt;
}

void fmha::raise::setCausalTopLeft(AttentionForm &form) {
  form.mask.kind = schedule::Mask::CausalTopLeft;
}
