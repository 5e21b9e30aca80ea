//===- RaiseNamed.cpp - Raise attention ops of other dialects -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Named/Readers.h"
#include "Views.h"

#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace fmha {
#define GEN_PASS_DEF_RAISENAMED
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {
/// An entry of NamedForms.def. Without a reader the op is always refused.
struct NamedEntry {
  StringRef from, op, callee;
  Reading (*reader)(Operation *, const ReadOptions &) = nullptr;
  Reason reason = Reason::OtherOp;
  StringRef got;
};
} // namespace

static const NamedEntry entries[] = {
#define FMHA_NAMED_FORM(reader, from, op, callee, operands, meaning)           \
  {from, op, callee, reader, Reason::OtherOp, ""},
#define FMHA_UNRAISED_NAME(from, op, callee, refusal, text)                    \
  {from, op, callee, nullptr, Reason::refusal, text},
#include "fmha/Conversion/Raise/NamedForms.def"
};

/// Returns the name that a composite or a custom call has.
static StringRef calleeOf(Operation *op) {
  bool isCall = op->getName().getStringRef() == "stablehlo.custom_call";
  auto name =
      op->getAttrOfType<StringAttr>(isCall ? "call_target_name" : "name");
  return name ? name.getValue() : "";
}

/// Returns the entry of `op`, or null.
static const NamedEntry *entryOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  for (const NamedEntry &entry : entries)
    if (name == entry.op &&
        (entry.callee.empty() || entry.callee == calleeOf(op)))
      return &entry;
  return nullptr;
}

/// Returns the words that the option `from` takes.
static SmallVector<StringRef> sourceWords() {
  SmallVector<StringRef> words;
  for (const NamedEntry &entry : entries)
    if (!llvm::is_contained(words, entry.from))
      words.push_back(entry.from);
  return words;
}

/// Returns `value` as the type of a result that it replaces.
static Value asResult(OpBuilder &b, Location location, Value value, Type type) {
  if (value.getType() == type || isa<RankedTensorType>(type))
    return value;
  OperationState state(location, "torch_c.from_builtin_tensor");
  state.addOperands(value);
  state.addTypes(type);
  return b.create(state)->getResult(0);
}

/// Erases the op that converts to the PyTorch tensor `value`, if nothing uses
/// it.
static void eraseUnusedConversion(Value value) {
  Operation *producer = value.getDefiningOp();
  if (value.use_empty() &&
      isConversion(producer, "torch_c.from_builtin_tensor"))
    producer->erase();
}

/// Erases the constant that makes `value`, if nothing uses it: in a dialect
/// that is not loaded its effects are unknown, and no other pass erases it.
/// Returns whether it did.
///   %none = "torch.constant.none"()    %none = "onnx.NoValue"()
static bool eraseUnusedConstant(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !producer->use_empty() || producer->getNumOperands() ||
      producer->getNumRegions())
    return false;
  StringRef name = producer->getName().stripDialect();
  if (!name.starts_with_insensitive("constant") && name != "NoValue")
    return false;
  producer->erase();
  return true;
}

/// Replaces uses of a PyTorch tensor's conversion by the tensor itself.
static void foldConversions(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!isConversion(producer, "torch_c.from_builtin_tensor"))
    return;
  Value tensor = producer->getOperand(0);
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (isConversion(user, "torch_c.to_builtin_tensor") &&
        user->getResult(0).getType() == tensor.getType()) {
      user->getResult(0).replaceAllUsesWith(tensor);
      user->erase();
    }
  eraseUnusedConversion(value);
}

/// Replaces `op` by views and fmha.attention.
static void rewrite(Operation *op, NamedForm &named, Compute compute) {
  OpBuilder b(op);
  AttentionForm &form = named.attention;
  if (named.prepare)
    named.prepare(b, form);
  RaisedAttention raised = buildAttention(b, op->getLoc(), form, compute);
  SmallVector<Value> results = {raised.output};
  if (named.results)
    results = named.results(b, form, raised);
  for (auto [old, made] : llvm::zip_equal(op->getResults(), results)) {
    if (!made || old.use_empty())
      continue;
    Value value = asResult(b, op->getLoc(), made, old.getType());
    old.replaceAllUsesWith(value);
    foldConversions(value);
  }
  SetVector<Value> operands(op->operand_begin(), op->operand_end());
  op->erase();
  for (Value operand : operands)
    if (!eraseUnusedConstant(operand))
      eraseUnusedConversion(operand);
}

namespace {
struct RaiseNamedPass : fmha::impl::RaiseNamedBase<RaiseNamedPass> {
  using RaiseNamedBase::RaiseNamedBase;

  LogicalResult initialize(MLIRContext *context) override {
    Location location = UnknownLoc::get(context);
    SmallVector<StringRef> words = sourceWords();
    for (const std::string &word : from)
      if (!llvm::is_contained(words, word))
        return emitError(location)
               << "expected from= one of " << llvm::join(words, ", ")
               << ", got " << word;
    if (!computeOf(compute))
      return emitError(location)
             << "expected compute=f16, bf16 or keep, got " << compute;
    if (onnxSoftcap != "before-mask" && onnxSoftcap != "after-mask")
      return emitError(location)
             << "expected onnx-softcap=before-mask or after-mask, got "
             << onnxSoftcap;
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      const NamedEntry *entry = entryOf(op);
      if (entry && (from.empty() || llvm::is_contained(from, entry->from)))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      raise(op, *entryOf(op));
  }

private:
  /// Returns what the op describes if fmha.attention can compute it.
  Reading read(Operation *op, const NamedEntry &entry) const {
    if (!entry.reader)
      return Refusal(entry.reason, entry.got.str());
    Reading reading = entry.reader(op, {onnxSoftcap == "after-mask"});
    if (auto *named = std::get_if<NamedForm>(&reading))
      if (auto refusal = check(named->attention, *computeOf(compute)))
        return *refusal;
    return reading;
  }

  void raise(Operation *op, const NamedEntry &entry) const {
    Reading reading = read(op, entry);
    if (auto *refusal = std::get_if<Refusal>(&reading))
      return reportRefused(op, *refusal);
    rewrite(op, std::get<NamedForm>(reading), *computeOf(compute));
  }
};
} // namespace
