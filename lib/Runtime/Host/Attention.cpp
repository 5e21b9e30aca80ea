//===- Attention.cpp - Run a compiled attention kernel --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"
#include "AppendedRows.h"
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

/// An f32 number that a kernel writes for each row.
struct RowOutput {
  TensorName name;
  llvm::StringLiteral title, flag;
  std::optional<Tensor4> AttentionTensors::*host;
  bool Manifest::*there;
  /// The strides of head and row follow this value.
  RunValue strideBatch;
};
constexpr RowOutput rowOutputs[] = {
    {TensorName::Lse, "LSE", "--lse", &AttentionTensors::lse, &Manifest::lse,
     RunValue::LseStrideBatch},
    {TensorName::RowMax, "row maxima", "--row-max", &AttentionTensors::rowMax,
     &Manifest::rowMax, RunValue::RowMaxStrideBatch},
    {TensorName::RowSum, "row sums", "--row-sum", &AttentionTensors::rowSum,
     &Manifest::rowSum, RunValue::RowSumStrideBatch}};

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

/// The expected dims of a tensor of the problem.
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
    ElementType type = name == "o"   ? manifest.outDtype
                       : name == "q" ? manifest.dtype
                                     : manifest.kvDtype;
    if (llvm::Error error = expectType(tensor, name, type))
      return error;
    if (llvm::Error error = checkAlignment(tensor, name))
      return error;
  }
  return llvm::Error::success();
}

/// Checks that keys are in vectors if and only if the kernel reads them so.
llvm::Error checkVectors(const Manifest &manifest, const Tensor4 &k) {
  if (manifest.keyVectors == (k.vector != 0))
    return llvm::Error::success();
  return failure(llvm::StringRef("tensor 'k': expected keys ") +
                 (manifest.keyVectors ? "in vectors of 16 bytes"
                                      : "with a whole head dim") +
                 ", as the kernel was compiled to read, got others; give "
                 "--cache-layout=mmha to both, or to neither");
}

llvm::Error checkHeads(int64_t qHeads, int64_t kvHeads) {
  if (kvHeads > 0 ? qHeads % kvHeads == 0 : qHeads == 0)
    return llvm::Error::success();
  return failure("expected the query heads to be a multiple of the KV heads, "
                 "got " +
                 llvm::Twine(qHeads) + " query heads and " +
                 llvm::Twine(kvHeads) + " KV heads");
}

llvm::Error checkRows(const Manifest &manifest,
                      const AttentionTensors &tensors) {
  const auto &q = tensors.q.dims;
  for (const RowOutput &row : rowOutputs) {
    const std::optional<Tensor4> &given = tensors.*row.host;
    if (!given)
      continue;
    std::string name = stringify(row.name).str();
    if (!(manifest.*row.there))
      return failure("expected a kernel that writes " + row.title +
                     ", got one compiled without; compile with " + row.flag);
    if (llvm::Error error = expectShape(*given, name, {q[0], q[1], q[2], 1}))
      return error;
    if (llvm::Error error = expectType(*given, name, ElementType::F32))
      return error;
  }
  return llvm::Error::success();
}

/// Checks that V is the same memory as K, which a kernel that reads V from the
/// rows of K requires.
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

/// Checks that a second KV segment is given if the kernel reads one, with the
/// heads and head dims of the first and one batch entry per sequence.
llvm::Error checkSecond(const Manifest &manifest,
                        const AttentionTensors &tensors) {
  if (bool(tensors.k2) != bool(tensors.v2))
    return failure("expected k2 and v2 of a second KV segment, or neither, got "
                   "one of them");
  if (manifest.source2 && !tensors.k2)
    return failure("expected k2 and v2, the second KV segment that the kernel "
                   "was compiled to read, got none");
  if (!manifest.source2 && tensors.k2)
    return failure("expected a kernel that reads a second KV segment, got one "
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

/// Checks that new keys and values are given if the kernel appends some, with
/// the heads and head dims of the caches.
llvm::Error checkNew(const Manifest &manifest,
                     const AttentionTensors &tensors) {
  for (auto [name, tensor] : {std::pair("key_new", &tensors.keyNew),
                              {"value_new", &tensors.valueNew}})
    if (manifest.keyNew != tensor->has_value())
      return failure(llvm::Twine("tensor '") + name + "': expected " +
                     (manifest.keyNew
                          ? "it, which the kernel appends, got none"
                          : "none, since the kernel appends none, got one"));
  if (!manifest.keyNew)
    return llvm::Error::success();
  int64_t count = sequenceCount(tensors), length = tensors.keyNew->dims[1];
  if (length && !(tensors.q.dims[1] && tensors.q.dims[2]))
    return failure("tensor 'q': expected queries with key_new, whose CTAs "
                   "append, got none; append by fmha.append");
  int64_t heads = tensors.k.dims[2];
  if (llvm::Error error =
          checkTensors(manifest, {{"key_new",
                                   *tensors.keyNew,
                                   {count, length, heads, manifest.headDim}},
                                  {"value_new",
                                   *tensors.valueNew,
                                   {count, length, heads, manifest.headDimV}}}))
    return error;
  if (!tensors.blockTables)
    return llvm::Error::success();
  return checkAppendedRows({*tensors.kvLens, length, *tensors.blockTables,
                            tensors.maxPages, tensors.k.dims[1]},
                           /*isRead=*/true);
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
      {"kv_len", tensors.maxKeys()},
      {"kv_len2", tensors.k2 ? tensors.k2->dims[1] : 0}};
  if (tensors.keyNew &&
      tensors.keyNew->dims[1] > schedule::FmaThreads::mostNewKeys)
    return failure("tensor 'key_new': expected at most " +
                   llvm::Twine(schedule::FmaThreads::mostNewKeys) +
                   " tokens, got " + llvm::Twine(tensors.keyNew->dims[1]) +
                   "; append in several launches");
  for (const auto &[name, length] : lengths)
    if (length > most)
      return failure(name + ": expected a length of at most " +
                     llvm::Twine(most) + why + ", got " + llvm::Twine(length) +
                     "; split the sequence");
  return llvm::Error::success();
}

/// Checks overlaps: rows of an output are written while inputs and other rows
/// are in use.
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
  for (const RowOutput &row : rowOutputs)
    if (tensors.*row.host)
      all.push_back({stringify(row.name), &*(tensors.*row.host)});
  if (tensors.keyNew) {
    // The caches are written: they are compared with all that is read.
    all = {{"q", &tensors.q},
           {"key_new", &*tensors.keyNew},
           {"value_new", &*tensors.valueNew}};
    firstOutput = all.size();
    all.append({{"k", &tensors.k}, {"v", &tensors.v}, {"o", &tensors.o}});
    for (const RowOutput &row : rowOutputs)
      if (tensors.*row.host)
        all.push_back({stringify(row.name), &*(tensors.*row.host)});
  }
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
  values[RunValue::KvLen] = tensors.maxKeys();
  values[RunValue::MaxPages] = tensors.maxPages;
  values[RunValue::Pages] = k[0];
  values[RunValue::QHeads] = q[2];
  values[RunValue::KvHeads] = k[2];
  values[RunValue::Group] = k[2] ? q[2] / k[2] : 0;
  values[RunValue::KvLen2] = tensors.k2 ? tensors.k2->dims[1] : 0;
  values[RunValue::NewLen] = tensors.keyNew ? tensors.keyNew->dims[1] : 0;
  return values;
}

/// The device copies of all tensors of a launch.
struct DeviceTensors {
  DeviceTensor q, k, v, o;
  /// In the order of `rowOutputs`.
  std::array<std::optional<DeviceTensor>, std::size(rowOutputs)> rows;
  /// Set only for tensors that are given.
  DeviceTensor kvLens, cuSeqlensQ, cuSeqlensK, sink, blockTables;
  DeviceTensor kScale, vScale, qScale;
  /// For a second KV segment, and for new keys.
  DeviceTensor k2, v2, source2Lens, keyNew, valueNew;

  const DeviceTensor &get(TensorName name) const {
    for (auto [row, copy] : llvm::zip(rowOutputs, rows))
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
    case TensorName::BlockTables:
      return blockTables;
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
  for (auto [row, copy] : llvm::zip(rowOutputs, copies.rows)) {
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
  // Rows outside of all sequences keep their contents.
  Fill outputs = tensors.cuSeqlensQ ? Fill::Contents : Fill::Poison;
  if (llvm::Error error = create(copies.o, tensors.o, outputs, padding))
    return std::move(error);
  const std::pair<DeviceTensor &, const std::optional<std::vector<int32_t>> &>
      lists[] = {{copies.kvLens, tensors.kvLens},
                 {copies.cuSeqlensQ, tensors.cuSeqlensQ},
                 {copies.cuSeqlensK, tensors.cuSeqlensK},
                 {copies.source2Lens, tensors.source2Lens},
                 {copies.blockTables, tensors.blockTables}};
  for (const auto &[copy, list] : lists)
    if (list)
      if (llvm::Error error =
              create(copy, listShape(*list), Fill::Contents, padding))
        return std::move(error);
  const std::pair<DeviceTensor &, const std::optional<std::vector<float>> &>
      factors[] = {{copies.sink, tensors.sink},
                   {copies.kScale, tensors.kScale},
                   {copies.vScale, tensors.vScale},
                   {copies.qScale, tensors.qScale}};
  for (const auto &[copy, list] : factors)
    if (list)
      if (llvm::Error error =
              create(copy, listShape(*list), Fill::Contents, padding))
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
  setRowStrides(rowOutputs, copies.rows, values);
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
    grid[0] = std::min(grid[0], options.maxCtas ? options.maxCtas : most);
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
  return readRows(device, rowOutputs, copies.rows, tensors, report);
}

} // namespace

llvm::Error checkProblem(const Manifest &manifest,
                         const AttentionTensors &tensors) {
  const auto &q = tensors.q.dims, &k = tensors.k.dims;
  if (llvm::Error error = checkHeads(q[2], k[2]))
    return error;
  int64_t headDim = manifest.headDim, headDimV = manifest.headDimV;
  bool isOther =
      manifest.cuSeqlensQ || manifest.cuSeqlensK || manifest.blockTables;
  int64_t kvBatch = isOther ? k[0] : q[0];
  int64_t kvRows = manifest.pageSize ? manifest.pageSize : k[1];
  if (llvm::Error error = checkTensors(
          manifest, {{"q", tensors.q, {q[0], q[1], q[2], headDim}},
                     {"k", tensors.k, {kvBatch, kvRows, k[2], headDim}},
                     {"v", tensors.v, {kvBatch, kvRows, k[2], headDimV}},
                     {"o", tensors.o, {q[0], q[1], q[2], headDimV}}}))
    return error;
  if (llvm::Error error = checkVectors(manifest, tensors.k))
    return error;
  if (llvm::Error error = checkLists(manifest, tensors))
    return error;
  if (llvm::Error error = checkSequences(tensors))
    return error;
  if (llvm::Error error = checkSink(tensors.sink, tensors.q.dims[2]))
    return error;
  if (llvm::Error error = checkScales(manifest, tensors))
    return error;
  if (llvm::Error error = checkCaptures(manifest, tensors))
    return error;
  if (llvm::Error error = checkView(manifest, "", tensors.k, tensors.v))
    return error;
  if (llvm::Error error = checkSecond(manifest, tensors))
    return error;
  if (llvm::Error error = checkNew(manifest, tensors))
    return error;
  if (llvm::Error error = checkRows(manifest, tensors))
    return error;
  if (llvm::Error error = checkLengths(manifest, tensors))
    return error;
  if (auto grid = evaluateGrid(manifest, extentsOf(tensors)); !grid)
    return grid.takeError();
  return checkOverlaps(tensors);
}

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
