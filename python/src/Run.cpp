//===- Run.cpp - The runtime for Python -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches a compiled kernel on arrays in host memory. Elements travel as their
// bits (uint16), so that no array library needs to know bfloat16.
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"
#include "Module.h"
#include "fmha-c/DLPack.h"

#include "fmha/Runtime/Append.h"
#include "fmha/Runtime/Merge.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "llvm/Support/FormatVariadic.h"

#include <mutex>
#include <stdexcept>

namespace nb = nanobind;
using namespace fmha;
using namespace fmha::python;
using namespace fmha::runtime;

/// [batch, length, heads, dim]; only the innermost dimension must be
/// contiguous.
template <typename Element>
using Array4 = nb::ndarray<Element, nb::ndim<4>, nb::device::cpu>;
using Input = Array4<const uint16_t>;
/// Bits of the type that the manifest names: uint8 for types of 8 bits.
using Operand = nb::ndarray<nb::ro, nb::ndim<4>, nb::device::cpu>;
/// Of 16 bits or of f32, as the manifest says.
using Output = nb::ndarray<nb::ndim<4>, nb::device::cpu>;
using Lse = Array4<float>;
using Captured = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using List =
    nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table =
    nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using QueryTable =
    nb::ndarray<const int32_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using BlockLists =
    nb::ndarray<const int32_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Bits = Array4<uint16_t>;
using Angles =
    nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Logits =
    nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Array>
static Tensor4 view(const Array &array, ElementType dtype) {
  Tensor4 tensor;
  tensor.dtype = dtype;
  tensor.host = const_cast<void *>(static_cast<const void *>(array.data()));
  for (size_t i = 0; i < 4; ++i) {
    tensor.dims[i] = int64_t(array.shape(i));
    tensor.strides[i] = array.stride(i);
  }
  // NumPy gives arrays without elements strides that mean nothing.
  if (array.size() == 0)
    tensor.strides = denseStrides(tensor.dims, Layout::BSHD);
  return tensor;
}

/// Returns an operand of attention after a check of its bits.
static Tensor4 operand(const Operand &array, ElementType type,
                       const char *name) {
  if (array.itemsize() == sizeOf(type))
    return view(array, type);
  throw nb::type_error((std::string(name) + ": expected elements of " +
                        std::to_string(8 * sizeOf(type)) + " bits, got " +
                        std::to_string(8 * array.itemsize()))
                           .c_str());
}

static std::optional<Tensor4> operand(const std::optional<Operand> &array,
                                      ElementType type, const char *name) {
  if (!array)
    return std::nullopt;
  return operand(*array, type, name);
}

static std::optional<std::vector<float>>
floats(const std::optional<Logits> &list) {
  if (!list)
    return std::nullopt;
  return std::vector<float>(list->data(), list->data() + list->size());
}

template <typename Array>
static std::optional<std::vector<int32_t>>
numbers(const std::optional<Array> &list) {
  if (!list)
    return std::nullopt;
  return std::vector<int32_t>(list->data(), list->data() + list->size());
}

template <typename Array>
static std::optional<IntegerTensor>
integers(const std::optional<Array> &array) {
  if (!array)
    return std::nullopt;
  IntegerTensor tensor{{}, *numbers(array)};
  for (size_t d = 0; d < array->ndim(); ++d)
    tensor.dims.push_back(int64_t(array->shape(d)));
  return tensor;
}

static const char *stringify(LaunchReport::Status status) {
  switch (status) {
  case LaunchReport::Status::Ok:
    return "ok";
  case LaunchReport::Status::Findings:
    return "findings";
  case LaunchReport::Status::Deadlock:
    return "deadlock";
  }
  return "unknown";
}

/// What code on scores reads, as the manifest names its type. Elements of 16
/// bits come as their bits, so that `wanted`, which the kernel reads, names
/// them.
static CaptureData captureOf(const Captured &array, const CaptureType *wanted) {
  const std::pair<nb::dlpack::dtype, const char *> types[] = {
      {nb::dtype<float>(), "f32"},
      {nb::dtype<int64_t>(), "i64"},
      {nb::dtype<int32_t>(), "i32"},
      {nb::dtype<int8_t>(), "i8"},
      {nb::dtype<bool>(), "i1"}};
  CaptureData data;
  data.host = array.data();
  for (auto [type, name] : types)
    if (array.dtype() == type)
      data.element = name;
  if (array.dtype() == nb::dtype<uint16_t>() && wanted &&
      sizeOf(wanted->element) == sizeof(uint16_t))
    data.element = launch::nameOf(wanted->element);
  for (size_t d = 0; d < array.ndim(); ++d)
    data.dims.push_back(int64_t(array.shape(d)));
  return data;
}

/// status, findings (JSON array), the driver's words, warp instructions,
/// seconds.
using RunTuple = std::tuple<std::string, std::string, std::string,
                            std::optional<uint64_t>, double>;

static RunTuple tupleOf(LaunchReport report) {
  std::string findings =
      llvm::formatv("{0}", llvm::json::Value(std::move(report.findings)));
  return {stringify(report.status), findings, report.driverError,
          report.warpInstructions, report.seconds};
}

static void setTopk(const std::optional<QueryTable> &topk,
                    AttentionTensors &tensors) {
  tensors.topk = numbers(topk);
  if (!topk)
    return;
  tensors.topkLen = int64_t(topk->shape(2));
  tensors.topkQueries = {int64_t(topk->shape(0)), int64_t(topk->shape(1))};
}

static void setBlocks(const std::optional<QueryTable> &kvNumBlocks,
                      const std::optional<BlockLists> &kvIndices,
                      const std::optional<QueryTable> &fullKvNumBlocks,
                      const std::optional<BlockLists> &fullKvIndices,
                      AttentionTensors &tensors) {
  tensors.kvNumBlocks = integers(kvNumBlocks);
  tensors.kvIndices = integers(kvIndices);
  tensors.fullKvNumBlocks = integers(fullKvNumBlocks);
  tensors.fullKvIndices = integers(fullKvIndices);
}

static RunOptions optionsOf(const std::string &policy, uint64_t scheduleSeed,
                            const std::string &checks) {
  RunOptions options;
  options.policy = policy;
  options.scheduleSeed = scheduleSeed;
  options.checks = checks;
  return options;
}

/// Returns a table [positions, pairs] as a tensor of the runtime.
static Tensor4 anglesOf(const Angles &array) {
  Tensor4 tensor;
  tensor.dtype = ElementType::F32;
  tensor.host = const_cast<float *>(array.data());
  tensor.dims = {1, int64_t(array.shape(0)), 1, int64_t(array.shape(1))};
  tensor.strides = denseStrides(tensor.dims, Layout::BSHD);
  return tensor;
}

/// Sets those outputs lse, row_max and row_sum that are given.
template <typename Tensors>
static void setRows(const std::optional<Lse> &lse,
                    const std::optional<Lse> &rowMax,
                    const std::optional<Lse> &rowSum, Tensors &tensors) {
  const std::pair<const std::optional<Lse> &, std::optional<Tensor4> &> rows[] =
      {{lse, tensors.lse}, {rowMax, tensors.rowMax}, {rowSum, tensors.rowSum}};
  for (auto &[array, tensor] : rows)
    if (array)
      tensor = view(*array, ElementType::F32);
}

/// Sets the tables of a rotary embedding, if there are any.
template <typename Tensors>
static void setAngles(const std::optional<Angles> &cos,
                      const std::optional<Angles> &sin, Tensors &tensors) {
  if (cos)
    tensors.cos = anglesOf(*cos);
  if (sin)
    tensors.sin = anglesOf(*sin);
}

/// Writes to `o`, `lse`, `rowMax` and `rowSum`, and to `k` and `v` if there are
/// new keys.
static RunTuple
run(const std::string &ptx, const std::string &manifestText, Operand q,
    Operand k, Operand v, Output o, std::optional<Lse> lse,
    const std::string &deviceKind, const std::string &library,
    const std::string &policy, uint64_t scheduleSeed, const std::string &checks,
    std::optional<List> kvLens, std::optional<List> cuSeqlensQ,
    std::optional<List> cuSeqlensK, std::optional<Logits> sink,
    const std::vector<Captured> &captures, std::optional<Operand> k2,
    std::optional<Operand> v2, std::optional<List> source2Lens,
    std::optional<Lse> rowMax, std::optional<Lse> rowSum,
    std::optional<Table> blockTables, std::optional<QueryTable> topk,
    std::optional<Logits> kScale, std::optional<Logits> vScale,
    std::optional<Logits> qScale, std::optional<Operand> keyNew,
    std::optional<Operand> valueNew, std::optional<Angles> cos,
    std::optional<Angles> sin, std::optional<QueryTable> kvNumBlocks,
    std::optional<BlockLists> kvIndices,
    std::optional<QueryTable> fullKvNumBlocks,
    std::optional<BlockLists> fullKvIndices) {
  Manifest manifest = take(parseManifest(manifestText));
  AttentionTensors tensors;
  tensors.q = operand(q, manifest.dtype, "q");
  tensors.k = operand(k, manifest.kvDtype, "k");
  tensors.v = operand(v, manifest.kvDtype, "v");
  if (o.itemsize() != sizeOf(manifest.outDtype))
    throw nb::type_error("o: expected elements of the type that the kernel "
                         "writes, got another one");
  tensors.o = view(o, manifest.outDtype);
  setRows(lse, rowMax, rowSum, tensors);
  tensors.kvLens = numbers(kvLens);
  tensors.cuSeqlensQ = numbers(cuSeqlensQ);
  tensors.cuSeqlensK = numbers(cuSeqlensK);
  tensors.source2Lens = numbers(source2Lens);
  tensors.blockTables = numbers(blockTables);
  if (blockTables)
    tensors.maxPages = int64_t(blockTables->shape(1));
  setTopk(topk, tensors);
  setBlocks(kvNumBlocks, kvIndices, fullKvNumBlocks, fullKvIndices, tensors);
  tensors.k2 = operand(k2, manifest.kvDtype, "k2");
  tensors.v2 = operand(v2, manifest.kvDtype, "v2");
  tensors.keyNew = operand(keyNew, manifest.kvDtype, "key_new");
  tensors.valueNew = operand(valueNew, manifest.kvDtype, "value_new");
  setAngles(cos, sin, tensors);
  tensors.sink = floats(sink);
  tensors.kScale = floats(kScale);
  tensors.vScale = floats(vScale);
  tensors.qScale = floats(qScale);
  for (auto [n, array] : llvm::enumerate(captures))
    tensors.captures.push_back(captureOf(
        array, n < manifest.captures.size() ? &manifest.captures[n] : nullptr));
  RunOptions options = optionsOf(policy, scheduleSeed, checks);

  if (llvm::Error error = checkProblem(manifest, tensors))
    throw nb::value_error(llvm::toString(std::move(error)).c_str());
  nb::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(hostTurn());
  Device &device = enterHostDevice(deviceKind, library, manifest.target);
  return tupleOf(take(runAttention(manifest, ptx, device, tensors, options)));
}

static RunTuple
mergeParts(const std::string &ptx, const std::string &manifestText,
           int64_t parts, Lse o, Lse max, Lse sum, Output out,
           std::optional<Lse> lse, std::optional<Lse> rowMax,
           std::optional<Lse> rowSum, std::optional<Logits> sink,
           const std::string &deviceKind, const std::string &library,
           const std::string &policy, uint64_t scheduleSeed,
           const std::string &checks) {
  MergeManifest manifest = take(parseMergeManifest(manifestText));
  MergeTensors tensors;
  tensors.parts = parts;
  tensors.o = view(o, ElementType::F32);
  tensors.max = view(max, ElementType::F32);
  tensors.sum = view(sum, ElementType::F32);
  tensors.out = view(out, manifest.outDtype);
  setRows(lse, rowMax, rowSum, tensors);
  if (sink)
    tensors.sink.emplace(sink->data(), sink->data() + sink->size());
  RunOptions options = optionsOf(policy, scheduleSeed, checks);
  if (llvm::Error error = checkMerge(manifest, tensors))
    throw nb::value_error(llvm::toString(std::move(error)).c_str());
  nb::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(hostTurn());
  Device &device = enterHostDevice(deviceKind, library, manifest.target);
  return tupleOf(take(runMerge(manifest, ptx, device, tensors, options)));
}

/// The bits of a float array of 16 or 8 bits from any library, as a NumPy array
/// over the same memory, and "f16", "bf16" or "e4m3".
static std::tuple<nb::ndarray<nb::numpy>, std::string>
bits(nb::ndarray<nb::device::cpu> array) {
  bool isHalf =
      array.dtype() ==
      nb::dlpack::dtype{uint8_t(nb::dlpack::dtype_code::Float), 16, 1};
  bool isBFloat =
      array.dtype() ==
      nb::dlpack::dtype{uint8_t(nb::dlpack::dtype_code::Bfloat), 16, 1};
  bool isE4M3 = array.dtype() == nb::dlpack::dtype{kDLFloat8_e4m3fn, 8, 1};
  if (!isHalf && !isBFloat && !isE4M3)
    throw nb::type_error(
        "expected an array of float16, bfloat16 or float8_e4m3fn");
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(array.shape(i));
    strides.push_back(array.stride(i));
  }
  using Owned = nb::ndarray<nb::device::cpu>;
  nb::capsule owner(new Owned(array), [](void *pointer) noexcept {
    delete static_cast<Owned *>(pointer);
  });
  nb::ndarray<nb::numpy> result(
      array.data(), shape.size(), shape.data(), owner, strides.data(),
      isE4M3 ? nb::dtype<uint8_t>() : nb::dtype<uint16_t>());
  return {result, isE4M3 ? "e4m3" : isHalf ? "f16" : "bf16"};
}

/// Writes to the caches and to `qOut`.
static RunTuple
appendTokens(const std::string &ptx, const std::string &manifestText,
             Input keyNew, Input valueNew, Bits k, Bits v, List kvLens,
             std::optional<Table> blockTables, std::optional<Angles> cos,
             std::optional<Angles> sin, std::optional<Input> q,
             std::optional<Bits> qOut, const std::string &deviceKind,
             const std::string &library, const std::string &policy,
             uint64_t scheduleSeed, const std::string &checks) {
  AppendManifest manifest = take(parseAppendManifest(manifestText));
  AppendTensors tensors{view(keyNew, manifest.dtype),
                        view(valueNew, manifest.dtype),
                        view(k, manifest.dtype),
                        view(v, manifest.dtype),
                        *numbers(std::optional<List>(kvLens)),
                        numbers(blockTables)};
  if (blockTables)
    tensors.maxPages = int64_t(blockTables->shape(1));
  setAngles(cos, sin, tensors);
  if (q)
    tensors.q = view(*q, manifest.dtype);
  if (qOut)
    tensors.qOut = view(*qOut, manifest.dtype);
  RunOptions options = optionsOf(policy, scheduleSeed, checks);
  if (llvm::Error error = checkAppend(manifest, tensors))
    throw nb::value_error(llvm::toString(std::move(error)).c_str());
  nb::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(hostTurn());
  Device &device = enterHostDevice(deviceKind, library, manifest.target);
  return tupleOf(take(runAppend(manifest, ptx, device, tensors, options)));
}

void fmha::python::bindRun(nb::module_ &module) {
  module.def(
      "run", &run, nb::arg("ptx"), nb::arg("manifest"), nb::arg("q"),
      nb::arg("k"), nb::arg("v"), nb::arg("o"), nb::arg("lse").none(),
      nb::arg("device"), nb::arg("library"), nb::arg("policy"),
      nb::arg("schedule_seed"), nb::arg("checks"),
      nb::arg("kv_lens") = nb::none(), nb::arg("cu_seqlens_q") = nb::none(),
      nb::arg("cu_seqlens_k") = nb::none(), nb::arg("sink") = nb::none(),
      nb::arg("captures") = nb::tuple(), nb::arg("k2") = nb::none(),
      nb::arg("v2") = nb::none(), nb::arg("source2_lens") = nb::none(),
      nb::arg("row_max") = nb::none(), nb::arg("row_sum") = nb::none(),
      nb::arg("block_tables") = nb::none(), nb::arg("topk") = nb::none(),
      nb::arg("k_scale") = nb::none(), nb::arg("v_scale") = nb::none(),
      nb::arg("q_scale") = nb::none(), nb::arg("key_new") = nb::none(),
      nb::arg("value_new") = nb::none(), nb::arg("rotary_cos") = nb::none(),
      nb::arg("rotary_sin") = nb::none(), nb::arg("kv_num_blocks") = nb::none(),
      nb::arg("kv_indices") = nb::none(),
      nb::arg("full_kv_num_blocks") = nb::none(),
      nb::arg("full_kv_indices") = nb::none());
  module.def("merge", &mergeParts, nb::arg("ptx"), nb::arg("manifest"),
             nb::arg("parts"), nb::arg("o"), nb::arg("max"), nb::arg("sum"),
             nb::arg("out"), nb::arg("lse").none(), nb::arg("row_max").none(),
             nb::arg("row_sum").none(), nb::arg("sink").none(),
             nb::arg("device"), nb::arg("library"), nb::arg("policy"),
             nb::arg("schedule_seed"), nb::arg("checks"));
  module.def("append", &appendTokens, nb::arg("ptx"), nb::arg("manifest"),
             nb::arg("key_new"), nb::arg("value_new"), nb::arg("k"),
             nb::arg("v"), nb::arg("kv_lens"), nb::arg("block_tables").none(),
             nb::arg("rotary_cos").none(), nb::arg("rotary_sin").none(),
             nb::arg("q").none(), nb::arg("q_out").none(), nb::arg("device"),
             nb::arg("library"), nb::arg("policy"), nb::arg("schedule_seed"),
             nb::arg("checks"));
  module.def("bits", &bits, nb::arg("array"));
}
