//===- KernelBlocks.cpp - The listed blocks of one CTA --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBlocks.h"

using namespace mlir;
using namespace fmha;

static Value compare(KernelContext &k, arith::CmpIPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpIOp::create(k.b, predicate, lhs, rhs);
}

static Value loadExtent(KernelContext &k, const char *operand) {
  return arith::IndexCastUIOp::create(k.b, k.b.getIndexType(),
                                      k.operand(operand));
}

static Value lengthOfLists(KernelContext &k, bool isFull) {
  return loadExtent(k, isFull ? "full_blocks_len" : "blocks_len");
}

/// Computes the place of the CTA's first list in tensors [batch or 1, heads or
/// 1, row blocks], whose extents of 1 are broadcast:
///   place = (min(b, batch - 1) * heads + min(h, heads - 1)) * row blocks
///         + row block
BlockLists::BlockLists(KernelContext &k, Value sequence, Value head,
                       Value firstRow, int64_t rows, Value length) {
  int64_t blockRows = k.problem.blockRows;
  Value one = k.index(1), heads = loadExtent(k, "blocks_heads");
  auto clamped = [&](Value at, Value extent) -> Value {
    return k.make<arith::MinUIOp>(at, k.make<arith::SubIOp>(extent, one));
  };
  rowBlocks = k.make<arith::CeilDivUIOp>(k.extent(Query, AttentionOp::Length),
                                         k.index(blockRows));
  rowBlock = k.make<arith::DivUIOp>(firstRow, k.index(blockRows));
  Value matrix = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(clamped(sequence, loadExtent(k, "blocks_batch")),
                            heads),
      clamped(head, heads));
  place =
      k.make<arith::AddIOp>(k.make<arith::MulIOp>(matrix, rowBlocks), rowBlock);
  blocks = k.make<arith::CeilDivUIOp>(length, k.index(k.problem.blockKeys));
  hasSeveral = rows > blockRows;
  entries = k.index(0);
  for (bool isFull : {false, true})
    for (int64_t n = 0; n == 0 || n * blockRows < rows; ++n)
      if (!isFull || k.problem.fullKvIndices)
        append(k, isFull, n);
}

/// Appends the list of block of rows `index` of the CTA, which is empty if the
/// query has no such block.
void BlockLists::append(KernelContext &k, bool isFull, int64_t index) {
  Value listPlace = place, isThere;
  if (index) {
    Value next = k.make<arith::AddIOp>(rowBlock, k.index(index));
    isThere = compare(k, arith::CmpIPredicate::ult, next, rowBlocks);
    listPlace =
        k.select(isThere, k.make<arith::AddIOp>(place, k.index(index)), place);
  }
  Value entry = memref::LoadOp::create(
      k.b, k.operand(isFull ? "full_kv_num_blocks" : "kv_num_blocks"),
      listPlace);
  Value count = arith::IndexCastOp::create(k.b, k.b.getIndexType(), entry);
  // Counts may be invalid.
  count = k.make<arith::MinSIOp>(k.make<arith::MaxSIOp>(count, k.index(0)),
                                 lengthOfLists(k, isFull));
  if (isThere)
    count = k.select(isThere, count, k.index(0));
  lists.push_back({isFull, index, entries});
  entries = k.make<arith::AddIOp>(entries, count);
}

static int64_t blocksOfEntry(const KernelContext &k) {
  return k.problem.blockKeys / k.plan.kvBlock;
}

Value BlockLists::buildCount(KernelContext &k) const {
  return k.make<arith::MulIOp>(entries, k.index(blocksOfEntry(k)));
}

/// With n KV blocks for each entry:
///   list = the last one that begins at entry number / n or before it
///   row = index of the list's block of rows in the CTA
///   first row = (first block of rows + row) * block_rows
///   entry = (place + row) * length of a list + number / n - begin of the list
///   column = kv_indices[entry] * block_keys + number mod n * kv_block
/// An invalid entry names a block after all keys, so that all its keys are
/// hidden.
ListedBlock BlockLists::buildBlock(KernelContext &k, Value number) const {
  Value each = k.index(blocksOfEntry(k));
  Value entry = k.make<arith::DivUIOp>(number, each);
  Value begin = lists.front().begin, row = k.index(0);
  ListedBlock made;
  for (const List &list : llvm::drop_begin(lists)) {
    Value follows = compare(k, arith::CmpIPredicate::uge, entry, list.begin);
    if (list.isFull && !made.isFull)
      made.isFull = follows;
    begin = k.select(follows, list.begin, begin);
    row = k.select(follows, k.index(list.index), row);
  }
  if (hasSeveral)
    made.firstRow = k.make<arith::MulIOp>(k.make<arith::AddIOp>(rowBlock, row),
                                          k.index(k.problem.blockRows));
  Value list = k.make<arith::AddIOp>(place, row);
  Value inList = k.make<arith::SubIOp>(entry, begin);
  auto entryOf = [&](bool isFull, Value isTaken) -> Value {
    Value first = k.make<arith::MulIOp>(list, lengthOfLists(k, isFull));
    return tile::ListEntryOp::create(
        k.b, k.operand(isFull ? "full_kv_indices" : "kv_indices"),
        k.make<arith::AddIOp>(first, inList), isTaken);
  };
  Value always = arith::ConstantIntOp::create(k.b, 1, 1);
  Value isPartial =
      made.isFull ? k.make<arith::XOrIOp>(made.isFull, always) : always;
  Value block = entryOf(/*isFull=*/false, isPartial);
  if (made.isFull)
    block = k.select(made.isFull, entryOf(/*isFull=*/true, made.isFull), block);
  // As unsigned numbers, negative ones are large.
  block = k.make<arith::MinUIOp>(block, blocks);
  made.column = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(block, k.index(k.problem.blockKeys)),
      k.make<arith::MulIOp>(k.make<arith::RemUIOp>(number, each),
                            k.index(k.plan.kvBlock)));
  return made;
}
