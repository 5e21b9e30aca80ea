//===- MergeKernel.cpp - The merge kernel of split-KV ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain threads, since memory latency is the bound. Each lane reads the maxima
// and sums of some splits of a row, and a warp combines them in a fixed order.
// Then all threads iterate over the splits, with several loads in flight, and
// recompute the weights for their columns; those inputs come from the L1 cache.
// Every sum has a fixed order, so that a result has the same bits in every run.
//
//===----------------------------------------------------------------------===//

#include "Merge/MergeKernel.h"
#include "Threads/RowCode.h"
#include "Threads/ShareCode.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

namespace {

constexpr int32_t warpThreads = target::warpThreads;
/// Columns that a thread loads at once, 16 bytes of f32.
constexpr int32_t vectorColumns = 4;
/// Splits whose loads a thread has in flight at once.
constexpr int32_t partsAtOnce = 8;

/// Builds the kernel: the statistics of a row, then its columns.
class MergeBuilder : RowCode {
public:
  MergeBuilder(LLVM::LLVMFuncOp func, const MergeProblem &problem)
      : RowCode(func, mergeParameters(problem)), problem(problem),
        rowsPerCta(mergeRowsPerCta(problem.headDim)) {}
  void build();

private:
  /// Emits `body` for the splits of each lane in order, and the reduction of
  /// all lanes by OpTy.
  template <typename OpTy>
  Value overLanes(Value init, function_ref<Value(Value part)> body);
  /// The maximum of a split, -inf if it is empty or does not exist, and four of
  /// its columns.
  struct Piece {
    Value max, columns;
  };
  VectorType columnsType() {
    return VectorType::get({vectorColumns}, b.getF32Type());
  }
  Piece loadPiece(Value part, Value from, Value column);
  /// Loads the pieces from split `first` on. A piece beyond the last split has
  /// the columns of the last one; if `first` is beyond it, nothing is loaded.
  void loadLast(Value first, int32_t count, Value from, Value column,
                SmallVectorImpl<Piece> &pieces);
  Value addPieces(Value sum, ArrayRef<Piece> pieces);
  /// Returns the sum over all splits of their weighted columns, in order.
  Value sumOfPieces(Value from, Value column);

  /// Returns the element of `tensor` at batch, row and head.
  Value rowOf(const std::string &tensor, Type element);
  /// Returns the row in the first part of its sequence.
  Value firstPartOf(const std::string &tensor);
  Value ofPart(const std::string &tensor, Value row, Value part);
  void decode();
  Value rowsThatExist();
  Value exp(Value x);
  Value weight(Value max);
  void buildRow();
  void buildColumns(Value inverse);
  void storeColumns(Value column, Value acc);
  void storeRowOutputs();
  Value logarithm();

  const MergeProblem &problem;
  unsigned rowsPerCta;
  Value lane, laneOfRow, row, head, batch;
  /// The parts of the sequence, and the first of its slots with split_by =
  /// length, otherwise null.
  Value parts, firstSlot;
  /// Values of this row: the addresses of its maximum and sum in split 0; the
  /// maximum; the maximum, or 0 if there is none; the sum; and the sink.
  Value maxima, sums, top, shift, total, sink;
};

template <typename OpTy>
Value MergeBuilder::overLanes(Value init, function_ref<Value(Value)> body) {
  Value mine =
      loop(lane, parts, warpThreads, init, [&](Value part, Value sofar) {
        return make<OpTy>(sofar, body(part));
      });
  return acrossLanes<OpTy>(mine, warpThreads);
}

Value MergeBuilder::rowOf(const std::string &tensor, Type element) {
  return rowAt(tensor, batch, row, head, element);
}

Value MergeBuilder::firstPartOf(const std::string &tensor) {
  return rowAt(tensor, firstSlot ? firstSlot : batch, row, head,
               b.getF32Type());
}

/// Slots of a sequence follow each other, as batches do.
Value MergeBuilder::ofPart(const std::string &tensor, Value row, Value part) {
  const char *stride = firstSlot ? "_stride_batch" : "_stride_part";
  Value offset = make<arith::MulIOp>(wide(part), parameter(tensor + stride));
  return elementAt(row, offset, b.getF32Type());
}

/// Decodes the one-dimensional grid: row blocks, heads, batch. The parts are
/// those of the batch.
void MergeBuilder::decode() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value id = NVVM::BlockIdXOp::create(b, b.getI32Type());
  int32_t threadsOfRow = int32_t(mergeThreads / rowsPerCta);
  lane = make<arith::AndIOp>(thread, i32(warpThreads - 1));
  laneOfRow = make<arith::AndIOp>(thread, i32(threadsOfRow - 1));
  Value place = make<arith::DivUIOp>(thread, i32(threadsOfRow));
  Value perCta = i32(int32_t(rowsPerCta)), heads = parameter("q_heads");
  Value blocks = make<arith::CeilDivUIOp>(parameter("q_len"), perCta);
  Value rest = make<arith::DivUIOp>(id, blocks);
  Value first = make<arith::MulIOp>(make<arith::RemUIOp>(id, blocks), perCta);
  row = make<arith::AddIOp>(first, place);
  head = make<arith::RemUIOp>(rest, heads);
  batch = make<arith::DivUIOp>(rest, heads);
  parts = parameter("parts");
  if (!problem.slotKeys)
    return;
  ShareCode shares(b, parameter("kv_lens"), parameter("batch"),
                   problem.slotsPerSequence, problem.slotKeys);
  ShareCode::Share share = shares.shareOf(batch);
  firstSlot = share.first;
  parts = share.parts;
}

/// Returns the number of packed rows, which end with the last sequence, clamped
/// since varlen metadata may be invalid.
Value MergeBuilder::rowsThatExist() {
  Value length = parameter("q_len");
  if (!problem.cuSeqlensQ)
    return length;
  Value end =
      LLVM::LoadOp::create(b, b.getI32Type(),
                           elementAt(parameter("cu_seqlens_q"),
                                     wide(parameter("batch")), b.getI32Type()));
  return make<arith::MinSIOp>(make<arith::MaxSIOp>(end, i32(0)), length);
}

/// Emits exp(x).
Value MergeBuilder::exp(Value x) {
  return exp2(make<arith::MulFOp>(x, f32(llvm::numbers::log2e)));
}

/// Emits exp(max - m). The difference is scaled, since maxima may be large.
Value MergeBuilder::weight(Value max) {
  return exp(make<arith::SubFOp>(max, shift));
}

void MergeBuilder::buildRow() {
  maxima = firstPartOf("max_parts");
  sums = firstPartOf("sum_parts");
  top = overLanes<arith::MaxNumFOp>(none, [&](Value part) {
    return load(ofPart("max_parts", maxima, part));
  });
  shift = select(isNone(top), zero, top);
  total = overLanes<arith::AddFOp>(zero, [&](Value part) {
    Value max = load(ofPart("max_parts", maxima, part));
    Value sum = load(ofPart("sum_parts", sums, part));
    Value term = make<arith::MulFOp>(weight(max), sum);
    return select(isNone(max), zero, term);
  });
  if (problem.sink)
    sink = load(elementAt(parameter("sink"), wide(head), b.getF32Type()));
  Value divisor = total;
  if (sink)
    divisor = make<arith::AddFOp>(total, weight(sink));
  auto flags = arith::FastMathFlagsAttr::get(
      b.getContext(), arith::FastMathFlags::afn | arith::FastMathFlags::arcp);
  Value inverse;
  if (!problem.unnormalised)
    inverse = arith::DivFOp::create(b, f32(1), divisor, flags);
  buildColumns(inverse);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, laneOfRow, i32(0));
  ifThen(isFirst, [&] { storeRowOutputs(); });
}

MergeBuilder::Piece MergeBuilder::loadPiece(Value part, Value from,
                                            Value column) {
  Value address =
      elementAt(ofPart("o_parts", from, part), wide(column), b.getF32Type());
  Value columns =
      LLVM::LoadOp::create(b, columnsType(), address, /*alignment=*/16);
  return {load(ofPart("max_parts", maxima, part)), columns};
}

void MergeBuilder::loadLast(Value first, int32_t count, Value from,
                            Value column, SmallVectorImpl<Piece> &pieces) {
  auto isPart = [&](Value part) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, part, parts);
  };
  SmallVector<Type> types;
  for (int32_t n = 0; n < count; ++n)
    types.append({b.getF32Type(), columnsType()});
  auto branch =
      scf::IfOp::create(b, types, isPart(first), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> loaded, nothing;
  b.setInsertionPointToStart(branch.thenBlock());
  Value last = make<arith::SubIOp>(parts, i32(1));
  for (int32_t n = 0; n < count; ++n) {
    Value part = make<arith::AddIOp>(first, i32(n));
    Piece piece = loadPiece(make<arith::MinSIOp>(part, last), from, column);
    loaded.append({select(isPart(part), piece.max, none), piece.columns});
  }
  scf::YieldOp::create(b, loaded);
  b.setInsertionPointToStart(branch.elseBlock());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(columnsType()));
  for (int32_t n = 0; n < count; ++n)
    nothing.append({none, zeros});
  scf::YieldOp::create(b, nothing);
  for (int32_t n = 0; n < count; ++n)
    pieces.push_back({branch.getResult(2 * n), branch.getResult(2 * n + 1)});
}

Value MergeBuilder::addPieces(Value sum, ArrayRef<Piece> pieces) {
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(columnsType()));
  for (const Piece &piece : pieces) {
    Value factor =
        vector::BroadcastOp::create(b, columnsType(), weight(piece.max));
    Value term = make<arith::MulFOp>(piece.columns, factor);
    sum = make<arith::AddFOp>(sum, select(isNone(piece.max), zeros, term));
  }
  return sum;
}

/// All loads of a step precede its arithmetic, so that they are in flight
/// together. The last step loads two, four or eight splits.
Value MergeBuilder::sumOfPieces(Value from, Value column) {
  Value whole = make<arith::AndIOp>(parts, i32(-partsAtOnce));
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(columnsType()));
  auto step = [&](Value first, Value sum) {
    SmallVector<Piece> pieces;
    for (int32_t n = 0; n < partsAtOnce; ++n)
      pieces.push_back(
          loadPiece(make<arith::AddIOp>(first, i32(n)), from, column));
    return addPieces(sum, pieces);
  };
  Value sum = loop(i32(0), whole, partsAtOnce, zeros, step);
  SmallVector<Piece> pieces;
  for (int32_t count : {2, 2, 4})
    loadLast(make<arith::AddIOp>(whole, i32(int32_t(pieces.size()))), count,
             from, column, pieces);
  return addPieces(sum, pieces);
}

/// Emits the columns of O. A row that is empty in all splits becomes 0.
void MergeBuilder::buildColumns(Value inverse) {
  Value from = firstPartOf("o_parts");
  VectorType type = columnsType();
  auto loop = scf::ForOp::create(
      b, make<arith::MulIOp>(laneOfRow, i32(vectorColumns)),
      i32(int32_t(problem.headDim)),
      i32(int32_t(mergeThreads / rowsPerCta) * vectorColumns));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Value acc = sumOfPieces(from, column);
  if (inverse)
    acc =
        make<arith::MulFOp>(acc, vector::BroadcastOp::create(b, type, inverse));
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  storeColumns(column, select(isNone(top), zeros, acc));
}

void MergeBuilder::storeColumns(Value column, Value acc) {
  Type element = b.getF32Type();
  if (problem.output != "f32") {
    element = problem.output == "f16" ? Type(b.getF16Type()) : b.getBF16Type();
    acc = arith::TruncFOp::create(b, VectorType::get({vectorColumns}, element),
                                  acc);
  }
  Value address = elementAt(rowOf("o", element), wide(column), element);
  unsigned bytes = vectorColumns * element.getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(b, acc, address, bytes);
}

/// Emits m + log l, and with a sink log(exp(m + log l) + exp(sink)).
Value MergeBuilder::logarithm() {
  Value ln2 = f32(llvm::numbers::ln2);
  Value lse = make<arith::AddFOp>(top, make<arith::MulFOp>(log2(total), ln2));
  if (!sink)
    return lse;
  Value high = make<arith::MaxNumFOp>(lse, sink);
  Value low = make<arith::MinNumFOp>(lse, sink);
  Value share = exp(make<arith::SubFOp>(low, high));
  Value more =
      make<arith::MulFOp>(log2(make<arith::AddFOp>(f32(1), share)), ln2);
  // Both may be -inf, whose difference is NaN.
  return select(isNone(high), high, make<arith::AddFOp>(high, more));
}

void MergeBuilder::storeRowOutputs() {
  auto store = [&](const char *name, Value value) {
    LLVM::StoreOp::create(b, value, rowOf(name, b.getF32Type()));
  };
  if (problem.lse)
    store("lse", logarithm());
  if (problem.rowMax)
    store("row_max", top);
  if (problem.rowSum)
    store("row_sum", total);
}

void MergeBuilder::build() {
  decode();
  Value exists =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rowsThatExist());
  ifThen(exists, [&] { buildRow(); });
  LLVM::ReturnOp::create(b, ValueRange());
}

} // namespace

LLVM::LLVMFuncOp fmha::buildMergeKernel(gpu::GPUModuleOp module,
                                        Location location, StringRef name,
                                        const MergeProblem &problem) {
  // Without a limit ptxas 13.0 uses 32 registers, and so moves most loads after
  // the arithmetic on others. With more than 64 an SM has fewer rows at a time
  // (measured on an H200 with 40, 56, 64, 80 and 128); with 56 kernels with
  // several row outputs spill.
  constexpr unsigned mostRegisters = 64;
  LLVM::LLVMFuncOp func =
      makeThreadKernel(module, location, name, mergeParameters(problem),
                       mergeThreads, mostRegisters);
  func->setAttr("fmha.merge", describeMerge(problem, module.getContext()));
  MergeBuilder(func, problem).build();
  return func;
}

LogicalResult fmha::checkHeadDim(MergeOp op) {
  constexpr unsigned step = 8;
  if (op.getHeadDim() % step == 0)
    return success();
  return op.emitError() << "expected a head dim that is a multiple of " << step
                        << " to make a kernel for, got " << op.getHeadDim()
                        << "; fmha-decompose-to-linalg takes any";
}

MergeProblem fmha::mergeOf(MergeOp op) {
  MergeProblem problem;
  problem.headDim = op.getHeadDim();
  Type element = op.getOutput().getType().getElementType();
  problem.output = element.isF32() ? "f32" : element.isF16() ? "f16" : "bf16";
  problem.lse = bool(op.getLse());
  problem.rowMax = bool(op.getRowMax());
  problem.rowSum = bool(op.getRowSum());
  problem.sink = bool(op.getSink());
  problem.unnormalised = op.getUnnormalised();
  return problem;
}
