//===- LaunchChecks.cpp - Constraints that depend on run-time values ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"
#include "AppendChecks.h"
#include "BlockChecks.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/IndexMath.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "fmha/Schedule/Model/FmaThreads.h"
#include "fmha/Schedule/Plan/Families.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr EqualExtents attentionExtents[] = {
    {"C8", "query", 0, "output", 0},       {"C8", "key", 0, "value", 0},
    {"C9", "key", 1, "value", 1},          {"C10", "key", 2, "value", 2},
    {"C11", "query", 1, "output", 1},      {"C11", "query", 2, "output", 2},
    {"C13", "query", 0, "lse", 0},         {"C13", "query", 2, "lse", 1},
    {"C13", "query", 1, "lse", 2},         {"C13", "query", 0, "row_max", 0},
    {"C13", "query", 2, "row_max", 1},     {"C13", "query", 1, "row_max", 2},
    {"C13", "query", 0, "row_sum", 0},     {"C13", "query", 2, "row_sum", 1},
    {"C13", "query", 1, "row_sum", 2},     {"C24", "query", 2, "sink", 0},
    {"C28", "key", 2, "key2", 2},          {"C28", "key2", 2, "value2", 2},
    {"C28", "key2", 1, "value2", 1},       {"C28", "key2", 0, "value2", 0},
    {"C33", "query", 0, "key_new", 0},     {"C33", "query", 0, "value_new", 0},
    {"C33", "key", 2, "key_new", 2},       {"C33", "key", 2, "value_new", 2},
    {"C33", "query", 3, "key_new", 3},     {"C33", "value", 3, "value_new", 3},
    {"C33", "key_new", 1, "value_new", 1}, {"C34", "query", 0, "topk", 0},
    {"C34", "query", 1, "topk", 1},        {"C35", "cos", 0, "sin", 0}};

constexpr EqualExtents mergeExtents[] = {
    {"M5", "output", 0, "parts", 1},   {"M5", "output", 1, "parts", 2},
    {"M5", "output", 2, "parts", 3},   {"M5", "parts", 0, "maxima", 0},
    {"M5", "output", 0, "maxima", 1},  {"M5", "output", 2, "maxima", 2},
    {"M5", "output", 1, "maxima", 3},  {"M5", "parts", 0, "sums", 0},
    {"M5", "output", 0, "sums", 1},    {"M5", "output", 2, "sums", 2},
    {"M5", "output", 1, "sums", 3},    {"M5", "output", 0, "lse", 0},
    {"M5", "output", 2, "lse", 1},     {"M5", "output", 1, "lse", 2},
    {"M5", "output", 0, "row_max", 0}, {"M5", "output", 2, "row_max", 1},
    {"M5", "output", 1, "row_max", 2}, {"M5", "output", 0, "row_sum", 0},
    {"M5", "output", 2, "row_sum", 1}, {"M5", "output", 1, "row_sum", 2},
    {"M5", "output", 2, "sink", 0}};

/// Checks of extents, strides and addresses.
class ShapeChecks : protected BlockChecks {
protected:
  using BlockChecks::BlockChecks;
  void heads();
  void sequences();
  void lengths(bool isWindowed);
  void rowsForTma(StringRef name, StringRef strideRule, StringRef offsetRule);
  void newKeys(AttentionOp attention);
  void listShape();
  void captures(AttentionOp attention);
  void scales(AttentionOp attention);
};

/// Checks of entries in memory.
class EntryChecks : protected ShapeChecks {
protected:
  using ShapeChecks::ShapeChecks;
  Value maxKeys();
  void starts(StringRef name, Value length);
  void counts(StringRef name, Value most);
  void positions();
  void pages();
  void listed();
  void finiteSink(StringRef rule);
};

/// Emits the checks of one op.
class Checker : EntryChecks {
public:
  Checker(OpBuilder &b, Operation *op, const CheckMessage &message)
      : EntryChecks(b, op, message) {}

  void check(AttentionOp attention, ListContents lists);
  void check(MergeOp merge, ListContents lists);
  void checkLists(AttentionOp attention);
  void checkLists(MergeOp merge);

private:
  void addAll(AttentionOp attention);
  void contents(AttentionOp attention);
};

} // namespace

void ShapeChecks::heads() {
  Value queryHeads = view("query").sizes[2], keyHeads = view("key").sizes[2];
  Value rest = math.rem(queryHeads, math.max(keyHeads, math.constant(1)));
  Value isPositive = math.compare(Predicate::ne, keyHeads, math.constant(0));
  Value isMultiple = math.compare(Predicate::eq, rest, math.constant(0));
  require(math.both(isPositive, isMultiple), "C12",
          "the number of query heads to be a multiple of a positive number of "
          "KV heads");
}

/// Checks that all operands have the same number of sequences.
void ShapeChecks::sequences() {
  Value one = math.constant(1);
  auto entries = [&](StringRef name, Value extra) {
    return math.sub(view(name).sizes[0], extra);
  };
  for (StringRef name : {"cu_seqlens_q", "cu_seqlens_k"})
    if (has(name))
      require(math.compare(Predicate::uge, view(name).sizes[0], one), "C23",
              name + " to have one entry more than there are sequences");
  bool isPackedQ = has("cu_seqlens_q"), isPackedK = has("cu_seqlens_k");
  Value count =
      isPackedQ ? entries("cu_seqlens_q", one) : view("query").sizes[0];
  if (isPackedQ)
    requireEqual(view("query").sizes[0], one, "C8",
                 "the batch of query, which is packed, to be 1");
  if (isPackedK)
    requireEqual(view("key").sizes[0], one, "C8",
                 "the batch of key, which is packed, to be 1");
  Value ofKeys =
      isPackedK ? entries("cu_seqlens_k", one) : view("key").sizes[0];
  if (has("block_tables"))
    requireEqual(count, view("block_tables").sizes[0], "C30",
                 "block_tables to have one row per sequence");
  else
    requireEqual(count, ofKeys, isPackedK ? "C23" : "C8",
                 "as many sequences of keys as of queries");
  Value none = math.constant(0);
  if (has("kv_lens"))
    requireEqual(count, entries("kv_lens", none), "C23",
                 "kv_lens to have one entry per sequence");
  if (has("source2_lens"))
    requireEqual(count, entries("source2_lens", none), "C28",
                 "source2_lens to have one entry per sequence");
  if (has("key2"))
    requireEqual(count, view("key2").sizes[0], "C28",
                 "key2 to have one batch per sequence");
}

/// Checks the limits of lengths: a kernel counts rows in 32 bits and rounds up
/// to its tiles, and the sum of a row and a bound of the window must fit as
/// well.
void ShapeChecks::lengths(bool isWindowed) {
  int64_t most = (int64_t(1) << (isWindowed ? 30 : 31)) - 512;
  int64_t size =
      has("block_tables") ? knownNumber(view("key").sizes[1]).value() : 1;
  for (StringRef name : {"query", "key", "key2", "cos"})
    if (has(name))
      require(math.compare(Predicate::ule,
                           name == "key" && has("block_tables")
                               ? view("block_tables").sizes[1]
                               : view(name).sizes[name == "cos" ? 0 : 1],
                           math.constant(name == "key" ? most / size : most)),
              "C29",
              "a length of " + name + " of at most " + Twine(most) +
                  "; split the sequence");
}

/// Checks that TMA can address the rows: they are contiguous and begin at
/// multiples of 16 bytes.
void ShapeChecks::rowsForTma(StringRef name, StringRef strideRule,
                             StringRef offsetRule) {
  if (!has(name))
    return;
  const TensorView &tensor = view(name);
  Value unit = math.constant(16), zero = math.constant(0);
  Value bytes = math.constant(tensor.elementBytes);
  Value limit = math.constant(int64_t(1) << 40);
  unsigned last = tensor.sizes.size() - 1;
  requireEqual(tensor.strides[last], math.constant(1),
               strideRule == "C17" ? "C16" : strideRule,
               "the head dim of " + name +
                   " to be contiguous; copy it to a separate buffer");
  for (unsigned n = 0; n < last; ++n) {
    Value stride = math.mul(tensor.strides[n], bytes);
    Value fits =
        math.both(math.compare(Predicate::eq, math.rem(stride, unit), zero),
                  math.compare(Predicate::ult, stride, limit));
    Value isOne =
        math.compare(Predicate::ule, tensor.sizes[n], math.constant(1));
    require(math.either(isOne, fits), strideRule,
            "the stride of dimension " + Twine(n) + " of " + name +
                " to be a multiple of 16 bytes, at least 0 and less than 2^40; "
                "copy it to a buffer with such strides");
  }
  requireEqual(math.rem(tensor.address, unit), zero, offsetRule,
               "the address of " + name +
                   " to be a multiple of 16 bytes; allocate it with an "
                   "alignment of 16, or copy it");
}

/// Checks topk, whose entries a kernel counts in 32 bits.
void ShapeChecks::listShape() {
  contiguous("topk", "C34");
  if (!has("topk"))
    return;
  Value elements = math.constant(1);
  for (Value size : view("topk").sizes)
    elements = math.mul(elements, size);
  require(
      math.compare(Predicate::ult, elements, math.constant(int64_t(1) << 31)),
      "C34", "topk to have less than 2^31 elements");
}

/// Checks the number of new keys, which the CTAs of queries append.
void ShapeChecks::newKeys(AttentionOp attention) {
  if (!has("key_new"))
    return;
  Value count = view("key_new").sizes[1], zero = math.constant(0);
  require(math.compare(Predicate::ule, count,
                       math.constant(schedule::FmaThreads::mostNewKeys)),
          "C33",
          "at most " + Twine(schedule::FmaThreads::mostNewKeys) + " new keys");
  Value none = math.compare(Predicate::eq, count, zero);
  Value queries = math.mul(view("query").sizes[1], view("query").sizes[2]);
  require(math.either(none, math.compare(Predicate::ne, queries, zero)), "C33",
          "queries with key_new, whose CTAs append; append by fmha.append, or "
          "write the caches by other ops");
  ScheduleAttr plan = attention.getScheduleAttr();
  if (!plan || schedule::readsNewKeys(plan.getValue()))
    return;
  // A CTA of tensor cores has all rows that see a new key.
  int64_t rows = int64_t(plan.getValue().qTiles) *
                 schedule::queriesOfTile(plan.getValue()),
          heads = plan.getValue().packHeads;
  Value group = math.div(view("query").sizes[2],
                         math.max(view("key").sizes[2], math.constant(1)));
  Value fits = math.both(
      math.compare(Predicate::ule, view("query").sizes[1], math.constant(rows)),
      math.compare(Predicate::ule, group, math.constant(heads)));
  require(math.either(none, fits), "C33",
          "at most " + Twine(rows) + " queries and " + Twine(heads) +
              " query heads of a KV head with key_new, as the schedule has in "
              "a CTA; append by fmha.append, or write the caches by other ops");
}

/// Checks the numbers of scales.
void ShapeChecks::scales(AttentionOp attention) {
  Value count = math.constant(1);
  std::string why = "one entry";
  if (attention.getScalePerHead()) {
    count = view("key").sizes[2];
    why = "an entry per KV head";
  } else if (attention.getScalePerPage()) {
    count = view("key").sizes[0];
    why = "an entry per page of key";
  }
  for (StringRef name : {"k_scale", "v_scale"})
    if (has(name))
      requireEqual(view(name).sizes[0], count, "C32", name + " to have " + why);
  if (has("q_scale"))
    requireEqual(view("q_scale").sizes[0], math.constant(1), "C32",
                 "q_scale to have one entry");
}

/// Checks the captures, which the region reads only if there are rows and keys.
void ShapeChecks::captures(AttentionOp attention) {
  for (auto [n, source] : llvm::enumerate(attention.getCaptures())) {
    std::string name = "capture " + std::to_string(n);
    const TensorView &tensor = view(name);
    if (tensor.sizes.empty())
      continue;
    Value isEmpty =
        math.compare(Predicate::eq, view("key").sizes[1], math.constant(0));
    for (StringRef rows : {"query"})
      for (Value size : view(rows).sizes)
        isEmpty = math.either(
            isEmpty, math.compare(Predicate::eq, size, math.constant(0)));
    Value hasElements = arith::ConstantIntOp::create(b, op->getLoc(), 1, 1);
    for (Value size : tensor.sizes)
      hasElements = math.both(
          hasElements, math.compare(Predicate::ne, size, math.constant(0)));
    require(math.either(isEmpty, hasElements), "C26",
            name + " to have elements");
    requireEqual(tensor.strides.back(), math.constant(1), "C26",
                 "the rows of " + name + " to be contiguous");
  }
}

//===----------------------------------------------------------------------===//
// The entries of varlen metadata
//===----------------------------------------------------------------------===//

/// Returns the maximum number of keys per sequence.
Value EntryChecks::maxKeys() {
  Value rows = view("key").sizes[1];
  return has("block_tables") ? math.mul(view("block_tables").sizes[1], rows)
                             : rows;
}

/// Checks that the entries of cu_seqlens begin with 0, never decrease, and do
/// not exceed `length`.
void EntryChecks::starts(StringRef name, Value length) {
  requireEqual(loadCount(name, math.constant(0)), math.constant(0), "C23",
               "the first entry of " + name + " to be 0");
  forEachEntry(name, 1, [&](Value index, Value entry) {
    Value start = math.b.createOrFold<arith::IndexCastOp>(
        op->getLoc(), b.getIndexType(), entry);
    Value before = loadCount(name, math.sub(index, math.constant(1)));
    require(math.compare(Predicate::uge, start, before), "C23",
            "no entry of " + name + " below the one before it");
    require(math.compare(Predicate::ule, start, length), "C23",
            "no entry of " + name + " above the total length");
  });
}

/// Checks that the entries of kv_lens and source2_lens are between 0 and the
/// number of keys.
void EntryChecks::counts(StringRef name, Value most) {
  forEachEntry(name, 0, [&](Value index, Value entry) {
    Value limit = most;
    if (name == "kv_lens" && has("cu_seqlens_k"))
      limit =
          math.sub(loadCount("cu_seqlens_k", math.add(index, math.constant(1))),
                   loadCount("cu_seqlens_k", index));
    Value count = math.b.createOrFold<arith::IndexCastOp>(
        op->getLoc(), b.getIndexType(), entry);
    require(math.compare(Predicate::ule, count, limit),
            name == "kv_lens" ? "C23" : "C28",
            "every entry of " + name + " to be from 0 to the number of keys");
  });
}

/// Checks that all positions of a sequence have angles.
void EntryChecks::positions() {
  forEachEntry("kv_lens", 0, [&](Value, Value entry) {
    Value keys =
        arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), entry);
    require(math.compare(Predicate::ule, keys, view("cos").sizes[0]), "C35",
            "no entry of kv_lens above the number of rows of cos and sin");
  });
}

/// Checks that the pages in which sequences have keys exist:
///   for b: for i < ceil(kv_lens[b] / page_size): block_tables[b, i] < pages
void EntryChecks::pages() {
  Value count = view("key").sizes[0];
  int64_t size = knownNumber(view("key").sizes[1]).value();
  forEachEntry("kv_lens", 0, [&](Value sequence, Value entry) {
    Value keys =
        arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), entry);
    auto loop = scf::ForOp::create(b, op->getLoc(), math.constant(0),
                                   math.ceilDiv(keys, size), math.constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value page = memref::LoadOp::create(
        b, op->getLoc(), operands.at("block_tables").memref,
        ValueRange{sequence, loop.getInductionVar()});
    page = arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), page);
    require(math.compare(Predicate::ult, page, count), "C30",
            "every entry of block_tables for a page with keys to be from 0 to "
            "the number of pages less 1");
  });
}

/// Checks the positions that lists name:
///   for b: for i: for n: topk[b, i, ..n] has a -1 or topk[b, i, n] < keys
void EntryChecks::listed() {
  Location location = op->getLoc();
  const TensorView &lists = view("topk");
  SmallVector<Value> place;
  OpBuilder::InsertionGuard guard(b);
  auto loop = [&](unsigned dimension, ValueRange initial = {}) {
    auto made =
        scf::ForOp::create(b, location, math.constant(0),
                           lists.sizes[dimension], math.constant(1), initial);
    b.setInsertionPointToStart(made.getBody());
    place.push_back(made.getInductionVar());
    return made;
  };
  loop(0);
  Value keys = has("kv_lens") ? loadCount("kv_lens", place[0]) : maxKeys();
  loop(1);
  auto entries =
      loop(2, arith::ConstantIntOp::create(b, location, 0, 1)->getResults());
  Value entry =
      memref::LoadOp::create(b, location, operands.at("topk").memref, place);
  Value isEnd =
      arith::CmpIOp::create(b, location, Predicate::eq, entry,
                            arith::ConstantIntOp::create(b, location, -1, 32));
  Value ended = math.either(entries.getRegionIterArg(0), isEnd);
  Value position =
      arith::IndexCastOp::create(b, location, b.getIndexType(), entry);
  require(
      math.either(ended, math.compare(Predicate::ult, position, keys)), "C34",
      "every entry of topk before the first -1 of its list to be from 0 to the "
      "number of keys less 1");
  scf::YieldOp::create(b, location, ended);
}

void EntryChecks::finiteSink(StringRef rule) {
  forEachEntry("sink", 0, [&](Value, Value entry) {
    Value infinity = arith::ConstantOp::create(
        b, op->getLoc(),
        b.getFloatAttr(b.getF32Type(), APFloat::getInf(APFloat::IEEEsingle())));
    require(arith::CmpFOp::create(b, op->getLoc(), arith::CmpFPredicate::OLT,
                                  entry, infinity),
            rule, "every entry of sink to be a number below infinity");
  });
}

//===----------------------------------------------------------------------===//
// The rules of an op
//===----------------------------------------------------------------------===//

void Checker::addAll(AttentionOp attention) {
  add("query", attention.getQuery());
  add("key", attention.getKey());
  add("value", attention.getValue());
  add("output", attention.getOutput());
  add("lse", attention.getLse());
  add("row_max", attention.getRowMax());
  add("row_sum", attention.getRowSum());
  add("kv_lens", attention.getKvLens());
  add("cu_seqlens_q", attention.getCuSeqlensQ());
  add("cu_seqlens_k", attention.getCuSeqlensK());
  add("sink", attention.getSink());
  add("key2", attention.getKey2());
  add("value2", attention.getValue2());
  add("source2_lens", attention.getSource2Lens());
  add("block_tables", attention.getBlockTables());
  add("topk", attention.getTopk());
  addBlocks(attention);
  add("k_scale", attention.getKScale());
  add("v_scale", attention.getVScale());
  add("q_scale", attention.getQScale());
  add("key_new", attention.getKeyNew());
  add("value_new", attention.getValueNew());
  add("cos", attention.getCos());
  add("sin", attention.getSin());
  for (auto [n, source] : llvm::enumerate(attention.getCaptures()))
    add("capture " + std::to_string(n), source);
}

void Checker::contents(AttentionOp attention) {
  if (has("cu_seqlens_q"))
    starts("cu_seqlens_q", view("query").sizes[1]);
  if (has("cu_seqlens_k"))
    starts("cu_seqlens_k", view("key").sizes[1]);
  if (has("kv_lens"))
    counts("kv_lens", maxKeys());
  if (has("cos"))
    positions();
  if (has("block_tables"))
    pages();
  if (has("topk"))
    listed();
  blockEntries(attention);
  if (has("source2_lens"))
    counts("source2_lens", view("key2").sizes[1]);
  if (has("sink"))
    finiteSink("C24");
}

void Checker::check(AttentionOp attention, ListContents lists) {
  addAll(attention);
  extents(attentionExtents);
  heads();
  sequences();
  blockExtents(attention);
  schedule::Mask mask = attention.getMask();
  lengths(mask.left || mask.right || has("key2") || has("kv_indices"));
  newKeys(attention);
  for (StringRef name : {"cos", "sin"})
    denseRows(name, "C35");
  for (StringRef name : {"query", "key", "value", "output", "key2", "value2",
                         "key_new", "value_new"})
    rowsForTma(name, "C17", "C18");
  for (StringRef name :
       {"kv_lens", "cu_seqlens_q", "cu_seqlens_k", "source2_lens"})
    contiguous(name, "C22");
  contiguous("sink", "C24");
  contiguous("block_tables", "C30");
  listShape();
  blockShapes();
  for (StringRef name : {"k_scale", "v_scale", "q_scale"})
    contiguous(name, "C32");
  scales(attention);
  captures(attention);
  eachElementOnce("C21");
  apart("C21");
  if (lists == ListContents::Readable)
    contents(attention);
}

void Checker::checkLists(AttentionOp attention) {
  addAll(attention);
  sequences();
  blockExtents(attention);
  contents(attention);
}

void Checker::checkLists(MergeOp merge) {
  add("sink", merge.getSink());
  if (has("sink"))
    finiteSink("M6");
}

void Checker::check(MergeOp merge, ListContents lists) {
  add("parts", merge.getParts());
  add("maxima", merge.getMaxima());
  add("sums", merge.getSums());
  add("sink", merge.getSink());
  add("output", merge.getOutput());
  add("lse", merge.getLse());
  add("row_max", merge.getRowMax());
  add("row_sum", merge.getRowSum());
  extents(mergeExtents);
  rowsForTma("parts", "M6", "M6");
  rowsForTma("output", "M6", "M6");
  contiguous("sink", "M6");
  eachElementOnce("M7");
  apart("M7");
  if (has("sink") && lists == ListContents::Readable)
    finiteSink("M6");
}

std::string fmha::launchCheckMessage(Operation *op, StringRef text) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << place.getFilename().getValue() << ':' << place.getLine() << ':'
           << place.getColumn() << ": ";
  stream << op->getName() << ": " << text;
  return message;
}

void fmha::assertRule(OpBuilder &b, Operation *op, Value condition,
                      StringRef rule, const Twine &expected,
                      const CheckMessage &message) {
  if (knownNumber(condition).value_or(0))
    return;
  cf::AssertOp::create(b, op->getLoc(), condition,
                       message(op, ("(" + op->getName().stripDialect() + "." +
                                    rule + ") expected " + expected)
                                       .str()));
}

void fmha::generateLaunchChecks(OpBuilder &b, Operation *op, ListContents lists,
                                const CheckMessage &message) {
  if (auto append = dyn_cast<AppendOp>(op))
    return checkAppend(b, append, lists, message);
  Checker checker(b, op, message);
  if (auto attention = dyn_cast<AttentionOp>(op))
    checker.check(attention, lists);
  else
    checker.check(cast<MergeOp>(op), lists);
}

void fmha::generateListChecks(OpBuilder &b, Operation *op) {
  CheckMessage message = launchCheckMessage;
  if (auto append = dyn_cast<AppendOp>(op))
    return checkAppendLists(b, append, message);
  Checker checker(b, op, message);
  if (auto attention = dyn_cast<AttentionOp>(op))
    checker.checkLists(attention);
  else
    checker.checkLists(cast<MergeOp>(op));
}

namespace {
template <typename OpTy>
struct RuntimeVerification
    : RuntimeVerifiableOpInterface::ExternalModel<RuntimeVerification<OpTy>,
                                                  OpTy> {
  void generateRuntimeVerification(
      Operation *op, OpBuilder &builder, Location,
      function_ref<std::string(Operation *, StringRef)> message) const {
    if (cast<DestinationStyleOpInterface>(op).hasPureBufferSemantics())
      generateLaunchChecks(
          builder, op, ListContents::Readable,
          [&](Operation *op, StringRef text) { return message(op, text); });
  }
};
} // namespace

void fmha::registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FMHADialect *) {
    context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                         memref::MemRefDialect, scf::SCFDialect>();
    AttentionOp::attachInterface<RuntimeVerification<AttentionOp>>(*context);
    AppendOp::attachInterface<RuntimeVerification<AppendOp>>(*context);
    MergeOp::attachInterface<RuntimeVerification<MergeOp>>(*context);
  });
}
