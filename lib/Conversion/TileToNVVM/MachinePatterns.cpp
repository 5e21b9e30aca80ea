//===- MachinePatterns.cpp - One machine op, one NVVM op --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

static Value i32(ImplicitLocOpBuilder &b, int32_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

static Value i64(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI64Type(),
                                  b.getI64IntegerAttr(value));
}

static Value toI32(ImplicitLocOpBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

static Value sharedAddress(ImplicitLocOpBuilder &b, int32_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, pointer, sharedMemorySymbol);
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Returns the address of the mbarrier of one stage: 8 bytes each.
static Value stageAddress(ImplicitLocOpBuilder &b, Value barrier, Value stage) {
  return LLVM::GEPOp::create(b, barrier.getType(), b.getI64Type(), barrier,
                             ArrayRef<LLVM::GEPArg>{toI32(b, stage)});
}

static Value tmemPointer(ImplicitLocOpBuilder &b, Value address) {
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 6), address);
}

/// Returns the coordinates in TMA's order: column, row, head, batch.
template <typename OpTy>
static SmallVector<Value> coordinates(ImplicitLocOpBuilder &b, OpTy op) {
  Value column = i32(b, op.getColumn());
  if (Value first = op.getFirst())
    column = LLVM::AddOp::create(b, toI32(b, first), column);
  SmallVector<Value> at = {column};
  if (Value member = op.getMember())
    at.push_back(toI32(b, member));
  at.push_back(toI32(b, op.getRow()));
  at.push_back(toI32(b, op.getHead()));
  // Packed queries have one batch, and a tensor map at most five dimensions.
  if (!op.getMember() || !op.getEnd())
    at.push_back(toI32(b, op.getBatch()));
  if (Value end = op.getEnd())
    at.push_back(toI32(b, end));
  return at;
}

/// Returns how tcgen05.ld and st assign lanes to threads. One of the shapes has
/// an offset for the upper half of a warp.
static NVVM::Tcgen05LdStShape shapeOf(std::optional<uint32_t> split) {
  return split ? NVVM::Tcgen05LdStShape::SHAPE_16X32BX2
               : NVVM::Tcgen05LdStShape::SHAPE_32X32B;
}

static Value halfOffset(ImplicitLocOpBuilder &b,
                        std::optional<uint32_t> split) {
  return split ? i64(b, *split) : Value();
}

/// Returns the address of `barrier` in the even CTA of a pair, which is a
/// cluster.
static Value inEvenCta(ImplicitLocOpBuilder &b, Value barrier) {
  auto ofCluster = LLVM::LLVMPointerType::get(b.getContext(), 7);
  return NVVM::MapaOp::create(b, ofCluster, barrier, i32(b, 0));
}

static NVVM::CTAGroupKind groupOf(bool pair) {
  return pair ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

static NVVM::MemScopeKind scopeOf(bool pair) {
  return pair ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA;
}
namespace {

template <typename OpTy>
struct MachinePattern : public OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using Adaptor = typename OpTy::Adaptor;
  /// Builds the op's replacement, and returns the value of its result, if any.
  virtual Value lower(OpTy op, Adaptor adaptor,
                      ImplicitLocOpBuilder &b) const = 0;

  LogicalResult
  matchAndRewrite(OpTy op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const final {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = lower(op, adaptor, b);
    if (op->getNumResults())
      rewriter.replaceOp(op, value);
    else
      rewriter.eraseOp(op);
    return success();
  }
};

#define MACHINE_PATTERN(OP)                                                    \
  struct Lower##OP : public MachinePattern<tile::OP> {                         \
    using MachinePattern::MachinePattern;                                      \
    Value lower(tile::OP op, Adaptor adaptor,                                  \
                ImplicitLocOpBuilder &b) const override;                       \
  };                                                                           \
  Value Lower##OP::lower([[maybe_unused]] tile::OP op,                         \
                         [[maybe_unused]] Adaptor adaptor,                     \
                         ImplicitLocOpBuilder &b) const

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

MACHINE_PATTERN(BarrierOp) {
  Value first = sharedAddress(b, op.getOffset());
  if (!adaptor.getDistance())
    return first;
  return LLVM::GEPOp::create(b, first.getType(), b.getI8Type(), first,
                             ArrayRef<LLVM::GEPArg>{adaptor.getDistance()});
}

MACHINE_PATTERN(InitBarrierOp) {
  unsigned count = op.getBarrier().getType().getCount();
  for (unsigned stage = 0; stage < count; ++stage) {
    Value address = LLVM::GEPOp::create(b, adaptor.getBarrier().getType(),
                                        b.getI64Type(), adaptor.getBarrier(),
                                        ArrayRef<LLVM::GEPArg>{int32_t(stage)});
    NVVM::MBarrierInitOp::create(b, address, i32(b, op.getArrivals()), Value());
  }
  return {};
}

MACHINE_PATTERN(InvalBarrierOp) {
  unsigned count = op.getBarrier().getType().getCount();
  for (unsigned stage = 0; stage < count; ++stage)
    NVVM::MBarrierInvalOp::create(
        b, LLVM::GEPOp::create(b, adaptor.getBarrier().getType(),
                               b.getI64Type(), adaptor.getBarrier(),
                               ArrayRef<LLVM::GEPArg>{int32_t(stage)}));
  return {};
}

/// Emits a loop, since try_wait may fail at any time. The loop of
/// nvvm.mbarrier.try_wait.parity is opaque assembly, so it is not used.
MACHINE_PATTERN(WaitOp) {
  Value address = stageAddress(b, adaptor.getBarrier(), op.getStage());
  Value parity = toI32(b, op.getParity());
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value done = NVVM::MBarrierTryWaitOp::create(
      b, b.getI1Type(), address, parity, Value(), scopeOf(op.getPair()));
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  scf::ConditionOp::create(b, arith::XOrIOp::create(b, done, yes),
                           ValueRange());
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b);
  return {};
}

MACHINE_PATTERN(ArriveOp) {
  Value own = stageAddress(b, adaptor.getBarrier(), op.getStage());
  if (op.getPair())
    NVVM::MBarrierArriveOp::create(b, Type(), inEvenCta(b, own), Value(),
                                   scopeOf(true));
  else
    NVVM::MBarrierArriveOp::create(b, b.getI64Type(), own, Value());
  return {};
}

MACHINE_PATTERN(ArriveCopiesOp) {
  NVVM::CpAsyncMBarrierArriveOp::create(
      b, stageAddress(b, adaptor.getBarrier(), op.getStage()),
      /*noinc=*/true);
  return {};
}

MACHINE_PATTERN(ArriveExpectTxOp) {
  Value own = stageAddress(b, adaptor.getBarrier(), op.getStage());
  Value barrier = op.getPair() ? inEvenCta(b, own) : own;
  NVVM::MBarrierArriveExpectTxOp::create(
      b, Type(), barrier, i32(b, op.getBytes()), scopeOf(op.getPair()),
      /*relaxed=*/false, Value());
  return {};
}

/// Emits the shared-memory form: the generic one prints a wrong address space.
MACHINE_PATTERN(CommitOp) {
  constexpr int16_t bothCtas = 0b11;
  Value mask;
  if (op.getBoth())
    mask = LLVM::ConstantOp::create(b, b.getI16Type(),
                                    b.getI16IntegerAttr(bothCtas));
  NVVM::Tcgen05CommitOp::create(
      b, stageAddress(b, adaptor.getBarrier(), op.getStage()), mask,
      groupOf(op.getPair()));
  return {};
}

MACHINE_PATTERN(FenceOp) {
  switch (op.getKind()) {
  case FenceKind::Tcgen05Before:
    NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    break;
  case FenceKind::Tcgen05After:
    NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    break;
  case FenceKind::ProxyAsync:
    NVVM::FenceProxyOp::create(
        b, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    break;
  case FenceKind::MbarrierInit:
    NVVM::FenceMbarrierInitOp::create(b);
    break;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

MACHINE_PATTERN(SmemAddressOp) { return sharedAddress(b, op.getOffset()); }

/// Emits base + column, with lane + 32·(warp mod 4) in the upper half.
MACHINE_PATTERN(TmemAddressOp) {
  int32_t offset = layout::tmemAddress(op.getLane(), op.getColumn());
  Value address = LLVM::AddOp::create(b, adaptor.getBase(), i32(b, offset));
  if (op.getOfWarp()) {
    Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
    Value lanes = LLVM::AndOp::create(b, thread, i32(b, 0x60));
    Value field = LLVM::ShlOp::create(b, lanes, i32(b, 16));
    address = LLVM::AddOp::create(b, address, field);
  }
  return tmemPointer(b, address);
}

/// Emits the start address in units of 16 bytes, below the constant fields.
/// Steps are added last: one base per operand stays live, and the sums cost
/// nothing. A laundered pointer has the same value and no instruction in PTX,
/// but CSE does not merge its uses, while LLVM does inside a block.
MACHINE_PATTERN(DescriptorOp) {
  Value base = LLVM::LaunderInvariantGroupOp::create(b, adaptor.getBase());
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), base);
  Value inside = LLVM::AndOp::create(b, address, i32(b, 0x3FFFF));
  Value encoded = LLVM::LShrOp::create(b, inside, i32(b, 4));
  Value wide = LLVM::ZExtOp::create(b, b.getI64Type(), encoded);
  if (op.getOffset() == 0)
    return LLVM::OrOp::create(b, wide, i64(b, op.getFields()));
  // One constant of 64 bits: if the other operand comes from another block,
  // LLVM treats a small constant as the offset of an address, and prints
  // "%rd1+512" as the descriptor, which is not an operand of tcgen05.mma.
  return LLVM::AddOp::create(b, wide,
                             i64(b, op.getFields() + (op.getOffset() >> 4)));
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

/// A generic address names the tensor map, so a select between two maps is one
/// between addresses (PTX ISA, "cp.async.bulk.tensor").
MACHINE_PATTERN(TmaLoadOp) {
  SmallVector<Value> at = coordinates(b, op);
  Value map = adaptor.getSrc();
  if (adaptor.getOther())
    map =
        LLVM::SelectOp::create(b, adaptor.getSecond(), adaptor.getOther(), map);
  Value dest = adaptor.getDest();
  Value barrier = stageAddress(b, adaptor.getBarrier(), op.getStage());
  NVVM::CTAGroupKindAttr group;
  if (op.getPair()) {
    // An address of shared memory of this CTA is one of the cluster as well.
    dest = LLVM::AddrSpaceCastOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext(), 7), dest);
    Value even =
        LLVM::PtrToIntOp::create(b, b.getI32Type(), inEvenCta(b, barrier));
    barrier = LLVM::IntToPtrOp::create(b, barrier.getType(), even);
    group = NVVM::CTAGroupKindAttr::get(b.getContext(), groupOf(true));
  }
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, dest, map, at, barrier, ValueRange(), Value(), Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/!op.getPair(), group, Value());
  return {};
}

MACHINE_PATTERN(TmaStoreOp) {
  SmallVector<Value> at = coordinates(b, op);
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, adaptor.getDest(), adaptor.getSrc(), at, Value(),
      NVVM::TMAStoreMode::TILE, Value());
  return {};
}

MACHINE_PATTERN(TmaStoreWaitOp) {
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
  NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, b.getUnitAttr());
  return {};
}

//===----------------------------------------------------------------------===//
// Tensor memory and tensor core
//===----------------------------------------------------------------------===//

MACHINE_PATTERN(TmemAllocOp) {
  NVVM::Tcgen05AllocOp::create(b, sharedAddress(b, op.getOffset()),
                               i32(b, op.getColumns()), groupOf(op.getPair()));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b, groupOf(op.getPair()));
  return {};
}

MACHINE_PATTERN(TmemBaseOp) {
  return LLVM::LoadOp::create(b, b.getI32Type(),
                              sharedAddress(b, op.getOffset()));
}

MACHINE_PATTERN(TmemDeallocOp) {
  NVVM::Tcgen05DeallocOp::create(b, tmemPointer(b, adaptor.getBase()),
                                 i32(b, op.getColumns()),
                                 groupOf(op.getPair()));
  return {};
}

MACHINE_PATTERN(TmemLoadOp) {
  return NVVM::Tcgen05LdOp::create(b, op.getType(), /*pack=*/false,
                                   shapeOf(op.getSplit()), adaptor.getAddress(),
                                   halfOffset(b, op.getSplit()));
}

MACHINE_PATTERN(TmemStoreOp) {
  NVVM::Tcgen05StOp::create(b, /*unpack=*/false, shapeOf(op.getSplit()),
                            adaptor.getAddress(), adaptor.getValue(),
                            halfOffset(b, op.getSplit()));
  return {};
}

/// Passes the registers through an opaque statement without text: LLVM orders
/// the wait against other memory accesses, but not against arithmetic on
/// registers that an earlier load defined. They are passed one by one, since
/// packing two of them is a use already.
Value opaque(ImplicitLocOpBuilder &b, ArrayRef<Value> registers) {
  std::string constraints;
  for (size_t n = 0; n < registers.size(); ++n)
    constraints += "=r,";
  for (size_t n = 0; n < registers.size(); ++n)
    constraints += (n ? "," : "") + std::to_string(n);
  auto all = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(registers.size(), b.getI32Type()));
  return LLVM::InlineAsmOp::create(
             b, all, registers, /*asm_string=*/"", constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

MACHINE_PATTERN(TmemWaitOp) {
  bool load = op.getAccess() == TmemAccess::Load;
  NVVM::Tcgen05WaitOp::create(b, load ? NVVM::Tcgen05WaitKind::LOAD
                                      : NVVM::Tcgen05WaitKind::STORE);
  if (op.getValues().empty())
    return {};
  SmallVector<Value> registers;
  for (Value value : adaptor.getValues())
    for (int64_t n = 0; n < cast<VectorType>(value.getType()).getDimSize(0);
         ++n)
      registers.push_back(LLVM::ExtractElementOp::create(b, value, i32(b, n)));
  Value readable = opaque(b, registers);
  Value result = LLVM::PoisonOp::create(b, op.getResult().getType());
  for (size_t n = 0; n < registers.size(); ++n)
    result = LLVM::InsertElementOp::create(
        b, result, LLVM::ExtractValueOp::create(b, readable, n), i32(b, n));
  return result;
}

MACHINE_PATTERN(MmaOp) {
  NVVM::Tcgen05MMAOp::create(
      b, NVVM::Tcgen05MMAKind::F16, groupOf(op.getPair()),
      NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, adaptor.getD(),
      adaptor.getA(), adaptor.getB(), i32(b, op.getInstruction()),
      adaptor.getAccumulate(), Value(), Value());
  return {};
}

//===----------------------------------------------------------------------===//
// Output tiles of the launch
//===----------------------------------------------------------------------===//

MACHINE_PATTERN(TryCancelOp) {
  NVVM::ClusterLaunchControlTryCancelOp::create(
      b, /*multicast=*/UnitAttr(), sharedAddress(b, op.getOffset()),
      stageAddress(b, adaptor.getBarrier(), op.getStage()));
  return {};
}

/// The CTA of a response that cancels none is undefined, even to query.
MACHINE_PATTERN(QueryCancelOp) {
  using Query = NVVM::ClusterLaunchControlQueryType;
  Value response = LLVM::LoadOp::create(b, b.getIntegerType(128),
                                        sharedAddress(b, op.getOffset()), 16);
  Value some = NVVM::ClusterLaunchControlQueryCancelOp::create(
      b, b.getI1Type(), Query::IS_CANCELED, response);
  auto branch = scf::IfOp::create(b, b.getI32Type(), some, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value first = NVVM::ClusterLaunchControlQueryCancelOp::create(
      b, b.getI32Type(), Query::GET_FIRST_CTA_ID_X, response);
  scf::YieldOp::create(b, first);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, i32(b, -1));
  return branch.getResult(0);
}

/// Returns the address of the tile index in slot `slot` of the ring at
/// `offset`. Without `slot`, the ring has one element, at `offset`.
static Value numberAddress(ImplicitLocOpBuilder &b, int32_t offset,
                           Value slot) {
  Value base = sharedAddress(b, offset);
  if (!slot)
    return base;
  return LLVM::GEPOp::create(b, base.getType(), b.getI32Type(), base,
                             ArrayRef<LLVM::GEPArg>{toI32(b, slot)});
}

MACHINE_PATTERN(SetNextTileOp) {
  LLVM::StoreOp::create(b, adaptor.getTile(),
                        numberAddress(b, op.getOffset(), op.getSlot()));
  return {};
}

MACHINE_PATTERN(NextTileOp) {
  return LLVM::LoadOp::create(b, b.getI32Type(),
                              numberAddress(b, op.getOffset(), op.getSlot()));
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

MACHINE_PATTERN(SetRegistersOp) {
  bool more = op.getCount() > op.getPrevious();
  NVVM::SetMaxRegisterOp::create(b, op.getCount(),
                                 more ? NVVM::SetMaxRegisterAction::increase
                                      : NVVM::SetMaxRegisterAction::decrease);
  return {};
}

MACHINE_PATTERN(ElectOp) {
  return NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
}

MACHINE_PATTERN(AnyInWarpOp) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(b, -1),
                                  adaptor.getCondition(),
                                  NVVM::VoteSyncKind::any);
}

MACHINE_PATTERN(UniformOp) {
  Value number = NVVM::ReduxOp::create(
      b, b.getI32Type(), toI32(b, adaptor.getNumber()), NVVM::ReduxKind::OR,
      i32(b, -1), /*abs=*/false, /*nan=*/false);
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

/// Lane l reads entries l, l + 32, ...; entries after the last one stand for
/// that one. The least number of a negative entry is the length:
///   found = most
///   for at = 0 to most step 32:
///     n = min(at + lane, most - 1); found = min(found, list[n] < 0 ? n : most)
///   redux.sync.min found
MACHINE_PATTERN(ListLengthOp) {
  Type i32Type = b.getI32Type();
  Value most = toI32(b, adaptor.getMost());
  Value lane = NVVM::LaneIdOp::create(b, i32Type);
  Value last = arith::SubIOp::create(b, most, i32(b, 1));
  auto loop = scf::ForOp::create(b, i32(b, 0), most, i32(b, 32), most);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, loop.getInductionVar(), lane), last);
    Value place =
        arith::AddIOp::create(b, toI32(b, adaptor.getFirst()), number);
    Value wide = arith::ExtSIOp::create(b, b.getI64Type(), place);
    Value address =
        LLVM::GEPOp::create(b, adaptor.getList().getType(), i32Type,
                            adaptor.getList(), ArrayRef<LLVM::GEPArg>{wide});
    auto entry = LLVM::LoadOp::create(b, i32Type, address);
    entry.setInvariant(true);
    Value ends =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, entry, i32(b, 0));
    Value found = arith::SelectOp::create(b, ends, number, most);
    scf::YieldOp::create(
        b, Value(arith::MinSIOp::create(b, loop.getRegionIterArg(0), found)));
  }
  Value length = NVVM::ReduxOp::create(b, i32Type, loop.getResult(0),
                                       NVVM::ReduxKind::MIN, i32(b, -1),
                                       /*abs=*/false, /*nan=*/false);
  return arith::IndexCastOp::create(b, b.getIndexType(), length);
}

/// if (condition) n = list[place] else n = 0
MACHINE_PATTERN(ListEntryOp) {
  auto branch =
      scf::IfOp::create(b, TypeRange(b.getI32Type()), adaptor.getCondition(),
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value place = arith::IndexCastOp::create(b, b.getI64Type(), op.getPlace());
    Value address =
        LLVM::GEPOp::create(b, adaptor.getList().getType(), b.getI32Type(),
                            adaptor.getList(), ArrayRef<LLVM::GEPArg>{place});
    auto entry = LLVM::LoadOp::create(b, b.getI32Type(), address);
    entry.setInvariant(true);
    scf::YieldOp::create(b, Value(entry));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, i32(b, 0));
  }
  return arith::IndexCastOp::create(b, b.getIndexType(), branch.getResult(0));
}

MACHINE_PATTERN(RereadOp) {
  auto made = LLVM::InlineAsmOp::create(
      b, b.getI32Type(), toI32(b, adaptor.getNumber()), "mov.b32 $0, $1;",
      "=r,r", /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return arith::IndexCastOp::create(b, b.getIndexType(), made.getResult(0));
}

MACHINE_PATTERN(SyncWarpOp) {
  NVVM::SyncWarpOp::create(b, i32(b, -1));
  return {};
}

MACHINE_PATTERN(SyncCtaOp) {
  NVVM::BarrierOp::create(b);
  return {};
}

MACHINE_PATTERN(SyncClusterOp) {
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
  return {};
}

MACHINE_PATTERN(AwaitGridsOp) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  return {};
}

MACHINE_PATTERN(LaunchDependentsOp) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
  return {};
}

} // namespace

void fmha::populateMachinePatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<
      LowerBarrierOp, LowerInitBarrierOp, LowerWaitOp, LowerArriveOp,
      LowerArriveCopiesOp, LowerArriveExpectTxOp, LowerCommitOp, LowerFenceOp,
      LowerSmemAddressOp, LowerTmemAddressOp, LowerDescriptorOp, LowerTmaLoadOp,
      LowerTmaStoreOp, LowerTmaStoreWaitOp, LowerTmemAllocOp, LowerTmemBaseOp,
      LowerTmemDeallocOp, LowerTmemLoadOp, LowerTmemStoreOp, LowerTmemWaitOp,
      LowerMmaOp, LowerInvalBarrierOp, LowerTryCancelOp, LowerQueryCancelOp,
      LowerSetNextTileOp, LowerNextTileOp, LowerSetRegistersOp, LowerElectOp,
      LowerAnyInWarpOp, LowerListLengthOp, LowerListEntryOp, LowerUniformOp,
      LowerRereadOp, LowerSyncWarpOp, LowerSyncCtaOp, LowerSyncClusterOp,
      LowerAwaitGridsOp, LowerLaunchDependentsOp>(converter,
                                                  patterns.getContext());
}
