//===- Onnx.cpp - ONNX's attention ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning is that of the reference evaluator of ONNX 1.23, for opsets 23
// to 25.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"
#include "Views.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {
/// The operands by name; null if absent.
struct OnnxOperands {
  Value mask, pastKey, pastValue, lengths;
};
/// The element types of softmax_precision: TensorProto's numbers.
enum Precision { Unset = 0, Float = 1, Float16 = 10, BFloat16 = 16 };
} // namespace

static Value operandAt(Operation *op, unsigned index) {
  if (index >= op->getNumOperands() || isNone(op->getOperand(index)))
    return {};
  return op->getOperand(index);
}

/// Returns an integer attribute, or nothing.
static std::optional<int64_t> integerOf(Operation *op, StringRef name) {
  std::optional<double> number = numberOf(op->getAttr(name));
  return number ? std::optional(int64_t(*number)) : std::nullopt;
}

/// Returns whether a result is there and used.
static bool isUsed(Operation *op, unsigned index) {
  return index < op->getNumResults() && !op->getResult(index).use_empty();
}

/// Splits the last dimension of a view of rank 3 into heads.
static std::optional<Refusal> splitHeads(Operation *op, StringRef attribute,
                                         TensorView &view) {
  std::optional<int64_t> heads = integerOf(op, attribute);
  int64_t hidden = view.type.getShape().back();
  if (ShapedType::isDynamic(hidden))
    return Refusal(Reason::DynamicHeadDim, shapeText(view.type.getShape()));
  if (!heads || *heads < 1 || hidden % *heads)
    return Refusal(Reason::HeadCounts,
                   attribute.str() + " = " +
                       (heads ? std::to_string(*heads) : "none") + " for " +
                       std::to_string(hidden));
  view.splitHeads = *heads;
  view.letters = "blhd";
  return std::nullopt;
}

/// Reads Q, K, V and Y: [batch, heads, length, dim] or [batch, length, hidden].
static std::optional<Refusal> readTensors(Operation *op, AttentionForm &form) {
  RankedTensorType query = tensorTypeOf(op->getOperand(0));
  if (!query)
    return Refusal(Reason::Unranked, textOf(op->getOperand(0).getType()));
  if (query.getRank() == 4)
    return readViews(op, "bhld", "bhld", form);
  if (query.getRank() != 3)
    return Refusal(Reason::Rank, "rank 3 or 4",
                   std::to_string(query.getRank()));
  if (auto refusal = readViews(op, "bld", "bld", form))
    return refusal;
  struct {
    StringRef attribute;
    TensorView *view;
  } const views[] = {{"q_num_heads", &form.query},
                     {"kv_num_heads", &form.key},
                     {"kv_num_heads", &form.value},
                     {"q_num_heads", &form.output}};
  for (auto [attribute, view] : views)
    if (auto refusal = splitHeads(op, attribute, *view))
      return refusal;
  return std::nullopt;
}

/// Returns the type of the past and the new rows of `view` together, or null.
static RankedTensorType joinedType(const TensorView &view, Value past) {
  RankedTensorType type = tensorTypeOf(past);
  if (!type || type.getRank() != 4 ||
      type.getElementType() != view.type.getElementType())
    return {};
  int64_t before = type.getDimSize(2), after = view.extent('l');
  SmallVector<int64_t> shape = {view.extent('b'), view.extent('h'), before,
                                view.extent('d')};
  if (failed(verifyCompatibleShape(type.getShape(), shape)))
    return {};
  bool known = !ShapedType::isDynamic(before) && !ShapedType::isDynamic(after);
  int64_t sum = ShapedType::kDynamic;
  if (known && llvm::AddOverflow(before, after, sum))
    return {};
  shape[2] = known ? sum : ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Returns the rows of the past, then those of `view`, [batch, heads, length,
/// dim].
static Value joinRows(OpBuilder &b, Location location, const TensorView &view,
                      Value past) {
  Value fresh = toLogical(b, location,
                          asTensor(b, location, view.value, view.type), view);
  Value swapped = TransposeOp::create(b, location, fresh, {0, 2, 1, 3});
  Value held = asTensor(b, location, past, tensorTypeOf(past));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, swapped);
  SmallVector<OpFoldResult> pastSizes =
      tensor::getMixedSizes(b, location, held);
  Value sum = b.createOrFold<arith::AddIOp>(
      location, getValueOrCreateConstantIndexOp(b, location, sizes[2]),
      getValueOrCreateConstantIndexOp(b, location, pastSizes[2]));
  SmallVector<OpFoldResult> all = sizes;
  all[2] = getAsOpFoldResult(sum);
  Value joined =
      tensor::EmptyOp::create(b, location, all, getElementTypeOrSelf(held));
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
      strides(4, b.getIndexAttr(1));
  joined = tensor::InsertSliceOp::create(b, location, held, joined, offsets,
                                         pastSizes, strides);
  offsets[2] = pastSizes[2];
  return tensor::InsertSliceOp::create(b, location, swapped, joined, offsets,
                                       sizes, strides);
}

/// Returns `view` as present_key or present_value, [batch, heads, length, dim].
static Value presentOf(OpBuilder &b, Location location, const TensorView &view,
                       Type type) {
  Value tensor = asTensor(b, location, view.value, view.type);
  if (view.letters != "bhld")
    tensor = TransposeOp::create(
        b, location, toLogical(b, location, tensor, view), {0, 2, 1, 3});
  if (tensor.getType() != type)
    tensor = tensor::CastOp::create(b, location, type, tensor);
  return tensor;
}

/// Puts the past before the keys and values.
static std::optional<Refusal>
readPast(Operation *op, const OnnxOperands &operands, NamedForm &named) {
  AttentionForm &form = named.attention;
  if (!operands.pastKey && !operands.pastValue)
    return std::nullopt;
  if (!operands.pastKey || !operands.pastValue)
    return Refusal(Reason::Cache, "past_key and past_value together",
                   "one of them");
  if (operands.lengths)
    return Refusal(Reason::Cache, "a past or nonpad_kv_seqlen", "both");
  TensorView key = form.key, value = form.value;
  RankedTensorType keys = joinedType(key, operands.pastKey),
                   values = joinedType(value, operands.pastValue);
  if (!keys || !values)
    return Refusal(
        Reason::Cache,
        "a past of rank 4 that has the type and the batch, heads and "
        "head dim of K and V",
        textOf(operands.pastKey.getType()) + " and " +
            textOf(operands.pastValue.getType()));
  form.key = {Value(), keys, "bhld"};
  form.value = {Value(), values, "bhld"};
  Location location = op->getLoc();
  named.prepare = [=](OpBuilder &b, AttentionForm &made) {
    made.key.value = joinRows(b, location, key, operands.pastKey);
    made.value.value = joinRows(b, location, value, operands.pastValue);
    for (TensorView *view : {&made.key, &made.value})
      view->type = cast<RankedTensorType>(view->value.getType());
  };
  return std::nullopt;
}

/// Returns an extent of `tensor` as i32 [1].
static Value extentTensor(OpBuilder &b, Location location, Value tensor,
                          int64_t dimension) {
  Value extent = tensor::DimOp::create(b, location, tensor, dimension);
  Value number =
      arith::IndexCastOp::create(b, location, b.getI32Type(), extent);
  return tensor::FromElementsOp::create(b, location, ValueRange{number});
}

/// Adds to `named` a step that reads an extent of a tensor.
static void addExtentStep(NamedForm &named, ScoreStep (*make)(Capture),
                          Location location, Value tensor, int64_t dimension) {
  MLIRContext *context = location.getContext();
  auto type = RankedTensorType::get({1}, IntegerType::get(context, 32));
  AttentionForm &form = named.attention;
  unsigned position = form.score.size();
  form.score.push_back(make({Value(), type, "0"}));
  named.prepare = [=, before = named.prepare](OpBuilder &b,
                                              AttentionForm &made) {
    if (before)
      before(b, made);
    Value held = asTensor(b, location, tensor, tensorTypeOf(tensor));
    made.score[position].capture->value =
        extentTensor(b, location, held, dimension);
  };
}

/// Adds the attention mask, which hides keys after its last column.
static std::optional<Refusal> readMask(Value mask, Location location,
                                       NamedForm &named) {
  AttentionForm &form = named.attention;
  RankedTensorType type = tensorTypeOf(mask);
  if (!type)
    return Refusal(Reason::Unranked, textOf(mask.getType()));
  if (type.getRank() < 1 || type.getRank() > 4)
    return Refusal(Reason::Rank, "a mask of rank 1 to 4",
                   std::to_string(type.getRank()));
  int64_t columns = type.getShape().back(), keys = form.key.extent('l');
  bool known = !ShapedType::isDynamic(columns) && !ShapedType::isDynamic(keys);
  if (known && columns > keys)
    return Refusal(Reason::Extents, "a mask of at most as many columns as keys",
                   std::to_string(columns) + " and " + std::to_string(keys));
  // A capture of fewer columns is read at the last one; those are hidden below.
  if (auto refusal = addMask(form, {mask, type, maskLetters(type.getRank()),
                                    /*partial=*/true}))
    return refusal;
  if (!known || columns != keys)
    addExtentStep(named, keepKeysBefore, location, mask, type.getRank() - 1);
  return std::nullopt;
}

/// Sets causal masks and windows, which are aligned by the number of keys
/// before those of Q's rows.
static std::optional<Refusal> readPlaces(Operation *op,
                                         const OnnxOperands &operands,
                                         int64_t newKeys, NamedForm &named) {
  AttentionForm &form = named.attention;
  bool causal = integerOf(op, "is_causal").value_or(0) != 0;
  int64_t left = integerOf(op, "left_window_size").value_or(-1),
          right = integerOf(op, "right_window_size").value_or(-1);
  if (!causal && left < 0 && right < 0)
    return std::nullopt;
  int64_t rows = form.query.extent('l');
  bool sameLength = rows == newKeys && !ShapedType::isDynamic(rows);
  // Bottom-right is exact if the rows are the last keys of their sequence.
  bool bottomRight = operands.lengths || sameLength;
  if (left >= 0 || right >= 0) {
    if (!bottomRight)
      return Refusal(Reason::Extents,
                     "windows with as many rows as new keys, both static",
                     shapeText({rows, newKeys}));
    if (std::max(left, right) > int64_t(schedule::Mask::largestWindow))
      return Refusal(Reason::Window, std::to_string(std::max(left, right)));
    if (left >= 0)
      form.mask.left = left;
    if (right >= 0)
      form.mask.right = right;
  }
  if (!causal)
    return std::nullopt;
  if (bottomRight)
    form.mask.kind = schedule::Mask::Causal;
  else if (operands.pastKey)
    addExtentStep(named, keepCausalFrom, op->getLoc(), operands.pastKey, 2);
  else
    setCausalTopLeft(form);
  return std::nullopt;
}

/// Reads the number of keys of each sequence.
static std::optional<Refusal> readLengths(Value lengths, AttentionForm &form) {
  if (!lengths)
    return std::nullopt;
  RankedTensorType type = tensorTypeOf(lengths);
  if (!type || type.getRank() != 1 ||
      !(type.getElementType().isSignlessInteger(64) ||
        type.getElementType().isSignlessInteger(32)))
    return Refusal(Reason::Operands, "nonpad_kv_seqlen of i64 per sequence",
                   textOf(lengths.getType()) + " among the");
  form.kvLens = lengths;
  return std::nullopt;
}

/// The attributes of the op, all of them numbers.
static constexpr StringRef attributeNames[] = {
    "is_causal",   "kv_num_heads",      "left_window_size",
    "q_num_heads", "right_window_size", "qk_matmul_output_mode",
    "scale",       "softcap",           "softmax_precision"};

/// Returns why attributes and uses of results do not fit.
static std::optional<Refusal> checkAttributes(Operation *op) {
  if (op->getNumOperands() < 3 || op->getNumOperands() > 7)
    return Refusal(Reason::Operands, "3 to 7 operands",
                   std::to_string(op->getNumOperands()));
  if (op->getNumResults() < 1 || op->getNumResults() > 4)
    return Refusal(Reason::Results, "1 to 4 results",
                   std::to_string(op->getNumResults()));
  SmallVector<StringRef> known(llvm::ArrayRef<StringRef>{attributeNames});
  known.push_back("onnx_node_name");
  if (auto refusal = checkKnown(op->getAttrDictionary(), known))
    return refusal;
  for (StringRef name : attributeNames) {
    auto number = readNumber(op->getAttr(name), name, 0);
    if (auto *refusal = std::get_if<Refusal>(&number))
      return *refusal;
  }
  if (isUsed(op, 3))
    return Refusal(Reason::ScoreOutput, "qk_matmul_output");
  int64_t precision = integerOf(op, "softmax_precision").value_or(Unset);
  if (!llvm::is_contained({Unset, Float, Float16, BFloat16}, precision))
    return Refusal(Reason::Precision,
                   "softmax_precision = " + std::to_string(precision));
  return std::nullopt;
}

/// Adds present_key and present_value to the results.
static void addResults(Operation *op, NamedForm &named) {
  if (op->getNumResults() == 1)
    return;
  Location location = op->getLoc();
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(tensorTypeOf(result));
  SmallVector<bool> used;
  for (unsigned index : llvm::seq(op->getNumResults()))
    used.push_back(isUsed(op, index));
  named.results = [=](OpBuilder &b, const AttentionForm &form,
                      const RaisedAttention &raised) {
    SmallVector<Value> results(types.size());
    results[0] = raised.output;
    for (auto [index, view] : {std::pair(1u, &form.key), {2u, &form.value}})
      if (index < types.size() && used[index])
        results[index] = presentOf(b, location, *view, types[index]);
    return results;
  };
}

/// Returns why present_key or present_value, if they are used, have other
/// types.
static std::optional<Refusal> checkPresent(Operation *op,
                                           const AttentionForm &form) {
  for (auto [index, view] : {std::pair(1u, &form.key), {2u, &form.value}}) {
    if (!isUsed(op, index))
      continue;
    Value result = op->getResult(index);
    if (auto refusal =
            checkResult(result, {view->extent('b'), view->extent('h'),
                                 view->extent('l'), view->extent('d')}))
      return refusal;
    if (tensorTypeOf(result).getElementType() != view->type.getElementType())
      return Refusal(Reason::Results, "a cache of the type of K and V",
                     textOf(result.getType()));
  }
  return std::nullopt;
}

/// Adds the soft cap and the mask in their order.
static std::optional<Refusal> readScores(Operation *op, Value mask,
                                         bool capAfterMask, NamedForm &named) {
  AttentionForm &form = named.attention;
  double cap = std::max(0.0, numberOf(op->getAttr("softcap")).value_or(0.0));
  if (!capAfterMask)
    if (auto refusal = addSoftCap(form, cap, "softcap"))
      return refusal;
  if (mask)
    if (auto refusal = readMask(mask, op->getLoc(), named))
      return refusal;
  return capAfterMask ? addSoftCap(form, cap, "softcap") : std::nullopt;
}

Reading fmha::raise::readOnnx(Operation *op, const ReadOptions &options) {
  if (auto refusal = checkAttributes(op))
    return *refusal;
  OnnxOperands operands{operandAt(op, 3), operandAt(op, 4), operandAt(op, 5),
                        operandAt(op, 6)};
  NamedForm named;
  AttentionForm &form = named.attention;
  if (auto refusal = readTensors(op, form))
    return *refusal;
  int64_t newKeys = form.key.extent('l');
  addResults(op, named);
  if (auto refusal = readPast(op, operands, named))
    return *refusal;
  if (auto refusal = checkPresent(op, form))
    return *refusal;
  if (auto refusal = readLengths(operands.lengths, form))
    return *refusal;
  if (auto refusal = readScores(op, operands.mask, options.capAfterMask, named))
    return *refusal;
  if (auto refusal = readPlaces(op, operands, newKeys, named))
    return *refusal;
  form.scale = numberOf(op->getAttr("scale"));
  return named;
}
