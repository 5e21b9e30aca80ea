//===- KernelPlace.cpp - Rows, keys and blocks of one CTA -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace fmha;

Value KernelBuilder::buildEntry(Value list, Value number) {
  Value entry = memref::LoadOp::create(b, list, ValueRange{number});
  return arith::IndexCastOp::create(b, b.getIndexType(), entry);
}

Value KernelBuilder::clamp(Value number, Value least, Value most) {
  return make<arith::MinSIOp>(make<arith::MaxSIOp>(number, least), most);
}

/// Builds the rows of one sequence. Varlen metadata comes from memory and is
/// clamped, so that no kernel reads or writes outside of its tensors, even if a
/// host did not check it:
///
///   start = clamp(starts[b], 0, extent)
///   end = clamp(starts[b + 1], start, extent)
///   length = clamp(lengths[b], 0, end - start)
Sequence KernelBuilder::buildSequence(Value extent, Value batch, Value starts,
                                      Value lengths) {
  Sequence made{batch, Value(), extent};
  if (!starts && !lengths)
    return made;
  Value zero = index(0);
  if (starts) {
    made.batch = zero;
    made.start = clamp(buildEntry(starts, batch), zero, extent);
    Value next = make<arith::AddIOp>(batch, index(1));
    Value end = clamp(buildEntry(starts, next), made.start, extent);
    made.length = make<arith::SubIOp>(end, made.start);
  }
  if (lengths) {
    made.start = made.start ? made.start : zero;
    made.length = clamp(buildEntry(lengths, batch), zero, made.length);
  }
  return made;
}

Coordinates KernelBuilder::buildCoordinates() {
  Coordinates at;
  int64_t rowsPerCta = int64_t(plan.qTiles) * rowsOfTile();
  Value queryRows = extent(Query, AttentionOp::Length), longest = queryRows;
  Value keyRows = extent(Key, AttentionOp::Length);
  if (Value said = operand("max_q_len"))
    longest = arith::IndexCastUIOp::create(b, b.getIndexType(), said);
  Value heads = extent(Query, AttentionOp::Heads);
  Value kvHeads = extent(Key, AttentionOp::Heads);
  // The grid is one-dimensional, since only x may exceed 65535.
  Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  buildPass(at, id);
  buildSplit(at, id);
  Value rowBlocks = make<arith::CeilDivUIOp>(longest, index(rowsPerCta));
  Value rowBlock = buildRowBlock(id, rowBlocks);
  Value rest = make<arith::DivUIOp>(id, rowBlocks);
  Value batch = buildHeads(at, rest, heads, kvHeads);
  at.sequence = batch;
  at.queries =
      buildSequence(queryRows, batch, operand("cu_seqlens_q"), Value());
  at.keys = buildSequence(keyRows, batch, operand("cu_seqlens_k"),
                          operand("kv_lens"));
  at.outputBatch = buildOutputBatch(at);
  Value first = make<arith::MulIOp>(rowBlock, index(rowsPerCta));
  for (unsigned tile = 0; tile < plan.qTiles; ++tile)
    at.rows.push_back(
        make<arith::AddIOp>(first, index(int64_t(tile) * rowsOfTile())));
  // One message serves either segment, so both have the same form of bounds.
  if (op.getKey2() && op.getProblem().keysEndInside() && !at.keys.start)
    at.keys.start = index(0);
  at.offset = buildOffset(at, op.getMask());
  if (op.getMask().left)
    at.firstKey = buildFirstKey(at);
  at.blocks = buildBlockCount(at, op.getMask());
  if (at.split)
    takePart(at);
  if (op.getKey2())
    buildSecond(at);
  return at;
}

/// Returns the row block of CTA `id`. With a right bound the last rows see the
/// most keys: the longest CTAs start first, so that none is left alone at the
/// end of a launch. A static CTA, which computes several tiles in a known
/// order, computes two neighbors: the longest with the shortest, and so on, so
/// that all pairs take as long. Every other head is in reverse order, so that
/// the middle blocks of odd counts pair up.
Value KernelBuilder::buildRowBlock(Value id, Value rowBlocks) {
  Value number = make<arith::RemUIOp>(id, rowBlocks);
  if (!op.getMask().rightBound())
    return number;
  Value last = make<arith::SubIOp>(rowBlocks, index(1));
  if (!schedule::pairsTiles(plan))
    return make<arith::SubIOp>(last, number);
  Value head = make<arith::DivUIOp>(id, rowBlocks);
  Value back =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                            make<arith::RemUIOp>(head, index(2)), index(0));
  number = arith::SelectOp::create(b, back, make<arith::SubIOp>(last, number),
                                   number);
  Value half = make<arith::DivUIOp>(number, index(2));
  Value odd = make<arith::RemUIOp>(number, index(2));
  Value isLong =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, odd, index(0));
  return arith::SelectOp::create(b, isLong, make<arith::SubIOp>(last, half),
                                 half);
}

/// Returns the key position of query row 0.
Value KernelBuilder::buildOffset(const Coordinates &at,
                                 const schedule::Mask &mask) {
  if (mask.isTopLeft())
    return index(0);
  return make<arith::SubIOp>(at.keys.length, at.queries.length);
}

/// Builds the index of the split. The splits of a row block are adjacent in the
/// grid. Sets `id` to the index of the row block.
void KernelBuilder::buildSplit(Coordinates &at, Value &id) {
  if (plan.splits == 1)
    return;
  at.split = make<arith::RemUIOp>(id, index(plan.splits));
  id = make<arith::DivUIOp>(id, index(plan.splits));
}

/// Restricts the blocks to those of one split: of n blocks split p has up to
/// ceil(n / splits), from p·ceil(n / splits) on.
void KernelBuilder::takePart(Coordinates &at) {
  Value each = make<arith::CeilDivUIOp>(at.blocks, index(plan.splits));
  Value begin =
      make<arith::MinSIOp>(make<arith::MulIOp>(at.split, each), at.blocks);
  at.blocks = make<arith::MinSIOp>(each, make<arith::SubIOp>(at.blocks, begin));
  Value keys = make<arith::MulIOp>(begin, index(plan.kvBlock));
  at.firstKey = at.firstKey ? make<arith::AddIOp>(at.firstKey, keys) : keys;
}

/// Returns the batch of the outputs, which have all batches of split 0, then
/// those of split 1, ...; if queries are packed there is one batch.
Value KernelBuilder::buildOutputBatch(const Coordinates &at) {
  if (!at.split)
    return at.queries.batch;
  Value batches = operand("batch");
  if (!batches)
    return at.split;
  batches = arith::IndexCastUIOp::create(b, b.getIndexType(), batches);
  return make<arith::AddIOp>(make<arith::MulIOp>(at.split, batches),
                             at.queries.batch);
}

/// Builds the index of the head_dim_v tile, and sets `id` to that of the row
/// block. Tiles of a row block are adjacent in the grid, so K stays in L2.
void KernelBuilder::buildPass(Coordinates &at, Value &id) {
  unsigned passes = schedule::outputPasses(op.getProblem(), plan);
  if (passes == 1)
    return;
  Value pass = make<arith::RemUIOp>(id, index(passes));
  at.column = make<arith::MulIOp>(pass, index(outputColumns()));
  id = make<arith::DivUIOp>(id, index(passes));
}

/// Builds the heads of a CTA and returns the index of the batch. Packed heads
/// are a chunk of a group; the last chunk of a group may have fewer:
///   head = id mod q_heads; kv_head = head / group
///   chunk = id mod chunks; kv_head = (id / chunks) mod kv_heads
Value KernelBuilder::buildHeads(Coordinates &at, Value id, Value heads,
                                Value kvHeads) {
  if (!isPacked()) {
    at.head = make<arith::RemUIOp>(id, heads);
    Value batch = make<arith::DivUIOp>(id, heads);
    at.kvHead =
        make<arith::DivUIOp>(at.head, make<arith::DivUIOp>(heads, kvHeads));
    return batch;
  }
  Value group = make<arith::DivUIOp>(heads, kvHeads);
  Value packed = index(plan.packHeads);
  Value chunks = make<arith::CeilDivUIOp>(group, packed);
  Value groups = make<arith::DivUIOp>(id, chunks);
  at.kvHead = make<arith::RemUIOp>(groups, kvHeads);
  at.member = make<arith::MulIOp>(make<arith::RemUIOp>(id, chunks), packed);
  at.head =
      make<arith::AddIOp>(make<arith::MulIOp>(at.kvHead, group), at.member);
  at.count = make<arith::SubIOp>(group, at.member);
  return make<arith::DivUIOp>(groups, kvHeads);
}

/// Returns the first key of the CTA's first row, i + offset - left.
Value KernelBuilder::buildFirstKey(const Coordinates &at) {
  Value place = make<arith::AddIOp>(at.rows.front(), at.offset);
  Value first = make<arith::SubIOp>(place, index(*op.getMask().left));
  first = make<arith::MaxSIOp>(first, index(0));
  Value block = make<arith::DivUIOp>(first, index(plan.kvBlock));
  return make<arith::MulIOp>(block, index(plan.kvBlock));
}

/// Returns the number of KV blocks. The last row of the CTA, i = min(first +
/// rows, q_len) - 1, sees keys up to i + offset + right, so the CTA needs
/// min(first + rows, q_len) + offset + right keys, and none if that is
/// negative. Without a window the last row sits at the last key at most.
Value KernelBuilder::buildBlockCount(const Coordinates &at,
                                     const schedule::Mask &mask) {
  Value keys = at.keys.length;
  if (std::optional<unsigned> right = mask.rightBound()) {
    Value end = make<arith::AddIOp>(at.rows.back(), index(rowsOfTile()));
    Value lastSeen = make<arith::AddIOp>(
        make<arith::MinSIOp>(end, at.queries.length), at.offset);
    if (*right)
      lastSeen = make<arith::AddIOp>(lastSeen, index(*right));
    if (*right || mask.isTopLeft())
      lastSeen = make<arith::MinSIOp>(lastSeen, at.keys.length);
    keys = lastSeen;
  }
  if (at.firstKey)
    keys = make<arith::SubIOp>(keys, at.firstKey);
  if (!mask.isFull())
    keys = make<arith::MaxSIOp>(keys, index(0));
  // The grid is for the longest sequence; shorter ones have CTAs without rows.
  if (at.queries.start) {
    Value hasRows = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                          at.rows.front(), at.queries.length);
    keys = arith::SelectOp::create(b, hasRows, keys, index(0));
  }
  return make<arith::CeilDivUIOp>(keys, index(plan.kvBlock));
}

/// Returns the coordinates of the queries; with packed heads both as a query
/// head and as a member of a KV head's group.
tile::ViewPlace KernelBuilder::placeOfQueries(const Coordinates &at) {
  tile::ViewPlace place;
  place.batch = at.queries.batch;
  place.head = at.head;
  place.count = at.count;
  place.member = at.member;
  if (isPacked())
    place.kvHead = at.kvHead;
  place.start = at.queries.start;
  place.length = at.queries.length;
  return place;
}
