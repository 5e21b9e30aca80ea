//===- Attention.cpp - Run a compiled attention kernel --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"
#include "Captures.h"
#include "KernelArguments.h"
#include "LaunchOutcome.h"
#include "Overlap.h"
#include "Sequences.h"
#include "fmha/Runtime/Files.h"

#include <chrono>

namespace fmha::runtime {
namespace {

std::string shapeOf(const Tensor4 &tensor) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i)
    text += (i ? ", " : "") + std::to_string(tensor.dims[i]);
  return text + "]";
}

llvm::Error expectShape(const Tensor4 &tensor, llvm::StringRef name,
                        const std::array<int64_t, 4> &dims) {
  Tensor4 expected;
  expected.dims = dims;
  if (tensor.dims == dims)
    return llvm::Error::success();
  return failure("tensor '" + name +
                 "' ([batch, length, heads, dim]): expected the shape " +
                 shapeOf(expected) + ", got " + shapeOf(tensor));
}

llvm::Error expectType(const Tensor4 &tensor, llvm::StringRef name,
                       ElementType type) {
  if (tensor.dtype == type)
    return llvm::Error::success();
  return failure("tensor '" + name + "': expected elements of type " +
                 llvm::StringRef(stringify(type)) + ", got " +
                 llvm::StringRef(stringify(tensor.dtype)));
}

/// What a tensor of the problem must be.
struct Expectation {
  llvm::StringLiteral name;
  const Tensor4 &tensor;
  std::array<int64_t, 4> dims;
};

llvm::Error checkTensors(const Manifest &manifest,
                         llvm::ArrayRef<Expectation> expectations) {
  for (const auto &[name, tensor, dims] : expectations) {
    if (llvm::Error error = expectShape(tensor, name, dims))
      return error;
    if (llvm::Error error = expectType(tensor, name, manifest.dtype))
      return error;
    if (llvm::Error error = checkAlignment(tensor, name))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error checkHeads(int64_t qHeads, int64_t kvHeads) {
  if (kvHeads > 0 ? qHeads % kvHeads == 0 : qHeads == 0)
    return llvm::Error::success();
  return failure("expected the query heads to be a multiple of the KV heads, "
                 "got " +
                 llvm::Twine(qHeads) + " query heads and " +
                 llvm::Twine(kvHeads) + " KV heads");
}

llvm::Error checkLse(const Manifest &manifest,
                     const AttentionTensors &tensors) {
  if (!tensors.lse)
    return llvm::Error::success();
  if (!manifest.lse)
    return failure("expected a kernel that writes LSE, got one compiled "
                   "without; compile with --lse");
  const auto &q = tensors.q.dims;
  if (llvm::Error error =
          expectShape(*tensors.lse, "lse", {q[0], q[1], q[2], 1}))
    return error;
  return expectType(*tensors.lse, "lse", ElementType::F32);
}

/// A kernel that takes V from the rows of K needs them to be the same memory.
llvm::Error checkView(const Manifest &manifest, llvm::StringRef source,
                      const Tensor4 &k, const Tensor4 &v) {
  bool same = k.host == v.host;
  for (int i = 0; i < 3; ++i)
    same = same && (k.dims[i] <= 1 || k.strides[i] == v.strides[i]);
  if (!manifest.vInK || same || llvm::is_contained(k.dims, 0))
    return llvm::Error::success();
  return failure("tensor 'v" + source +
                 "': expected the first columns of tensor 'k" + source +
                 "', in its memory and with its strides, as the kernel was "
                 "compiled with v_in_k, got a tensor of its own; compile "
                 "without v_in_k");
}

/// A second source is there where the kernel reads one, with the heads and head
/// dims of the first and a batch a sequence.
llvm::Error checkSecond(const Manifest &manifest,
                        const AttentionTensors &tensors) {
  if (bool(tensors.k2) != bool(tensors.v2))
    return failure("expected k2 and v2 of a second source, or neither, got one "
                   "of them");
  if (manifest.source2 && !tensors.k2)
    return failure("expected k2 and v2, the second source that the kernel was "
                   "compiled to read, got none");
  if (!manifest.source2 && tensors.k2)
    return failure("expected a kernel that reads a second source, got one "
                   "compiled without; compile with --source2-k");
  if (!tensors.k2)
    return llvm::Error::success();
  int64_t count = sequenceCount(tensors), length = tensors.k2->dims[1];
  int64_t heads = tensors.k.dims[2];
  if (llvm::Error error = checkTensors(
          manifest,
          {{"k2", *tensors.k2, {count, length, heads, manifest.headDim}},
           {"v2", *tensors.v2, {count, length, heads, manifest.headDimV}}}))
    return error;
  return checkView(manifest, "2", *tensors.k2, *tensors.v2);
}

llvm::Error checkSink(const AttentionTensors &tensors) {
  int64_t heads = tensors.q.dims[2];
  if (!tensors.sink || int64_t(tensors.sink->size()) == heads)
    return llvm::Error::success();
  return failure("sink: expected " + llvm::Twine(heads) +
                 " entries, one a query head, got " +
                 llvm::Twine(tensors.sink->size()));
}

llvm::Error checkLengths(const Manifest &manifest,
                         const AttentionTensors &tensors) {
  bool window = manifest.windowLeft || manifest.windowRight;
  int64_t most = window || manifest.source2 ? maxWindowedLength : maxLength;
  const char *why = window             ? " (2^30 - 512, with a window)"
                    : manifest.source2 ? " (2^30 - 512, with two sources)"
                                       : " (2^31 - 512)";
  const std::pair<llvm::StringLiteral, int64_t> lengths[] = {
      {"q_len", tensors.q.dims[1]},
      {"kv_len", tensors.k.dims[1]},
      {"kv_len2", tensors.k2 ? tensors.k2->dims[1] : 0}};
  for (const auto &[name, length] : lengths)
    if (length > most)
      return failure(name + ": expected a length of at most " +
                     llvm::Twine(most) + why + ", got " + llvm::Twine(length) +
                     "; split the sequence");
  return llvm::Error::success();
}

/// Rows of an output are written while inputs and other rows are in use.
llvm::Error checkOverlaps(const AttentionTensors &tensors) {
  llvm::SmallVector<std::pair<llvm::StringRef, const Tensor4 *>> all = {
      {"q", &tensors.q},
      {"k", &tensors.k},
      {"v", &tensors.v},
      {"o", &tensors.o}};
  size_t firstOutput = 3;
  if (tensors.k2) {
    all.insert(all.begin(), {{"k2", &*tensors.k2}, {"v2", &*tensors.v2}});
    firstOutput += 2;
  }
  if (tensors.lse)
    all.push_back({"lse", &*tensors.lse});
  for (size_t n = firstOutput; n < all.size(); ++n)
    for (size_t other = 0; other < n; ++other)
      if (mayOverlap(*all[n].second, *all[other].second))
        return failure("tensor '" + all[n].first +
                       "': expected memory of its own, got bytes that tensor "
                       "'" +
                       all[other].first +
                       "' has too; give it a buffer of its "
                       "own");
  return llvm::Error::success();
}

RunValues extentsOf(const AttentionTensors &tensors) {
  RunValues values;
  const auto &q = tensors.q.dims, &k = tensors.k.dims;
  values[RunValue::Batch] = sequenceCount(tensors);
  values[RunValue::QLen] = q[1];
  values[RunValue::MaxQLen] = longestQueries(tensors);
  values[RunValue::KvLen] = k[1];
  values[RunValue::QHeads] = q[2];
  values[RunValue::KvHeads] = k[2];
  values[RunValue::Group] = k[2] ? q[2] / k[2] : 0;
  values[RunValue::KvLen2] = tensors.k2 ? tensors.k2->dims[1] : 0;
  return values;
}

/// The device copies of all tensors of a launch.
struct DeviceTensors {
  DeviceTensor q, k, v, o;
  std::optional<DeviceTensor> lse;
  /// Of those lists that there are.
  DeviceTensor kvLens, cuSeqlensQ, cuSeqlensK, sink;
  /// Of a second source.
  DeviceTensor k2, v2, source2Lens;

  const DeviceTensor &get(TensorName name) const {
    const DeviceTensor *all[] = {
        &q,      &k,          &v,          &o,    lse ? &*lse : nullptr,
        &kvLens, &cuSeqlensQ, &cuSeqlensK, &sink, &k2,
        &v2,     &source2Lens};
    return *all[size_t(name)];
  }
};

/// One row of numbers of 32 bits; nobody looks at them as what they are.
template <typename Number> Tensor4 listShape(const std::vector<Number> &list) {
  static_assert(sizeof(Number) == 4);
  Tensor4 tensor;
  tensor.host = const_cast<Number *>(list.data());
  tensor.dims = {1, 1, 1, int64_t(list.size())};
  tensor.dtype = ElementType::F32;
  return tensor;
}

/// A stand-in where the kernel writes LSE and the caller wants none.
Tensor4 lseShape(const AttentionTensors &tensors) {
  if (tensors.lse)
    return *tensors.lse;
  const auto &q = tensors.q.dims;
  Tensor4 lse;
  lse.dims = {q[0], q[1], q[2], 1};
  lse.strides = denseStrides(lse.dims, Layout::BHSD);
  lse.dtype = ElementType::F32;
  return lse;
}

/// Whether a parameter tells the kernel the stride between the rows of LSE; if
/// none does, they lie next to each other.
bool takesLseRowStride(const Manifest &manifest) {
  for (const Parameter &parameter : manifest.parameters)
    if ((parameter.kind == Parameter::Kind::U32 ||
         parameter.kind == Parameter::Kind::U64) &&
        parameter.value == RunValue::LseStrideRow)
      return true;
  return false;
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
  // Rows that no sequence has are to be kept.
  Fill outputs = tensors.cuSeqlensQ ? Fill::Contents : Fill::Poison;
  if (llvm::Error error = create(copies.o, tensors.o, outputs, padding))
    return std::move(error);
  const std::pair<DeviceTensor &, const std::optional<std::vector<int32_t>> &>
      lists[] = {{copies.kvLens, tensors.kvLens},
                 {copies.cuSeqlensQ, tensors.cuSeqlensQ},
                 {copies.cuSeqlensK, tensors.cuSeqlensK},
                 {copies.source2Lens, tensors.source2Lens}};
  for (const auto &[copy, list] : lists)
    if (list)
      if (llvm::Error error =
              create(copy, listShape(*list), Fill::Contents, padding))
        return std::move(error);
  if (tensors.sink)
    if (llvm::Error error = create(copies.sink, listShape(*tensors.sink),
                                   Fill::Contents, padding))
      return std::move(error);
  if (!manifest.lse)
    return std::move(copies);
  Padding around = padding;
  if (!takesLseRowStride(manifest))
    around.rowUnits = 0;
  if (llvm::Error error = create(copies.lse.emplace(), lseShape(tensors),
                                 tensors.lse ? outputs : Fill::Poison, around))
    return std::move(error);
  return std::move(copies);
}

RunValues runValues(const AttentionTensors &tensors,
                    const DeviceTensors &copies) {
  RunValues values = extentsOf(tensors);
  if (copies.lse) {
    const auto &strides = copies.lse->strides();
    values[RunValue::LseStrideBatch] = strides[0];
    values[RunValue::LseStrideRow] = strides[1];
    values[RunValue::LseStrideHead] = strides[2];
  }
  return values;
}

llvm::Error applyOptions(Device &device, const RunOptions &options) {
  if (!device.isSimulator())
    return llvm::Error::success();
  if (device.api().reset)
    device.api().reset();
  return device.setOptions({{"policy", options.policy},
                            {"seed", std::to_string(options.scheduleSeed)},
                            {"checks", options.checks},
                            {"conformance", options.conformance},
                            {"mma", options.mma},
                            {"approx", options.approx}});
}

/// Says how many tiles there are, too, which a grid of fewer CTAs does not.
llvm::Error chooseGrid(const Manifest &manifest, const Device &device,
                       const RunOptions &options, RunValues &values,
                       std::array<uint32_t, 3> &grid) {
  auto tiles = evaluateTiles(manifest, values);
  if (!tiles)
    return tiles.takeError();
  if (options.maxCtas && !manifest.maxCtas)
    return failure("at most " + llvm::Twine(options.maxCtas) +
                   " CTAs are asked for: expected a kernel that does with any "
                   "number (scheduler = static), got scheduler = " +
                   manifest.scheduler + "; leave the bound out");
  grid = *tiles;
  values[RunValue::Tiles] = grid[0];
  if (manifest.maxCtas)
    grid[0] = std::min(
        grid[0], options.maxCtas
                     ? options.maxCtas
                     : device.multiprocessors().value_or(manifest.maxCtas));
  return llvm::Error::success();
}

/// Launches and waits; fills `report`.
llvm::Error launch(const Manifest &manifest, Device &device,
                   const LoadedKernel &kernel, KernelArguments &arguments,
                   LaunchReport &report) {
  driver::LaunchAttribute cluster = {};
  cluster.id = driver::launchClusterDimension;
  driver::LaunchConfig config = {};
  bool clustered = false;
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = report.grid[i];
    config.block[i] = manifest.block[i];
    cluster.value.cluster[i] = manifest.cluster[i];
    clustered |= manifest.cluster[i] > 1;
  }
  config.dynamicSmemBytes = manifest.smemBytes;
  config.attributes = clustered ? &cluster : nullptr;
  config.attributeCount = clustered;
  auto begin = std::chrono::steady_clock::now();
  driver::Result result = device.api().launchKernel(
      &config, kernel.get(), arguments.pointers(), nullptr);
  if (result == 0)
    result = device.api().synchronize();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  report.launched = true;
  return readOutcome(device, result, report);
}

llvm::Error readOutputs(Device &device, const DeviceTensors &copies,
                        AttentionTensors &tensors, LaunchReport &report) {
  size_t strayO = 0, strayLse = 0;
  if (llvm::Error error = copies.o.readBack(device, tensors.o, strayO))
    return error;
  addStrayFinding("o", strayO, report);
  if (!tensors.lse)
    return llvm::Error::success();
  if (llvm::Error error = copies.lse->readBack(device, *tensors.lse, strayLse))
    return error;
  addStrayFinding("lse", strayLse, report);
  return llvm::Error::success();
}

} // namespace

llvm::Error checkProblem(const Manifest &manifest,
                         const AttentionTensors &tensors) {
  const auto &q = tensors.q.dims, &k = tensors.k.dims;
  if (llvm::Error error = checkHeads(q[2], k[2]))
    return error;
  int64_t headDim = manifest.headDim, headDimV = manifest.headDimV;
  bool isPacked = manifest.cuSeqlensQ || manifest.cuSeqlensK;
  int64_t kvBatch = isPacked ? k[0] : q[0];
  if (llvm::Error error = checkTensors(
          manifest, {{"q", tensors.q, {q[0], q[1], q[2], headDim}},
                     {"k", tensors.k, {kvBatch, k[1], k[2], headDim}},
                     {"v", tensors.v, {kvBatch, k[1], k[2], headDimV}},
                     {"o", tensors.o, {q[0], q[1], q[2], headDimV}}}))
    return error;
  if (llvm::Error error = checkLists(manifest, tensors))
    return error;
  if (llvm::Error error = checkSequences(tensors))
    return error;
  if (llvm::Error error = checkSink(tensors))
    return error;
  if (llvm::Error error = checkCaptures(manifest, tensors))
    return error;
  if (llvm::Error error = checkView(manifest, "", tensors.k, tensors.v))
    return error;
  if (llvm::Error error = checkSecond(manifest, tensors))
    return error;
  if (llvm::Error error = checkLse(manifest, tensors))
    return error;
  if (llvm::Error error = checkLengths(manifest, tensors))
    return error;
  if (auto grid = evaluateGrid(manifest, extentsOf(tensors)); !grid)
    return grid.takeError();
  return checkOverlaps(tensors);
}

llvm::Expected<LaunchReport>
runAttention(const Manifest &manifest, const std::string &ptx, Device &device,
             AttentionTensors &tensors, const RunOptions &options) {
  if (llvm::Error error = checkProblem(manifest, tensors))
    return std::move(error);
  if (llvm::Error error = applyOptions(device, options))
    return std::move(error);
  auto kernel = device.loadKernel(ptx, manifest.kernel, manifest.smemBytes);
  if (!kernel)
    return kernel.takeError();
  auto copies = copyToDevice(manifest, device, tensors, options.padding);
  if (!copies)
    return copies.takeError();
  auto captures = DeviceCaptures::create(device, tensors.captures);
  if (!captures)
    return captures.takeError();
  RunValues values = runValues(tensors, *copies);
  LaunchReport report;
  if (llvm::Error error =
          chooseGrid(manifest, device, options, values, report.grid))
    return std::move(error);
  if (!llvm::is_contained(report.grid, 0u)) {
    auto arguments =
        KernelArguments::build(manifest, device, values, *captures,
                               [&](TensorName name) -> const DeviceTensor & {
                                 return copies->get(name);
                               });
    if (!arguments)
      return arguments.takeError();
    if (llvm::Error error =
            launch(manifest, device, *kernel, *arguments, report))
      return std::move(error);
  }
  // A GPU that faulted gives nothing back.
  if (report.driverError.empty() || device.isSimulator())
    if (llvm::Error error = readOutputs(device, *copies, tensors, report))
      return std::move(error);
  return std::move(report);
}

} // namespace fmha::runtime
