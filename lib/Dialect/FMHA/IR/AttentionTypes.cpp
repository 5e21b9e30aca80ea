//===- AttentionTypes.cpp - Verify element types and scales ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTypes.h"

using namespace mlir;
using namespace fmha;

static Type elementOf(Value operand) {
  return cast<ShapedType>(operand.getType()).getElementType();
}

static bool isFloat8(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

static InFlightDiagnostic typeError(AttentionOp op) {
  return op.emitError() << "attention.C3: ";
}

static LogicalResult verifyQuery(AttentionOp op) {
  Type type = op.getElementType();
  if (type.isF16() || type.isBF16() || type.isF32() ||
      isa<Float8E4M3FNType>(type))
    return success();
  if (isFloat8(type))
    return typeError(op) << "expected 8 bits of query to be f8E4M3FN, got "
                         << type
                         << "; convert query, key and value to f8E4M3FN, f16 "
                            "or bf16 first";
  return typeError(op) << "expected the element type of query to be f16, bf16 "
                          "or f32, got "
                       << type << "; convert query, key and value first";
}

static LogicalResult verifyKey(AttentionOp op) {
  Type type = op.getElementType(), own = elementOf(op.getKey());
  if (own == type || op.hasE4M3Keys())
    return success();
  return typeError(op) << "expected the element type of key to be that of "
                          "query, "
                       << type << (isFloat8(own) ? ", or f8E4M3FN" : "")
                       << ", got " << own << "; convert key";
}

/// Checks that V and a second segment have the type of K.
static LogicalResult verifyLikeKey(AttentionOp op) {
  bool isOwn = op.hasE4M3Keys();
  Type type = isOwn ? elementOf(op.getKey()) : op.getElementType();
  for (auto [name, value] : {std::pair("value", op.getValue()),
                             {"key2", op.getKey2()},
                             {"value2", op.getValue2()}})
    if (value && elementOf(value) != type)
      return typeError(op) << "expected the element type of " << name
                           << " to be that of " << (isOwn ? "key" : "query")
                           << ", " << type << ", got " << elementOf(value)
                           << "; convert " << name;
  return success();
}

static LogicalResult verifyOutput(AttentionOp op) {
  Type type = op.getElementType(), own = elementOf(op.getOutput());
  bool isPlain = own.isF32() || own.isF16() || own.isBF16();
  if (own.isF32() || (op.hasE4M3Keys() ? isPlain : own == type))
    return success();
  if (op.hasE4M3Keys())
    return typeError(op) << "expected the element type of output to be f32, "
                            "f16 or bf16 with key of f8E4M3FN, got "
                         << own << "; convert the result instead";
  return typeError(op) << "expected the element type of output to be that of "
                          "query, "
                       << type << ", or f32, got " << own
                       << "; convert the result instead";
}

LogicalResult fmha::verifyTypes(AttentionOp op) {
  return success(succeeded(verifyQuery(op)) && succeeded(verifyKey(op)) &&
                 succeeded(verifyLikeKey(op)) && succeeded(verifyOutput(op)));
}

namespace {

/// The checks of attention.C32.
class ScaleRules {
public:
  explicit ScaleRules(AttentionOp op) : op(op) {}
  LogicalResult run();

private:
  InFlightDiagnostic error() { return op.emitError() << "attention.C32: "; }
  LogicalResult granularity();
  LogicalResult presence(StringRef name, Value scale, StringRef operand,
                         Type type);
  LogicalResult shape(StringRef name, Value scale, StringRef why,
                      int64_t count);

  AttentionOp op;
};

} // namespace

LogicalResult ScaleRules::granularity() {
  if (op.getScalePerHead() && op.getScalePerPage())
    return error() << "expected scale_per_head or scale_per_page, got both; "
                      "leave one out";
  if (op.getScalePerPage() && !op.getBlockTables())
    return error() << "expected block_tables with scale_per_page, whose pages "
                      "have a scale each, got none; take scale_per_head, or "
                      "one scale";
  bool isFiner = op.getScalePerHead() || op.getScalePerPage();
  if (isFiner && !op.hasE4M3Keys())
    return error() << "expected key and value of f8E4M3FN with "
                   << (op.getScalePerHead() ? "scale_per_head"
                                            : "scale_per_page")
                   << ", got " << elementOf(op.getKey())
                   << "; leave the attribute out";
  return success();
}

/// Checks that an operand of 8 bits has a scale, and another one has none.
LogicalResult ScaleRules::presence(StringRef name, Value scale,
                                   StringRef operand, Type type) {
  bool isWanted = isa<Float8E4M3FNType>(type);
  if (isWanted && !scale)
    return error() << "expected " << name << " with " << operand << " of "
                   << type
                   << ", whose values are those stored times it, got none; "
                      "pass a vector of f32, [1.0] for values as they are "
                      "stored";
  if (scale && !isWanted)
    return error() << "expected " << name << " with " << operand
                   << " of f8E4M3FN only, got " << type
                   << "; leave it out, and multiply `scale` or the output";
  return success();
}

LogicalResult ScaleRules::shape(StringRef name, Value scale, StringRef why,
                                int64_t count) {
  auto type = cast<ShapedType>(scale.getType());
  if (type.getRank() != 1 || !type.getElementType().isF32())
    return error() << "expected " << name << " to be a vector of f32, got "
                   << type;
  if (int64_t got = type.getDimSize(0); !ShapedType::isDynamic(got) &&
                                        !ShapedType::isDynamic(count) &&
                                        got != count)
    return error() << "expected " << name << " to have " << count
                   << (count == 1 ? " entry, " : " entries, ") << why
                   << ", got " << got;
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!memref || failed(memref.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[0]) || strides[0] == 1)
    return success();
  return error() << "expected " << name << " to be contiguous, got " << memref
                 << "; copy it to a dense vector";
}

LogicalResult ScaleRules::run() {
  Type key = elementOf(op.getKey());
  if (failed(granularity()) ||
      failed(presence("k_scale", op.getKScale(), "key", key)) ||
      failed(presence("v_scale", op.getVScale(), "value", key)) ||
      failed(presence("q_scale", op.getQScale(), "query", op.getElementType())))
    return failure();
  auto dimension = [&](AttentionOp::Dimension which) {
    int64_t size = op.getKey().getType().getDimSize(which);
    return ShapedType::isDynamic(size)
               ? op.getValue().getType().getDimSize(which)
               : size;
  };
  StringRef why = "since no attribute gives each head or page its own";
  int64_t count = 1;
  if (op.getScalePerHead()) {
    why = "one per KV head (scale_per_head)";
    count = dimension(AttentionOp::Heads);
  } else if (op.getScalePerPage()) {
    why = "one per page of key (scale_per_page)";
    count = dimension(AttentionOp::Batch);
  }
  for (auto [name, scale] :
       {std::pair("k_scale", op.getKScale()), {"v_scale", op.getVScale()}})
    if (scale && failed(shape(name, scale, why, count)))
      return failure();
  if (Value scale = op.getQScale())
    return shape("q_scale", scale, "that of all queries", 1);
  return success();
}

LogicalResult fmha::verifyScales(AttentionOp op) {
  return ScaleRules(op).run();
}
