//===- Shapes.cpp - Checks that the shapes of tensors agree ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundTensors.h"
#include "fmha/Runtime/Launch/NewKeys.h"
#include "fmha/Schedule/Model/FmaThreads.h"

#include <initializer_list>

namespace fmha::capi {
namespace {

using launch::RunValue;
using launch::TensorName;

/// The extents of a problem, taken from the tensors that define them.
struct Extents {
  int64_t sequences, batch, qLen, qHeads, kBatch, kvLen, kvHeads, kvLen2;
  /// Number of entries per sequence in block_tables, for paged caches.
  int64_t maxPages = 0;
  /// Number of tokens that an append writes.
  int64_t newLen = 0;
  /// Number of entries of a list of topk.
  int64_t topkLen = 0;
  /// The extents of kv_indices, and the length of a list of full_kv_indices.
  int64_t blocksBatch = 0, blocksHeads = 0, blocksLen = 0, fullBlocksLen = 0;
  /// Number of positions that have angles.
  int64_t positions = 0;
};

/// The tensors of one call, by name.
class Shapes {
public:
  Shapes(const FmhaModuleImpl &module, const DLTensor *const *tensors)
      : module(module), tensors(tensors) {}

  const DLTensor *find(TensorName name) const {
    int place = module.places[size_t(name)];
    return place < 0 ? nullptr : tensors[place];
  }
  const TensorRole &role(TensorName name) const {
    return module.roles[size_t(module.places[size_t(name)])];
  }

  /// Rejects a tensor of the kernel whose shape is not `wanted`. The outermost
  /// extents of `wanted` are ignored if the tensor lacks these dimensions.
  FmhaStatus expect(TensorName name, std::initializer_list<int64_t> wanted,
                    const char *why) const {
    const DLTensor *tensor = find(name);
    if (!tensor)
      return FMHA_SUCCESS;
    const int64_t *shape = wanted.begin() + (wanted.size() - tensor->ndim);
    for (int32_t d = 0; d < tensor->ndim; ++d)
      if (tensor->shape[d] != shape[d])
        return fail(FMHA_ERROR_SHAPE,
                    "tensor '" + role(name).name + "': expected the shape " +
                        shapeText(shape, tensor->ndim) + ", got " +
                        shapeText(tensor->shape, tensor->ndim) + "; " + why);
    return FMHA_SUCCESS;
  }

private:
  const FmhaModuleImpl &module;
  const DLTensor *const *tensors;
};

int64_t extent(const launch::View &view, int d) { return view.dims[d]; }

/// Returns the number of sequences in cu_seqlens.
int64_t sequencesOf(const DLTensor &starts) { return starts.shape[0] - 1; }

FmhaStatus checkLists(const Shapes &shapes, const Extents &all) {
  struct List {
    TensorName name;
    int64_t entries;
  };
  const List lists[] = {{TensorName::KvLens, all.sequences},
                        {TensorName::CuSeqlensQ, all.sequences + 1},
                        {TensorName::CuSeqlensK, all.sequences + 1},
                        {TensorName::Source2Lens, all.sequences},
                        {TensorName::Sink, all.qHeads}};
  if (FmhaStatus status =
          shapes.expect(TensorName::BlockTables, {all.sequences, all.maxPages},
                        "a row for each of the sequences of q"))
    return status;
  if (FmhaStatus status =
          shapes.expect(TensorName::Topk, {all.batch, all.qLen, all.topkLen},
                        "a list for each of the queries of q"))
    return status;
  if (int64_t entries = all.batch * all.qLen * all.topkLen; entries > INT32_MAX)
    return fail(FMHA_ERROR_SHAPE,
                "tensor 'topk': expected less than 2^31 elements, got " +
                    std::to_string(entries) +
                    "; launch for fewer queries at a time");
  for (auto [name, entries] : lists)
    if (FmhaStatus status = shapes.expect(
            name, {entries},
            name == TensorName::Sink ? "one logit per query head"
                                     : "the sequences of q set the number"))
      return status;
  return FMHA_SUCCESS;
}

/// Checks the counts of blocks, which define the first extents of all lists.
FmhaStatus checkBlockCounts(const launch::Manifest &manifest,
                            const DLTensor &counts, const Extents &all) {
  int64_t rowBlocks =
      (all.qLen + manifest.blockRows - 1) / int64_t(manifest.blockRows);
  const int64_t *got = counts.shape;
  bool fits = (got[0] == 1 || got[0] == all.batch) &&
              (got[1] == 1 || got[1] == all.qHeads) && got[2] == rowBlocks;
  if (fits)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_SHAPE,
              "tensor 'kv_num_blocks': expected the shape [" +
                  std::to_string(all.batch) + " or 1, " +
                  std::to_string(all.qHeads) + " or 1, " +
                  std::to_string(rowBlocks) + "], got " +
                  shapeText(got, counts.ndim) +
                  "; q sets the batch and the heads, and the kernel has "
                  "blocks of " +
                  std::to_string(manifest.blockRows) + " rows");
}

FmhaStatus checkBlocks(const launch::Manifest &manifest, const Shapes &shapes,
                       const Extents &all) {
  const DLTensor *counts = shapes.find(TensorName::KvNumBlocks);
  if (!counts)
    return FMHA_SUCCESS;
  if (FmhaStatus status = checkBlockCounts(manifest, *counts, all))
    return status;
  int64_t batch = all.blocksBatch, heads = all.blocksHeads;
  int64_t rowBlocks = counts->shape[2];
  const std::pair<TensorName, int64_t> lists[] = {
      {TensorName::KvIndices, all.blocksLen},
      {TensorName::FullKvIndices, all.fullBlocksLen}};
  const char *why = "it has the first extents of kv_num_blocks";
  if (FmhaStatus status = shapes.expect(TensorName::FullKvNumBlocks,
                                        {batch, heads, rowBlocks}, why))
    return status;
  for (auto [name, length] : lists) {
    if (FmhaStatus status =
            shapes.expect(name, {batch, heads, rowBlocks, length}, why))
      return status;
    int64_t entries = batch * heads * rowBlocks * length;
    if (shapes.find(name) && entries > INT32_MAX)
      return fail(FMHA_ERROR_SHAPE,
                  "tensor '" + shapes.role(name).name +
                      "': expected less than 2^31 elements, got " +
                      std::to_string(entries) +
                      "; launch for fewer queries at a time");
  }
  return FMHA_SUCCESS;
}

FmhaStatus checkScales(const launch::Manifest &manifest, const Shapes &shapes,
                       const Extents &all) {
  int64_t count = 1;
  const char *why = "the kernel reads one for the whole tensor";
  if (manifest.scalePerHead) {
    count = all.kvHeads;
    why = "one per KV head";
  } else if (manifest.scalePerPage) {
    count = all.kBatch;
    why = "one per page of k";
  }
  for (TensorName name : {TensorName::KScale, TensorName::VScale})
    if (FmhaStatus status = shapes.expect(name, {count}, why))
      return status;
  return shapes.expect(TensorName::QScale, {1}, "that of all queries");
}

FmhaStatus checkHeads(const Extents &all) {
  bool fits = all.kvHeads > 0 ? all.qHeads % all.kvHeads == 0 : !all.qHeads;
  if (fits)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_SHAPE,
              "tensor 'q': expected a multiple of the " +
                  std::to_string(all.kvHeads) + " KV heads of k, got " +
                  std::to_string(all.qHeads) + " query heads");
}

FmhaStatus checkLengths(const launch::Manifest &manifest, const Extents &all) {
  const std::pair<const char *, int64_t> lengths[] = {
      {"q", all.qLen},
      {"k", all.kvLen},
      {"k2", all.kvLen2},
      {"rotary_cos", all.positions}};
  for (auto [name, length] : lengths)
    if (length > manifest.maxLength())
      return fail(FMHA_ERROR_SHAPE, std::string("tensor '") + name +
                                        "': expected a length of at most " +
                                        std::to_string(manifest.maxLength()) +
                                        ", got " + std::to_string(length) +
                                        "; split the sequence");
  return FMHA_SUCCESS;
}

FmhaStatus checkRows(const launch::Manifest &manifest, const Shapes &shapes,
                     const Extents &all) {
  int64_t dim = manifest.headDim, dimV = manifest.headDimV;
  int64_t kBatch = manifest.pageSize     ? all.kBatch
                   : manifest.cuSeqlensK ? 1
                                         : all.sequences;
  int64_t kRows = manifest.pageSize ? manifest.pageSize : all.kvLen;
  struct Rows {
    TensorName name;
    std::array<int64_t, 4> wanted;
    const char *why;
  };
  const Rows rows[] = {
      {TensorName::Q,
       {all.batch, all.qLen, all.qHeads, dim},
       "the kernel is compiled for that head dim"},
      {TensorName::K,
       {kBatch, kRows, all.kvHeads, dim},
       manifest.pageSize
           ? "the kernel is compiled for that page size and head dim"
           : "q sets the batch, and the kernel the head dim"},
      {TensorName::V,
       {kBatch, kRows, all.kvHeads, dimV},
       "it has the batch, length and heads of k and the kernel's head dim"},
      {TensorName::O,
       {all.batch, all.qLen, all.qHeads, dimV},
       "it has the batch, length and heads of q and the head dim of v"},
      {TensorName::K2,
       {all.sequences, all.kvLen2, all.kvHeads, dim},
       "it has the sequences of q and the heads of k"},
      {TensorName::V2,
       {all.sequences, all.kvLen2, all.kvHeads, dimV},
       "it has the shape of k2 and the head dim of v"}};
  for (const auto &[name, wanted, why] : rows)
    if (FmhaStatus status = shapes.expect(
            name, {wanted[0], wanted[1], wanted[2], wanted[3]}, why))
      return status;
  return FMHA_SUCCESS;
}

FmhaStatus checkNumbers(const Shapes &shapes, const Extents &all) {
  for (TensorName name :
       {TensorName::Lse, TensorName::RowMax, TensorName::RowSum})
    if (FmhaStatus status =
            shapes.expect(name, {all.batch, all.qHeads, all.qLen},
                          "it has the batch, heads and length of o"))
      return status;
  return FMHA_SUCCESS;
}

FmhaStatus checkCaptures(const FmhaModuleImpl &module,
                         const DLTensor *const *tensors, const Extents &all) {
  bool nothing = !all.batch || !all.qLen || !all.qHeads || !all.kvLen;
  for (size_t n = 0; n < module.roles.size(); ++n) {
    const TensorRole &role = module.roles[n];
    if (role.form != Form::Capture)
      continue;
    for (int32_t d = 0; d < role.rank; ++d)
      if (int64_t got = tensors[n]->shape[d];
          (got < 1 && !nothing) || got > launch::maxLength)
        return fail(FMHA_ERROR_SHAPE,
                    "tensor '" + role.name + "': expected extents from 1 to " +
                        std::to_string(launch::maxLength) + ", got " +
                        shapeText(tensors[n]->shape, role.rank) +
                        "; an extent of 1 serves all indices");
  }
  return FMHA_SUCCESS;
}

FmhaStatus chooseMaxQLen(const launch::Manifest &manifest, int64_t maxQLen,
                         BoundTensors &bound) {
  int64_t qLen = int64_t(bound.values[RunValue::QLen]);
  bound.values[RunValue::MaxQLen] = uint64_t(maxQLen ? maxQLen : qLen);
  if (!maxQLen)
    return FMHA_SUCCESS;
  if (!manifest.cuSeqlensQ || maxQLen < 0 || maxQLen > qLen)
    return fail(FMHA_ERROR_INVALID_ARGUMENT,
                "max_q_len: expected 0, or for packed queries 1 to the " +
                    std::to_string(qLen) + " rows of q, got " +
                    std::to_string(maxQLen));
  return FMHA_SUCCESS;
}

void setExtents(const Extents &all, launch::RunValues &values) {
  values[RunValue::Batch] = uint64_t(all.sequences);
  values[RunValue::QLen] = uint64_t(all.qLen);
  values[RunValue::KvLen] = uint64_t(all.kvLen);
  values[RunValue::QHeads] = uint64_t(all.qHeads);
  values[RunValue::KvHeads] = uint64_t(all.kvHeads);
  values[RunValue::Group] =
      all.kvHeads ? uint64_t(all.qHeads / all.kvHeads) : 0;
  values[RunValue::KvLen2] = uint64_t(all.kvLen2);
  values[RunValue::NewLen] = uint64_t(all.newLen);
  values[RunValue::MaxPages] = uint64_t(all.maxPages);
  values[RunValue::Pages] = uint64_t(all.kBatch);
  values[RunValue::TopkLen] = uint64_t(all.topkLen);
  values[RunValue::BlocksBatch] = uint64_t(all.blocksBatch);
  values[RunValue::BlocksHeads] = uint64_t(all.blocksHeads);
  values[RunValue::BlocksLen] = uint64_t(all.blocksLen);
  values[RunValue::FullBlocksLen] = uint64_t(all.fullBlocksLen);
  values[RunValue::Positions] = uint64_t(all.positions);
}

/// Checks the shapes of new keys and values.
FmhaStatus checkNew(const launch::Manifest &manifest, const Shapes &shapes,
                    const Extents &all) {
  if (!manifest.keyNew)
    return FMHA_SUCCESS;
  if (all.newLen && !(all.qLen && all.qHeads))
    return fail(FMHA_ERROR_SHAPE,
                "tensor 'q': expected queries with key_new, whose CTAs append, "
                "got none; append by a kernel of fmha.append");
  if (std::string wrong = launch::checkAppendingRows(
          manifest, all.newLen,
          {all.qLen, all.qHeads / std::max<int64_t>(all.kvHeads, 1)});
      !wrong.empty())
    return fail(FMHA_ERROR_SHAPE, wrong);
  if (all.newLen > schedule::FmaThreads::mostNewKeys)
    return fail(FMHA_ERROR_SHAPE,
                "tensor 'key_new': expected at most " +
                    std::to_string(schedule::FmaThreads::mostNewKeys) +
                    " tokens, got " + std::to_string(all.newLen) +
                    "; append in several launches");
  for (TensorName name : {TensorName::RotaryCos, TensorName::RotarySin})
    if (FmhaStatus status = shapes.expect(
            name, {all.positions, int64_t(manifest.rotaryDim / 2)},
            "a row per position and a column per pair"))
      return status;
  const char *why = "key_new sets the tokens, q the batch, k the heads, and "
                    "the kernel the head dims";
  if (FmhaStatus status = shapes.expect(
          TensorName::KeyNew,
          {all.sequences, all.newLen, all.kvHeads, manifest.headDim}, why))
    return status;
  return shapes.expect(
      TensorName::ValueNew,
      {all.sequences, all.newLen, all.kvHeads, manifest.headDimV}, why);
}

/// Takes the extents of lists of blocks, the first ones from the counts.
void takeBlocks(const Shapes &shapes, Extents &all) {
  if (const DLTensor *counts = shapes.find(TensorName::KvNumBlocks)) {
    all.blocksBatch = counts->shape[0];
    all.blocksHeads = counts->shape[1];
  }
  if (const DLTensor *lists = shapes.find(TensorName::KvIndices))
    all.blocksLen = lists->shape[3];
  if (const DLTensor *lists = shapes.find(TensorName::FullKvIndices))
    all.fullBlocksLen = lists->shape[3];
}

FmhaStatus bindAttention(const FmhaModuleImpl &module, const Shapes &shapes,
                         int64_t maxQLen, BoundTensors &bound) {
  const launch::Manifest &manifest = *module.attention;
  const launch::View &q = bound.view(TensorName::Q);
  const launch::View &k = bound.view(TensorName::K);
  Extents all = {q.dims[0], q.dims[0], q.dims[1], q.dims[2],
                 k.dims[0], k.dims[1], k.dims[2], 0};
  if (const DLTensor *starts = shapes.find(TensorName::CuSeqlensQ)) {
    if (starts->shape[0] < 1)
      return fail(FMHA_ERROR_SHAPE, "tensor 'cu_seqlens_q': expected one entry "
                                    "more than there are sequences, got none");
    all.sequences = sequencesOf(*starts);
  }
  if (const DLTensor *tables = shapes.find(TensorName::BlockTables)) {
    all.maxPages = tables->shape[1];
    all.kvLen = all.maxPages * manifest.pageSize;
  }
  if (const DLTensor *lists = shapes.find(TensorName::Topk))
    all.topkLen = lists->shape[2];
  takeBlocks(shapes, all);
  if (manifest.source2)
    all.kvLen2 = extent(bound.view(TensorName::K2), 1);
  if (manifest.keyNew)
    all.newLen = bound.view(TensorName::KeyNew).dims[1];
  if (const DLTensor *cos = shapes.find(TensorName::RotaryCos))
    all.positions = cos->shape[0];
  if (FmhaStatus status = checkHeads(all))
    return status;
  if (FmhaStatus status = checkRows(manifest, shapes, all))
    return status;
  if (FmhaStatus status = checkNumbers(shapes, all))
    return status;
  if (FmhaStatus status = checkLists(shapes, all))
    return status;
  if (FmhaStatus status = checkBlocks(manifest, shapes, all))
    return status;
  if (FmhaStatus status = checkScales(manifest, shapes, all))
    return status;
  if (FmhaStatus status = checkNew(manifest, shapes, all))
    return status;
  if (FmhaStatus status = checkCaptures(module, bound.tensors, all))
    return status;
  if (FmhaStatus status = checkLengths(manifest, all))
    return status;
  setExtents(all, bound.values);
  if (module.splits())
    bound.parts =
        launch::partsAt(0, module.splits(), bound.view(TensorName::O).dims);
  bound.workspaceBytes =
      bound.parts.bytes + (module.countsTiles() ? launch::tileCounterBytes : 0);
  return chooseMaxQLen(manifest, maxQLen, bound);
}

FmhaStatus bindMerge(const FmhaModuleImpl &module, const Shapes &shapes,
                     int64_t maxQLen, BoundTensors &bound) {
  int64_t dim = module.merge->headDim;
  const launch::View &o = bound.view(TensorName::O);
  int64_t batch = o.dims[0], length = o.dims[1], heads = o.dims[2];
  Extents all = {batch, batch, length, heads, batch, 0, heads, 0};
  const char *why = "the extents of o, and one number of parts for all";
  int64_t parts = shapes.find(TensorName::OParts)->shape[0];
  if (FmhaStatus status =
          shapes.expect(TensorName::O, {batch, length, heads, dim},
                        "the kernel is compiled for that head dim"))
    return status;
  if (FmhaStatus status = shapes.expect(
          TensorName::OParts, {parts, batch, length, heads, dim}, why))
    return status;
  for (TensorName name : {TensorName::MaxParts, TensorName::SumParts})
    if (FmhaStatus status =
            shapes.expect(name, {parts, batch, heads, length}, why))
      return status;
  if (FmhaStatus status = checkNumbers(shapes, all))
    return status;
  if (FmhaStatus status = checkLists(shapes, all))
    return status;
  if (maxQLen)
    return fail(FMHA_ERROR_INVALID_ARGUMENT,
                "max_q_len: expected 0 for a merge, got " +
                    std::to_string(maxQLen));
  setExtents(all, bound.values);
  return FMHA_SUCCESS;
}

/// Checks that no length needs more than the 32 bits in which a kernel counts.
FmhaStatus checkAppendLengths(const Extents &all) {
  const std::pair<const char *, int64_t> lengths[] = {
      {"key_new", all.newLen}, {"k", all.kvLen}, {"q", all.qLen}};
  for (auto [name, length] : lengths)
    if (length > launch::maxLength)
      return fail(FMHA_ERROR_SHAPE, std::string("tensor '") + name +
                                        "': expected a length of at most " +
                                        std::to_string(launch::maxLength) +
                                        ", got " + std::to_string(length) +
                                        "; split the sequence");
  return FMHA_SUCCESS;
}

FmhaStatus checkAppendShapes(const launch::AppendManifest &manifest,
                             const Shapes &shapes, const Extents &all) {
  int64_t dim = manifest.headDim, dimV = manifest.headDimV;
  int64_t blocks = manifest.pageSize ? all.kBatch : all.batch;
  int64_t rows = manifest.pageSize ? manifest.pageSize : all.kvLen;
  int64_t pairs = manifest.rotaryDim / 2, heads = all.kvHeads;
  const char *tokens = "key_new sets batch, tokens and heads, and the kernel "
                       "the head dims";
  const char *cache = manifest.pageSize
                          ? "k sets the pages, key_new the heads, and the "
                            "kernel the page size and the head dims"
                          : "key_new sets batch and heads, k the length, and "
                            "the kernel the head dims";
  const char *queries = "it has the batch of key_new and the kernel's head dim";
  const char *angles = "a row per position and a column per pair";
  struct Wanted {
    TensorName name;
    std::array<int64_t, 4> shape;
    const char *why;
  };
  const Wanted wanted[] = {
      {TensorName::KeyNew, {all.batch, all.newLen, heads, dim}, tokens},
      {TensorName::ValueNew, {all.batch, all.newLen, heads, dimV}, tokens},
      {TensorName::K, {blocks, rows, heads, dim}, cache},
      {TensorName::V, {blocks, rows, heads, dimV}, cache},
      {TensorName::Q, {all.batch, all.qLen, all.qHeads, dim}, queries},
      {TensorName::QOut, {all.batch, all.qLen, all.qHeads, dim}, queries},
      {TensorName::RotaryCos, {0, 0, all.positions, pairs}, angles},
      {TensorName::RotarySin, {0, 0, all.positions, pairs}, angles}};
  for (const auto &[name, shape, why] : wanted)
    if (FmhaStatus status =
            shapes.expect(name, {shape[0], shape[1], shape[2], shape[3]}, why))
      return status;
  if (FmhaStatus status = shapes.expect(TensorName::KvLens, {all.batch},
                                        "key_new sets the batch"))
    return status;
  return shapes.expect(TensorName::BlockTables, {all.batch, all.maxPages},
                       "a row for each of the sequences of key_new");
}

FmhaStatus bindAppend(const FmhaModuleImpl &module, const Shapes &shapes,
                      int64_t maxQLen, BoundTensors &bound) {
  const launch::AppendManifest &manifest = *module.append;
  const launch::View &fresh = bound.view(TensorName::KeyNew);
  const launch::View &k = bound.view(TensorName::K);
  Extents all = {};
  all.batch = all.sequences = fresh.dims[0];
  all.newLen = fresh.dims[1];
  all.kvHeads = fresh.dims[2];
  all.kBatch = k.dims[0];
  all.kvLen = k.dims[1];
  if (const DLTensor *q = shapes.find(TensorName::Q)) {
    all.qLen = q->shape[1];
    all.qHeads = q->shape[2];
  }
  if (const DLTensor *cos = shapes.find(TensorName::RotaryCos))
    all.positions = cos->shape[0];
  if (const DLTensor *tables = shapes.find(TensorName::BlockTables))
    all.maxPages = tables->shape[1];
  if (FmhaStatus status = checkAppendShapes(manifest, shapes, all))
    return status;
  if (manifest.pageSize)
    all.kvLen = all.maxPages * manifest.pageSize;
  if (FmhaStatus status = checkAppendLengths(all))
    return status;
  if (maxQLen)
    return fail(FMHA_ERROR_INVALID_ARGUMENT,
                "max_q_len: expected 0 for an append, got " +
                    std::to_string(maxQLen));
  setExtents(all, bound.values);
  bound.values[RunValue::AppendRows] = uint64_t(std::max(all.newLen, all.qLen));
  bound.values[RunValue::AppendHeads] = uint64_t(all.kvHeads + all.qHeads);
  return FMHA_SUCCESS;
}

} // namespace

FmhaStatus bindShapes(const FmhaModuleImpl &module,
                      const DLTensor *const *tensors, size_t n, int64_t maxQLen,
                      BoundTensors &bound) {
  size_t count = module.roles.size();
  if (n != count || !tensors) {
    std::string names;
    for (const TensorRole &role : module.roles)
      names += (names.empty() ? "" : " ") + role.name;
    return fail(FMHA_ERROR_TENSOR_COUNT,
                "tensors: expected " + std::to_string(count) + " (" + names +
                    "), got " + (tensors ? std::to_string(n) : "NULL") +
                    "; pass them in that order");
  }
  bound.tensors = tensors;
  for (size_t i = 0; i < count; ++i) {
    const TensorRole &role = module.roles[i];
    if (FmhaStatus status = checkShape(role, tensors[i], module.device))
      return status;
    if (role.form == Form::Rows || role.form == Form::Numbers ||
        role.form == Form::Angles)
      bound.view(role.tensor) = viewOf(role, *tensors[i]);
    else if (role.form == Form::List || role.form == Form::Table)
      bound.view(role.tensor).address = addressOf(*tensors[i]);
  }
  Shapes shapes(module, tensors);
  if (module.attention)
    return bindAttention(module, shapes, maxQLen, bound);
  return module.merge ? bindMerge(module, shapes, maxQLen, bound)
                      : bindAppend(module, shapes, maxQLen, bound);
}

} // namespace fmha::capi
