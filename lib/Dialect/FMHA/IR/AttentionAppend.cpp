//===- AttentionAppend.cpp - New keys of fmha.attention -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionAppend.h"
#include "OperandRules.h"

using namespace mlir;
using namespace fmha;

static InFlightDiagnostic errorOf(AttentionOp op) {
  return op.emitError() << "attention.C33: ";
}

static InFlightDiagnostic rotaryError(AttentionOp op) {
  return op.emitError() << "attention.C35: ";
}

/// Checks which operands come with `rotary`.
static LogicalResult verifyRotaryPresence(AttentionOp op) {
  bool hasRotary = bool(op.getRotary());
  if (failed(verifyAnglePresence(hasRotary, op.getCos(), op.getSin(),
                                 [&] { return rotaryError(op); })))
    return failure();
  if (!hasRotary || op.getKeyNew())
    return success();
  return rotaryError(op) << "expected append with rotary, got none; rotate "
                            "queries and keys beforehand";
}

LogicalResult fmha::verifyAppendPresence(AttentionOp op) {
  Value key = op.getKeyNew(), value = op.getValueNew();
  if (bool(key) != bool(value))
    return errorOf(op) << "expected key_new and value_new, or neither, got one";
  if (failed(verifyRotaryPresence(op)))
    return failure();
  if (!key)
    return success();
  for (Value operand : {key, value})
    if (!isa<MemRefType>(operand.getType()))
      return errorOf(op) << "expected memrefs to append, since the caches are "
                            "written in place, got "
                         << operand.getType()
                         << "; on tensors take fmha.append, which returns the "
                            "caches";
  if (!op.getKvLens())
    return errorOf(op) << "expected kv_lens with key_new, which counts the new "
                          "keys, got none";
  const std::pair<const char *, bool> others[] = {
      {"cu_seqlens_q", bool(op.getCuSeqlensQ())},
      {"cu_seqlens_k", bool(op.getCuSeqlensK())},
      {"source2", bool(op.getKey2())},
      {"value that is a view of key", op.isValueInKey()}};
  for (auto [name, isThere] : others)
    if (isThere)
      return errorOf(op) << "expected no " << name
                         << " with key_new, got one; append by fmha.append, "
                            "or write the caches by other ops";
  return success();
}

namespace {

/// The checks of the operands.
class AppendRules {
public:
  explicit AppendRules(AttentionOp op) : op(op) {}
  LogicalResult types();
  LogicalResult shapes();
  LogicalResult aliases();
  LogicalResult rotary();

private:
  LogicalResult angles(StringRef name, ShapedType type);
  LogicalResult equal(StringRef name, Value operand, unsigned dimension,
                      StringRef otherName, Value other,
                      unsigned otherDimension);

  AttentionOp op;
};

} // namespace

LogicalResult AppendRules::types() {
  Type wanted = op.getKey().getType().getElementType();
  for (auto [name, operand] :
       {std::pair("key_new", op.getKeyNew()), {"value_new", op.getValueNew()}})
    if (Type got = cast<ShapedType>(operand.getType()).getElementType();
        got != wanted)
      return errorOf(op) << "expected the element type of " << name
                         << " to be that of key, " << wanted << ", got " << got
                         << "; convert it";
  return success();
}

LogicalResult AppendRules::equal(StringRef name, Value operand,
                                 unsigned dimension, StringRef otherName,
                                 Value other, unsigned otherDimension) {
  int64_t got = cast<ShapedType>(operand.getType()).getDimSize(dimension);
  int64_t wanted = cast<ShapedType>(other.getType()).getDimSize(otherDimension);
  if (ShapedType::isDynamic(got) || ShapedType::isDynamic(wanted) ||
      got == wanted)
    return success();
  return errorOf(op) << "expected dimension " << dimension << " of " << name
                     << " to be " << wanted << ", as dimension "
                     << otherDimension << " of " << otherName << ", got "
                     << got;
}

LogicalResult AppendRules::shapes() {
  Value key = op.getKeyNew(), value = op.getValueNew();
  constexpr unsigned length = AttentionOp::Length, heads = AttentionOp::Heads,
                     dim = AttentionOp::HeadDim;
  return success(
      succeeded(equal("value_new", value, length, "key_new", key, length)) &&
      succeeded(equal("key_new", key, heads, "value", op.getValue(), heads)) &&
      succeeded(
          equal("value_new", value, heads, "value", op.getValue(), heads)) &&
      succeeded(equal("key_new", key, dim, "query", op.getQuery(), dim)) &&
      succeeded(equal("value_new", value, dim, "value", op.getValue(), dim)));
}

/// Checks that the caches share no memory with each other and with what the
/// kernel reads. Destinations are checked with all operands.
LogicalResult AppendRules::aliases() {
  SmallVector<std::pair<StringRef, Value>> all = {
      {"key", op.getKey()},
      {"value", op.getValue()},
      {"query", op.getQuery()},
      {"key_new", op.getKeyNew()},
      {"value_new", op.getValueNew()},
      {"kv_lens", op.getKvLens()},
      {"block_tables", op.getBlockTables()},
      {"sink", op.getSink()},
      {"k_scale", op.getKScale()},
      {"v_scale", op.getVScale()},
      {"q_scale", op.getQScale()},
      {"cos", op.getCos()},
      {"sin", op.getSin()}};
  for (Value source : op.getCaptures())
    all.push_back({"a tensor that the region `score` reads", source});
  for (size_t n : {0, 1})
    for (auto [name, other] : llvm::drop_begin(all, n + 1))
      if (auto how = other ? sharedMemory(all[n].second, other)
                           : std::optional<StringRef>())
        return op.emitError()
               << "attention.C21: expected " << all[n].first << " and " << name
               << " to share no memory, since key_new is written to the "
                  "caches, got "
               << *how << "; give " << name << " a separate memref";
  return success();
}

/// Checks a table of cosines or sines.
LogicalResult AppendRules::angles(StringRef name, ShapedType type) {
  if (type.getRank() != 2 || !type.getElementType().isF32())
    return rotaryError(op) << "expected " << name
                           << " to be [positions, pairs] of f32, got " << type;
  if (failed(verifyAngleColumns(name, type, op.getHeadDim(),
                                [&] { return rotaryError(op); })))
    return failure();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  // attention.C15 reports layouts that are not strided.
  if (failed(cast<MemRefType>(type).getStridesAndOffset(strides, offset)))
    return success();
  if (type.getDimSize(1) > 1 && !ShapedType::isDynamic(strides[1]) &&
      strides[1] != 1)
    return rotaryError(op) << "expected contiguous rows of " << name
                           << ", got stride " << strides[1]
                           << "; copy it to a separate buffer";
  if (!ShapedType::isDynamic(strides[0]) && strides[0] < 0)
    return rotaryError(op) << "expected rows of " << name
                           << " at a stride that is not negative, got "
                           << strides[0];
  return success();
}

LogicalResult AppendRules::rotary() {
  if (!op.getRotary())
    return success();
  auto cos = cast<ShapedType>(op.getCos().getType()),
       sin = cast<ShapedType>(op.getSin().getType());
  if (failed(angles("cos", cos)) || failed(angles("sin", sin)))
    return failure();
  for (unsigned dimension : {0, 1}) {
    int64_t wanted = cos.getDimSize(dimension), got = sin.getDimSize(dimension);
    if (!ShapedType::isDynamic(wanted) && !ShapedType::isDynamic(got) &&
        wanted != got)
      return rotaryError(op) << "expected sin to have the shape of cos, " << cos
                             << ", got " << sin;
  }
  Type element = op.getElementType();
  if (!op.hasE4M3Keys() && !isa<Float8E4M3FNType>(element))
    return success();
  return rotaryError(op) << "expected f16, bf16 or f32 with rotary, since keys "
                            "rotate before they are quantized, got key "
                         << op.getKey().getType() << " and query "
                         << op.getQuery().getType()
                         << "; rotate queries and keys beforehand";
}

LogicalResult fmha::verifyAppend(AttentionOp op) {
  if (!op.getKeyNew())
    return success();
  AppendRules rules(op);
  return success(succeeded(rules.types()) && succeeded(rules.shapes()) &&
                 succeeded(rules.rotary()) && succeeded(rules.aliases()));
}
