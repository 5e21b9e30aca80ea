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

static Value number(KernelContext &k, const char *operand) {
  return arith::IndexCastUIOp::create(k.b, k.b.getIndexType(),
                                      k.operand(operand));
}

/// Lists are those of tensors [batch or 1, heads or 1, row blocks], whose
/// extents of 1 are broadcast:
///   first block = (min(b, batch - 1) * heads + min(h, heads - 1)) * row blocks
BlockLists::BlockLists(KernelContext &k, Value sequence, Value head,
                       Value firstRow, int64_t rows, Value length) {
  int64_t blockRows = k.problem.blockRows;
  Value one = k.index(1), heads = number(k, "blocks_heads");
  auto clamped = [&](Value at, Value extent) -> Value {
    return k.make<arith::MinUIOp>(at, k.make<arith::SubIOp>(extent, one));
  };
  Value rowBlocks = k.make<arith::CeilDivUIOp>(
      k.extent(Query, AttentionOp::Length), k.index(blockRows));
  Value matrix = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(clamped(sequence, number(k, "blocks_batch")),
                            heads),
      clamped(head, heads));
  firstBlock = k.make<arith::MulIOp>(matrix, rowBlocks);
  blocks = k.make<arith::CeilDivUIOp>(length, k.index(k.problem.blockKeys));
  entries = k.index(0);
  Value rowBlock = k.make<arith::DivUIOp>(firstRow, k.index(blockRows));
  for (bool isFull : {false, true}) {
    if (isFull && !k.problem.fullKvIndices)
      break;
    append(k, isFull, rowBlock, Value());
    for (int64_t n = 1; n * blockRows < rows; ++n) {
      Value next = k.make<arith::AddIOp>(rowBlock, k.index(n));
      append(k, isFull, clamped(next, rowBlocks),
             compare(k, arith::CmpIPredicate::ult, next, rowBlocks));
    }
  }
  if (rows > blockRows)
    return;
  for (List &list : lists)
    list.firstRow = Value();
}

/// Appends the list of a row block; an empty one unless `isThere` holds, which
/// is null if it always does.
void BlockLists::append(KernelContext &k, bool isFull, Value rowBlock,
                        Value isThere) {
  Value place = k.make<arith::AddIOp>(firstBlock, rowBlock);
  Value most = number(k, isFull ? "full_blocks_len" : "blocks_len");
  Value entry = memref::LoadOp::create(
      k.b, k.operand(isFull ? "full_kv_num_blocks" : "kv_num_blocks"), place);
  Value count = arith::IndexCastOp::create(k.b, k.b.getIndexType(), entry);
  // Counts may be invalid.
  count =
      k.make<arith::MinSIOp>(k.make<arith::MaxSIOp>(count, k.index(0)), most);
  if (isThere)
    count = k.select(isThere, count, k.index(0));
  Value first = k.make<arith::MulIOp>(place, most);
  Value firstRow =
      k.make<arith::MulIOp>(rowBlock, k.index(k.problem.blockRows));
  lists.push_back(
      {isFull, entries, k.make<arith::SubIOp>(first, entries), firstRow});
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
///   block = kv_indices[number / n + shift of the list]
///   column = block * block_keys + number mod n * kv_block
/// An invalid entry stands for a block after all keys.
ListedBlock BlockLists::buildBlock(KernelContext &k, Value number) const {
  Value each = k.index(blocksOfEntry(k));
  Value entry = k.make<arith::DivUIOp>(number, each);
  Value shift = lists.front().shift, fullShift;
  ListedBlock made;
  made.firstRow = lists.front().firstRow;
  for (const List &list : llvm::drop_begin(lists)) {
    Value follows = compare(k, arith::CmpIPredicate::uge, entry, list.begin);
    Value &own = list.isFull ? fullShift : shift;
    if (list.isFull && !made.isFull)
      made.isFull = follows;
    own = own ? k.select(follows, list.shift, own) : list.shift;
    if (made.firstRow)
      made.firstRow = k.select(follows, list.firstRow, made.firstRow);
  }
  auto entryOf = [&](const char *tensor, Value shift, Value isTaken) -> Value {
    return tile::ListEntryOp::create(
        k.b, k.operand(tensor), k.make<arith::AddIOp>(entry, shift), isTaken);
  };
  Value always = arith::ConstantIntOp::create(k.b, 1, 1);
  Value isPartial =
      made.isFull ? k.make<arith::XOrIOp>(made.isFull, always) : always;
  Value block = entryOf("kv_indices", shift, isPartial);
  if (made.isFull)
    block = k.select(made.isFull,
                     entryOf("full_kv_indices", fullShift, made.isFull), block);
  // As unsigned numbers, negative ones are large.
  block = k.make<arith::MinUIOp>(block, blocks);
  made.column = k.make<arith::AddIOp>(
      k.make<arith::MulIOp>(block, k.index(k.problem.blockKeys)),
      k.make<arith::MulIOp>(k.make<arith::RemUIOp>(number, each),
                            k.index(k.plan.kvBlock)));
  return made;
}
