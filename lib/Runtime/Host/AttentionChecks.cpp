//===- AttentionChecks.cpp - Checks of the tensors of attention -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Captures.h"
#include "Overlap.h"
#include "RowOutputs.h"
#include "Scales.h"
#include "Sequences.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Runtime/Launch/NewKeys.h"
#include "fmha/Schedule/Model/FmaThreads.h"

namespace fmha::runtime {
namespace {

std::string shapeOf(const Tensor4 &tensor) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i)
    text += (i ? ", " : "") + std::to_string(tensor.dims[i]);
  return text + "]";
}

llvm::Error expectShape(const Tensor4 &tensor, llvm::StringRef name,
                        const std::array<int64_t, 4> &dims,
                        llvm::StringRef axes = tensorAxes) {
  Tensor4 expected;
  expected.dims = dims;
  if (tensor.dims == dims)
    return llvm::Error::success();
  return failure("tensor '" + name + "' (" + axes + "): expected the shape " +
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
  for (const AttentionRow &row : attentionRows) {
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
                   "append, got none; append by fmha.append, or write the "
                   "caches by other means");
  int64_t heads = tensors.k.dims[2];
  if (std::string wrong = launch::checkAppendingRows(
          manifest, length,
          {tensors.q.dims[1], tensors.q.dims[2] / std::max<int64_t>(heads, 1)});
      !wrong.empty())
    return failure(wrong);
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

/// Checks that tables of angles are given if the kernel rotates, with a row for
/// each position of a sequence.
llvm::Error checkAngles(const Manifest &manifest,
                        const AttentionTensors &tensors) {
  bool rotates = manifest.rotaryDim != 0;
  int64_t positions = tensors.cos ? tensors.cos->dims[1] : 0;
  for (auto [name, table] :
       {std::pair("rotary_cos", &tensors.cos), {"rotary_sin", &tensors.sin}}) {
    if (rotates != table->has_value())
      return failure(llvm::Twine("tensor '") + name + "': expected " +
                     (rotates ? "it, by which the kernel rotates, got none"
                              : "none, since the kernel rotates nothing, got "
                                "one"));
    if (!rotates)
      continue;
    if (llvm::Error error =
            expectShape(**table, name,
                        {1, positions, 1, manifest.rotaryDim / 2}, angleAxes))
      return error;
    if (llvm::Error error = expectType(**table, name, ElementType::F32))
      return error;
  }
  if (positions > maxLength)
    return failure("tensor 'rotary_cos': expected at most " +
                   llvm::Twine(maxLength) + " positions, got " +
                   llvm::Twine(positions));
  if (!rotates)
    return llvm::Error::success();
  for (auto [n, keys] : llvm::enumerate(*tensors.kvLens))
    if (keys > positions)
      return failure("kv_lens[" + llvm::Twine(n) + "]: expected at most " +
                     llvm::Twine(positions) +
                     ", the positions of rotary_cos and rotary_sin, got " +
                     llvm::Twine(keys));
  return llvm::Error::success();
}

llvm::Error checkLengths(const Manifest &manifest,
                         const AttentionTensors &tensors) {
  bool window = manifest.windowLeft || manifest.windowRight;
  int64_t most = manifest.maxLength();
  const char *why = window               ? " (2^30 - 512, with a window)"
                    : manifest.source2   ? " (2^30 - 512, with two sources)"
                    : manifest.kvIndices ? " (2^30 - 512, with blocks)"
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
  for (const AttentionRow &row : attentionRows)
    if (tensors.*row.host)
      all.push_back({stringify(row.name), &*(tensors.*row.host)});
  if (tensors.keyNew) {
    // The caches are written: they are compared with all that is read.
    all = {{"q", &tensors.q},
           {"key_new", &*tensors.keyNew},
           {"value_new", &*tensors.valueNew}};
    if (tensors.cos)
      all.append(
          {{"rotary_cos", &*tensors.cos}, {"rotary_sin", &*tensors.sin}});
    firstOutput = all.size();
    all.append({{"k", &tensors.k}, {"v", &tensors.v}, {"o", &tensors.o}});
    for (const AttentionRow &row : attentionRows)
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

} // namespace

/// Sets the extents of lists of blocks.
static void setBlocks(const AttentionTensors &tensors, RunValues &values) {
  if (!tensors.kvIndices)
    return;
  const std::vector<int64_t> &dims = tensors.kvIndices->dims;
  values[RunValue::BlocksBatch] = uint64_t(dims[0]);
  values[RunValue::BlocksHeads] = uint64_t(dims[1]);
  values[RunValue::BlocksLen] = uint64_t(dims[3]);
  if (tensors.fullKvIndices)
    values[RunValue::FullBlocksLen] = uint64_t(tensors.fullKvIndices->dims[3]);
}

RunValues extentsOf(const AttentionTensors &tensors) {
  RunValues values;
  setBlocks(tensors, values);
  const auto &q = tensors.q.dims, &k = tensors.k.dims;
  values[RunValue::Batch] = sequenceCount(tensors);
  values[RunValue::QLen] = q[1];
  values[RunValue::MaxQLen] = longestQueries(tensors);
  values[RunValue::KvLen] = tensors.maxKeys();
  values[RunValue::MaxPages] = tensors.maxPages;
  values[RunValue::TopkLen] = tensors.topkLen;
  values[RunValue::Pages] = k[0];
  values[RunValue::QHeads] = q[2];
  values[RunValue::KvHeads] = k[2];
  values[RunValue::Group] = k[2] ? q[2] / k[2] : 0;
  values[RunValue::KvLen2] = tensors.k2 ? tensors.k2->dims[1] : 0;
  values[RunValue::NewLen] = tensors.keyNew ? tensors.keyNew->dims[1] : 0;
  values[RunValue::Positions] = tensors.cos ? tensors.cos->dims[1] : 0;
  return values;
}

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
  if (llvm::Error error =
          checkBlocks(tensors, manifest.blockRows, manifest.blockKeys))
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
  if (llvm::Error error = checkAngles(manifest, tensors))
    return error;
  if (llvm::Error error = checkRows(manifest, tensors))
    return error;
  if (llvm::Error error = checkLengths(manifest, tensors))
    return error;
  if (auto grid = evaluateGrid(manifest, extentsOf(tensors)); !grid)
    return grid.takeError();
  return checkOverlaps(tensors);
}

} // namespace fmha::runtime
