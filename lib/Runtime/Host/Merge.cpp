//===- Merge.cpp - Run a compiled merge of parts --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Merge.h"
#include "Captures.h"
#include "Launch.h"
#include "LaunchOutcome.h"
#include "Overlap.h"
#include "RowOutputs.h"
#include "Workspace.h"
#include "fmha/Runtime/Files.h"

namespace fmha::runtime {
namespace {

/// An output per row; the strides of head and row follow that of the batch.
struct RowOutput {
  TensorName name;
  std::optional<Tensor4> MergeTensors::*host;
  bool MergeManifest::*there;
  RunValue strideBatch;
};
constexpr RowOutput rowOutputs[] = {
    {TensorName::Lse, &MergeTensors::lse, &MergeManifest::lse,
     RunValue::LseStrideBatch},
    {TensorName::RowMax, &MergeTensors::rowMax, &MergeManifest::rowMax,
     RunValue::RowMaxStrideBatch},
    {TensorName::RowSum, &MergeTensors::rowSum, &MergeManifest::rowSum,
     RunValue::RowSumStrideBatch}};

std::string shapeOf(const std::array<int64_t, 4> &dims) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

llvm::Error expect(const Tensor4 &tensor, llvm::StringRef name,
                   const std::array<int64_t, 4> &dims, ElementType type) {
  if (tensor.dims != dims)
    return failure("tensor '" + name +
                   "' ([batch, length, heads, dim], parts in the batch): "
                   "expected the shape " +
                   shapeOf(dims) + ", got " + shapeOf(tensor.dims));
  if (tensor.dtype != type)
    return failure("tensor '" + name + "': expected elements of type " +
                   llvm::StringRef(stringify(type)) + ", got " +
                   llvm::StringRef(stringify(tensor.dtype)));
  return llvm::Error::success();
}

llvm::Error checkRows(const MergeManifest &manifest,
                      const MergeTensors &tensors) {
  const auto &out = tensors.out.dims;
  for (const RowOutput &row : rowOutputs) {
    const std::optional<Tensor4> &given = tensors.*row.host;
    if (given.has_value() != manifest.*row.there)
      return failure("tensor '" + stringify(row.name) +
                     "': expected it where the kernel was compiled to write "
                     "it, and only there");
    if (!given)
      continue;
    if (llvm::Error error =
            expect(*given, stringify(row.name), {out[0], out[1], out[2], 1},
                   ElementType::F32))
      return error;
  }
  if (tensors.sink.has_value() != manifest.sink)
    return failure("sink: expected it where the kernel was compiled with it, "
                   "and only there");
  return checkSink(tensors.sink, out[2]);
}

/// Device copies of the outputs.
struct Copies {
  DeviceTensor out, sink;
  std::array<std::optional<DeviceTensor>, std::size(rowOutputs)> rows;
};

llvm::Error copyTo(DeviceTensor &copy, Device &device, const Tensor4 &tensor,
                   DeviceTensor::Fill fill, const Padding &padding) {
  auto created = DeviceTensor::create(device, tensor, fill, padding);
  if (!created)
    return created.takeError();
  copy = std::move(*created);
  return llvm::Error::success();
}

llvm::Error copyAll(Copies &copies, Device &device, MergeTensors &tensors,
                    const Padding &padding) {
  using Fill = DeviceTensor::Fill;
  if (llvm::Error error =
          copyTo(copies.out, device, tensors.out, Fill::Poison, padding))
    return error;
  for (auto [row, copy] : llvm::zip(rowOutputs, copies.rows))
    if (tensors.*row.host)
      if (llvm::Error error =
              copyTo(copy.emplace(), device, *(tensors.*row.host), Fill::Poison,
                     padding))
        return error;
  if (!tensors.sink)
    return llvm::Error::success();
  Tensor4 list;
  list.host = tensors.sink->data();
  list.dims = {1, 1, 1, int64_t(tensors.sink->size())};
  list.dtype = ElementType::F32;
  return copyTo(copies.sink, device, list, Fill::Contents, padding);
}

RunValues valuesOf(const MergeTensors &tensors, const Copies &copies) {
  RunValues values;
  const auto &out = tensors.out.dims;
  values[RunValue::Batch] = uint64_t(out[0]);
  values[RunValue::QLen] = uint64_t(out[1]);
  values[RunValue::QHeads] = uint64_t(out[2]);
  launch::setMatrixStrides(RunValue::OStrideBatch, copies.out.view(), values);
  setRowStrides(rowOutputs, copies.rows, values);
  return values;
}

llvm::Error readBack(Device &device, const Copies &copies,
                     MergeTensors &tensors, LaunchReport &report) {
  size_t strayOutput = 0;
  if (llvm::Error error = copies.out.readBack(device, tensors.out, strayOutput))
    return error;
  addStrayFinding("o", strayOutput, report);
  return readRows(device, rowOutputs, copies.rows, tensors, report);
}

} // namespace

llvm::Error checkMerge(const MergeManifest &manifest,
                       const MergeTensors &tensors) {
  const auto &out = tensors.out.dims;
  int64_t dim = manifest.headDim, batches = tensors.parts * out[0];
  struct {
    llvm::StringLiteral name;
    const Tensor4 &tensor;
    std::array<int64_t, 4> dims;
    ElementType type;
  } all[] = {
      {"o", tensors.out, {out[0], out[1], out[2], dim}, manifest.outDtype},
      {"o_parts", tensors.o, {batches, out[1], out[2], dim}, ElementType::F32},
      {"max_parts",
       tensors.max,
       {batches, out[1], out[2], 1},
       ElementType::F32},
      {"sum_parts",
       tensors.sum,
       {batches, out[1], out[2], 1},
       ElementType::F32}};
  for (const auto &[name, tensor, dims, type] : all) {
    if (llvm::Error error = expect(tensor, name, dims, type))
      return error;
    if (&tensor != &tensors.out && mayOverlap(tensors.out, tensor))
      return failure("tensor 'o': expected memory of its own, got bytes that "
                     "tensor '" +
                     name + "' has too");
  }
  return checkRows(manifest, tensors);
}

llvm::Expected<LaunchReport> runMerge(const MergeManifest &manifest,
                                      const std::string &ptx, Device &device,
                                      MergeTensors &tensors,
                                      const RunOptions &options) {
  if (llvm::Error error = checkMerge(manifest, tensors))
    return std::move(error);
  if (llvm::Error error = applyOptions(device, options))
    return std::move(error);
  Copies copies;
  if (llvm::Error error = copyAll(copies, device, tensors, options.padding))
    return std::move(error);
  auto parts =
      Workspace::copy(device, tensors.parts,
                      {tensors.o, tensors.max, tensors.sum}, options.padding);
  if (!parts)
    return parts.takeError();
  auto captures = DeviceCaptures::create(device, {});
  if (!captures)
    return captures.takeError();
  RunValues values = valuesOf(tensors, copies);
  parts->fill(values);
  auto find = [&](TensorName name) -> const DeviceTensor * {
    if (const DeviceTensor *part = parts->find(name))
      return part;
    for (auto [row, copy] : llvm::zip(rowOutputs, copies.rows))
      if (row.name == name)
        return copy ? &*copy : nullptr;
    return name == TensorName::O      ? &copies.out
           : name == TensorName::Sink ? &copies.sink
                                      : nullptr;
  };
  auto grid = evaluateTiles(manifest, values);
  if (!grid)
    return grid.takeError();
  LaunchReport report;
  if (llvm::Error error =
          launch(manifest, *grid, ptx, device, values, *captures, find,
                 /*wait=*/true, report))
    return std::move(error);
  if (report.driverError.empty() || device.isSimulator())
    if (llvm::Error error = readBack(device, copies, tensors, report))
      return std::move(error);
  return std::move(report);
}

} // namespace fmha::runtime
