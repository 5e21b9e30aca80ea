//===- SyncEffects.cpp - Effects of the machine ops -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/SyncOpInterfaceImpl.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace fmha::tile;

#include "fmha/Dialect/Tile/IR/TileInterfaces.cpp.inc"

using Action = SyncEffect::Action;
using Unit = SyncEffect::Unit;
using Memory = SyncEffect::Memory;
using Effects = SmallVectorImpl<SyncEffect>;

static SyncEffect onBarrier(Action action, Value barrier, Value stage) {
  SyncEffect effect{action};
  effect.barrier = barrier;
  effect.stage = stage;
  return effect;
}

static SyncEffect access(Unit unit, Memory memory, bool write, Value address,
                         int64_t offset, int64_t extent) {
  SyncEffect effect{Action::Access, unit, memory, write};
  effect.address = address;
  effect.offset = offset;
  effect.extent = extent;
  return effect;
}

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

void InitBarrierOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::Init, getBarrier(), Value()));
  effects.back().amount = getArrivals();
}

void InvalBarrierOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::Inval, getBarrier(), Value()));
}

void WaitOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::WaitParity, getBarrier(), getStage()));
  effects.back().parity = getParity();
}

void ArriveOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::Arrive, getBarrier(), getStage()));
}

void ArriveCopiesOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::Arrive, getBarrier(), getStage()));
  effects.back().unit = Unit::Copies;
}

void ArriveExpectTxOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::ArriveExpect, getBarrier(), getStage()));
  effects.back().amount = getBytes();
}

void CommitOp::getSyncEffects(Effects &effects) {
  effects.push_back(onBarrier(Action::Commit, getBarrier(), getStage()));
}

void FenceOp::getSyncEffects(Effects &effects) {
  // Indexed by FenceKind.
  constexpr Action actions[] = {Action::FenceBefore, Action::FenceAfter,
                                Action::FenceProxy, Action::FenceInit};
  effects.push_back({actions[unsigned(getKind())]});
}

void SyncWarpOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::SyncWarp});
}

void SyncCtaOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::SyncCta});
}

/// Every thread of the CTA waits for all others of it, and for more.
void SyncClusterOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::SyncCta});
}

void AwaitGridsOp::getSyncEffects(Effects &) {}
void LaunchDependentsOp::getSyncEffects(Effects &) {}
void SetRegistersOp::getSyncEffects(Effects &) {}
void ElectOp::getSyncEffects(Effects &) {}
void AnyInWarpOp::getSyncEffects(Effects &) {}
void UniformOp::getSyncEffects(Effects &) {}
void RereadOp::getSyncEffects(Effects &) {}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

/// Adds the write of a box of the tensor, which signals the barrier.
template <typename CopyOp> static void addBox(CopyOp op, Effects &effects) {
  effects.push_back(
      access(Unit::TmaLoad, Memory::Shared, true, op.getDest(), 0, 0));
  effects.back().tensor = op.getSrc();
  effects.back().barrier = op.getBarrier();
  effects.back().stage = op.getStage();
}

void TmaLoadOp::getSyncEffects(Effects &effects) { addBox(*this, effects); }
void TmaGatherOp::getSyncEffects(Effects &effects) { addBox(*this, effects); }

void CopyRowsOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::Copies, Memory::Shared, true, getDest(), 0,
             fmha::layout::PanelTile{getCount(), getColumns()}.bytes()));
}

void ConvertRowsOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::Threads, Memory::Shared, true, getDest(), 0,
             fmha::layout::PanelTile{getCount(), getColumns()}.bytes()));
}

void RotateRowsOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::Threads, Memory::Shared, true, getDest(), 0,
             fmha::layout::PanelTile{getCount(), getColumns()}.bytes()));
}

void ReadFactorsOp::getSyncEffects(Effects &) {}

void WriteFactorsOp::getSyncEffects(Effects &effects) {
  effects.push_back(access(Unit::Threads, Memory::Shared, true, getDest(), 0,
                           2 * int64_t(getCount()) * int64_t(sizeof(float))));
}

void TmaStoreOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::TmaStore, Memory::Shared, false, getSrc(), 0, 0));
  effects.back().tensor = getDest();
}

void TmaStoreWaitOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::WaitBulk});
}

//===----------------------------------------------------------------------===//
// Output tiles of the launch
//===----------------------------------------------------------------------===//

static constexpr int64_t responseBytes = 16, numberBytes = 4;

/// The response is written and signaled like a copy by TMA.
void TryCancelOp::getSyncEffects(Effects &effects) {
  effects.push_back(access(Unit::TmaLoad, Memory::Shared, true, Value(),
                           getOffset(), responseBytes));
  effects.back().barrier = getBarrier();
  effects.back().stage = getStage();
  effects.back().amount = responseBytes;
}

void QueryCancelOp::getSyncEffects(Effects &effects) {
  effects.push_back(access(Unit::Threads, Memory::Shared, false, Value(),
                           getOffset(), responseBytes));
}

/// Appends the access to a tile index: that of `slot` if there is a ring.
static void accessNumber(bool write, Value slot, int64_t offset,
                         Effects &effects) {
  effects.push_back(
      access(Unit::Threads, Memory::Shared, write, slot, offset, numberBytes));
  effects.back().pitch = slot ? numberBytes : 0;
}

void SetNextTileOp::getSyncEffects(Effects &effects) {
  accessNumber(true, getSlot(), getOffset(), effects);
}

void NextTileOp::getSyncEffects(Effects &effects) {
  accessNumber(false, getSlot(), getOffset(), effects);
}

/// The counter does not order accesses within a CTA. The effects of the
/// messages are those of the ops that they are lowered to.
void DrawTileOp::getSyncEffects(Effects &) {}
void AnnounceTileOp::getSyncEffects(Effects &) {}
void AwaitTileOp::getSyncEffects(Effects &) {}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// Bytes of the base address that tcgen05.alloc stores in shared memory.
static constexpr int64_t baseBytes = 4;

/// An allocation counts as a write of the columns, so that every access has to
/// be ordered after it.
void TmemAllocOp::getSyncEffects(Effects &effects) {
  effects.push_back(access(Unit::Threads, Memory::Shared, true, Value(),
                           getOffset(), baseBytes));
  effects.push_back(
      access(Unit::TmemStore, Memory::Tensor, true, Value(), 0, getColumns()));
  effects.push_back({Action::WaitStores});
}

void TmemBaseOp::getSyncEffects(Effects &effects) {
  effects.push_back(access(Unit::Threads, Memory::Shared, false, Value(),
                           getOffset(), baseBytes));
}

void TmemDeallocOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::TmemStore, Memory::Tensor, true, Value(), 0, getColumns()));
}

/// Appends the access to a thread's columns; with `split` one half of the
/// threads access columns that lie `split` further right.
static void moveRow(Unit unit, Value address, Value registers,
                    std::optional<uint32_t> split, Effects &effects) {
  int64_t columns = cast<VectorType>(registers.getType()).getNumElements();
  auto move = [&](int64_t first) {
    effects.push_back(access(unit, Memory::Tensor, unit == Unit::TmemStore,
                             address, first, columns));
    effects.back().ownRows = true;
    effects.back().halfLanes = split.has_value();
  };
  move(0);
  if (split)
    move(*split);
}

void TmemLoadOp::getSyncEffects(Effects &effects) {
  moveRow(Unit::TmemLoad, getAddress(), getResult(), getSplit(), effects);
}

void TmemStoreOp::getSyncEffects(Effects &effects) {
  moveRow(Unit::TmemStore, getAddress(), getValue(), getSplit(), effects);
}

void TmemWaitOp::getSyncEffects(Effects &effects) {
  effects.push_back({getAccess() == TmemAccess::Load ? Action::WaitLoads
                                                     : Action::WaitStores});
}

//===----------------------------------------------------------------------===//
// MMA
//===----------------------------------------------------------------------===//

/// Fields of the instruction descriptor of kind::f16 (PTX ISA, instruction
/// descriptor) and of the shared-memory descriptor.
static int64_t rowsOfA(uint32_t instruction) {
  return ((instruction >> 24) & 0x1F) << 4;
}
static int64_t rowsOfB(uint32_t instruction) {
  return ((instruction >> 17) & 0x3F) << 3;
}
/// Returns the fields M and N. Products of one kind with equal M and N execute
/// in order, whatever the layout and the sign of their factors.
static uint32_t shapeOf(uint32_t instruction) {
  constexpr uint32_t m = 0x1F << 24, n = 0x3F << 17;
  return instruction & (m | n);
}
static bool transposes(uint32_t instruction, unsigned operand) {
  return (instruction >> (15 + operand)) & 1;
}
static int64_t leadingOffset(uint64_t fields) {
  return ((fields >> 16) & 0x3FFF) << 4;
}

/// Bytes of a row of the 128-byte swizzle, its elements, and the elements of K
/// of one MMA.
static constexpr int64_t rowBytes = 128, rowElements = 64, depth = 16;

/// Returns the op that made `descriptor`, to which numbers may have been added.
static DescriptorOp descriptorOf(Value descriptor) {
  while (Operation *op = descriptor.getDefiningOp()) {
    if (auto made = dyn_cast<DescriptorOp>(op))
      return made;
    if (!isa<arith::AddIOp>(op))
      break;
    descriptor = op->getOperand(0);
  }
  return {};
}

/// Appends the reads of an operand: if it is K-major, of the panel's rows, of
/// which the MMA reads a strip; if it is MN-major, of `depth` rows of each
/// panel.
static void readShared(Unit unit, Value descriptor, int64_t extent,
                       bool transposed, Effects &effects, int64_t base = 0) {
  auto read = [&](int64_t offset, int64_t bytes) {
    effects.push_back(
        access(unit, Memory::Shared, false, descriptor, base + offset, bytes));
    effects.back().ofDescriptor = true;
  };
  DescriptorOp op = descriptorOf(descriptor);
  if (!transposed || !op) {
    read(0, extent * rowBytes);
    effects.back().strip = !transposed;
    return;
  }
  for (int64_t panel = 0; panel * rowElements < extent; ++panel)
    read(panel * leadingOffset(op.getFields()), depth * rowBytes);
}

/// A CTA of a pair has half of the rows of A and D and half of the columns of
/// B.
void MmaOp::getSyncEffects(Effects &effects) {
  uint32_t instruction = getInstruction();
  int64_t ctas = getPair() ? 2 : 1;
  int64_t ownRows = rowsOfA(instruction) / ctas;
  size_t first = effects.size();
  if (isa<LLVM::LLVMPointerType>(getA().getType()))
    effects.push_back(
        access(Unit::Mma, Memory::Tensor, false, getA(), 0, depth / 2));
  else
    readShared(Unit::Mma, getA(), ownRows, transposes(instruction, 0), effects);
  readShared(Unit::Mma, getB(), rowsOfB(instruction) / ctas,
             transposes(instruction, 1), effects);
  // A pair puts the right half of 64 rows into lanes that are otherwise empty.
  bool halves = ownRows == 64;
  effects.push_back(access(Unit::Mma, Memory::Tensor, true, getD(), 0,
                           rowsOfB(instruction) / (halves ? ctas : 1)));
  for (size_t i = first; i < effects.size(); ++i) {
    effects[i].halfLanes = halves && !getPair();
    effects[i].shape = shapeOf(instruction);
    effects[i].accumulator = getD();
  }
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static SyncEffect onRegisters(Unit unit, bool write, Value registers) {
  SyncEffect effect = access(unit, Memory::Registers, write, Value(), 0, 1);
  effect.registers = registers;
  effect.ownRows = true;
  return effect;
}

static SyncEffect withAmount(Action action, int64_t amount) {
  SyncEffect effect{action};
  effect.amount = amount;
  return effect;
}

void WgmmaOp::getSyncEffects(Effects &effects) {
  constexpr int64_t rows = 64;
  int64_t columns = 2 * cast<VectorType>(getType()).getDimSize(0);
  if (hasRegistersOfA())
    effects.push_back(onRegisters(Unit::Wgmma, false, getA()));
  for (int64_t step = 0; step < countSteps(); ++step) {
    if (!hasRegistersOfA())
      readShared(Unit::Wgmma, getA(), rows, /*transposed=*/false, effects,
                 stepOfA(step));
    readShared(Unit::Wgmma, getB(), columns, getTransposeB(), effects,
               stepOfB(step));
  }
  effects.push_back(onRegisters(Unit::Wgmma, true, getResult()));
}

void WgmmaCommitOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::WgmmaCommit});
}

/// The wait counts as a write of the registers, because ops after it may write
/// them.
void WgmmaWaitOp::getSyncEffects(Effects &effects) {
  effects.push_back(withAmount(Action::WgmmaWait, getPending()));
  for (Value value : getValues())
    effects.push_back(onRegisters(Unit::Threads, true, value));
}

/// Each lane addresses 16 bytes, all of which are written.
void StoreMatrixOp::getSyncEffects(Effects &effects) {
  constexpr int64_t bytes = 16;
  effects.push_back(
      access(Unit::Threads, Memory::Shared, true, getAddress(), 0, bytes));
}

void CommitCopiesOp::getSyncEffects(Effects &effects) {
  effects.push_back({Action::CommitCopies});
}

void AwaitCopiesOp::getSyncEffects(Effects &effects) {
  effects.push_back(withAmount(Action::AwaitCopies, getPending()));
}

void CopyRowsOutOp::getSyncEffects(Effects &effects) {
  effects.push_back(
      access(Unit::Threads, Memory::Shared, false, getSrc(), 0,
             fmha::layout::PanelTile{getCount(), getColumns()}.bytes()));
}

static SyncEffect atNamed(Action action, int64_t barrier, int64_t threads) {
  SyncEffect effect = withAmount(action, threads);
  effect.offset = barrier;
  return effect;
}

void SyncNamedOp::getSyncEffects(Effects &effects) {
  effects.push_back(atNamed(Action::SyncNamed, getBarrier(), getThreads()));
}

void ArriveNamedOp::getSyncEffects(Effects &effects) {
  effects.push_back(atNamed(Action::ArriveNamed, getBarrier(), getThreads()));
}

//===----------------------------------------------------------------------===//
// Upstream ops
//===----------------------------------------------------------------------===//

/// Adds the access of a thread to shared memory.
static void addShared(Value address, int64_t bytes, bool write,
                      Effects &effects) {
  effects.push_back(
      access(Unit::Threads, Memory::Shared, write, address, 0, bytes));
}

/// Returns whether an address is in shared memory: its type says so, or that of
/// the pointer that it was cast from.
static bool isShared(Value address) {
  constexpr unsigned sharedSpace = 3;
  auto isSharedType = [](Value pointer) {
    return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() ==
           sharedSpace;
  };
  while (!isSharedType(address)) {
    Operation *op = address.getDefiningOp();
    if (!isa_and_nonnull<LLVM::AddrSpaceCastOp, LLVM::GEPOp>(op))
      return false;
    address = op->getOperand(0);
  }
  return true;
}

static int64_t bytesOf(Type type) {
  return int64_t(DataLayout().getTypeSize(type));
}

namespace {

struct LoadSync
    : public SyncOpInterface::ExternalModel<LoadSync, LLVM::LoadOp> {
  void getSyncEffects(Operation *op, Effects &effects) const {
    auto load = cast<LLVM::LoadOp>(op);
    if (isShared(load.getAddr()))
      addShared(load.getAddr(), bytesOf(load.getType()), false, effects);
  }
};

struct StoreSync
    : public SyncOpInterface::ExternalModel<StoreSync, LLVM::StoreOp> {
  void getSyncEffects(Operation *op, Effects &effects) const {
    auto store = cast<LLVM::StoreOp>(op);
    if (isShared(store.getAddr()))
      addShared(store.getAddr(), bytesOf(store.getValue().getType()), true,
                effects);
  }
};

/// Each lane addresses a row of a matrix, 16 bytes. A warp reads those of 8
/// lanes per matrix.
struct LdMatrixSync
    : public SyncOpInterface::ExternalModel<LdMatrixSync, NVVM::LdMatrixOp> {
  void getSyncEffects(Operation *op, Effects &effects) const {
    constexpr int64_t rowBytes = 16;
    Value address = cast<NVVM::LdMatrixOp>(op).getPtr();
    if (isShared(address))
      addShared(address, rowBytes, false, effects);
  }
};

} // namespace

void fmha::tile::registerSyncOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LLVM::LLVMDialect *) {
    LLVM::LoadOp::attachInterface<LoadSync>(*context);
    LLVM::StoreOp::attachInterface<StoreSync>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, NVVM::NVVMDialect *) {
    NVVM::LdMatrixOp::attachInterface<LdMatrixSync>(*context);
  });
}
