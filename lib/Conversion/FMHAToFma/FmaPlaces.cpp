//===- FmaPlaces.cpp - Where the rows of an fma kernel are ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaPlaces.h"
#include "Threads/ShareCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fmha;

/// The dynamic shared memory of all kernels of a module.
static constexpr StringLiteral sharedSymbol = "fmha_shared_memory";
static constexpr unsigned sharedSpace = 3;

static LLVM::GlobalOp sharedMemoryOf(gpu::GPUModuleOp module) {
  if (auto made = module.lookupSymbol<LLVM::GlobalOp>(sharedSymbol))
    return made;
  OpBuilder b = OpBuilder::atBlockBegin(&module.getBodyRegion().front());
  return LLVM::GlobalOp::create(
      b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
      /*isConstant=*/false, LLVM::Linkage::External, sharedSymbol, Attribute(),
      /*alignment=*/16, sharedSpace);
}

FmaPlaces::FmaPlaces(LLVM::LLVMFuncOp func, AttentionOp op)
    : FmaVectors(func, kernelParameters(schedule::kernelProblem(
                                            op.getProblem(),
                                            op.getScheduleAttr().getValue()),
                                        op.getScheduleAttr().getValue())),
      plan(op.getScheduleAttr().getValue()),
      problem(schedule::kernelProblem(op.getProblem(), plan)),
      all(problem, plan), map(schedule::layOut(problem, plan)),
      scale(op.getScaleOrDefault()), element(op.getElementType()),
      keyElement(op.getKey().getType().getElementType()),
      outElement(problem.outF32 ? Type(b.getF32Type())
                                : op.getOutput().getType().getElementType()) {
  auto global = sharedMemoryOf(func->getParentOfType<gpu::GPUModuleOp>());
  sharedBase = LLVM::AddressOfOp::create(b, global);
}

Value FmaPlaces::loadNumber(const std::string &list, Value index) {
  Value address = elementAt(parameter(list), wide(index), b.getI32Type());
  return LLVM::LoadOp::create(b, b.getI32Type(), address);
}

/// Decodes the one-dimensional grid: queries, heads, batch, parts.
void FmaPlaces::decodeGrid() {
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value rest = NVVM::BlockIdXOp::create(b, b.getI32Type());
  auto next = [&](Value count) {
    Value digit = make<arith::RemUIOp>(rest, count);
    rest = make<arith::DivUIOp>(rest, count);
    return digit;
  };
  Value heads = parameter("kv_heads");
  group = make<arith::DivUIOp>(parameter("q_heads"), heads);
  query = next(parameter("q_len"));
  Value pack = i32(all.rows);
  Value chunk = next(make<arith::CeilDivUIOp>(group, pack));
  firstMember = times(chunk, pack);
  kvHead = next(heads);
  part = i32(0);
  batch = outputBatch = rest;
  if (!problem.isPart)
    return;
  Value sequences = parameter("batch");
  if (schedule::splitsByLength(plan)) {
    ShareCode shares(b, parameter("kv_lens"), sequences, plan.splits,
                     plan.kvBlock);
    ShareCode::Slot slot = shares.slotOf(outputBatch);
    batch = slot.sequence;
    part = slot.part;
    parts = slot.parts;
    return;
  }
  batch = make<arith::RemUIOp>(outputBatch, sequences);
  part = make<arith::DivUIOp>(outputBatch, sequences);
  parts = i32(plan.splits);
}

/// Returns the keys of the sequence, in range since metadata may be invalid.
Value FmaPlaces::keysOfSequence() {
  Value length = parameter("kv_len");
  if (!problem.kvLens)
    return length;
  Value listed = loadNumber("kv_lens", batch);
  if (problem.keyNew)
    firstNew = make<arith::SubIOp>(listed, parameter("new_len"));
  if (problem.rotates())
    firstQuery = make<arith::SubIOp>(listed, parameter("q_len"));
  Value own = make<arith::MaxSIOp>(listed, i32(0));
  if (problem.blockTables) {
    // A cache without pages has no keys, whatever the lists say.
    Value none = compare(arith::CmpIPredicate::eq, parameter("pages"), i32(0));
    own = select(none, i32(0), own);
  }
  return make<arith::MinSIOp>(own, length);
}

/// Emits the number of entries before the first negative one. Each lane reads
/// every 32nd entry; lanes after the last entry read the last one.
Value FmaPlaces::keysOfList() {
  constexpr unsigned lanes = 32;
  Value most = parameter("topk_len");
  Value lane = make<arith::RemUIOp>(thread, i32(lanes));
  Value last = make<arith::SubIOp>(most, i32(1));
  Value found = loop(i32(0), most, lanes, most, [&](Value at, Value sofar) {
    Value n = make<arith::MinSIOp>(plus(at, lane), last);
    Value entry = loadNumber("topk", plus(firstListed, n));
    Value ends = compare(arith::CmpIPredicate::slt, entry, i32(0));
    return make<arith::MinSIOp>(sofar, select(ends, n, most));
  });
  Value length = NVVM::ReduxOp::create(
      b, b.getI32Type(), found, NVVM::ReduxKind::MIN,
      arith::ConstantIntOp::create(b, -1, 32), /*abs=*/false, /*nan=*/false);
  Value none = compare(arith::CmpIPredicate::eq, listable, i32(0));
  return select(none, i32(0), length);
}

/// Emits the keys that the mask lets the query see, or the part of them: whole
/// blocks, as many for each part but the last.
void FmaPlaces::decodeKeys(Value part) {
  Value length = keysOfSequence();
  if (problem.topk) {
    listable = length;
    firstListed = times(plus(times(batch, parameter("q_len")), query),
                        parameter("topk_len"));
    length = keysOfList();
  }
  Value position = query;
  if (!problem.mask.isTopLeft())
    position = plus(query, make<arith::SubIOp>(length, parameter("q_len")));
  begin = i32(0);
  end = length;
  if (std::optional<unsigned> left = problem.mask.left)
    begin =
        make<arith::MaxSIOp>(begin, make<arith::SubIOp>(position, i32(*left)));
  if (std::optional<unsigned> right = problem.mask.rightBound())
    end = make<arith::MinSIOp>(end, plus(position, i32(int64_t(*right) + 1)));
  if (plan.splits == 1)
    return;
  Value keys = make<arith::MaxSIOp>(make<arith::SubIOp>(end, begin), i32(0));
  Value blocks = make<arith::CeilDivUIOp>(keys, i32(plan.kvBlock));
  Value each = make<arith::CeilDivUIOp>(blocks, parts);
  Value before = make<arith::MinSIOp>(times(part, each), blocks);
  begin = plus(begin, times(before, i32(plan.kvBlock)));
  end = make<arith::MinSIOp>(end, plus(begin, times(each, i32(plan.kvBlock))));
}

void FmaPlaces::decode() {
  decodeGrid();
  decodeKeys(part);
}

Value FmaPlaces::headOf(Value row) {
  Value last = make<arith::SubIOp>(group, i32(1));
  Value member = make<arith::MinUIOp>(plus(firstMember, row), last);
  return plus(times(kvHead, group), member);
}

Value FmaPlaces::isLive(unsigned row) {
  return compare(arith::CmpIPredicate::slt, plus(firstMember, i32(row)), group);
}

Value FmaPlaces::queryRow(Value row) {
  return rowAt("q", batch, query, headOf(row), storageOf(element));
}

Value FmaPlaces::outputRow(const std::string &tensor, unsigned row,
                           Type element) {
  return rowAt(tensor, outputBatch, query, headOf(i32(row)), element);
}

Value FmaPlaces::isFirstOfKvHead() {
  Value sum = plus(plus(query, firstMember), part);
  return compare(arith::CmpIPredicate::eq, sum, i32(0));
}

Value FmaPlaces::loadScale(const std::string &scale, Value index) {
  return load(elementAt(parameter(scale), wide(index), b.getF32Type()));
}

Value FmaPlaces::shared(const char *region, Value index, unsigned stage) {
  const schedule::SmemRegion &there = *map.findSmem(region);
  Value base = LLVM::GEPOp::create(
      b, sharedBase.getType(), b.getI8Type(), sharedBase,
      ArrayRef<LLVM::GEPArg>{int32_t(there.offset + stage * there.bytes)});
  return elementAt(base, index, b.getF32Type());
}
