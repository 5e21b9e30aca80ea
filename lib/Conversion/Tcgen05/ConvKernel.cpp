//===- ConvKernel.cpp - The kernel of a convolution -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread 0 loads, copies and multiplies; all 128 threads clear D before and
// store it afterwards, one lane each:
//
//   for (r, chunk of channels)
//     for group of taps
//       TMA: 4 x 32 rows, the new rows of each shift, the filters; wait
//       cp rows to A; mma first tap; wait
//       for further tap: shift A; cp new rows to the last lanes; mma; wait
//
//===----------------------------------------------------------------------===//

#include "ConvKernel.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::conv;
using namespace fmha::tcgen05;

static constexpr StringLiteral sharedMemory = "conv_shared_memory";
static constexpr unsigned mapBytes = 128;
/// Columns that a thread moves at once.
static constexpr int64_t columnsAtOnce = 16;

namespace {

/// A segment: its outputs [n, p, first + i phases], and the input row that they
/// read for tap 0, from `x` on. `valid` is false after the last segment.
struct Segment {
  Value n, p, first, x, valid;
};

/// Arithmetic of 32 bits.
struct Numbers {
  ImplicitLocOpBuilder &b;

  Value number(int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI32Type(),
                                    b.getI32IntegerAttr(int32_t(value)));
  }
  Value plus(Value a, Value c) { return LLVM::AddOp::create(b, a, c); }
  Value plus(Value a, int64_t c) { return plus(a, number(c)); }
  Value times(Value a, int64_t c) {
    return LLVM::MulOp::create(b, a, number(c));
  }
  Value over(Value a, int64_t c) {
    return LLVM::UDivOp::create(b, a, number(c));
  }
  Value modulo(Value a, int64_t c) {
    return LLVM::URemOp::create(b, a, number(c));
  }
  Value compare(LLVM::ICmpPredicate predicate, Value a, int64_t c) {
    return LLVM::ICmpOp::create(b, predicate, a, number(c));
  }
  Value both(Value a, Value c) { return LLVM::AndOp::create(b, a, c); }
  Value inverted(Value a) { return LLVM::XOrOp::create(b, a, number(-1)); }
  Value firstLanes(Value count);
};

class Kernel : private Numbers {
public:
  Kernel(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp func, const ConvPlan &plan,
         Type element)
      : Numbers{b}, func(func), plan(plan), element(element) {}

  void build();

private:
  Value shared(int64_t offset);
  /// Barriers: loaded, multiplied, all done. The address of tensor memory
  /// follows.
  Value barrier(int64_t index) { return shared(plan.barriersAt() + 8 * index); }
  Value tensor(Value base, int64_t lane, int64_t column);
  Value descriptor(int64_t offset, int64_t rows);
  Segment segmentOf(Value index);
  Value inputRow(const Segment &segment, Value r);

  void setUp();
  void clear();
  void load(unsigned map, ArrayRef<Value> at, int64_t offset);
  void loadGroup(int64_t group, Value r, Value channel);
  void copyRows();
  void shiftRows(int64_t following);
  Value disabledLanes(const Segment &segment, int64_t s, Value h);
  void multiply(int64_t group, int64_t tap, Value r);
  void multiplyGroup(int64_t group, Value r, Value loads, Value first);
  void issue();
  void store();

  LLVM::LLVMFuncOp func;
  const ConvPlan &plan;
  Type element;
  Value smem, thread, warp, base, own;
  SmallVector<Segment> segments;
};

} // namespace

Value Kernel::shared(int64_t offset) {
  return LLVM::GEPOp::create(b, smem.getType(), b.getI8Type(), smem,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

/// Returns the address of a cell from `from` on.
Value Kernel::tensor(Value from, int64_t lane, int64_t column) {
  return LLVM::IntToPtrOp::create(b,
                                  LLVM::LLVMPointerType::get(b.getContext(), 6),
                                  plus(from, lane << 16 | column));
}

/// Returns the descriptor of rows of 128 bytes with the 128-byte swizzle.
Value Kernel::descriptor(int64_t offset, int64_t rows) {
  layout::SmemTile tile = layout::SmemTile::make(
      layout::Major::K, layout::Swizzle::Bytes128, plan.elementBytes,
      unsigned(rows), unsigned(plan.elementsOfRow()));
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), shared(offset));
  Value encoded = LLVM::LShrOp::create(b, address, number(4));
  Value wide = LLVM::ZExtOp::create(b, b.getI64Type(), encoded);
  Value fields = LLVM::ConstantOp::create(
      b, b.getI64Type(), b.getI64IntegerAttr(tile.descriptorFields()));
  return LLVM::OrOp::create(b, wide, fields);
}

/// Segments number tiles first, then phases, then rows of the output.
Segment Kernel::segmentOf(Value index) {
  Segment segment;
  segment.valid = compare(LLVM::ICmpPredicate::slt, index, plan.allSegments());
  Value row = over(index, plan.segmentsOfRow());
  Value rest = modulo(index, plan.segmentsOfRow());
  segment.n = over(row, plan.p());
  segment.p = modulo(row, plan.p());
  Value phase = over(rest, plan.tiles()), tile = modulo(rest, plan.tiles());
  segment.first =
      plus(phase, times(tile, ConvPlan::segmentLanes * plan.phases()));
  segment.x = plus(times(segment.first, plan.strideW), -plan.padW);
  return segment;
}

/// Returns the row of the input that a segment reads for row `r` of the filter.
Value Kernel::inputRow(const Segment &segment, Value r) {
  return plus(times(segment.p, plan.strideH),
              plus(times(r, plan.dilationH), -plan.padH));
}

//===----------------------------------------------------------------------===//
// All threads
//===----------------------------------------------------------------------===//

/// Orders shared and tensor memory between all threads.
static void synchronize(ImplicitLocOpBuilder &b) {
  FenceOp::create(b, Moment::Before);
  NVVM::BarrierOp::create(b);
  FenceOp::create(b, Moment::After);
}

/// while (!try_wait(barrier, parity));
static void await(ImplicitLocOpBuilder &b, Value barrier, Value parity) {
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value done = NVVM::MBarrierTryWaitOp::create(b, b.getI1Type(), barrier,
                                               parity, Value());
  Value yes = LLVM::ConstantOp::create(b, b.getI1Type(), b.getBoolAttr(true));
  scf::ConditionOp::create(b, LLVM::XOrOp::create(b, done, yes), ValueRange());
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b);
}

/// if (condition) body()
static void when(ImplicitLocOpBuilder &b, Value condition,
                 function_ref<void()> body) {
  scf::IfOp::create(b, condition, [&](OpBuilder &, Location) {
    body();
    scf::YieldOp::create(b);
  });
}

void Kernel::setUp() {
  Type i32 = b.getI32Type();
  smem = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 3), sharedMemory);
  thread = NVVM::ThreadIdXOp::create(b, i32);
  warp = LLVM::LShrOp::create(b, thread, number(5));
  when(b, compare(LLVM::ICmpPredicate::eq, warp, 0), [&] {
    AllocOp::create(b, plan.columns(), barrier(3), 1);
    RelinquishOp::create(b, 1);
  });
  when(b, compare(LLVM::ICmpPredicate::eq, thread, 0), [&] {
    for (int64_t i = 0; i < 3; ++i)
      NVVM::MBarrierInitOp::create(b, barrier(i), number(1), Value());
    NVVM::FenceMbarrierInitOp::create(b);
  });
  synchronize(b);
  base = LLVM::LoadOp::create(b, i32, barrier(3));
  own = plus(base, LLVM::ShlOp::create(b, warp, number(21)));
}

/// D := 0, since products do not write disabled lanes.
void Kernel::clear() {
  auto type = VectorType::get(columnsAtOnce, b.getI32Type());
  Value zeros = LLVM::ConstantOp::create(
      b, type, DenseElementsAttr::get(type, b.getI32IntegerAttr(0)));
  for (int64_t column = 0; column < plan.k; column += columnsAtOnce)
    StOp::create(b, MoveShape::Shape32x32b, zeros, tensor(own, 0, column),
                 IntegerAttr());
  WaitOp::create(b, Access::Store, ValueRange());
  synchronize(b);
}

/// Each thread stores the K sums of its output, if there is one.
void Kernel::store() {
  Segment segment = segmentOf(plus(
      times(NVVM::BlockIdXOp::create(b, b.getI32Type()), ConvPlan::segments),
      warp));
  Value lane = modulo(thread, ConvPlan::segmentLanes);
  Value q = plus(segment.first, times(lane, plan.phases()));
  Value stores =
      both(segment.valid, compare(LLVM::ICmpPredicate::slt, q, plan.q()));
  Value row =
      plus(times(plus(times(segment.n, plan.p()), segment.p), plan.q()), q);
  Value wide = LLVM::ZExtOp::create(b, b.getI64Type(), row);
  Value pitch =
      LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(plan.k));
  Value out = func.getArgument(3);
  out = LLVM::GEPOp::create(
      b, out.getType(), b.getF32Type(), out,
      ArrayRef<LLVM::GEPArg>{LLVM::MulOp::create(b, wide, pitch).getResult()});
  auto type = VectorType::get(columnsAtOnce, b.getI32Type());
  for (int64_t column = 0; column < plan.k; column += columnsAtOnce) {
    Value loaded = LdOp::create(b, type, MoveShape::Shape32x32b,
                                tensor(own, 0, column), IntegerAttr());
    Value ready = WaitOp::create(b, Access::Load, loaded).getReady()[0];
    when(b, stores, [&] {
      Value to = LLVM::GEPOp::create(b, out.getType(), b.getF32Type(), out,
                                     ArrayRef<LLVM::GEPArg>{int32_t(column)});
      LLVM::StoreOp::create(b, ready, to, /*alignment=*/16);
    });
  }
}

//===----------------------------------------------------------------------===//
// The thread that issues
//===----------------------------------------------------------------------===//

/// Copies the box of a tensor map at the coordinates, innermost first.
void Kernel::load(unsigned map, ArrayRef<Value> at, int64_t offset) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, shared(offset), func.getArgument(map), at, barrier(0), ValueRange(),
      Value(), Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true,
      NVVM::CTAGroupKindAttr(), Value());
}

/// Loads what a group of taps reads: rows of four segments, the new row of each
/// shift, and the filter of each tap. Padding arrives as NaN.
void Kernel::loadGroup(int64_t group, Value r, Value channel) {
  int64_t rows = ConvPlan::segments * ConvPlan::segmentLanes;
  int64_t taps = plan.tapsOf(group);
  int64_t bytes = rows * ConvPlan::rowBytes + taps * plan.filterBytes() +
                  (taps - 1) * ConvPlan::segments * ConvPlan::rowBytes;
  NVVM::MBarrierArriveExpectTxOp::create(b, Type(), barrier(0), number(bytes),
                                         NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());
  for (auto [i, segment] : llvm::enumerate(segments)) {
    Value h = inputRow(segment, r);
    Value x = plus(segment.x, group * plan.dilationW);
    load(0, {channel, x, h, segment.n},
         int64_t(i) * ConvPlan::segmentLanes * ConvPlan::rowBytes);
    for (int64_t tap = 1; tap < taps; ++tap) {
      Value next = plus(x, (ConvPlan::segmentLanes + tap - 1) * plan.step());
      load(1, {channel, next, h, segment.n},
           plan.newRowsAt() + (tap - 1) * ConvPlan::atomBytes +
               int64_t(i) * ConvPlan::rowBytes);
    }
  }
  for (int64_t tap = 0; tap < taps; ++tap)
    load(2, {channel, number(group + tap * plan.taps()), r, number(0)},
         plan.filterAt() + tap * plan.filterBytes());
}

/// A := the loaded rows.
void Kernel::copyRows() {
  int64_t rows = ConvPlan::segments * ConvPlan::segmentLanes;
  for (int64_t step = 0; step < plan.productsOfChunk(); ++step)
    CpOp::create(b, CopyShape::Shape128x256b,
                 descriptor(step * ConvPlan::stepBytes, rows),
                 tensor(base, 0, plan.aColumn() + 8 * step), Multicast::None,
                 PackingAttr(), 1);
}

/// Moves A by a lane, unless the last product has; the last lane of each
/// segment gets new row `following`.
void Kernel::shiftRows(int64_t following) {
  int64_t lanes = ConvPlan::segmentLanes;
  for (int64_t step = 0; step < plan.productsOfChunk(); ++step) {
    int64_t column = plan.aColumn() + 8 * step;
    for (int64_t i = 0; i < ConvPlan::segments && !plan.ashift; ++i)
      ShiftOp::create(b, tensor(base, i * lanes, column), 1);
    CpOp::create(b, CopyShape::Shape4x256b,
                 descriptor(plan.newRowsAt() + following * ConvPlan::atomBytes +
                                step * ConvPlan::stepBytes,
                            8),
                 tensor(base, lanes - 1, column), Multicast::None,
                 PackingAttr(), 1);
  }
}

/// Returns a word with bits 0 .. count - 1, for a count that is cut to 0 .. 32.
Value Numbers::firstLanes(Value count) {
  Value zero = number(0), all = number(ConvPlan::segmentLanes);
  Value low =
      LLVM::SMaxOp::create(b, LLVM::SMinOp::create(b, count, all), zero);
  Value wide = LLVM::ZExtOp::create(b, b.getI64Type(), low);
  Value one =
      LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(1));
  Value mask = LLVM::SubOp::create(b, LLVM::ShlOp::create(b, one, wide), one);
  return LLVM::TruncOp::create(b, b.getI32Type(), mask);
}

/// Returns the lanes whose element lies outside of the input: lane i reads x0 +
/// i step of row h.
Value Kernel::disabledLanes(const Segment &segment, int64_t s, Value h) {
  int64_t step = plan.step();
  Value x0 = plus(segment.x, s * plan.dilationW);
  // The least i with x0 + i step >= a is (a - x0 + step - 1) / step, rounded
  // down; a negative dividend gives at most 0 with any rounding.
  auto lanesBelow = [&](int64_t a) {
    Value dividend = plus(LLVM::SubOp::create(b, number(0), x0), a + step - 1);
    return firstLanes(LLVM::SDivOp::create(b, dividend, number(step)));
  };
  Value before = lanesBelow(0), inside = lanesBelow(plan.w);
  Value enabled = both(inside, inverted(before));
  Value isRow = compare(LLVM::ICmpPredicate::ult, h, plan.h);
  Value some =
      LLVM::SelectOp::create(b, both(isRow, segment.valid), enabled, number(0));
  return inverted(some);
}

/// D += A x the filter of tap `tap` of the group, in row `r` of the filter.
void Kernel::multiply(int64_t group, int64_t tap, Value r) {
  SmallVector<Value> disabled;
  for (const Segment &segment : segments) {
    Value h = inputRow(segment, r);
    disabled.push_back(disabledLanes(segment, group + tap * plan.taps(), h));
  }
  bool isTF32 = element.isF32();
  Type type = isTF32 ? Type(b.getTF32Type()) : element;
  Value yes = LLVM::ConstantOp::create(b, b.getI1Type(), b.getBoolAttr(true));
  for (int64_t step = 0; step < plan.productsOfChunk(); ++step) {
    Value a = tensor(base, 0, plan.aColumn() + 8 * step);
    Value filter = descriptor(plan.filterAt() + tap * plan.filterBytes() +
                                  step * ConvPlan::stepBytes,
                              plan.k);
    auto product = MmaOp::create(
        b, isTF32 ? MmaKind::TF32 : MmaKind::F16, tensor(base, 0, 0), a, filter,
        yes, disabled, unsigned(ConvPlan::segments * ConvPlan::segmentLanes),
        unsigned(plan.k), type, b.getF32Type());
    product.setAshift(plan.ashift && tap + 1 < plan.tapsOf(group));
  }
}

/// Multiplies all taps of a group, once its rows and filters are loaded. The
/// manual orders a shift after a product, but not after the copy that the
/// product read: each tap waits for the one before. `first` is the number of
/// taps before the group.
void Kernel::multiplyGroup(int64_t group, Value r, Value loads, Value first) {
  await(b, barrier(0), both(loads, number(1)));
  FenceOp::create(b, Moment::After);
  copyRows();
  for (int64_t tap = 0; tap < plan.tapsOf(group); ++tap) {
    if (tap)
      shiftRows(tap - 1);
    multiply(group, tap, r);
    CommitOp::create(b, barrier(1), Value(), 1);
    await(b, barrier(1), both(plus(first, tap), number(1)));
    FenceOp::create(b, Moment::After);
  }
}

void Kernel::issue() {
  Value cta = NVVM::BlockIdXOp::create(b, b.getI32Type());
  for (int64_t i = 0; i < ConvPlan::segments; ++i)
    segments.push_back(segmentOf(plus(times(cta, ConvPlan::segments), i)));
  auto loop = scf::ForOp::create(b, number(0), number(plan.r * plan.chunks()),
                                 number(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value index = loop.getInductionVar();
    Value r = over(index, plan.chunks());
    Value channel = times(modulo(index, plan.chunks()), plan.elementsOfRow());
    int64_t taps = 0;
    for (int64_t group = 0; group < plan.groups(); ++group) {
      loadGroup(group, r, channel);
      multiplyGroup(group, r, plus(times(index, plan.groups()), group),
                    plus(times(index, plan.s), taps));
      taps += plan.tapsOf(group);
    }
  }
  CommitOp::create(b, barrier(2), Value(), 1);
}

void Kernel::build() {
  b.setInsertionPointToStart(func.addEntryBlock(b));
  setUp();
  clear();
  when(b, compare(LLVM::ICmpPredicate::eq, thread, 0), [&] { issue(); });
  await(b, barrier(2), number(0));
  FenceOp::create(b, Moment::After);
  store();
  synchronize(b);
  when(b, compare(LLVM::ICmpPredicate::eq, warp, 0),
       [&] { DeallocOp::create(b, plan.columns(), tensor(base, 0, 0), 1); });
  LLVM::ReturnOp::create(b, ValueRange());
}

void fmha::buildConvKernel(OpBuilder &builder, Location loc, StringRef name,
                           const ConvPlan &plan, Type element) {
  ImplicitLocOpBuilder b(loc, builder);
  MLIRContext *context = b.getContext();
  LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                         /*isConstant=*/false, LLVM::Linkage::External,
                         sharedMemory, Attribute(),
                         /*alignment=*/ConvPlan::atomBytes, /*addrSpace=*/3);
  Type map = LLVM::LLVMPointerType::get(context);
  Type pointer = LLVM::LLVMPointerType::get(context, 1);
  auto func = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  {map, map, map, pointer}));
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      b.getDenseI32ArrayAttr(
          {int32_t(ConvPlan::segments * ConvPlan::segmentLanes), 1, 1}));
  for (unsigned n = 0; n < 3; ++n) {
    func.setArgAttr(
        n, LLVM::LLVMDialect::getByValAttrName(),
        TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), mapBytes)));
    func.setArgAttr(n, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(64));
    func.setArgAttr(n, NVVM::NVVMDialect::getGridConstantAttrName(),
                    b.getUnitAttr());
  }
  Kernel(b, func, plan, element).build();
}
