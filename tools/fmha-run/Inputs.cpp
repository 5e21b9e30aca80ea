//===- Inputs.cpp - The arrays of one problem -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "ListedKeys.h"
#include "Scales.h"
#include "fmha/Runtime/Files.h"

#include <limits>
#include <numeric>
#include <random>
#include <unistd.h>

namespace fmha::tools {

using namespace runtime;

namespace {

/// Fills rows of `array` outside of all ranges with NaN.
void fillGaps(HostArray &array, int64_t batch,
              std::vector<std::pair<int64_t, int64_t>> ranges) {
  const auto &dims = array.view.dims;
  for (int64_t l = 0; l < dims[1]; ++l) {
    bool used = llvm::any_of(ranges, [&](auto range) {
      return range.first <= l && l < range.second;
    });
    for (int64_t h = 0; !used && h < dims[2]; ++h)
      for (int64_t d = 0; d < dims[3]; ++d)
        array.set(array.view.indexOf(batch, l, h, d),
                  std::numeric_limits<float>::quiet_NaN());
  }
}

/// Sets extents that are still unknown from the shape of a file's array.
void adopt(NpyArray file, const std::string &layout, bool isPacked,
           std::optional<uint64_t> *batch, std::optional<uint64_t> *length,
           std::optional<uint64_t> *heads, std::optional<uint64_t> *dim) {
  std::optional<uint64_t> unused = 1;
  if (isPacked && file.shape.size() == 3) {
    file.shape.insert(file.shape.begin(), 1);
    batch = &unused;
  }
  // Keys in vectors are [batch, heads, dim / x, length, x].
  if (file.shape.size() == 5) {
    file.shape = {file.shape[0], file.shape[1], file.shape[3],
                  file.shape[2] * file.shape[4]};
  }
  if (file.shape.size() != 4)
    return;
  bool bshd = layout == "bshd";
  std::optional<uint64_t> *targets[] = {batch, bshd ? length : heads,
                                        bshd ? heads : length, dim};
  for (int i = 0; i < 4; ++i)
    if (!*targets[i])
      *targets[i] = uint64_t(file.shape[i]);
}

/// Returns the layout of k and v, which is that of caches if they are paged. Of
/// keys in vectors it is that of v.
std::string layoutOfKeys(const ProblemFlags &flags) {
  if (flags.hasKeyVectors())
    return "bhsd";
  if (!flags.blockTables)
    return flags.layout;
  return flags.cacheLayout == "nhd" ? "bshd" : "bhsd";
}

/// Checks that the memory suffices: arrays, device copies and the reference
/// take about 40 bytes per element.
llvm::Error checkMemory(const Shape &shape) {
  using Wide = unsigned __int128;
  constexpr uint64_t limit = uint64_t(1) << 40;
  for (int64_t extent : {shape.batch, shape.qHeads, shape.kvHeads, shape.qLen,
                         shape.kvLen, shape.kvLen2})
    if (uint64_t(extent) > UINT32_MAX)
      return failure("an extent of " + llvm::Twine(uint64_t(extent)) +
                     " is too large: expected at most 4294967295");
  auto elements = [&](int64_t heads, int64_t length) {
    Wide rows = Wide(shape.batch) * heads;
    // Saturate before the next factor can overflow.
    rows = std::min(rows, Wide(limit)) * Wide(length);
    return std::min(rows, Wide(limit)) * (shape.headDim + shape.headDimV);
  };
  Wide bytes = 40 * (elements(shape.qHeads, shape.qLen) +
                     elements(shape.kvHeads, shape.kvLen) +
                     elements(shape.kvHeads, shape.kvLen2));
  // Sequences may share pages, and a cache may have more than they own.
  Wide rows = Wide(shape.pages) * Wide(shape.pageSize) * Wide(shape.kvHeads);
  bytes += 40 * std::min(rows, Wide(limit)) * (shape.headDim + shape.headDimV);
  Wide memory = Wide(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes <= memory)
    return llvm::Error::success();
  return failure(
      "the problem is too large for this machine: expected at most " +
      llvm::Twine(uint64_t(memory >> 20)) + " MiB of arrays, got about " +
      llvm::Twine(uint64_t(bytes >> 20)) +
      " MiB; shorten the lengths or the batch");
}

llvm::Error checkLength(llvm::StringRef flag, uint64_t length) {
  if (length <= uint64_t(maxLength))
    return llvm::Error::success();
  return failure("--" + flag + ": expected a length of at most " +
                 llvm::Twine(maxLength) + " (2^31 - 512), got " +
                 llvm::Twine(length));
}

llvm::Expected<Shape> shapeOf(const ProblemFlags &flags,
                              const schedule::Problem &spec) {
  Shape shape;
  shape.batch = int64_t(flags.batch.value_or(1));
  shape.qHeads = int64_t(flags.qHeads.value_or(1));
  shape.kvHeads = int64_t(flags.kvHeads.value_or(shape.qHeads));
  shape.qLen = int64_t(flags.qLen.value_or(128));
  shape.kvLen = int64_t(flags.kvLen.value_or(shape.qLen));
  shape.headDim = spec.headDim;
  shape.headDimV = spec.headDimV;
  shape.pageSize = spec.pageSize;
  if (spec.source2)
    shape.kvLen2 = int64_t(flags.source2Len.value_or(shape.kvLen));
  if (llvm::Error error = checkLength("source2-len", uint64_t(shape.kvLen2)))
    return std::move(error);
  if (llvm::Error error = checkHeads(flags))
    return std::move(error);
  if (llvm::Error error = checkLength("q-len", uint64_t(shape.qLen)))
    return std::move(error);
  if (llvm::Error error = checkLength("kv-len", uint64_t(shape.kvLen)))
    return std::move(error);
  if (llvm::Error error = checkMemory(shape))
    return std::move(error);
  return shape;
}

/// Reads an array of float32 or float16, or of uint8 if it is of e4m3.
llvm::Expected<std::optional<NpyArray>> readOptional(const std::string &path,
                                                     bool isE4M3) {
  if (path.empty())
    return std::optional<NpyArray>();
  auto array = readNpy(path);
  if (!array)
    return array.takeError();
  // Reject types here, before anything is compiled.
  if (isE4M3 && array->type == NpyType::U8)
    return std::optional<NpyArray>(std::move(*array));
  if (auto values = toFloats(*array, path); !values)
    return values.takeError();
  return std::optional<NpyArray>(std::move(*array));
}

} // namespace

AttentionTensors HostProblem::tensors() const {
  AttentionTensors tensors{q.view,           k.view,           v.view,
                           o.view,           std::nullopt,     lists.kvLens,
                           lists.cuSeqlensQ, lists.cuSeqlensK, lists.sink,
                           scores.captures()};
  if (hasSource2) {
    tensors.k2 = k2.view;
    tensors.v2 = v2.view;
    tensors.source2Lens = lists.source2Lens;
  }
  tensors.blockTables = lists.blockTables;
  tensors.maxPages = lists.maxPages;
  tensors.topk = lists.topk;
  tensors.topkLen = lists.topkLen;
  tensors.topkQueries = lists.topkShape;
  tensors.kvNumBlocks = lists.kvNumBlocks;
  tensors.kvIndices = lists.kvIndices;
  tensors.fullKvNumBlocks = lists.fullKvNumBlocks;
  tensors.fullKvIndices = lists.fullKvIndices;
  tensors.keyNew = keyNew;
  tensors.cos = cos;
  tensors.sin = sin;
  tensors.valueNew = valueNew;
  tensors.kScale = lists.kScale;
  tensors.vScale = lists.vScale;
  tensors.qScale = lists.qScale;
  const std::pair<const std::optional<std::vector<float>> &,
                  std::optional<Tensor4> &>
      rows[] = {{lse, tensors.lse},
                {rowMax, tensors.rowMax},
                {rowSum, tensors.rowSum}};
  for (auto &[numbers, tensor] : rows) {
    if (!numbers)
      continue;
    Tensor4 &view = tensor.emplace();
    view.dims = {q.view.dims[0], shape.qLen, shape.qHeads, 1};
    view.strides = denseStrides(view.dims, Layout::BHSD);
    view.dtype = ElementType::F32;
    view.host = const_cast<float *>(numbers->data());
  }
  return tensors;
}

void HostProblem::poisonOutputs() {
  std::fill(o.bits.begin(), o.bits.end(), 0xffff);
  for (std::optional<std::vector<float>> *numbers : rows())
    if (*numbers)
      std::fill((*numbers)->begin(), (*numbers)->end(),
                std::numeric_limits<float>::quiet_NaN());
}

llvm::Expected<InputFiles> readInputs(const RunFlags &flags) {
  InputFiles files;
  std::string k2 = flags.problem.source2K.value_or("");
  std::string v2 = flags.problem.source2V.value_or("");
  using enum schedule::DataType;
  bool isQ8 = flags.problem.dtype == E4M3;
  // An op in a file may be of e4m3 without a flag that says so.
  isQ8 |= !flags.problem.input.empty();
  bool isK8 = isQ8 || flags.problem.kvDtype == E4M3;
  std::tuple<const std::string &, std::optional<NpyArray> &, bool> all[] = {
      {flags.q, files.q, isQ8},
      {flags.k, files.k, isK8},
      {flags.v, files.v, isK8},
      {k2, files.k2, isK8},
      {v2, files.v2, isK8}};
  for (auto &[path, target, isE4M3] : all) {
    auto array = readOptional(path, isE4M3);
    if (!array)
      return array.takeError();
    target = std::move(*array);
  }
  auto lists = readLists(flags.problem);
  if (!lists)
    return lists.takeError();
  files.lists = std::move(*lists);
  auto scores = readScores(flags.problem);
  if (!scores)
    return scores.takeError();
  files.scores = std::move(*scores);
  return files;
}

void adoptExtents(ProblemFlags &flags, const InputFiles &files) {
  if (files.lists.topkShape)
    flags.topkLen = uint64_t(files.lists.topkLen);
  std::optional<uint64_t> headDim = flags.headDim, headDimV = flags.headDimV;
  bool packedQ = flags.cuSeqlensQ.has_value();
  bool packedK = flags.cuSeqlensK.has_value();
  bool inPages = flags.blockTables.has_value();
  // The first two extents of a cache are pages and rows of a page.
  std::optional<uint64_t> pages, rows;
  auto adoptKeys = [&](const NpyArray &file, std::optional<uint64_t> &dim) {
    adopt(file, layoutOfKeys(flags), packedK, inPages ? &pages : &flags.batch,
          inPages ? &rows : &flags.kvLen, &flags.kvHeads, &dim);
  };
  if (files.q)
    adopt(*files.q, flags.layout, packedQ, &flags.batch, &flags.qLen,
          &flags.qHeads, &headDim);
  if (files.k)
    adoptKeys(*files.k, headDim);
  if (files.v)
    adoptKeys(*files.v, headDimV);
  for (auto [file, dim] :
       {std::pair(&files.k2, &headDim), {&files.v2, &headDimV}})
    if (*file)
      adopt(**file, flags.layout, /*isPacked=*/false, &flags.batch,
            &flags.source2Len, &flags.kvHeads, dim);
  // An input file in MLIR gives the head dims itself; the arrays are compared
  // with it later.
  if (!flags.input.empty())
    return;
  flags.headDim = headDim;
  flags.headDimV = headDimV;
}

/// Fills the rows of a cache that belong to no sequence with NaN.
static void fillUnusedRows(HostArray &array, const AttentionTensors &tensors) {
  const auto &dims = array.view.dims;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> used(dims[0]);
  for (int64_t n = 0; n < sequenceCount(tensors); ++n)
    for (int64_t j = 0; j < (*tensors.kvLens)[n]; j += dims[1]) {
      int64_t entry = n * tensors.maxPages + j / dims[1];
      used[(*tensors.blockTables)[entry]].push_back(
          {0, (*tensors.kvLens)[n] - j});
    }
  for (int64_t page = 0; page < dims[0]; ++page)
    fillGaps(array, page, used[page]);
}

/// Fills rows outside of all sequences with NaN, since they must not matter.
static void fillUnused(HostProblem &problem, const schedule::Problem &spec,
                       const InputFiles &files) {
  AttentionTensors tensors = problem.tensors();
  std::vector<std::pair<int64_t, int64_t>> queries, keys, keys2;
  auto fill = [&](HostArray &array, bool isPacked, bool isRandom, auto ranges) {
    if (!isRandom)
      return;
    for (int64_t b = 0; b < array.view.dims[0]; ++b)
      fillGaps(array, b, isPacked ? ranges : decltype(ranges){ranges[b]});
  };
  for (int64_t n = 0; n < sequenceCount(tensors); ++n) {
    queries.push_back(queriesOf(tensors, n));
    keys.push_back(keysOf(tensors, n));
    keys2.push_back(keys2Of(tensors, n));
  }
  fill(problem.q, spec.cuSeqlensQ, !files.q, queries);
  if (spec.blockTables) {
    if (!files.k)
      fillUnusedRows(problem.k, tensors);
    if (!files.v && !spec.vInK)
      fillUnusedRows(problem.v, tensors);
    return;
  }
  fill(problem.k, spec.cuSeqlensK, !files.k, keys);
  fill(problem.v, spec.cuSeqlensK, !files.v && !spec.vInK, keys);
  if (!spec.source2)
    return;
  fill(problem.k2, false, !files.k2, keys2);
  fill(problem.v2, false, !files.v2 && !spec.vInK, keys2);
}

static ElementType typeOf(schedule::DataType type) {
  return *parseElementType(schedule::stringify(type));
}

/// Fills q, k and v, each from its file or with random numbers.
static llvm::Error fillInputs(HostProblem &problem, const RunFlags &flags,
                              const schedule::Problem &spec,
                              const InputFiles &files) {
  const Shape &shape = problem.shape;
  struct Input {
    HostArray &array;
    bool isPacked;
    int64_t length, heads, dim;
    const std::optional<NpyArray> &file;
    std::string path;
    bool isCache = false;
  };
  const Input inputs[] = {
      {problem.q, spec.cuSeqlensQ, shape.qLen, shape.qHeads, shape.headDim,
       files.q, flags.q},
      {problem.k, spec.cuSeqlensK, shape.kvLen, shape.kvHeads, shape.headDim,
       files.k, flags.k, spec.blockTables},
      {problem.v, spec.cuSeqlensK, shape.kvLen, shape.kvHeads, shape.headDimV,
       files.v, flags.v, spec.blockTables},
      {problem.k2, false, shape.kvLen2, shape.kvHeads, shape.headDim, files.k2,
       flags.problem.source2K.value_or("")},
      {problem.v2, false, shape.kvLen2, shape.kvHeads, shape.headDimV, files.v2,
       flags.problem.source2V.value_or("")}};
  const std::string &layout = flags.problem.layout;
  for (auto [stream, input] : llvm::enumerate(inputs)) {
    bool isV = &input.array == &problem.v || &input.array == &problem.v2;
    if ((spec.vInK && isV) || (!spec.source2 && stream > 2))
      continue;
    bool isKeys = &input.array == &problem.k || &input.array == &problem.v;
    std::string order = isKeys ? layoutOfKeys(flags.problem) : layout;
    std::array<int64_t, 4> dims = {input.isPacked ? 1 : shape.batch,
                                   input.length, input.heads, input.dim};
    if (input.isCache)
      dims = {shape.pages, shape.pageSize, input.heads, input.dim};
    bool inVectors = spec.keyVectors && &input.array == &problem.k;
    bool isQuery = &input.array == &problem.q;
    ElementType type = typeOf(isQuery ? spec.dtype : spec.kvDtype());
    ScaleAt scales = isQuery ? scalesOf(problem.lists.qScale, ScaleBy::Tensor)
                     : isV   ? scalesOf(problem.lists.vScale, scaleBy(spec))
                             : scalesOf(problem.lists.kScale, scaleBy(spec));
    input.array = inVectors ? allocateVectors(dims, type)
                            : allocate(dims, order, type, input.isPacked);
    if (!input.file)
      fillRandom(input.array, flags.seed.value_or(0), uint32_t(stream), scales);
    else if (llvm::Error error = fillFromFile(input.array, *input.file,
                                              input.path, order, input.isCache))
      return error;
  }
  if (spec.vInK)
    problem.v = columnsOf(problem.k, shape.headDimV);
  if (spec.vInK && spec.source2)
    problem.v2 = columnsOf(problem.k2, shape.headDimV);
  problem.o = allocate({spec.cuSeqlensQ ? 1 : shape.batch, shape.qLen,
                        shape.qHeads, shape.headDimV},
                       layout, typeOf(spec.outDtype()), spec.cuSeqlensQ);
  return llvm::Error::success();
}

/// Returns the maximum distance between adjacent `starts`, or `all` without
/// any.
static int64_t longest(const std::optional<std::vector<int32_t>> &starts,
                       int64_t all) {
  if (!starts)
    return all;
  int64_t most = 0;
  for (size_t n = 1; n < starts->size(); ++n)
    most = std::max<int64_t>(most, (*starts)[n] - (*starts)[n - 1]);
  return most;
}

/// Checks the shapes of score modifications. For packed tensors the longest
/// sequence counts.
static llvm::Error checkScores(const HostProblem &problem) {
  return problem.scores.check(
      sequenceCount(problem.tensors()), problem.shape.qHeads,
      longest(problem.lists.cuSeqlensQ, problem.shape.qLen),
      longest(problem.lists.cuSeqlensK, problem.shape.kvLen));
}

/// Sets the number of pages of the caches. If no file gives a block table,
/// makes one: a random permutation of a few more pages than the table has
/// entries.
static void choosePages(HostProblem &problem, const InputFiles &files,
                        uint64_t seed) {
  Shape &shape = problem.shape;
  Lists &lists = problem.lists;
  auto ceilDiv = [&](int64_t keys) {
    return (keys + shape.pageSize - 1) / shape.pageSize;
  };
  if (!lists.blockTables) {
    lists.maxPages = ceilDiv(shape.kvLen);
    std::vector<int32_t> pages(shape.batch * lists.maxPages + 5);
    std::iota(pages.begin(), pages.end(), 0);
    constexpr uint32_t stream = 5;
    std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
    std::mt19937_64 engine(sequence);
    for (size_t n = pages.size(); n > 1; --n)
      std::swap(pages[n - 1], pages[engine() % n]);
    shape.pages = int64_t(pages.size());
    pages.resize(shape.batch * lists.maxPages);
    lists.blockTables = std::move(pages);
  } else if (!files.k && lists.kvLens) {
    // Entries after the last key of a sequence may be anything.
    for (auto [b, keys] : llvm::enumerate(*lists.kvLens))
      for (int64_t n = 0; n < std::min(ceilDiv(keys), lists.maxPages); ++n) {
        size_t entry = b * lists.maxPages + n;
        if (entry < lists.blockTables->size())
          shape.pages = std::max<int64_t>(
              shape.pages, int64_t((*lists.blockTables)[entry]) + 1);
      }
  }
  if (files.k && !files.k->shape.empty())
    shape.pages = files.k->shape[0];
}

/// Makes the lengths of --kv-lens without a file: random ones up to --kv-len,
/// which the first sequence has.
static void chooseLengths(HostProblem &problem, uint64_t seed) {
  constexpr uint32_t stream = 7;
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
  std::mt19937_64 engine(sequence);
  std::vector<int32_t> lengths;
  for (int64_t b = 0; b < problem.shape.batch; ++b)
    lengths.push_back(int32_t(b ? engine() % uint64_t(problem.shape.kvLen + 1)
                                : problem.shape.kvLen));
  problem.lists.kvLens = std::move(lengths);
}

/// Makes the lists that the kernel reads and no file gives.
static llvm::Error chooseLists(HostProblem &problem, const RunFlags &flags,
                               const schedule::Problem &spec,
                               const InputFiles &files) {
  uint64_t seed = flags.seed.value_or(0);
  bool randomLengths = flags.problem.kvLens && flags.problem.kvLens->empty();
  if (spec.kvLens && !problem.lists.kvLens && randomLengths)
    chooseLengths(problem, seed);
  if (spec.blockTables) {
    choosePages(problem, files, seed);
    if (llvm::Error error = checkMemory(problem.shape))
      return error;
  }
  if (spec.keyNew && !problem.lists.kvLens)
    problem.lists.kvLens.emplace(problem.shape.batch,
                                 int32_t(problem.shape.kvLen));
  if (spec.topk)
    chooseTopk(problem, seed);
  if (spec.kvIndices)
    if (llvm::Error error = chooseBlocks(problem, spec, seed))
      return error;
  return checkLists(problem.lists, spec);
}

llvm::Expected<HostProblem> makeProblem(const RunFlags &flags,
                                        const schedule::Problem &spec,
                                        const InputFiles &files) {
  auto shape = shapeOf(flags.problem, spec);
  if (!shape)
    return shape.takeError();
  HostProblem problem;
  problem.shape = *shape;
  problem.lists = files.lists;
  problem.scores = files.scores;
  if (llvm::Error error = checkScores(flags.problem, spec))
    return std::move(error);
  if (llvm::Error error = problem.scores.fit(spec))
    return std::move(error);
  problem.hasSource2 = spec.source2;
  if (spec.vInK && (files.v || files.v2))
    return failure("'" + (files.v ? flags.v : *flags.problem.source2V) +
                   "': expected no file for v, which is the "
                   "first columns of k (v-in-k); leave --v out");
  if (llvm::Error error = chooseLists(problem, flags, spec, files))
    return std::move(error);
  if (llvm::Error error = chooseScales(problem, spec, flags.seed.value_or(0)))
    return std::move(error);
  if (llvm::Error error = fillInputs(problem, flags, spec, files))
    return std::move(error);
  const bool asked[] = {spec.lse, spec.rowMax, spec.rowSum};
  for (auto [numbers, isAsked] : llvm::zip(problem.rows(), asked))
    if (isAsked)
      numbers->emplace(problem.q.view.dims[0] * shape->qHeads * shape->qLen);
  if (!problem.lists.anyLengths() && !problem.lists.anyKeys()) {
    if (llvm::Error error = checkScores(problem))
      return std::move(error);
    return problem;
  }
  if (llvm::Error error = checkSequences(problem.tensors()))
    return std::move(error);
  if (llvm::Error error =
          checkBlocks(problem.tensors(), spec.blockRows, spec.blockKeys))
    return std::move(error);
  if (llvm::Error error = problem.lists.checkBatch(
          flags.problem, sequenceCount(problem.tensors())))
    return std::move(error);
  if (llvm::Error error = checkScores(problem))
    return std::move(error);
  fillUnused(problem, spec, files);
  if (problem.lists.anyKeys())
    fillUnlisted(problem, spec, files);
  return problem;
}

llvm::Error writeOutputs(const RunFlags &flags, const HostProblem &problem) {
  if (!flags.out.empty()) {
    std::vector<float> values = problem.o.floats();
    if (llvm::Error error =
            writeNpy(flags.out, fromFloats(problem.o.shape, values)))
      return error;
  }
  const Shape &shape = problem.shape;
  std::vector<int64_t> shapeOfRows = {shape.qHeads, shape.qLen};
  if (!problem.lists.cuSeqlensQ)
    shapeOfRows.insert(shapeOfRows.begin(), shape.batch);
  const std::pair<const std::string &,
                  const std::optional<std::vector<float>> &>
      files[] = {{flags.lseOut, problem.lse},
                 {flags.rowMaxOut, problem.rowMax},
                 {flags.rowSumOut, problem.rowSum}};
  for (const auto &[file, numbers] : files)
    if (!file.empty())
      if (llvm::Error error = writeNpy(file, fromFloats(shapeOfRows, *numbers)))
        return error;
  return llvm::Error::success();
}

} // namespace fmha::tools
