//===- Attention.cpp - Run a compiled attention kernel --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"
#include "Captures.h"
#include "Launch.h"
#include "LaunchOutcome.h"
#include "Overlap.h"
#include "RowOutputs.h"
#include "Scales.h"
#include "Sequences.h"
#include "Workspace.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Model/FmaThreads.h"

namespace fmha::runtime {
namespace {

/// The device copies of all tensors of a launch.
struct DeviceTensors {
  DeviceTensor q, k, v, o;
  /// In the order of `attentionRows`.
  std::array<std::optional<DeviceTensor>, std::size(attentionRows)> rows;
  /// Set only for tensors that are given.
  DeviceTensor kvLens, cuSeqlensQ, cuSeqlensK, sink, blockTables, topk;
  DeviceTensor kvNumBlocks, kvIndices, fullKvNumBlocks, fullKvIndices;
  DeviceTensor kScale, vScale, qScale;
  /// For a second KV segment, and for new keys.
  DeviceTensor k2, v2, source2Lens, keyNew, valueNew, cos, sin;

  const DeviceTensor &get(TensorName name) const {
    for (auto [row, copy] : llvm::zip(attentionRows, rows))
      if (row.name == name)
        return *copy;
    switch (name) {
    case TensorName::Q:
      return q;
    case TensorName::K:
      return k;
    case TensorName::V:
      return v;
    case TensorName::KvLens:
      return kvLens;
    case TensorName::CuSeqlensQ:
      return cuSeqlensQ;
    case TensorName::CuSeqlensK:
      return cuSeqlensK;
    case TensorName::Sink:
      return sink;
    case TensorName::K2:
      return k2;
    case TensorName::V2:
      return v2;
    case TensorName::Source2Lens:
      return source2Lens;
    case TensorName::KeyNew:
      return keyNew;
    case TensorName::ValueNew:
      return valueNew;
    case TensorName::RotaryCos:
      return cos;
    case TensorName::RotarySin:
      return sin;
    case TensorName::BlockTables:
      return blockTables;
    case TensorName::Topk:
      return topk;
    case TensorName::KvNumBlocks:
      return kvNumBlocks;
    case TensorName::KvIndices:
      return kvIndices;
    case TensorName::FullKvNumBlocks:
      return fullKvNumBlocks;
    case TensorName::FullKvIndices:
      return fullKvIndices;
    case TensorName::KScale:
      return kScale;
    case TensorName::VScale:
      return vScale;
    case TensorName::QScale:
      return qScale;
    default:
      return o;
    }
  }
};

/// Returns one row of 32-bit numbers; their type does not matter here.
template <typename Number> Tensor4 listShape(const std::vector<Number> &list) {
  static_assert(sizeof(Number) == 4);
  Tensor4 tensor;
  tensor.host = const_cast<Number *>(list.data());
  tensor.dims = {1, 1, 1, int64_t(list.size())};
  tensor.dtype = ElementType::F32;
  return tensor;
}

/// Returns a placeholder for an output that the kernel writes and the caller
/// does not want.
Tensor4 rowShape(const AttentionTensors &tensors) {
  const auto &q = tensors.q.dims;
  Tensor4 rows;
  rows.dims = {q[0], q[1], q[2], 1};
  rows.strides = denseStrides(rows.dims, Layout::BHSD);
  rows.dtype = ElementType::F32;
  return rows;
}

/// Creates copies of the outputs per row.
llvm::Error copyRows(const Manifest &manifest, Device &device,
                     const AttentionTensors &tensors, const Padding &padding,
                     DeviceTensors &copies) {
  using Fill = DeviceTensor::Fill;
  // Rows outside of all sequences keep their contents.
  Fill outputs = tensors.cuSeqlensQ ? Fill::Contents : Fill::Poison;
  for (auto [row, copy] : llvm::zip(attentionRows, copies.rows)) {
    if (!(manifest.*row.there))
      continue;
    const std::optional<Tensor4> &host = tensors.*row.host;
    Padding around = padding;
    // If no kernel receives the stride between the rows of LSE, the rows are
    // contiguous.
    RunValue stride = after(row.strideBatch, 2);
    if (!manifest.takes(stride) &&
        !(manifest.combine && manifest.combine->takes(stride)))
      around.rowUnits = 0;
    auto created =
        DeviceTensor::create(device, host ? *host : rowShape(tensors),
                             host ? outputs : Fill::Poison, around);
    if (!created)
      return created.takeError();
    copy = std::move(*created);
  }
  return llvm::Error::success();
}

/// Creates copies of the lists. They have no padding, so that the simulator
/// reports an index outside of a list.
llvm::Error copyLists(Device &device, const AttentionTensors &tensors,
                      DeviceTensors &copies) {
  auto create = [&](DeviceTensor &copy, const Tensor4 &list) -> llvm::Error {
    auto created = DeviceTensor::create(
        device, list, DeviceTensor::Fill::Contents, Padding::none());
    if (!created)
      return created.takeError();
    copy = std::move(*created);
    return llvm::Error::success();
  };
  const std::pair<DeviceTensor &, const std::optional<std::vector<int32_t>> &>
      lists[] = {{copies.kvLens, tensors.kvLens},
                 {copies.cuSeqlensQ, tensors.cuSeqlensQ},
                 {copies.cuSeqlensK, tensors.cuSeqlensK},
                 {copies.source2Lens, tensors.source2Lens},
                 {copies.blockTables, tensors.blockTables},
                 {copies.topk, tensors.topk}};
  for (const auto &[copy, list] : lists)
    if (list)
      if (llvm::Error error = create(copy, listShape(*list)))
        return error;
  const std::pair<DeviceTensor &, const std::optional<IntegerTensor> &>
      blocks[] = {{copies.kvNumBlocks, tensors.kvNumBlocks},
                  {copies.kvIndices, tensors.kvIndices},
                  {copies.fullKvNumBlocks, tensors.fullKvNumBlocks},
                  {copies.fullKvIndices, tensors.fullKvIndices}};
  for (const auto &[copy, list] : blocks)
    if (list)
      if (llvm::Error error = create(copy, listShape(list->entries)))
        return error;
  const std::pair<DeviceTensor &, const std::optional<std::vector<float>> &>
      factors[] = {{copies.sink, tensors.sink},
                   {copies.kScale, tensors.kScale},
                   {copies.vScale, tensors.vScale},
                   {copies.qScale, tensors.qScale}};
  for (const auto &[copy, list] : factors)
    if (list)
      if (llvm::Error error = create(copy, listShape(*list)))
        return error;
  return llvm::Error::success();
}

llvm::Expected<DeviceTensors> copyToDevice(const Manifest &manifest,
                                           Device &device,
                                           const AttentionTensors &tensors,
                                           const Padding &padding) {
  DeviceTensors copies;
  using Fill = DeviceTensor::Fill;
  auto create = [&](DeviceTensor &copy, const Tensor4 &tensor, Fill fill,
                    const Padding &around) -> llvm::Error {
    auto created = DeviceTensor::create(device, tensor, fill, around);
    if (!created)
      return created.takeError();
    copy = std::move(*created);
    return llvm::Error::success();
  };
  if (llvm::Error error = create(copies.q, tensors.q, Fill::Contents, padding))
    return std::move(error);
  auto createKeys = [&](DeviceTensor &k, DeviceTensor &v, const Tensor4 &ofK,
                        const Tensor4 &ofV) -> llvm::Error {
    if (llvm::Error error = create(k, ofK, Fill::Contents, padding))
      return error;
    if (!manifest.vInK)
      return create(v, ofV, Fill::Contents, padding);
    v = DeviceTensor::columnsOf(k, ofV.dims[3]);
    return llvm::Error::success();
  };
  if (llvm::Error error = createKeys(copies.k, copies.v, tensors.k, tensors.v))
    return std::move(error);
  if (tensors.k2)
    if (llvm::Error error =
            createKeys(copies.k2, copies.v2, *tensors.k2, *tensors.v2))
      return std::move(error);
  if (tensors.keyNew)
    if (llvm::Error error = createKeys(copies.keyNew, copies.valueNew,
                                       *tensors.keyNew, *tensors.valueNew))
      return std::move(error);
  for (auto [copy, angles] :
       {std::pair(&copies.cos, &tensors.cos), {&copies.sin, &tensors.sin}})
    if (*angles)
      if (llvm::Error error = create(*copy, **angles, Fill::Contents, padding))
        return std::move(error);
  // Rows outside of all sequences keep their contents.
  Fill outputs = tensors.cuSeqlensQ ? Fill::Contents : Fill::Poison;
  if (llvm::Error error = create(copies.o, tensors.o, outputs, padding))
    return std::move(error);
  if (llvm::Error error = copyLists(device, tensors, copies))
    return std::move(error);
  if (llvm::Error error = copyRows(manifest, device, tensors, padding, copies))
    return std::move(error);
  return std::move(copies);
}

RunValues runValues(const AttentionTensors &tensors,
                    const DeviceTensors &copies) {
  RunValues values = extentsOf(tensors);
  launch::setMatrixStrides(RunValue::QStrideBatch, copies.q.view(), values);
  launch::setMatrixStrides(RunValue::KStrideBatch, copies.k.view(), values);
  launch::setMatrixStrides(RunValue::VStrideBatch, copies.v.view(), values);
  launch::setMatrixStrides(RunValue::OStrideBatch, copies.o.view(), values);
  if (tensors.keyNew) {
    launch::setMatrixStrides(RunValue::KeyNewStrideBatch, copies.keyNew.view(),
                             values);
    launch::setMatrixStrides(RunValue::ValueNewStrideBatch,
                             copies.valueNew.view(), values);
  }
  if (tensors.cos) {
    values[RunValue::RotaryCosStrideRow] = uint64_t(copies.cos.strides()[1]);
    values[RunValue::RotarySinStrideRow] = uint64_t(copies.sin.strides()[1]);
  }
  setRowStrides(attentionRows, copies.rows, values);
  return values;
}

/// Sets the grid, and the number of tiles, which a grid of fewer CTAs does not
/// give.
llvm::Error chooseGrid(const Manifest &manifest, const Device &device,
                       const RunOptions &options, RunValues &values,
                       std::array<uint32_t, 3> &grid) {
  auto tiles = evaluateTiles(manifest, values);
  if (!tiles)
    return tiles.takeError();
  if (options.maxCtas && !manifest.maxCtas)
    return failure("at most " + llvm::Twine(options.maxCtas) +
                   " CTAs are asked for: expected a kernel that does with any "
                   "number (scheduler = static, or dynamic with a counter), "
                   "got scheduler = " +
                   manifest.scheduler + "; leave the bound out");
  grid = *tiles;
  values[RunValue::Tiles] = grid[0];
  if (manifest.maxCtas) {
    std::optional<uint32_t> there = device.multiprocessors();
    uint32_t most = there ? *there * manifest.ctasPerSm : manifest.maxCtas;
    grid[0] = launch::boundCtas(manifest, grid[0],
                                options.maxCtas ? options.maxCtas : most);
  }
  return llvm::Error::success();
}

llvm::Error readOutputs(Device &device, const DeviceTensors &copies,
                        AttentionTensors &tensors, LaunchReport &report) {
  size_t strayO = 0;
  if (llvm::Error error = copies.o.readBack(device, tensors.o, strayO))
    return error;
  addStrayFinding("o", strayO, report);
  const std::tuple<const char *, const DeviceTensor &, Tensor4 &> caches[] = {
      {"k", copies.k, tensors.k}, {"v", copies.v, tensors.v}};
  for (const auto &[name, copy, host] : caches) {
    if (!tensors.keyNew)
      break;
    size_t stray = 0;
    if (llvm::Error error = copy.readBack(device, host, stray))
      return error;
    addStrayFinding(name, stray, report);
  }
  return readRows(device, attentionRows, copies.rows, tensors, report);
}

} // namespace

/// Launches the kernel, and the kernel that combines its partial results, if
/// any, without a wait between them.
static llvm::Error launchAll(const Manifest &manifest, const std::string &ptx,
                             Device &device, const AttentionTensors &tensors,
                             const RunOptions &options, DeviceTensors &copies,
                             LaunchReport &report) {
  auto captures = DeviceCaptures::create(device, tensors.captures);
  if (!captures)
    return captures.takeError();
  auto scratch = Scratch::create(manifest, device, tensors, options);
  if (!scratch)
    return scratch.takeError();
  RunValues values = runValues(tensors, copies);
  if (scratch->workspace)
    scratch->workspace->fill(values);
  std::array<uint32_t, 3> grid;
  if (llvm::Error error = chooseGrid(manifest, device, options, values, grid))
    return error;
  auto find = [&](TensorName name) -> const DeviceTensor * {
    if (!manifest.has(name))
      return nullptr;
    const DeviceTensor *own = scratch->find(name);
    return own ? own : &copies.get(name);
  };
  auto run = [&](const KernelLaunch &kernel,
                 const std::array<uint32_t, 3> &tiles, bool wait) {
    return launch(kernel, tiles, ptx, device, values, *captures, find, wait,
                  report);
  };
  auto hasFaulted = [&] {
    return !report.driverError.empty() ||
           report.status == LaunchReport::Status::Deadlock;
  };
  if (llvm::Error error = run(manifest, grid, /*wait=*/!manifest.combine))
    return error;
  if (manifest.combine && !hasFaulted()) {
    auto rows = evaluateTiles(*manifest.combine, values);
    if (!rows)
      return rows.takeError();
    if (llvm::Error error = run(*manifest.combine, *rows, /*wait=*/true))
      return error;
  }
  return hasFaulted() ? llvm::Error::success() : scratch->check(device, report);
}

llvm::Expected<LaunchReport>
runAttention(const Manifest &manifest, const std::string &ptx, Device &device,
             AttentionTensors &tensors, const RunOptions &options) {
  if (llvm::Error error = checkProblem(manifest, tensors))
    return std::move(error);
  if (llvm::Error error = applyOptions(device, options))
    return std::move(error);
  auto copies = copyToDevice(manifest, device, tensors, options.padding);
  if (!copies)
    return copies.takeError();
  LaunchReport report;
  if (llvm::Error error =
          launchAll(manifest, ptx, device, tensors, options, *copies, report))
    return std::move(error);
  // A GPU that faulted returns no outputs.
  if (report.driverError.empty() || device.isSimulator())
    if (llvm::Error error = readOutputs(device, *copies, tensors, report))
      return std::move(error);
  return std::move(report);
}

} // namespace fmha::runtime
