//===- AppendChecks.cpp - Run-time checks of fmha.append ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AppendChecks.h"
#include "CheckedOp.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr EqualExtents appendExtents[] = {
    {"A5", "key_new", 0, "value_new", 0},
    {"A5", "key_new", 1, "value_new", 1},
    {"A5", "key_new", 2, "value_new", 2},
    {"A5", "key_new", 0, "kv_lens", 0},
    {"A5", "key_new", 0, "block_tables", 0},
    {"A5", "key_new", 2, "key_cache", 2},
    {"A5", "key_new", 2, "value_cache", 2},
    {"A5", "key_cache", 0, "value_cache", 0},
    {"A5", "key_cache", 1, "value_cache", 1},
    {"A5", "key_new", 0, "query", 0},
    {"A5", "query", 0, "query_out", 0},
    {"A5", "query", 1, "query_out", 1},
    {"A5", "query", 2, "query_out", 2},
    {"A5", "cos", 0, "sin", 0}};

/// Emits the checks of one op.
class AppendChecker : CheckedOp {
public:
  AppendChecker(OpBuilder &b, AppendOp op, const CheckMessage &message)
      : CheckedOp(b, op, message), pageSize(op.getPageSize()) {
    add("key_new", op.getKeyNew());
    add("value_new", op.getValueNew());
    add("kv_lens", op.getKvLens());
    add("block_tables", op.getBlockTables());
    add("cos", op.getCos());
    add("sin", op.getSin());
    add("query", op.getQuery());
    add("key_cache", op.getKeyCache());
    add("value_cache", op.getValueCache());
    add("query_out", op.getQueryOut());
  }

  void sizes() { extents(appendExtents); }
  void shapes();
  void lists();

private:
  void lengths();
  void rows();
  Value capacity();
  void pagesOf(Value sequence, Value keys);

  unsigned pageSize;
};

} // namespace

/// Returns the maximum number of keys per sequence.
Value AppendChecker::capacity() {
  if (!pageSize)
    return view("key_cache").sizes[1];
  return math.mul(view("block_tables").sizes[1], math.constant(pageSize));
}

/// Checks the limits of lengths: a kernel counts positions in 32 bits.
void AppendChecker::lengths() {
  constexpr int64_t most = (int64_t(1) << 31) - 512;
  for (StringRef name : {"key_new", "query", "key_cache", "cos"})
    if (has(name))
      require(math.compare(Predicate::ule,
                           name == "key_cache" ? capacity()
                           : name == "cos"     ? view(name).sizes[0]
                                               : view(name).sizes[1],
                           math.constant(most)),
              "A5", "a length of " + name + " of at most " + Twine(most));
}

void AppendChecker::rows() {
  for (const auto &[name, operand] : operands) {
    if (operand.view.sizes.size() < 2 || name == "block_tables") {
      contiguous(name, "A8");
      continue;
    }
    denseRows(name, "A8");
  }
}

void AppendChecker::shapes() {
  sizes();
  if (!pageSize)
    requireEqual(view("key_new").sizes[0], view("key_cache").sizes[0], "A5",
                 "dimension 0 of key_cache to equal dimension 0 of key_new");
  lengths();
  rows();
  eachElementOnce("A9");
  apart("A9");
}

/// Checks that the pages of positions that get keys exist:
///   for i from max(keys - n, 0) / size to ceil(keys / size):
///     block_tables[sequence, i] < pages
void AppendChecker::pagesOf(Value sequence, Value keys) {
  Value count = view("key_new").sizes[1];
  Value kept = math.sub(math.max(keys, count), count);
  auto loop = scf::ForOp::create(
      b, op->getLoc(), math.div(kept, math.constant(pageSize)),
      math.select(math.compare(Predicate::eq, count, math.constant(0)),
                  math.constant(0), math.ceilDiv(keys, pageSize)),
      math.constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value page = memref::LoadOp::create(
      b, op->getLoc(), operands.at("block_tables").memref,
      ValueRange{sequence, loop.getInductionVar()});
  page = arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), page);
  require(math.compare(Predicate::ult, page, view("key_cache").sizes[0]), "A10",
          "every entry of block_tables for a page that gets keys to be from 0 "
          "to the number of pages less 1");
}

void AppendChecker::lists() {
  forEachEntry("kv_lens", 0, [&](Value sequence, Value entry) {
    Value keys =
        arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), entry);
    require(math.compare(Predicate::ule, keys, capacity()), "A10",
            "every entry of kv_lens to be from 0 to the number of keys that "
            "the caches hold for a sequence");
    if (has("cos"))
      require(math.compare(Predicate::ule, keys, view("cos").sizes[0]), "A10",
              "no entry of kv_lens above the number of rows of cos and sin");
    if (pageSize)
      pagesOf(sequence, keys);
  });
}

void fmha::checkAppend(OpBuilder &b, AppendOp op, ListContents lists,
                       const CheckMessage &message) {
  AppendChecker checker(b, op, message);
  checker.shapes();
  if (lists == ListContents::Readable)
    checker.lists();
}

void fmha::checkAppendLists(OpBuilder &b, AppendOp op,
                            const CheckMessage &message) {
  AppendChecker checker(b, op, message);
  checker.sizes();
  checker.lists();
}
