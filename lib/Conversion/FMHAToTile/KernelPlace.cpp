//===- KernelPlace.cpp - Rows, keys and blocks of one CTA -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlace.h"

#include "fmha/Schedule/Model/TileOrder.h"

using namespace mlir;
using namespace fmha;

static Value buildEntry(KernelContext &k, Value list, Value number) {
  Value entry = memref::LoadOp::create(k.b, list, ValueRange{number});
  return arith::IndexCastOp::create(k.b, k.b.getIndexType(), entry);
}

static Value clamp(KernelContext &k, Value number, Value least, Value most) {
  return k.make<arith::MinSIOp>(k.make<arith::MaxSIOp>(number, least), most);
}

/// Builds the rows of one sequence. Varlen metadata comes from memory and is
/// clamped, so that no kernel reads or writes outside of its tensors, even if a
/// host did not check it:
///
///   start = clamp(starts[b], 0, extent)
///   end = clamp(starts[b + 1], start, extent)
///   length = clamp(lengths[b], 0, end - start)
static Sequence buildSequence(KernelContext &k, Value extent, Value batch,
                              Value starts, Value lengths) {
  Sequence made;
  made.batch = batch;
  made.length = extent;
  if (!starts && !lengths)
    return made;
  Value zero = k.index(0);
  if (starts) {
    made.batch = zero;
    made.start = clamp(k, buildEntry(k, starts, batch), zero, extent);
    Value next = k.make<arith::AddIOp>(batch, k.index(1));
    Value end = clamp(k, buildEntry(k, starts, next), made.start, extent);
    made.length = k.make<arith::SubIOp>(end, made.start);
  }
  if (lengths) {
    made.start = made.start ? made.start : zero;
    made.length = clamp(k, buildEntry(k, lengths, batch), zero, made.length);
  }
  return made;
}

/// Builds the keys of one sequence in a paged cache. Its length is clamped to
/// the pages that its row of block_tables can name:
///
///   entry = b * max_pages
///   length = clamp(lengths[b], 0, max_pages * page_size)
/// If the cache has no page, the length is 0, so that nothing is read.
static Sequence buildPages(KernelContext &k, Value batch) {
  Value pages = arith::IndexCastUIOp::create(k.b, k.b.getIndexType(),
                                             k.operand("max_pages"));
  Value isEmpty =
      arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq,
                            k.extent(Key, AttentionOp::Batch), k.index(0));
  Value most = k.make<arith::MulIOp>(pages, k.index(k.problem.pageSize));
  most = arith::SelectOp::create(k.b, isEmpty, k.index(0), most);
  Sequence made;
  made.entry = k.make<arith::MulIOp>(batch, pages);
  made.length =
      clamp(k, buildEntry(k, k.operand("kv_lens"), batch), k.index(0), most);
  return made;
}

/// Builds the first-segment keys of the sequence that a CTA computes.
static Sequence buildKeys(KernelContext &k, Value extent, Value batch) {
  if (k.problem.blockTables)
    return buildPages(k, batch);
  return buildSequence(k, extent, batch, k.operand("cu_seqlens_k"),
                       k.operand("kv_lens"));
}

/// Replaces the keys of a sequence by those that the list of the CTA's query
/// names:
///   first = (b * q_len + i) * topk_len
///   length = bound ? entries before the first negative one : 0
static void takeListed(KernelContext &k, Coordinates &at) {
  Value most = arith::IndexCastUIOp::create(k.b, k.b.getIndexType(),
                                            k.operand("topk_len"));
  Value query = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(at.sequence, at.queries.length), at.firstRow);
  at.keys.first = k.make<arith::MulIOp>(query, most);
  at.keys.bound = at.keys.length;
  at.keys.start = Value();
  Value isEmpty = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq,
                                        at.keys.bound, k.index(0));
  Value listed =
      tile::ListLengthOp::create(k.b, k.operand("topk"), at.keys.first, most);
  at.keys.length = arith::SelectOp::create(k.b, isEmpty, k.index(0), listed);
}

/// Returns whether later rows see more keys, as with a right bound. Blocks are
/// mostly listed for a causal mask.
static bool laterRowsSeeMore(KernelContext &k) {
  return k.op.getMask().rightBound() || k.problem.kvIndices;
}

namespace {
/// The row block of a tile, and the index of its heads and batch.
struct TilePlace {
  Value rowBlock, heads;
};
} // namespace

/// Returns the row block of tile `id`. With a right bound the last rows see the
/// most keys: the longest tiles start first, so that none is left alone at the
/// end of a launch. A static CTA, which computes several tiles in a known
/// order, computes two neighbors: the longest with the shortest, and so on, so
/// that all pairs take equally long. Every other head is in reverse order, so
/// that the middle blocks of odd counts pair up.
static Value buildRowBlock(KernelContext &k, Value id, Value rowBlocks) {
  Value number = k.make<arith::RemUIOp>(id, rowBlocks);
  if (!laterRowsSeeMore(k))
    return number;
  Value last = k.make<arith::SubIOp>(rowBlocks, k.index(1));
  if (!schedule::pairsTiles(k.problem, k.plan))
    return k.make<arith::SubIOp>(last, number);
  Value head = k.make<arith::DivUIOp>(id, rowBlocks);
  Value back = arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne,
                                     k.make<arith::RemUIOp>(head, k.index(2)),
                                     k.index(0));
  number = arith::SelectOp::create(k.b, back,
                                   k.make<arith::SubIOp>(last, number), number);
  Value half = k.make<arith::DivUIOp>(number, k.index(2));
  Value odd = k.make<arith::RemUIOp>(number, k.index(2));
  Value isLong =
      arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, odd, k.index(0));
  return arith::SelectOp::create(k.b, isLong, k.make<arith::SubIOp>(last, half),
                                 half);
}

/// Returns the maximum number of KV heads per section: K and V of that many
/// heads, with `keys` rows each, fit in schedule::sectionBytes().
static Value buildHeadsOfSection(KernelContext &k, Value keys) {
  const schedule::Problem &problem = k.op.getProblem();
  constexpr uint64_t elementBytes = 2;
  uint64_t columns = problem.headDim + (problem.vInK ? 0 : problem.headDimV);
  uint64_t rows =
      schedule::sectionBytes(problem, k.plan) / (elementBytes * columns);
  Value one = k.index(1);
  Value fit = k.make<arith::DivUIOp>(k.index(int64_t(rows)),
                                     k.make<arith::MaxUIOp>(keys, one));
  return k.make<arith::MaxUIOp>(fit, one);
}

/// Returns the packed heads of the CTAs that share a product, 1 or a pair.
static int64_t headsOfProduct(const KernelContext &k) {
  return int64_t(k.plan.packHeads) * k.plan.ctaGroup;
}

/// Returns how many query heads, or chunks of packed heads, share a KV head.
/// The chunks of a pair of CTAs are one.
static Value buildTilesOfGroup(KernelContext &k, Value heads, Value kvHeads) {
  Value group = k.make<arith::DivUIOp>(heads, kvHeads);
  return k.isPacked()
             ? k.make<arith::CeilDivUIOp>(group, k.index(headsOfProduct(k)))
             : group;
}

/// Returns the number of tiles of the launch, which is the grid size unless the
/// grid is limited and CTAs compute several tiles.
static Value buildTileCount(KernelContext &k) {
  if (!schedule::boundsCtas(k.plan))
    return gpu::GridDimOp::create(k.b, gpu::Dimension::x);
  return arith::IndexCastUIOp::create(
      k.b, k.b.getIndexType(),
      tile::TileCountOp::create(k.b, k.b.getI32Type()));
}

/// Returns the number of query heads, or chunks of packed heads, of all
/// batches.
static Value buildAllHeads(KernelContext &k, Value rowBlocks) {
  unsigned others = schedule::outputPasses(k.op.getProblem(), k.plan) *
                    k.plan.splits * k.plan.ctaGroup;
  Value tiles = buildTileCount(k);
  Value all = k.make<arith::DivUIOp>(
      tiles, k.make<arith::MulIOp>(rowBlocks, k.index(others)));
  return k.make<arith::MaxUIOp>(all, k.index(1));
}

/// Builds the place of tile `id` if all tiles are sorted together: the last row
/// block of each head, then the one before, and so on.
static TilePlace buildSorted(KernelContext &k, Value id, Value rowBlocks) {
  Value all = buildAllHeads(k, rowBlocks);
  Value last = k.make<arith::SubIOp>(rowBlocks, k.index(1));
  return {k.make<arith::SubIOp>(last, k.make<arith::DivUIOp>(id, all)),
          k.make<arith::RemUIOp>(id, all)};
}

/// Builds the place of tile `id` if tiles are ordered by sections. A section
/// begins with the longest tile of each of its heads, then the next shorter
/// ones follow, and so on. CTAs then end at about the same time and still share
/// K and V in L2. `most` is the maximum number of KV heads per section, and
/// each KV head has `group` query heads. All n KV heads are divided into
/// sections of about equal size:
///   size = group·ceil(n / ceil(n / most)), section = id / (size·row blocks)
///   here = min(size, group·n - size·section), number = id mod (size·blocks)
///   row block = last - number / here, heads = size·section + number mod here
static TilePlace buildInSections(KernelContext &k, Value id, Value rowBlocks,
                                 Value most, Value group) {
  Value all = buildAllHeads(k, rowBlocks);
  Value kvHeads = k.make<arith::CeilDivUIOp>(all, group);
  Value sections = k.make<arith::CeilDivUIOp>(kvHeads, most);
  Value size = k.make<arith::MulIOp>(
      k.make<arith::CeilDivUIOp>(kvHeads, sections), group);
  Value tilesOfSection = k.make<arith::MulIOp>(size, rowBlocks);
  Value first =
      k.make<arith::MulIOp>(k.make<arith::DivUIOp>(id, tilesOfSection), size);
  Value here = k.make<arith::MinUIOp>(size, k.make<arith::SubIOp>(all, first));
  Value number = k.make<arith::RemUIOp>(id, tilesOfSection);
  Value last = k.make<arith::SubIOp>(rowBlocks, k.index(1));
  return {k.make<arith::SubIOp>(last, k.make<arith::DivUIOp>(number, here)),
          k.make<arith::AddIOp>(first, k.make<arith::RemUIOp>(number, here))};
}

/// Returns the key position of query row 0.
static Value buildOffset(KernelContext &k, const Coordinates &at,
                         const schedule::Mask &mask) {
  if (mask.isTopLeft())
    return k.index(0);
  return k.make<arith::SubIOp>(at.keys.length, at.queries.length);
}

/// Builds the index of the split. The splits of a row block are adjacent in the
/// grid. Sets `id` to the index of the row block.
static void buildSplit(KernelContext &k, Coordinates &at, Value &id) {
  if (k.plan.splits == 1)
    return;
  at.splits = k.index(k.plan.splits);
  at.split = k.make<arith::RemUIOp>(id, at.splits);
  id = k.make<arith::DivUIOp>(id, at.splits);
}

/// Replaces the sequence and the split of the grid by those of a slot that
/// sequences share by their lengths:
///   slot = sequence·splits + split
/// It is the batch of the outputs, too.
static void takeSlot(KernelContext &k, Coordinates &at) {
  at.outputBatch = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(at.sequence, at.splits), at.split);
  Value batches =
      arith::IndexCastUIOp::create(k.b, k.b.getIndexType(), k.operand("batch"));
  auto found = tile::FindSlotOp::create(
      k.b, k.operand("kv_lens"), at.outputBatch, batches,
      k.b.getI32IntegerAttr(int32_t(k.plan.splits)),
      k.b.getI32IntegerAttr(int32_t(k.plan.kvBlock)));
  at.sequence = found.getSequence();
  at.split = found.getPart();
  at.splits = found.getParts();
}

/// Restricts the blocks to those of one split: of n blocks split p has up to
/// ceil(n / splits), from p·ceil(n / splits) on.
static void takePart(KernelContext &k, Coordinates &at) {
  Value each = k.make<arith::CeilDivUIOp>(at.blocks, at.splits);
  Value begin =
      k.make<arith::MinSIOp>(k.make<arith::MulIOp>(at.split, each), at.blocks);
  at.blocks =
      k.make<arith::MinSIOp>(each, k.make<arith::SubIOp>(at.blocks, begin));
  Value keys = k.make<arith::MulIOp>(begin, k.index(k.plan.kvBlock));
  at.firstKey = at.firstKey ? k.make<arith::AddIOp>(at.firstKey, keys) : keys;
}

/// Returns the batch of the outputs, which have all batches of split 0, then
/// those of split 1, ...; if queries are packed there is one batch.
static Value buildOutputBatch(KernelContext &k, const Coordinates &at) {
  if (!at.split)
    return at.queries.batch;
  Value batches = k.operand("batch");
  if (!batches)
    return at.split;
  batches = arith::IndexCastUIOp::create(k.b, k.b.getIndexType(), batches);
  return k.make<arith::AddIOp>(k.make<arith::MulIOp>(at.split, batches),
                               at.queries.batch);
}

/// Builds the index of the head_dim_v tile, and sets `id` to that of the row
/// block. Tiles of a row block are adjacent in the grid, so K stays in L2.
static void buildPass(KernelContext &k, Coordinates &at, Value &id) {
  unsigned passes = schedule::outputPasses(k.op.getProblem(), k.plan);
  if (passes == 1)
    return;
  Value pass = k.make<arith::RemUIOp>(id, k.index(passes));
  at.column = k.make<arith::MulIOp>(pass, k.index(k.outputColumns()));
  id = k.make<arith::DivUIOp>(id, k.index(passes));
}

/// Builds the heads of a CTA and returns the index of the batch. Packed heads
/// are a chunk of a group; the last chunk of a group may have fewer, and the
/// second one of a pair of CTAs none:
///   head = id mod q_heads; kv_head = head / group
///   chunk = id mod chunks; kv_head = (id / chunks) mod kv_heads
static Value buildHeads(KernelContext &k, Coordinates &at, Value id,
                        Value heads, Value kvHeads) {
  if (!k.isPacked()) {
    at.head = k.make<arith::RemUIOp>(id, heads);
    Value batch = k.make<arith::DivUIOp>(id, heads);
    at.kvHead =
        k.make<arith::DivUIOp>(at.head, k.make<arith::DivUIOp>(heads, kvHeads));
    return batch;
  }
  Value group = k.make<arith::DivUIOp>(heads, kvHeads);
  Value packed = k.index(k.plan.packHeads);
  Value ofPair = at.rank ? k.index(headsOfProduct(k)) : packed;
  Value chunks = k.make<arith::CeilDivUIOp>(group, ofPair);
  Value groups = k.make<arith::DivUIOp>(id, chunks);
  at.kvHead = k.make<arith::RemUIOp>(groups, kvHeads);
  at.member = k.make<arith::MulIOp>(k.make<arith::RemUIOp>(id, chunks), ofPair);
  if (at.rank)
    at.member = k.make<arith::AddIOp>(at.member,
                                      k.make<arith::MulIOp>(at.rank, packed));
  at.head =
      k.make<arith::AddIOp>(k.make<arith::MulIOp>(at.kvHead, group), at.member);
  at.count = k.make<arith::SubIOp>(group, at.member);
  return k.make<arith::DivUIOp>(groups, kvHeads);
}

/// Returns the first key of the CTA's first row, i + offset - left.
static Value buildFirstKey(KernelContext &k, const Coordinates &at) {
  Value place = k.make<arith::AddIOp>(at.firstRow, at.offset);
  Value first = k.make<arith::SubIOp>(place, k.index(*k.op.getMask().left));
  first = k.make<arith::MaxSIOp>(first, k.index(0));
  Value block = k.make<arith::DivUIOp>(first, k.index(k.plan.kvBlock));
  return k.make<arith::MulIOp>(block, k.index(k.plan.kvBlock));
}

/// Returns the number of KV blocks. The last row of the CTA, i = min(first +
/// rows, q_len) - 1, sees keys up to i + offset + right, so the CTA needs
/// min(first + rows, q_len) + offset + right keys, and none if that is
/// negative. Without a window the last row is aligned with the last key at
/// most.
static Value buildBlockCount(KernelContext &k, const Coordinates &at,
                             const schedule::Mask &mask) {
  Value keys = at.keys.length;
  if (std::optional<unsigned> right = mask.rightBound()) {
    Value lastSeen = k.make<arith::AddIOp>(
        k.make<arith::MinSIOp>(at.endRow, at.queries.length), at.offset);
    if (*right)
      lastSeen = k.make<arith::AddIOp>(lastSeen, k.index(*right));
    if (*right || mask.isTopLeft())
      lastSeen = k.make<arith::MinSIOp>(lastSeen, at.keys.length);
    keys = lastSeen;
  }
  if (at.firstKey)
    keys = k.make<arith::SubIOp>(keys, at.firstKey);
  if (!mask.isFull())
    keys = k.make<arith::MaxSIOp>(keys, k.index(0));
  // The grid is for the longest sequence; shorter ones have CTAs without rows.
  if (at.queries.start) {
    Value hasRows = arith::CmpIOp::create(k.b, arith::CmpIPredicate::slt,
                                          at.firstRow, at.queries.length);
    keys = arith::SelectOp::create(k.b, hasRows, keys, k.index(0));
  }
  return k.make<arith::CeilDivUIOp>(keys, k.index(k.plan.kvBlock));
}

/// Builds the sequence and blocks of the second KV segment, never packed.
static SecondKeys buildSecond(KernelContext &k, const Coordinates &at) {
  Coordinates own = at;
  own.firstKey = Value();
  Value extent =
      memref::DimOp::create(k.b, k.operand("k2"), int64_t(AttentionOp::Length));
  own.keys =
      buildSequence(k, extent, at.sequence, Value(), k.operand("source2_lens"));
  if (at.keys.start && !own.keys.start)
    own.keys.start = k.index(0);
  const schedule::Mask &mask = k.op.getSource2Mask();
  own.offset = buildOffset(k, own, mask);
  own.blocks = buildBlockCount(k, own, mask);
  // Each split has its share of either segment.
  if (own.split)
    takePart(k, own);
  return {own.keys, own.offset, own.firstKey, own.blocks};
}

/// Builds the place of tile `id`. Tiles are ordered head by head, or by length
/// within each section of heads or of all heads.
static TilePlace buildTilePlace(KernelContext &k, Value id, Value rowBlocks,
                                Value longest) {
  if (laterRowsSeeMore(k) && schedule::sortsTiles(k.problem, k.plan))
    return buildSorted(k, id, rowBlocks);
  bool inSections =
      laterRowsSeeMore(k) && schedule::sectionBytes(k.op.getProblem(), k.plan);
  if (!inSections)
    return {buildRowBlock(k, id, rowBlocks),
            k.make<arith::DivUIOp>(id, rowBlocks)};
  Value keys = k.extent(Key, AttentionOp::Length);
  // If keys are packed, assume that no sequence has more than max_q_len keys.
  if (k.operand("cu_seqlens_k") && k.operand("max_q_len"))
    keys = k.make<arith::MinUIOp>(keys, longest);
  Value group = buildTilesOfGroup(k, k.extent(Query, AttentionOp::Heads),
                                  k.extent(Key, AttentionOp::Heads));
  return buildInSections(k, id, rowBlocks, buildHeadsOfSection(k, keys), group);
}

/// Builds the number of the CTA in its pair, whose CTAs are neighbors in the
/// grid. Sets `id` to the index of the pair.
static void buildRank(KernelContext &k, Coordinates &at, Value &id) {
  if (k.plan.ctaGroup == 1)
    return;
  Value ctas = k.index(k.plan.ctaGroup);
  at.rank = k.make<arith::RemUIOp>(id, ctas);
  id = k.make<arith::DivUIOp>(id, ctas);
}

/// Returns the number of query rows of a product, for each head: those of one
/// tile of both CTAs of a pair, unless they have heads of the same rows.
static int64_t rowsOfProduct(const KernelContext &k) {
  return k.rowsOfTile() *
         schedule::ctasOfRows(k.plan.packHeads, k.plan.ctaGroup);
}
static int64_t rowsOfBlock(const KernelContext &k) {
  return k.plan.qTiles * rowsOfProduct(k);
}

/// Builds the rows of row block `number`. The rows of a product are neighbors,
/// those of the even CTA of a pair first, so that a tile is empty for both or
/// for neither:
///   first row of a tile = number * rows of a block + tile * rows of a product
///   own row of a tile = first row of the tile + rank * rows of a tile
static void buildRows(KernelContext &k, Coordinates &at, Value number) {
  Value first = k.make<arith::MulIOp>(number, k.index(rowsOfBlock(k)));
  Value own;
  if (rowsOfProduct(k) != k.rowsOfTile())
    own = k.make<arith::MulIOp>(at.rank, k.index(k.rowsOfTile()));
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile) {
    Value start =
        k.make<arith::AddIOp>(first, k.index(tile * rowsOfProduct(k)));
    at.firstRows.push_back(start);
    at.rows.push_back(own ? k.make<arith::AddIOp>(start, own) : start);
  }
  at.firstRow = k.plan.qTiles == 1 ? at.firstRows.front() : first;
  at.endRow = k.make<arith::AddIOp>(at.firstRow, k.index(rowsOfBlock(k)));
}

Coordinates fmha::buildCoordinates(KernelContext &k) {
  Coordinates at;
  Value queryRows = k.extent(Query, AttentionOp::Length), longest = queryRows;
  Value keyRows = k.extent(Key, AttentionOp::Length);
  if (Value said = k.operand("max_q_len"))
    longest = arith::IndexCastUIOp::create(k.b, k.b.getIndexType(), said);
  Value heads = k.extent(Query, AttentionOp::Heads);
  Value kvHeads = k.extent(Key, AttentionOp::Heads);
  // The grid is one-dimensional, since only x may exceed 65535.
  Value id = gpu::BlockIdOp::create(k.b, gpu::Dimension::x);
  buildRank(k, at, id);
  buildPass(k, at, id);
  buildSplit(k, at, id);
  Value rowBlocks =
      k.make<arith::CeilDivUIOp>(longest, k.index(rowsOfBlock(k)));
  auto [rowBlock, place] = buildTilePlace(k, id, rowBlocks, longest);
  at.sequence = buildHeads(k, at, place, heads, kvHeads);
  if (schedule::splitsByLength(k.plan))
    takeSlot(k, at);
  at.queries = buildSequence(k, queryRows, at.sequence,
                             k.operand("cu_seqlens_q"), Value());
  at.keys = buildKeys(k, keyRows, at.sequence);
  if (!at.outputBatch)
    at.outputBatch = buildOutputBatch(k, at);
  buildRows(k, at, rowBlock);
  if (k.problem.topk)
    takeListed(k, at);
  // One load serves both segments, so both have the same kind of tensor map.
  if (k.op.getKey2() && k.op.getProblem().kvEndsPerSequence() && !at.keys.start)
    at.keys.start = k.index(0);
  at.offset = buildOffset(k, at, k.op.getMask());
  if (k.problem.kvIndices) {
    at.lists.emplace(k, at.sequence, at.head, at.firstRow, rowsOfBlock(k),
                     at.keys.length);
    at.blocks = at.lists->buildCount(k);
    return at;
  }
  if (k.op.getMask().left)
    at.firstKey = buildFirstKey(k, at);
  at.blocks = buildBlockCount(k, at, k.op.getMask());
  if (at.split)
    takePart(k, at);
  if (k.op.getKey2())
    at.second = buildSecond(k, at);
  return at;
}

tile::ViewPlace fmha::placeOfQueries(KernelContext &k, const Coordinates &at) {
  tile::ViewPlace place;
  place.batch = at.queries.batch;
  place.head = at.head;
  place.count = at.count;
  place.member = at.member;
  if (k.isPacked())
    place.kvHead = at.kvHead;
  place.start = at.queries.start;
  place.length = at.queries.length;
  return place;
}
