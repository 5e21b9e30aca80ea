//===- Lists.cpp - Lengths of sequences, from files -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lists.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Runtime/Npy.h"

#include <cstring>

namespace fmha::tools {

using namespace runtime;

/// The kinds of tensors in files by their rank, which blocks have as well.
static llvm::StringRef kindOf(size_t rank, bool isOfBlocks) {
  constexpr llvm::StringLiteral kinds[] = {
      "list", "matrix", "tensor [batch, q_len, n]",
      "tensor [batch or 1, q_heads or 1, row blocks, n]"};
  if (isOfBlocks && rank == 3)
    return "tensor [batch or 1, q_heads or 1, row blocks]";
  return kinds[rank - 1];
}

/// Reads a list into `target`, or with `rank` above 1 a tensor and its shape.
template <typename Number>
static llvm::Error
readList(const std::optional<std::string> &path, llvm::StringRef flag,
         NpyType type, std::optional<std::vector<Number>> &target,
         size_t rank = 1, std::vector<int64_t> *shape = nullptr,
         bool isOfBlocks = false) {
  if (!path)
    return llvm::Error::success();
  if (path->empty())
    return failure("--" + flag + ": expected a file, --" + flag + "=F.npy");
  auto array = readNpy(*path);
  if (!array)
    return array.takeError();
  if (array->type != type || array->shape.size() != rank)
    return failure("'" + *path + "': expected a " + kindOf(rank, isOfBlocks) +
                   " of " + nameOf(type) + ", got " + nameOf(array->type) +
                   " " + formatShape(array->shape));
  std::vector<Number> &list = target.emplace(array->elementCount());
  if (!list.empty())
    std::memcpy(list.data(), array->data.data(), list.size() * sizeof(Number));
  if (shape)
    *shape = array->shape;
  return llvm::Error::success();
}

/// Reads a scale, "X", "F.npy", or "" for random ones.
static llvm::Error readScale(const std::optional<std::string> &text,
                             llvm::StringRef flag,
                             std::optional<std::vector<float>> &target) {
  if (!text)
    return llvm::Error::success();
  double number = 0;
  if (text->empty()) {
    target.emplace();
    return llvm::Error::success();
  }
  if (llvm::StringRef(*text).getAsDouble(number))
    return readList(text, flag, NpyType::F32, target);
  target = {float(number)};
  return llvm::Error::success();
}

/// Reads the lists of blocks that have files.
static llvm::Error readBlocks(const ProblemFlags &flags, Lists &lists) {
  struct {
    const char *flag;
    const std::optional<std::string> &path;
    std::optional<IntegerTensor> &target;
    size_t rank;
  } all[] = {
      {"kv-num-blocks", flags.kvNumBlocks, lists.kvNumBlocks, 3},
      {"kv-indices", flags.kvIndices, lists.kvIndices, 4},
      {"full-kv-num-blocks", flags.fullKvNumBlocks, lists.fullKvNumBlocks, 3},
      {"full-kv-indices", flags.fullKvIndices, lists.fullKvIndices, 4}};
  for (auto &[flag, path, target, rank] : all) {
    if (!path || path->empty())
      continue;
    std::optional<std::vector<int32_t>> entries;
    std::vector<int64_t> dims;
    if (llvm::Error error = readList(path, flag, NpyType::I32, entries, rank,
                                     &dims, /*isOfBlocks=*/true))
      return error;
    target = {std::move(dims), std::move(*entries)};
  }
  return llvm::Error::success();
}

llvm::Expected<Lists> readLists(const ProblemFlags &flags) {
  Lists lists;
  struct {
    const char *flag;
    const std::optional<std::string> &path;
    std::optional<std::vector<int32_t>> &target;
  } all[] = {{"kv-lens", flags.kvLens, lists.kvLens},
             {"cu-seqlens-q", flags.cuSeqlensQ, lists.cuSeqlensQ},
             {"cu-seqlens-k", flags.cuSeqlensK, lists.cuSeqlensK},
             {"source2-lens", flags.source2Lens, lists.source2Lens}};
  for (auto &[flag, path, target] : all) {
    // Without files there are random tables and lists; packed keys have
    // lengths.
    if (&path == &flags.kvLens && path && path->empty() && !flags.cuSeqlensK)
      continue;
    if (llvm::Error error = readList(path, flag, NpyType::I32, target))
      return std::move(error);
  }
  if (llvm::Error error =
          readList(flags.sink, "sink", NpyType::F32, lists.sink))
    return std::move(error);
  if (llvm::Error error = readScale(flags.kScale, "k-scale", lists.kScale))
    return std::move(error);
  if (llvm::Error error = readScale(flags.vScale, "v-scale", lists.vScale))
    return std::move(error);
  if (llvm::Error error = readScale(flags.qScale, "q-scale", lists.qScale))
    return std::move(error);
  auto isGiven = [](const std::optional<std::string> &flag) {
    return flag && !flag->empty();
  };
  std::vector<int64_t> shape;
  if (isGiven(flags.blockTables)) {
    if (llvm::Error error =
            readList(flags.blockTables, "block-tables", NpyType::I32,
                     lists.blockTables, /*rank=*/2, &shape))
      return std::move(error);
    lists.maxPages = shape[1];
  }
  if (isGiven(flags.topk)) {
    if (llvm::Error error = readList(flags.topk, "topk", NpyType::I32,
                                     lists.topk, /*rank=*/3, &shape))
      return std::move(error);
    lists.topkShape = {shape[0], shape[1]};
    lists.topkLen = shape[2];
  }
  if (llvm::Error error = readBlocks(flags, lists))
    return std::move(error);
  return lists;
}

void Lists::adoptExtents(ProblemFlags &flags) const {
  auto packed = [&](const std::optional<std::vector<int32_t>> &starts,
                    std::optional<uint64_t> &length) {
    if (!starts || starts->empty())
      return;
    if (!flags.batch)
      flags.batch = starts->size() - 1;
    if (!length)
      length = uint64_t(std::max(starts->back(), 0));
  };
  packed(cuSeqlensQ, flags.qLen);
  packed(cuSeqlensK, flags.kvLen);
  // Without --kv-len, use the longest sequence, or the size of the table.
  if (flags.pageSize && !flags.kvLen && kvLens) {
    int64_t most = maxPages * int64_t(*flags.pageSize);
    for (int32_t keys : *kvLens)
      most = std::max<int64_t>(most, keys);
    flags.kvLen = uint64_t(most);
  }
  if (topkShape && !flags.batch)
    flags.batch = uint64_t(topkShape->first);
  if (topkShape && !flags.qLen)
    flags.qLen = uint64_t(topkShape->second);
  for (const auto *lengths : {&kvLens, &source2Lens})
    if (*lengths && !flags.batch)
      flags.batch = (*lengths)->size();
}

llvm::Error Lists::checkBatch(const ProblemFlags &flags,
                              int64_t sequences) const {
  if (!flags.batch || int64_t(*flags.batch) == sequences)
    return llvm::Error::success();
  return failure("--batch=" + llvm::Twine(*flags.batch) +
                 ": expected the number of sequences that the lists have, " +
                 llvm::Twine(sequences) + "; leave the flag out");
}

llvm::Error checkLists(const Lists &lists, const schedule::Problem &problem) {
  const std::tuple<llvm::StringLiteral, bool, bool> all[] = {
      {"kv-lens", problem.kvLens, lists.kvLens.has_value()},
      {"cu-seqlens-q", problem.cuSeqlensQ, lists.cuSeqlensQ.has_value()},
      {"cu-seqlens-k", problem.cuSeqlensK, lists.cuSeqlensK.has_value()},
      {"sink", problem.sink, lists.sink.has_value()},
      {"source2-lens", problem.source2Lens, lists.source2Lens.has_value()},
      {"block-tables", problem.blockTables, lists.blockTables.has_value()},
      {"topk", problem.topk, lists.topk.has_value()},
      {"kv-num-blocks", problem.kvNumBlocks, lists.kvNumBlocks.has_value()},
      {"kv-indices", problem.kvIndices, lists.kvIndices.has_value()},
      {"k-scale", problem.kScale, lists.kScale.has_value()},
      {"v-scale", problem.vScale, lists.vScale.has_value()},
      {"q-scale", problem.qScale, lists.qScale.has_value()}};
  for (auto [flag, wanted, given] : all)
    if (wanted && !given)
      return failure("expected --" + flag +
                     "=F.npy, which the op of the input "
                     "file reads, got none");
  return llvm::Error::success();
}

std::optional<std::vector<reference::Sequence>>
sequencesOf(const AttentionTensors &tensors) {
  if (!tensors.kvLens && !tensors.cuSeqlensQ && !tensors.cuSeqlensK &&
      !tensors.source2Lens)
    return std::nullopt;
  std::vector<reference::Sequence> all;
  for (int64_t n = 0; n < sequenceCount(tensors); ++n) {
    auto [firstQuery, endQuery] = queriesOf(tensors, n);
    auto [firstKey, endKey] = keysOf(tensors, n);
    reference::Sequence one;
    one.queryBatch = tensors.cuSeqlensQ ? 0 : n;
    one.firstQuery = firstQuery;
    one.queries = endQuery - firstQuery;
    one.keyBatch = tensors.cuSeqlensK ? 0 : n;
    one.firstKey = firstKey;
    one.keys = endKey - firstKey;
    all.push_back(one);
  }
  return all;
}

} // namespace fmha::tools
