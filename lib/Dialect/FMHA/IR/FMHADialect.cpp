//===- FMHADialect.cpp - Registration of the fmha dialect -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandRules.h"
#include "fmha/Dialect/DiscardableAttributes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace fmha;

#include "fmha/Dialect/FMHA/Attributes/FMHADialect.cpp.inc"

namespace {

/// Allows inlining of functions that contain ops of this dialect, together with
/// score regions.
struct FMHAInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

} // namespace

void FMHADialect::initialize() {
  registerAttributes();
  addInterfaces<FMHAInliner>();
  addOperations<
#define GET_OP_LIST
#include "fmha/Dialect/FMHA/IR/FMHAOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

namespace {
/// A discardable attribute of this dialect and the ops that may have it.
struct Discardable {
  StringLiteral name, value, place;
  bool (*isValue)(Attribute);
  bool (*isPlace)(Operation *);
};

bool isKernelSymbol(Attribute value) {
  auto symbol = dyn_cast<SymbolRefAttr>(value);
  return symbol && symbol.getNestedReferences().size() == 1;
}

constexpr Discardable discardables[] = {
    {"fmha.append", "a dictionary", "llvm.func",
     [](Attribute value) { return isa<DictionaryAttr>(value); },
     [](Operation *op) { return isa<LLVM::LLVMFuncOp>(op); }},
    {"fmha.kernel", "a symbol @module::@function",
     "fmha.attention, fmha.append or fmha.merge", isKernelSymbol,
     [](Operation *op) { return isa<AttentionOp, AppendOp, MergeOp>(op); }},
    {"fmha.manifest", "a string", "gpu.binary",
     [](Attribute value) { return isa<StringAttr>(value); },
     [](Operation *op) { return isa<gpu::BinaryOp>(op); }},
    {"fmha.merge", "a dictionary", "llvm.func",
     [](Attribute value) { return isa<DictionaryAttr>(value); },
     [](Operation *op) { return isa<LLVM::LLVMFuncOp>(op); }},
    {"fmha.problem", "a #fmha.problem", "gpu.func or llvm.func",
     [](Attribute value) { return isa<ProblemAttr>(value); },
     [](Operation *op) { return isa<gpu::GPUFuncOp, LLVM::LLVMFuncOp>(op); }},
    {"fmha.schedule", "a #fmha.schedule", "gpu.func or llvm.func",
     [](Attribute value) { return isa<ScheduleAttr>(value); },
     [](Operation *op) { return isa<gpu::GPUFuncOp, LLVM::LLVMFuncOp>(op); }},
    {"fmha.target", "a string", "fmha.attention",
     [](Attribute value) { return isa<StringAttr>(value); },
     [](Operation *op) { return isa<AttentionOp>(op); }},
};
} // namespace

/// Other libraries' names for attributes of the ops.
static constexpr std::pair<StringLiteral, StringLiteral> otherNames[] = {
    {"causal", "mask"},         {"is_causal", "mask"},
    {"window", "mask"},         {"window_size", "mask"},
    {"sliding_window", "mask"}, {"sm_scale", "scale"},
    {"softmax_scale", "scale"}};

/// Returns the attribute of `op` that `name` probably is a misspelling of.
static std::optional<StringRef> findSimilarAttribute(Operation *op,
                                                     StringRef name) {
  for (const auto &[other, known] : otherNames)
    if (name == other &&
        llvm::is_contained(op->getName().getAttributeNames(), known))
      return known;
  unsigned least = 3;
  std::optional<StringRef> similar;
  for (StringAttr known : op->getName().getAttributeNames()) {
    unsigned distance = name.edit_distance(known, true, least);
    if (distance >= least)
      continue;
    least = distance;
    similar = known.getValue();
  }
  return similar;
}

static LogicalResult refuseDiscardable(Operation *op, StringRef name) {
  InFlightDiagnostic error = op->emitError() << "expected attributes among ";
  for (StringAttr known : op->getName().getAttributeNames())
    if (known != "operandSegmentSizes")
      error << "'" << known.getValue() << "', ";
  error << "or with the prefix of a dialect, got '" << name << "', ";
  if (std::optional<StringRef> similar = findSimilarAttribute(op, name))
    return error << "which is not among them; did you mean '" << *similar
                 << "'?";
  return error << "which no kernel implements; remove it";
}

/// Returns whether the attribute is a mark, as upstream's transform scripts and
/// passes attach to ops.
static bool isMark(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  return name.starts_with("__") || (isa<UnitAttr>(attribute.getValue()) &&
                                    !findSimilarAttribute(op, name));
}

LogicalResult fmha::verifyDiscardables(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.') && !isMark(op, attribute))
      return refuseDiscardable(op, attribute.getName());
  return success();
}

LogicalResult FMHADialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  std::string quoted = '"' + name.str() + '"';
  const Discardable *known = llvm::find_if(
      discardables, [&](const Discardable &one) { return one.name == name; });
  if (known == std::end(discardables)) {
    InFlightDiagnostic error = op->emitError()
                               << "unknown attribute " << quoted
                               << " of the prefix fmha.: expected one of ";
    llvm::interleaveComma(discardables, error,
                          [&](const Discardable &one) { error << one.name; });
    return error;
  }
  if (!known->isValue(attribute.getValue()))
    return op->emitError() << quoted << ": expected " << known->value
                           << ", got " << attribute.getValue();
  if (!known->isPlace(op))
    return op->emitError() << quoted << ": expected it on " << known->place
                           << ", got it on " << op->getName();
  return success();
}

LogicalResult FMHADialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned,
                                                    NamedAttribute attribute) {
  return refuseAttribute(op, attribute, "an argument");
}

LogicalResult
FMHADialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                         NamedAttribute attribute) {
  return refuseAttribute(op, attribute, "a result");
}
