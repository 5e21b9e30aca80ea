//===- Sequences.cpp - Checks of varlen metadata --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sequences.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

namespace fmha::runtime {
namespace {

using List = std::optional<std::vector<int32_t>>;

/// Varlen metadata with its name in errors, and the extent of its tensor.
struct NamedList {
  llvm::StringLiteral name, tensor;
  const List &list;
  int64_t batch, extent;
};

/// Returns the error "kv_lens[3]: expected ..., got 7".
llvm::Error entryError(const NamedList &one, size_t entry,
                       const llvm::Twine &expected) {
  return failure(one.name + "[" + llvm::Twine(entry) + "]: expected " +
                 expected + ", got " + llvm::Twine((*one.list)[entry]));
}

/// Checks the entries of cu_seqlens: the first is 0, none is below its
/// predecessor, and none is beyond the tensor.
llvm::Error checkStarts(const NamedList &one) {
  const std::vector<int32_t> &starts = *one.list;
  if (one.batch != 1)
    return failure("tensor '" + one.tensor +
                   "': expected batch 1, for it is "
                   "packed as " +
                   one.name + " says, got batch " + llvm::Twine(one.batch));
  if (starts.empty())
    return failure(one.name + ": expected an entry more than there are "
                              "sequences, got none");
  if (starts.front() != 0)
    return entryError(one, 0, "0, where the first sequence begins");
  for (size_t n = 1; n < starts.size(); ++n)
    if (starts[n] < starts[n - 1])
      return entryError(one, n,
                        "no less than the entry before it, " +
                            llvm::Twine(starts[n - 1]));
  for (size_t n = 1; n < starts.size(); ++n)
    if (starts[n] > one.extent)
      return entryError(one, n,
                        "at most the length of '" + one.tensor + "', " +
                            llvm::Twine(one.extent));
  return llvm::Error::success();
}

/// Checks that the block table has a row per sequence, and that the entries of
/// pages with keys name existing pages of k.
llvm::Error checkPages(const AttentionTensors &tensors, int64_t count) {
  const std::vector<int32_t> &table = *tensors.blockTables;
  if (!tensors.kvLens)
    return failure("block_tables: expected kv_lens with it, the keys of each "
                   "sequence, got none");
  if (int64_t(table.size()) != count * tensors.maxPages)
    return failure("block_tables: expected " + llvm::Twine(count) +
                   " rows, one per sequence, of " +
                   llvm::Twine(tensors.maxPages) + " entries, got " +
                   llvm::Twine(table.size() / size_t(tensors.maxPages)) +
                   " rows");
  int64_t pages = tensors.k.dims[0], size = tensors.k.dims[1];
  for (int64_t n = 0; n < count; ++n) {
    int64_t used = ((*tensors.kvLens)[n] + size - 1) / size;
    for (int64_t i = 0; i < used; ++i)
      if (int64_t page = table[n * tensors.maxPages + i];
          page < 0 || page >= pages)
        return failure(
            "block_tables[" + llvm::Twine(n) + ", " + llvm::Twine(i) +
            "]: expected a page of k, 0 to " + llvm::Twine(pages - 1) +
            ", which holds keys of a "
            "sequence of " +
            llvm::Twine((*tensors.kvLens)[n]) + ", got " + llvm::Twine(page));
  }
  return llvm::Error::success();
}

/// Checks the entries of topk before the first -1 of each list.
llvm::Error checkTopk(const AttentionTensors &tensors) {
  const std::vector<int32_t> &lists = *tensors.topk;
  int64_t queries = tensors.q.dims[1], length = tensors.topkLen;
  int64_t wanted = tensors.q.dims[0] * queries * length;
  std::pair<int64_t, int64_t> ofQuery{tensors.q.dims[0], queries};
  if (auto got = tensors.topkQueries.value_or(ofQuery); got != ofQuery)
    return failure("topk: expected shape [" + llvm::Twine(ofQuery.first) +
                   ", " + llvm::Twine(queries) +
                   ", n], the batch and the length of q, got [" +
                   llvm::Twine(got.first) + ", " + llvm::Twine(got.second) +
                   ", " + llvm::Twine(length) + "]");
  if (int64_t(lists.size()) != wanted)
    return failure("topk: expected a list of " + llvm::Twine(length) +
                   " entries for each of " + llvm::Twine(tensors.q.dims[0]) +
                   " x " + llvm::Twine(queries) + " queries, got " +
                   llvm::Twine(lists.size()) + " entries");
  if (wanted > INT32_MAX)
    return failure("topk: expected less than 2^31 entries, got " +
                   llvm::Twine(wanted) +
                   "; launch for fewer queries at a time");
  for (int64_t query = 0, n = 0; query * length + n < wanted;) {
    int64_t sequence = query / queries;
    auto [first, end] = keysOf(tensors, sequence);
    int64_t position = lists[query * length + n];
    if (first == end && position != -1)
      return failure("topk[" + llvm::Twine(sequence) + ", " +
                     llvm::Twine(query % queries) + ", " + llvm::Twine(n) +
                     "]: expected -1, since the sequence has no keys, got " +
                     llvm::Twine(position));
    if (position < -1 || position >= end - first)
      return failure("topk[" + llvm::Twine(sequence) + ", " +
                     llvm::Twine(query % queries) + ", " + llvm::Twine(n) +
                     "]: expected a position from 0 to " +
                     llvm::Twine(end - first - 1) +
                     ", that of a key of the sequence, or -1 after the last "
                     "one, got " +
                     llvm::Twine(position));
    bool isLast = position == -1 || n + 1 == length;
    query += isLast;
    n = isLast ? 0 : n + 1;
  }
  return llvm::Error::success();
}

llvm::Error checkKeyCounts(const NamedList &one, int64_t count,
                           const AttentionTensors &tensors) {
  if (int64_t got = int64_t(one.list->size()); got != count)
    return failure(one.name + ": expected " + llvm::Twine(count) +
                   " entries, one per sequence, got " + llvm::Twine(got));
  for (size_t n = 0; n < one.list->size(); ++n) {
    int64_t most = one.extent;
    if (tensors.cuSeqlensK && one.tensor == "k")
      most = (*tensors.cuSeqlensK)[n + 1] - (*tensors.cuSeqlensK)[n];
    int64_t keys = (*one.list)[n];
    if (keys < 0 || keys > most)
      return entryError(
          one, n, "0 to " + llvm::Twine(most) + ", the keys that there are");
  }
  return llvm::Error::success();
}

} // namespace

int64_t sequenceCount(const AttentionTensors &tensors) {
  if (tensors.cuSeqlensQ)
    return int64_t(tensors.cuSeqlensQ->size()) - 1;
  return tensors.q.dims[0];
}

std::pair<int64_t, int64_t> queriesOf(const AttentionTensors &tensors,
                                      int64_t n) {
  if (!tensors.cuSeqlensQ)
    return {0, tensors.q.dims[1]};
  return {(*tensors.cuSeqlensQ)[n], (*tensors.cuSeqlensQ)[n + 1]};
}

std::pair<int64_t, int64_t> keysOf(const AttentionTensors &tensors, int64_t n) {
  std::pair<int64_t, int64_t> keys = {0, tensors.maxKeys()};
  if (tensors.cuSeqlensK)
    keys = {(*tensors.cuSeqlensK)[n], (*tensors.cuSeqlensK)[n + 1]};
  if (tensors.kvLens)
    keys.second = keys.first + (*tensors.kvLens)[n];
  return keys;
}

int64_t longestQueries(const AttentionTensors &tensors) {
  // Without a list all sequences are as long as the first.
  int64_t longest = 0, count = sequenceCount(tensors);
  if (!tensors.cuSeqlensQ)
    count = std::min<int64_t>(count, 1);
  for (int64_t n = 0; n < count; ++n) {
    auto [first, end] = queriesOf(tensors, n);
    longest = std::max(longest, end - first);
  }
  return longest;
}

llvm::Error checkLists(const Manifest &manifest,
                       const AttentionTensors &tensors) {
  const std::tuple<llvm::StringLiteral, llvm::StringLiteral, bool, bool>
      lists[] = {
          {"kv_lens", "kv-lens", manifest.kvLens, tensors.kvLens.has_value()},
          {"cu_seqlens_q", "cu-seqlens-q", manifest.cuSeqlensQ,
           tensors.cuSeqlensQ.has_value()},
          {"cu_seqlens_k", "cu-seqlens-k", manifest.cuSeqlensK,
           tensors.cuSeqlensK.has_value()},
          {"sink", "sink", manifest.sink, tensors.sink.has_value()},
          {"source2_lens", "source2-lens", manifest.source2Lens,
           tensors.source2Lens.has_value()},
          {"block_tables", "block-tables", manifest.blockTables,
           tensors.blockTables.has_value()},
          {"topk", "topk", manifest.topk, tensors.topk.has_value()},
          {"kv_num_blocks", "kv-num-blocks", manifest.kvNumBlocks,
           tensors.kvNumBlocks.has_value()},
          {"kv_indices", "kv-indices", manifest.kvIndices,
           tensors.kvIndices.has_value()},
          {"full_kv_num_blocks", "full-kv-num-blocks", manifest.fullKvNumBlocks,
           tensors.fullKvNumBlocks.has_value()},
          {"full_kv_indices", "full-kv-indices", manifest.fullKvIndices,
           tensors.fullKvIndices.has_value()},
          {"k_scale", "k-scale", manifest.kScale, tensors.kScale.has_value()},
          {"v_scale", "v-scale", manifest.vScale, tensors.vScale.has_value()},
          {"q_scale", "q-scale", manifest.qScale, tensors.qScale.has_value()}};
  for (auto [name, flag, wanted, given] : lists) {
    if (wanted && !given)
      return failure("expected " + name +
                     ", which the kernel was compiled to read, got none");
    if (given && !wanted)
      return failure("expected a kernel that reads " + name +
                     ", got one compiled without; compile with --" + flag);
  }
  return llvm::Error::success();
}

llvm::Error checkSequences(const AttentionTensors &tensors) {
  const auto &q = tensors.q.dims, &k = tensors.k.dims;
  const NamedList startsQ = {"cu_seqlens_q", "q", tensors.cuSeqlensQ, q[0],
                             q[1]};
  const NamedList startsK = {"cu_seqlens_k", "k", tensors.cuSeqlensK, k[0],
                             k[1]};
  const NamedList lengths = {"kv_lens", "k", tensors.kvLens, k[0],
                             tensors.maxKeys()};
  for (const NamedList *one : {&startsQ, &startsK})
    if (one->list)
      if (llvm::Error error = checkStarts(*one))
        return error;
  int64_t count = sequenceCount(tensors);
  int64_t got = startsK.list ? int64_t(startsK.list->size()) - 1 : k[0];
  if (got != count && !tensors.blockTables)
    return failure(llvm::Twine(startsK.list ? "cu_seqlens_k" : "tensor 'k'") +
                   ": expected " + llvm::Twine(count) +
                   " sequences, as q has, got " + llvm::Twine(got));
  const NamedList lengths2 = {"source2_lens", "k2", tensors.source2Lens, count,
                              tensors.k2 ? tensors.k2->dims[1] : 0};
  for (const NamedList *one : {&lengths, &lengths2})
    if (one->list)
      if (llvm::Error error = checkKeyCounts(*one, count, tensors))
        return error;
  if (tensors.blockTables)
    if (llvm::Error error = checkPages(tensors, count))
      return error;
  return tensors.topk ? checkTopk(tensors) : llvm::Error::success();
}

namespace {

int64_t ceilDiv(int64_t number, int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

/// One operand of `blocks`.
struct NamedBlocks {
  llvm::StringLiteral name;
  const IntegerTensor &tensor;
};

/// Returns "[1, 4, 2, 9]".
std::string listText(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text + "]";
}

/// Returns the error "kv_indices[0, 0, 3, 1]: expected ..., got 7" for entry
/// `n`.
llvm::Error blockError(const NamedBlocks &list, int64_t n,
                       const llvm::Twine &expected) {
  const std::vector<int64_t> &dims = list.tensor.dims;
  std::vector<int64_t> place(dims.size());
  int64_t rest = n;
  for (size_t d = dims.size(); d-- > 0; rest /= dims[d])
    place[d] = rest % dims[d];
  return failure(list.name + listText(place) + ": expected " + expected +
                 ", got " + llvm::Twine(list.tensor.entries[size_t(n)]));
}

/// Checks the shape of `list` against q, and against that of the counts.
llvm::Error checkBlockShape(const NamedBlocks &list, size_t rank,
                            llvm::ArrayRef<int64_t> counts,
                            const AttentionTensors &tensors,
                            int64_t blockRows) {
  const auto &q = tensors.q.dims;
  const std::vector<int64_t> &dims = list.tensor.dims;
  int64_t rowBlocks = ceilDiv(q[1], blockRows);
  auto isWhole = [&](size_t d, int64_t extent) {
    return dims[d] == 1 || dims[d] == extent;
  };
  if (dims.size() != rank || !isWhole(0, q[0]) || !isWhole(1, q[2]) ||
      dims[2] != rowBlocks)
    return failure(list.name + ": expected shape [" + llvm::Twine(q[0]) +
                   " or 1, " + llvm::Twine(q[2]) + " or 1, " +
                   llvm::Twine(rowBlocks) + (rank == 4 ? ", n]" : "]") +
                   ", the batch and the heads of q and its blocks of " +
                   llvm::Twine(blockRows) + " rows, got " + listText(dims));
  if (llvm::ArrayRef(dims).take_front(3) != counts)
    return failure(list.name + ": expected the first extents of " +
                   "kv_num_blocks, " + listText(counts) + ", got " +
                   listText(dims));
  uint64_t wanted = 1;
  for (int64_t extent : dims)
    wanted = llvm::SaturatingMultiply(wanted, uint64_t(extent));
  if (wanted > INT32_MAX)
    return failure(list.name + ": expected less than 2^31 entries, got " +
                   llvm::Twine(wanted) +
                   "; launch for fewer queries at a time");
  if (list.tensor.entries.size() != wanted)
    return failure(list.name + ": expected " + llvm::Twine(wanted) +
                   " entries, got " + llvm::Twine(list.tensor.entries.size()));
  return llvm::Error::success();
}

/// Checks counts, and the entries that they count, which name one of `blocks`.
llvm::Error checkBlockEntries(const NamedBlocks &counts,
                              const NamedBlocks &lists, int64_t blocks) {
  int64_t length = lists.tensor.dims[3];
  for (auto [n, count] : llvm::enumerate(counts.tensor.entries)) {
    if (count < 0 || count > length)
      return blockError(counts, int64_t(n),
                        "0 to " + llvm::Twine(length) + ", the length of " +
                            lists.name);
    if (count > 0 && blocks == 0)
      return blockError(counts, int64_t(n), "0, since there are no keys");
    for (int64_t at = int64_t(n) * length, end = at + count; at < end; ++at)
      if (int64_t block = lists.tensor.entries[size_t(at)];
          block < 0 || block >= blocks)
        return blockError(lists, at,
                          "0 to " + llvm::Twine(blocks - 1) +
                              ", the last block of keys");
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error checkBlocks(const AttentionTensors &tensors, int64_t blockRows,
                        int64_t blockKeys) {
  if (!tensors.kvNumBlocks)
    return llvm::Error::success();
  using Tensor = std::optional<IntegerTensor>;
  const std::tuple<llvm::StringLiteral, const Tensor &, llvm::StringLiteral,
                   const Tensor &>
      pairs[] = {{"kv_num_blocks", tensors.kvNumBlocks, "kv_indices",
                  tensors.kvIndices},
                 {"full_kv_num_blocks", tensors.fullKvNumBlocks,
                  "full_kv_indices", tensors.fullKvIndices}};
  for (const auto &[nameOfCounts, countTensor, name, tensor] : pairs) {
    if (!countTensor || !tensor)
      continue;
    NamedBlocks counts{nameOfCounts, *countTensor}, lists{name, *tensor};
    llvm::ArrayRef<int64_t> first = tensors.kvNumBlocks->dims;
    for (auto [list, rank] : {std::pair(&counts, 3), {&lists, 4}})
      if (llvm::Error error =
              checkBlockShape(*list, size_t(rank), first, tensors, blockRows))
        return error;
    if (llvm::Error error = checkBlockEntries(
            counts, lists, ceilDiv(tensors.maxKeys(), blockKeys)))
      return error;
  }
  return llvm::Error::success();
}

std::pair<int64_t, int64_t> keys2Of(const AttentionTensors &tensors,
                                    int64_t n) {
  if (tensors.source2Lens)
    return {0, (*tensors.source2Lens)[n]};
  return {0, tensors.k2 ? tensors.k2->dims[1] : 0};
}

namespace {

/// A row of a page, and the sequences that write the rows of pages.
using Row = std::pair<int64_t, int64_t>;
using Writers = std::map<Row, int64_t>;

Row rowOf(const AppendedRows &rows, int64_t n, int64_t key) {
  int64_t page = rows.blockTables[n * rows.maxPages + key / rows.pageSize];
  return {page, key % rows.pageSize};
}

llvm::Error conflict(const AppendedRows &rows, int64_t n, int64_t key,
                     int64_t writer, llvm::StringRef what) {
  auto [page, row] = rowOf(rows, n, key);
  return failure("block_tables[" + llvm::Twine(n) + ", " +
                 llvm::Twine(key / rows.pageSize) +
                 "]: expected a page in which no other sequence writes row " +
                 llvm::Twine(row) + what + ", got page " + llvm::Twine(page) +
                 ", where sequence " + llvm::Twine(writer) +
                 " writes it; copy the page before the append");
}

} // namespace

llvm::Error checkAppendedRows(const AppendedRows &rows, bool isRead) {
  Writers writers;
  auto firstNew = [&](int64_t n) {
    return std::max<int64_t>(rows.kvLens[n] - rows.count, 0);
  };
  int64_t sequences = int64_t(rows.kvLens.size());
  for (int64_t n = 0; n < sequences; ++n)
    for (int64_t key = firstNew(n); key < rows.kvLens[n]; ++key)
      if (auto [other, isNew] = writers.try_emplace(rowOf(rows, n, key), n);
          !isNew && other->second != n)
        return conflict(rows, n, key, other->second, "");
  for (int64_t n = 0; isRead && n < sequences; ++n)
    for (int64_t key = 0; key < firstNew(n); ++key)
      if (auto other = writers.find(rowOf(rows, n, key));
          other != writers.end() && other->second != n)
        return conflict(rows, n, key, other->second,
                        ", which is read in the same launch");
  return llvm::Error::success();
}

} // namespace fmha::runtime
