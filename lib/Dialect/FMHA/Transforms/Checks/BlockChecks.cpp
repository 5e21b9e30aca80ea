//===- BlockChecks.cpp - Run-time checks of lists of blocks ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockChecks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

static constexpr EqualExtents blockExtentTable[] = {
    {"C36", "kv_num_blocks", 0, "kv_indices", 0},
    {"C36", "kv_num_blocks", 1, "kv_indices", 1},
    {"C36", "kv_num_blocks", 2, "kv_indices", 2},
    {"C36", "kv_num_blocks", 0, "full_kv_num_blocks", 0},
    {"C36", "kv_num_blocks", 1, "full_kv_num_blocks", 1},
    {"C36", "kv_num_blocks", 2, "full_kv_num_blocks", 2},
    {"C36", "full_kv_num_blocks", 0, "full_kv_indices", 0},
    {"C36", "full_kv_num_blocks", 1, "full_kv_indices", 1},
    {"C36", "full_kv_num_blocks", 2, "full_kv_indices", 2}};

/// The counts and the lists of each kind.
static constexpr std::pair<StringLiteral, StringLiteral> kinds[] = {
    {"kv_num_blocks", "kv_indices"}, {"full_kv_num_blocks", "full_kv_indices"}};

void BlockChecks::addBlocks(AttentionOp attention) {
  add("kv_num_blocks", attention.getKvNumBlocks());
  add("kv_indices", attention.getKvIndices());
  add("full_kv_num_blocks", attention.getFullKvNumBlocks());
  add("full_kv_indices", attention.getFullKvIndices());
}

void BlockChecks::blockExtents(AttentionOp attention) {
  if (!has("kv_num_blocks"))
    return;
  const TensorView &counts = view("kv_num_blocks"), &query = view("query");
  for (auto [dimension, ofQuery, name] :
       {std::tuple(0, 0, "the batch"), {1, 2, "the number of heads"}}) {
    Value size = counts.sizes[dimension];
    Value isOne = math.compare(Predicate::eq, size, math.constant(1));
    Value isOwn = math.compare(Predicate::eq, size, query.sizes[ofQuery]);
    require(math.either(isOne, isOwn), "C36",
            "dimension " + Twine(dimension) + " of kv_num_blocks to be 1 or " +
                name + " of query");
  }
  int64_t rows = *attention.getBlockRows();
  requireEqual(counts.sizes[2], math.ceilDiv(query.sizes[1], rows), "C36",
               "kv_num_blocks to have an entry for every " + Twine(rows) +
                   " rows of query");
  extents(blockExtentTable);
}

void BlockChecks::blockShapes() {
  for (auto [counts, lists] : kinds)
    for (StringRef name : {counts, lists}) {
      contiguous(name, "C36");
      if (!has(name))
        continue;
      Value elements = math.constant(1);
      for (Value size : view(name).sizes)
        elements = math.mul(elements, size);
      require(math.compare(Predicate::ult, elements,
                           math.constant(int64_t(1) << 31)),
              "C36", name + " to have less than 2^31 elements");
    }
}

/// Checks the lists of one kind:
///   for b: for h: for r: counts[b, h, r] <= n
///     for e < counts[b, h, r]: lists[b, h, r, e] < blocks
void BlockChecks::entriesOf(StringRef counts, StringRef lists, Value blocks) {
  Location location = op->getLoc();
  SmallVector<Value> place;
  OpBuilder::InsertionGuard guard(b);
  auto loop = [&](Value end) {
    auto made = scf::ForOp::create(b, location, math.constant(0), end,
                                   math.constant(1));
    b.setInsertionPointToStart(made.getBody());
    place.push_back(made.getInductionVar());
  };
  // A negative number is very large.
  auto entry = [&](StringRef name) -> Value {
    Value loaded = memref::LoadOp::create(
        b, location, operands.at(name.str()).memref, place);
    return arith::IndexCastOp::create(b, location, b.getIndexType(), loaded);
  };
  for (Value size : view(counts).sizes)
    loop(size);
  Value count = entry(counts);
  require(math.compare(Predicate::ule, count, view(lists).sizes[3]), "C36",
          "every entry of " + counts +
              " to be from 0 to the length of a list "
              "of " +
              lists);
  loop(count);
  require(math.compare(Predicate::ult, entry(lists), blocks), "C36",
          "every counted entry of " + lists +
              " to be from 0 to the number of blocks of keys less 1");
}

void BlockChecks::blockEntries(AttentionOp attention) {
  if (!has("kv_num_blocks"))
    return;
  Value blocks =
      math.ceilDiv(view("key").sizes[1], int64_t(*attention.getBlockKeys()));
  for (auto [counts, lists] : kinds)
    if (has(counts))
      entriesOf(counts, lists, blocks);
}
