//===- Append.cpp - Run a compiled append to KV caches --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Append.h"
#include "Captures.h"
#include "Launch.h"
#include "LaunchOutcome.h"
#include "Overlap.h"
#include "Sequences.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Runtime/Launch/Values.h"

namespace fmha::runtime {
namespace {

using Dims = std::array<int64_t, 4>;

/// A tensor of a launch. Tensors of rank 4 have three consecutive strides.
struct Named {
  TensorName name;
  Tensor4 tensor;
  Dims wanted;
  ElementType type;
  std::optional<RunValue> firstStride;
  DeviceTensor::Fill fill = DeviceTensor::Fill::Contents;
  bool isWritten = false;
};

std::string shapeOf(const Dims &dims) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

Tensor4 listOf(const std::vector<int32_t> &list) {
  Tensor4 tensor;
  tensor.host = const_cast<int32_t *>(list.data());
  tensor.dims = {1, 1, 1, int64_t(list.size())};
  // Elements of 4 bytes.
  tensor.dtype = ElementType::F32;
  return tensor;
}

/// Returns the tensors of rank 4, with the shapes that they have to have.
std::vector<Named> matricesOf(const AppendManifest &manifest,
                              const AppendTensors &tensors) {
  using enum TensorName;
  const Dims &fresh = tensors.keyNew.dims, &cache = tensors.k.dims;
  int64_t dim = manifest.headDim, dimV = manifest.headDimV;
  int64_t blocks = manifest.pageSize ? cache[0] : fresh[0];
  int64_t rows = manifest.pageSize ? manifest.pageSize : cache[1];
  ElementType type = manifest.dtype;
  auto written = [](Named one) {
    one.isWritten = true;
    return one;
  };
  std::vector<Named> all = {{KeyNew,
                             tensors.keyNew,
                             {fresh[0], fresh[1], fresh[2], dim},
                             type,
                             RunValue::KeyNewStrideBatch},
                            {ValueNew,
                             tensors.valueNew,
                             {fresh[0], fresh[1], fresh[2], dimV},
                             type,
                             RunValue::ValueNewStrideBatch},
                            written({K,
                                     tensors.k,
                                     {blocks, rows, fresh[2], dim},
                                     type,
                                     RunValue::KStrideBatch}),
                            written({V,
                                     tensors.v,
                                     {blocks, rows, fresh[2], dimV},
                                     type,
                                     RunValue::VStrideBatch})};
  if (tensors.q && tensors.qOut) {
    const Dims &q = tensors.q->dims;
    Dims wanted = {fresh[0], q[1], q[2], dim};
    all.push_back({Q, *tensors.q, wanted, type, RunValue::QStrideBatch});
    all.push_back(
        written({QOut, *tensors.qOut, wanted, type, RunValue::QOutStrideBatch,
                 DeviceTensor::Fill::Poison}));
  }
  return all;
}

/// Returns all tensors of a launch.
std::vector<Named> tensorsOf(const AppendManifest &manifest,
                             const AppendTensors &tensors) {
  using enum TensorName;
  std::vector<Named> all = matricesOf(manifest, tensors);
  if (tensors.cos && tensors.sin) {
    Dims wanted = {1, tensors.cos->dims[1], 1, manifest.rotaryDim / 2};
    all.push_back({RotaryCos, *tensors.cos, wanted, ElementType::F32, {}});
    all.push_back({RotarySin, *tensors.sin, wanted, ElementType::F32, {}});
  }
  auto addList = [&](TensorName name, const std::vector<int32_t> &list) {
    Tensor4 tensor = listOf(list);
    all.push_back({name, tensor, tensor.dims, ElementType::F32, {}});
  };
  addList(KvLens, tensors.kvLens);
  if (tensors.blockTables)
    addList(BlockTables, *tensors.blockTables);
  return all;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

llvm::Error checkPresence(const AppendManifest &manifest,
                          const AppendTensors &tensors) {
  const std::tuple<llvm::StringLiteral, bool, bool> all[] = {
      {"block_tables", manifest.pageSize != 0, tensors.blockTables.has_value()},
      {"rotary_cos", manifest.rotaryDim != 0, tensors.cos.has_value()},
      {"rotary_sin", manifest.rotaryDim != 0, tensors.sin.has_value()},
      {"q", manifest.query, tensors.q.has_value()},
      {"q_out", manifest.query, tensors.qOut.has_value()}};
  for (auto [name, wanted, given] : all)
    if (wanted != given)
      return failure("tensor '" + name + "': expected " +
                     (wanted ? "it, which the kernel was compiled with, got "
                               "none"
                             : "none, since the kernel was compiled without, "
                               "got one"));
  return llvm::Error::success();
}

/// Returns the names of the dimensions of a tensor.
llvm::StringRef axesOf(TensorName name, const AppendManifest &manifest) {
  bool isCache = name == TensorName::K || name == TensorName::V;
  if (isCache && manifest.pageSize)
    return "[pages, page_size, heads, dim]";
  if (name == TensorName::RotaryCos || name == TensorName::RotarySin)
    return angleAxes;
  return tensorAxes;
}

llvm::Error checkShape(const Named &one, const AppendManifest &manifest) {
  std::string name = stringify(one.name).str();
  if (one.tensor.dims != one.wanted)
    return failure("tensor '" + name + "' (" + axesOf(one.name, manifest) +
                   "): expected the shape " + shapeOf(one.wanted) + ", got " +
                   shapeOf(one.tensor.dims));
  if (one.tensor.dtype != one.type)
    return failure("tensor '" + name + "': expected elements of type " +
                   llvm::StringRef(stringify(one.type)) + ", got " +
                   llvm::StringRef(stringify(one.tensor.dtype)));
  for (int64_t extent : one.tensor.dims)
    if (extent > maxLength)
      return failure("tensor '" + name + "': expected extents of at most " +
                     llvm::Twine(maxLength) + ", got " + llvm::Twine(extent));
  return llvm::Error::success();
}

llvm::Error checkOverlaps(const std::vector<Named> &all) {
  for (size_t n = 0; n < all.size(); ++n)
    for (size_t other = 0; other < all.size(); ++other) {
      bool isPair = n != other && all[n].isWritten &&
                    (!all[other].isWritten || other < n);
      if (isPair && mayOverlap(all[n].tensor, all[other].tensor))
        return failure("tensor '" + stringify(all[n].name) +
                       "': expected memory of its own, got bytes that tensor "
                       "'" +
                       stringify(all[other].name) +
                       "' has too; give it a buffer of its own");
    }
  return llvm::Error::success();
}

llvm::Error checkLengths(const AppendTensors &tensors) {
  int64_t batch = tensors.keyNew.dims[0], most = tensors.maxKeys();
  if (int64_t(tensors.kvLens.size()) != batch)
    return failure("kv_lens: expected " + llvm::Twine(batch) +
                   " entries, one per sequence, got " +
                   llvm::Twine(tensors.kvLens.size()));
  for (auto [n, keys] : llvm::enumerate(tensors.kvLens)) {
    auto fail = [&](const llvm::Twine &expected) {
      return failure("kv_lens[" + llvm::Twine(n) + "]: expected " + expected +
                     ", got " + llvm::Twine(keys));
    };
    if (keys < 0 || keys > most)
      return fail("0 to " + llvm::Twine(most) +
                  ", the keys that the caches hold for a sequence");
    if (tensors.cos && keys > tensors.cos->dims[1])
      return fail("at most " + llvm::Twine(tensors.cos->dims[1]) +
                  ", the positions of rotary_cos and rotary_sin");
  }
  return llvm::Error::success();
}

/// Checks the pages that get keys.
llvm::Error checkPages(const AppendTensors &tensors) {
  const std::vector<int32_t> &table = *tensors.blockTables;
  int64_t batch = tensors.keyNew.dims[0], fresh = tensors.keyNew.dims[1];
  int64_t pages = tensors.k.dims[0], size = tensors.k.dims[1];
  if (int64_t(table.size()) != batch * tensors.maxPages)
    return failure("block_tables: expected " + llvm::Twine(batch) +
                   " rows, one per sequence, of " +
                   llvm::Twine(tensors.maxPages) + " entries, got " +
                   llvm::Twine(table.size() / size_t(tensors.maxPages)) +
                   " rows");
  for (int64_t n = 0; n < batch && fresh > 0; ++n) {
    int64_t keys = tensors.kvLens[n];
    int64_t first = std::max<int64_t>(keys - fresh, 0) / size;
    for (int64_t i = first; i * size < keys; ++i)
      if (int64_t page = table[n * tensors.maxPages + i];
          page < 0 || page >= pages)
        return failure("block_tables[" + llvm::Twine(n) + ", " +
                       llvm::Twine(i) + "]: expected a page of the caches, 0 " +
                       "to " + llvm::Twine(pages - 1) +
                       ", for new keys of a sequence of " + llvm::Twine(keys) +
                       ", got " + llvm::Twine(page));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

RunValues extentsOf(const AppendTensors &tensors) {
  RunValues values;
  const Dims &fresh = tensors.keyNew.dims;
  Dims q = tensors.q ? tensors.q->dims : Dims{};
  values[RunValue::Batch] = uint64_t(fresh[0]);
  values[RunValue::NewLen] = uint64_t(fresh[1]);
  values[RunValue::KvHeads] = uint64_t(fresh[2]);
  values[RunValue::KvLen] = uint64_t(tensors.maxKeys());
  values[RunValue::MaxPages] = uint64_t(tensors.maxPages);
  values[RunValue::Pages] = uint64_t(tensors.k.dims[0]);
  values[RunValue::Positions] =
      tensors.cos ? uint64_t(tensors.cos->dims[1]) : 0;
  values[RunValue::QLen] = uint64_t(q[1]);
  values[RunValue::QHeads] = uint64_t(q[2]);
  values[RunValue::AppendRows] = uint64_t(std::max(fresh[1], q[1]));
  values[RunValue::AppendHeads] = uint64_t(fresh[2] + q[2]);
  return values;
}

/// The tensors on the device, in the order of tensorsOf().
struct Copies {
  std::vector<Named> all;
  std::vector<DeviceTensor> tensors;

  const DeviceTensor *find(TensorName name) const {
    for (auto [one, copy] : llvm::zip(all, tensors))
      if (one.name == name)
        return &copy;
    return nullptr;
  }
};

llvm::Expected<Copies> copyAll(const AppendManifest &manifest, Device &device,
                               const AppendTensors &tensors,
                               const Padding &padding) {
  Copies copies{tensorsOf(manifest, tensors), {}};
  for (const Named &one : copies.all) {
    auto made = DeviceTensor::create(device, one.tensor, one.fill, padding);
    if (!made)
      return made.takeError();
    copies.tensors.push_back(std::move(*made));
  }
  return std::move(copies);
}

void setStrides(const Copies &copies, RunValues &values) {
  for (auto [one, copy] : llvm::zip(copies.all, copies.tensors)) {
    if (one.firstStride)
      launch::setMatrixStrides(*one.firstStride, copy.view(), values);
    if (one.name == TensorName::RotaryCos)
      values[RunValue::RotaryCosStrideRow] = uint64_t(copy.strides()[1]);
    if (one.name == TensorName::RotarySin)
      values[RunValue::RotarySinStrideRow] = uint64_t(copy.strides()[1]);
  }
}

llvm::Error readBack(Device &device, Copies &copies, LaunchReport &report) {
  for (auto [one, copy] : llvm::zip(copies.all, copies.tensors)) {
    if (!one.isWritten)
      continue;
    size_t stray = 0;
    if (llvm::Error error = copy.readBack(device, one.tensor, stray))
      return error;
    addStrayFinding(stringify(one.name), stray, report);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error checkAppend(const AppendManifest &manifest,
                        const AppendTensors &tensors) {
  if (llvm::Error error = checkPresence(manifest, tensors))
    return error;
  std::vector<Named> all = tensorsOf(manifest, tensors);
  for (const Named &one : all)
    if (llvm::Error error = checkShape(one, manifest))
      return error;
  if (llvm::Error error = checkLengths(tensors))
    return error;
  if (tensors.blockTables)
    if (llvm::Error error = checkPages(tensors))
      return error;
  if (tensors.blockTables)
    if (llvm::Error error = checkAppendedRows(
            {tensors.kvLens, tensors.keyNew.dims[1], *tensors.blockTables,
             tensors.maxPages, tensors.k.dims[1]},
            /*isRead=*/false))
      return error;
  if (auto grid = evaluateTiles(manifest, extentsOf(tensors)); !grid)
    return grid.takeError();
  return checkOverlaps(all);
}

llvm::Expected<LaunchReport> runAppend(const AppendManifest &manifest,
                                       const std::string &ptx, Device &device,
                                       AppendTensors &tensors,
                                       const RunOptions &options) {
  if (llvm::Error error = checkAppend(manifest, tensors))
    return std::move(error);
  if (llvm::Error error = applyOptions(device, options))
    return std::move(error);
  auto copies = copyAll(manifest, device, tensors, options.padding);
  if (!copies)
    return copies.takeError();
  auto captures = DeviceCaptures::create(device, {});
  if (!captures)
    return captures.takeError();
  RunValues values = extentsOf(tensors);
  setStrides(*copies, values);
  auto grid = evaluateTiles(manifest, values);
  if (!grid)
    return grid.takeError();
  LaunchReport report;
  auto find = [&](TensorName name) { return copies->find(name); };
  if (llvm::Error error =
          launch(manifest, *grid, ptx, device, values, *captures, find,
                 /*wait=*/true, report))
    return std::move(error);
  if (report.driverError.empty() || device.isSimulator())
    if (llvm::Error error = readBack(device, *copies, report))
      return std::move(error);
  return std::move(report);
}

} // namespace fmha::runtime
