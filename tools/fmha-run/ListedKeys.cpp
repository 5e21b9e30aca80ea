//===- ListedKeys.cpp - Lists of keys and of blocks -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListedKeys.h"
#include "fmha/Runtime/Files.h"

#include <limits>
#include <random>

namespace fmha::tools {

using namespace runtime;

namespace {

/// Calls `visit` with the number of the query, counted over all sequences, the
/// sequence, and each position that its list names.
template <typename Visit>
void eachListed(const HostProblem &problem, Visit visit) {
  const Lists &lists = problem.lists;
  for (int64_t query = 0; query < problem.shape.batch * problem.shape.qLen;
       ++query)
    for (int64_t n = 0; n < lists.topkLen; ++n) {
      int32_t position = (*lists.topk)[query * lists.topkLen + n];
      if (position < 0)
        break;
      visit(query, query / problem.shape.qLen, position);
    }
}

/// Calls `visit` with the batch, the head, the block of rows and the block of
/// keys of each counted entry of all lists of blocks.
template <typename Visit>
void eachListedBlock(const HostProblem &problem, Visit visit) {
  const Lists &lists = problem.lists;
  for (auto [counts, blocks] :
       {std::pair(&lists.kvNumBlocks, &lists.kvIndices),
        {&lists.fullKvNumBlocks, &lists.fullKvIndices}}) {
    if (!*blocks)
      continue;
    const std::vector<int64_t> &dims = (*blocks)->dims;
    for (auto [place, count] : llvm::enumerate((*counts)->entries))
      for (int64_t n = 0; n < count; ++n)
        visit(int64_t(place) / (dims[1] * dims[2]),
              int64_t(place) / dims[2] % dims[1], int64_t(place) % dims[2],
              (*blocks)->entries[place * size_t(dims[3]) + size_t(n)]);
  }
}

int64_t keysOfSequence(const HostProblem &problem, int64_t sequence) {
  const auto &lens = problem.lists.kvLens;
  if (!lens)
    return problem.shape.kvLen;
  // Lengths that are wrong are reported later.
  return sequence < int64_t(lens->size()) ? (*lens)[sequence] : 0;
}

/// Fills rows of `array` that are not in `used`, which has a row for each batch
/// or page, with NaN.
void fillOthers(HostArray &array, const std::vector<std::vector<bool>> &used) {
  const auto &dims = array.view.dims;
  for (int64_t b = 0; b < dims[0]; ++b)
    for (int64_t l = 0; l < dims[1]; ++l)
      for (int64_t h = 0; !used[b][l] && h < dims[2]; ++h)
        for (int64_t d = 0; d < dims[3]; ++d)
          array.set(array.view.indexOf(b, l, h, d),
                    std::numeric_limits<float>::quiet_NaN());
}

/// Appends the count and the list of a block of rows to `counts` and `lists`.
void appendList(const std::vector<int32_t> &blocks, IntegerTensor &counts,
                IntegerTensor &lists) {
  counts.entries.push_back(int32_t(blocks.size()));
  for (int64_t n = 0; n < lists.dims[3]; ++n)
    lists.entries.push_back(n < int64_t(blocks.size())
                                ? blocks[size_t(n)]
                                : std::numeric_limits<int32_t>::max());
}

int64_t ceilDiv(int64_t number, int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

} // namespace

void chooseTopk(HostProblem &problem, uint64_t seed) {
  Lists &lists = problem.lists;
  if (lists.topk)
    return;
  const Shape &shape = problem.shape;
  lists.topkLen = std::max<int64_t>(1, (shape.kvLen + 1) / 2);
  constexpr uint32_t stream = 6;
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
  std::mt19937_64 engine(sequence);
  std::vector<int32_t> &all = lists.topk.emplace();
  for (int64_t query = 0; query < shape.batch * shape.qLen; ++query) {
    int64_t keys = keysOfSequence(problem, query / shape.qLen);
    int64_t count =
        keys > 0 ? int64_t(engine() % uint64_t(lists.topkLen + 1)) : 0;
    for (int64_t n = 0; n < lists.topkLen; ++n)
      all.push_back(n < count   ? int32_t(engine() % uint64_t(keys))
                    : n > count ? std::numeric_limits<int32_t>::max()
                                : -1);
  }
}

llvm::Error chooseBlocks(HostProblem &problem, const schedule::Problem &spec,
                         uint64_t seed) {
  Lists &lists = problem.lists;
  bool hasFull = spec.fullKvIndices;
  bool any = lists.kvNumBlocks || lists.kvIndices || lists.fullKvNumBlocks ||
             lists.fullKvIndices;
  if (any && (!lists.kvNumBlocks || !lists.kvIndices ||
              (hasFull && !(lists.fullKvNumBlocks && lists.fullKvIndices))))
    return failure("--kv-num-blocks, --kv-indices, --full-kv-num-blocks and "
                   "--full-kv-indices: expected files for all of them, or "
                   "none for random lists, got files for some");
  if (any)
    return llvm::Error::success();
  constexpr uint32_t stream = 8;
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
  std::mt19937_64 engine(sequence);
  const Shape &shape = problem.shape;
  int64_t rowBlocks = ceilDiv(shape.qLen, spec.blockRows);
  int64_t blocks = ceilDiv(shape.kvLen, spec.blockKeys);
  int64_t batch = engine() % 2 ? shape.batch : 1;
  int64_t heads = engine() % 2 ? shape.qHeads : 1;
  IntegerTensor counts{{batch, heads, rowBlocks}, {}}, fullCounts = counts;
  IntegerTensor entries{{batch, heads, rowBlocks, blocks}, {}}, full = entries;
  for (int64_t n = 0; n < batch * heads * rowBlocks; ++n) {
    std::vector<int32_t> partial, whole;
    bool isEmpty = engine() % 6 == 0;
    for (int64_t block = 0; block < blocks; ++block) {
      bool isListed = engine() % 2, isFull = engine() % 3 == 0;
      if (isListed && !isEmpty)
        (hasFull && isFull ? whole : partial).push_back(int32_t(block));
    }
    appendList(partial, counts, entries);
    appendList(whole, fullCounts, full);
  }
  lists.kvNumBlocks = std::move(counts);
  lists.kvIndices = std::move(entries);
  if (!hasFull)
    return llvm::Error::success();
  lists.fullKvNumBlocks = std::move(fullCounts);
  lists.fullKvIndices = std::move(full);
  return llvm::Error::success();
}

/// Returns which rows of k and v lists name, by batch or page.
static std::vector<std::vector<bool>>
rowsInLists(const HostProblem &problem, const schedule::Problem &spec) {
  const Lists &lists = problem.lists;
  const auto &dims = problem.k.view.dims;
  std::vector<std::vector<bool>> used(dims[0], std::vector<bool>(dims[1]));
  if (lists.topk)
    eachListed(problem, [&](int64_t, int64_t sequence, int64_t position) {
      if (!lists.blockTables) {
        used[sequence][position] = true;
        return;
      }
      int64_t entry = sequence * lists.maxPages + position / dims[1];
      used[(*lists.blockTables)[entry]][position % dims[1]] = true;
    });
  int64_t size = spec.blockKeys;
  auto mark = [&](int64_t batch, int64_t, int64_t, int64_t block) {
    bool isOfAll = lists.kvIndices->dims[0] == 1;
    int64_t end = std::min((block + 1) * size, dims[1]);
    for (int64_t b = isOfAll ? 0 : batch; b < (isOfAll ? dims[0] : batch + 1);
         ++b)
      for (int64_t key = block * size; key < end; ++key)
        used[b][key] = true;
  };
  eachListedBlock(problem, mark);
  return used;
}

void fillUnlisted(HostProblem &problem, const schedule::Problem &spec,
                  const InputFiles &files) {
  std::vector<std::vector<bool>> used = rowsInLists(problem, spec);
  if (!files.k)
    fillOthers(problem.k, used);
  bool isView = problem.v.view.host == problem.k.view.host;
  if (!files.v && !isView)
    fillOthers(problem.v, used);
}

ListedTimes listedTimes(const HostProblem &problem,
                        const schedule::Problem &spec) {
  const Shape &shape = problem.shape;
  ListedTimes listed;
  listed.dims = {shape.batch, 1, shape.qLen, shape.kvLen};
  if (const auto &lists = problem.lists.kvIndices)
    listed.dims = {lists->dims[0], lists->dims[1], shape.qLen, shape.kvLen};
  const auto &[batch, heads, rows, keys] = listed.dims;
  listed.times.resize(size_t(batch * heads * rows * keys));
  if (problem.lists.topk)
    eachListed(problem, [&](int64_t query, int64_t, int64_t position) {
      ++listed.times[size_t(query * shape.kvLen + position)];
    });
  int64_t blockRows = spec.blockRows, blockKeys = spec.blockKeys;
  auto count = [&](int64_t b, int64_t h, int64_t rowBlock, int64_t block) {
    int64_t endRow = std::min((rowBlock + 1) * blockRows, shape.qLen);
    int64_t endKey = std::min((block + 1) * blockKeys, shape.kvLen);
    for (int64_t i = rowBlock * blockRows; i < endRow; ++i)
      for (int64_t j = block * blockKeys; j < endKey; ++j)
        ++listed.times[size_t(
            ((b * listed.dims[1] + h) * shape.qLen + i) * shape.kvLen + j)];
  };
  eachListedBlock(problem, count);
  return listed;
}

} // namespace fmha::tools
