//===- KernelAgreement.cpp - Check a kernel against its op ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAgreement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fmha;
using runtime::TensorName;

NamedOperands fmha::operandsOf(AttentionOp op) {
  return {{TensorName::Q, op.getQuery()},
          {TensorName::K, op.getKey()},
          {TensorName::V, op.getValue()},
          {TensorName::O, op.getOutput()},
          {TensorName::Lse, op.getLse()},
          {TensorName::RowMax, op.getRowMax()},
          {TensorName::RowSum, op.getRowSum()},
          {TensorName::KvLens, op.getKvLens()},
          {TensorName::CuSeqlensQ, op.getCuSeqlensQ()},
          {TensorName::CuSeqlensK, op.getCuSeqlensK()},
          {TensorName::Sink, op.getSink()},
          {TensorName::K2, op.getKey2()},
          {TensorName::V2, op.getValue2()},
          {TensorName::Source2Lens, op.getSource2Lens()},
          {TensorName::BlockTables, op.getBlockTables()},
          {TensorName::Topk, op.getTopk()},
          {TensorName::KvNumBlocks, op.getKvNumBlocks()},
          {TensorName::KvIndices, op.getKvIndices()},
          {TensorName::FullKvNumBlocks, op.getFullKvNumBlocks()},
          {TensorName::FullKvIndices, op.getFullKvIndices()},
          {TensorName::KScale, op.getKScale()},
          {TensorName::VScale, op.getVScale()},
          {TensorName::QScale, op.getQScale()},
          {TensorName::KeyNew, op.getKeyNew()},
          {TensorName::ValueNew, op.getValueNew()},
          {TensorName::RotaryCos, op.getCos()},
          {TensorName::RotarySin, op.getSin()}};
}

NamedOperands fmha::operandsOf(MergeOp op) {
  return {{TensorName::OParts, op.getParts()},
          {TensorName::MaxParts, op.getMaxima()},
          {TensorName::SumParts, op.getSums()},
          {TensorName::O, op.getOutput()},
          {TensorName::Lse, op.getLse()},
          {TensorName::RowMax, op.getRowMax()},
          {TensorName::RowSum, op.getRowSum()},
          {TensorName::Sink, op.getSink()}};
}

NamedOperands fmha::operandsOf(AppendOp op) {
  return {{TensorName::KeyNew, op.getKeyNew()},
          {TensorName::ValueNew, op.getValueNew()},
          {TensorName::K, op.getKeyCache()},
          {TensorName::V, op.getValueCache()},
          {TensorName::KvLens, op.getKvLens()},
          {TensorName::BlockTables, op.getBlockTables()},
          {TensorName::RotaryCos, op.getCos()},
          {TensorName::RotarySin, op.getSin()},
          {TensorName::Q, op.getQuery()},
          {TensorName::QOut, op.getQueryOut()}};
}

namespace {

/// A property that the op and the manifest both have, with its two values.
struct Fact {
  StringRef name;
  std::string ofOp, ofKernel;
};

std::string text(uint64_t number) { return std::to_string(number); }
std::string text(bool flag) { return flag ? "true" : "false"; }
std::string text(std::string_view word) { return std::string(word); }
std::string text(std::optional<unsigned> bound) {
  return bound ? std::to_string(*bound) : "none";
}
/// Returns `number` with enough digits to distinguish any two numbers.
std::string text(double number) { return llvm::formatv("{0:e17}", number); }

std::string text(Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return name;
}

std::string capturesOf(const schedule::Problem &problem) {
  std::string all;
  for (const schedule::Capture &capture : problem.captures)
    all += llvm::formatv("{0} of rank {1}; ", capture.element, capture.rank);
  return all;
}
std::string capturesOf(const runtime::Manifest &manifest) {
  std::string all;
  for (const runtime::CaptureType &capture : manifest.captures)
    all += llvm::formatv("{0} of rank {1}; ", launch::nameOf(capture.element),
                         capture.rank);
  return all;
}

LogicalResult checkFacts(Operation *op, ArrayRef<Fact> facts) {
  for (const Fact &fact : facts)
    if (fact.ofOp != fact.ofKernel)
      return op->emitError()
             << "expected a kernel with " << fact.name << " = " << fact.ofOp
             << ", as the op has it, got one with " << fact.ofKernel
             << "; drop fmha.kernel and run fmha-to-ptx again";
  return success();
}

template <typename OpTy, typename ManifestT>
LogicalResult checkOperands(OpTy op, const ManifestT &manifest) {
  for (const auto &[name, value] : operandsOf(op))
    if (manifest.has(name) != bool(value))
      return op.emitError()
             << "expected a kernel " << (value ? "with" : "without")
             << " the tensor '" << runtime::stringify(name)
             << "', as the op has it, got one " << (value ? "without" : "with")
             << "; drop fmha.kernel and run fmha-to-ptx again";
  return success();
}

} // namespace

LogicalResult fmha::checkAgreement(AttentionOp op,
                                   const runtime::Manifest &manifest) {
  if (failed(checkOperands(op, manifest)))
    return failure();
  schedule::Problem problem = op.getProblem();
  SmallVector<Fact> facts = {
      {"dtype", text(stringify(problem.dtype)),
       text(launch::nameOf(manifest.dtype))},
      {"kv_dtype", text(stringify(problem.kvDtype())),
       text(launch::nameOf(manifest.kvDtype))},
      {"out_dtype", text(op.getOutput().getType().getElementType()),
       text(launch::nameOf(manifest.outDtype))},
      {"head_dim", text(uint64_t(problem.headDim)),
       text(uint64_t(manifest.headDim))},
      {"head_dim_v", text(uint64_t(problem.headDimV)),
       text(uint64_t(manifest.headDimV))},
      {"page_size", text(uint64_t(problem.pageSize)),
       text(uint64_t(manifest.pageSize))},
      {"rotary_dim", text(uint64_t(problem.rotaryDim)),
       text(uint64_t(manifest.rotaryDim))},
      {"block_rows", text(uint64_t(problem.blockRows)),
       text(uint64_t(manifest.blockRows))},
      {"block_keys", text(uint64_t(problem.blockKeys)),
       text(uint64_t(manifest.blockKeys))},
      {"mask", text(stringify(problem.mask.kind)), manifest.mask},
      {"window_left", text(problem.mask.left), text(manifest.windowLeft)},
      {"window_right", text(problem.mask.right), text(manifest.windowRight)},
      {"source2_mask", text(stringify(problem.mask2.kind)), manifest.mask2},
      {"scale", text(op.getScaleOrDefault()), text(manifest.scale)},
      {"captures", capturesOf(problem), capturesOf(manifest)}};
  // A kernel that loads K and V separately is correct for V in K as well.
  problem.vInK &= manifest.vInK;
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isStated())
      facts.push_back(
          {fact.name, text(problem.*fact.there), text(manifest.*fact.there)});
  return checkFacts(op, facts);
}

LogicalResult fmha::checkAgreement(AppendOp op,
                                   const runtime::AppendManifest &manifest) {
  if (failed(checkOperands(op, manifest)))
    return failure();
  std::optional<Rotary> rotary = op.getRotary();
  const Fact facts[] = {
      {"dtype", text(op.getKeyNew().getType().getElementType()),
       text(launch::nameOf(manifest.dtype))},
      {"head_dim", text(uint64_t(op.getHeadDim())),
       text(uint64_t(manifest.headDim))},
      {"head_dim_v", text(uint64_t(op.getHeadDimV())),
       text(uint64_t(manifest.headDimV))},
      {"page_size", text(uint64_t(op.getPageSize())),
       text(uint64_t(manifest.pageSize))},
      {"rotary", rotary ? stringifyRotary(*rotary).str() : "none",
       manifest.rotary},
      {"rotary_dim", text(uint64_t(op.getRotaryDim())),
       text(uint64_t(manifest.rotaryDim))}};
  return checkFacts(op, facts);
}

LogicalResult fmha::checkAgreement(MergeOp op,
                                   const runtime::MergeManifest &manifest) {
  if (failed(checkOperands(op, manifest)))
    return failure();
  const Fact facts[] = {{"head_dim_v", text(uint64_t(op.getHeadDim())),
                         text(uint64_t(manifest.headDim))},
                        {"out_dtype",
                         text(op.getOutput().getType().getElementType()),
                         text(launch::nameOf(manifest.outDtype))},
                        {"unnormalised", text(op.getUnnormalised()),
                         text(manifest.unnormalised)}};
  return checkFacts(op, facts);
}
