//===- TraceChannels.cpp - Read channels and tiles --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the specialised level as if it were lowered with all fences, so that
// only the order remains to be verified there.
//
//===----------------------------------------------------------------------===//

#include "TraceChannels.h"

#include "fmha/Layout/Tmem.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::sync::Action;
using schedule::sync::allStrips;
using schedule::sync::End;
using schedule::sync::Memory;
using schedule::sync::stripBytes;
using schedule::sync::stripRowBytes;
using schedule::sync::Strips;
using schedule::sync::Unit;

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Reads an acquire or receive: a wait, and the stage of the tile.
void TileReader::readSlot(Operation *op, bool acquire, Steps &steps) {
  const ChannelBarriers &own = barriers.ofChannel(op->getOperand(0));
  uint32_t message = b.id(op->getOperand(1));
  TracedEffect effect;
  effect.event.action = Action::ChannelEnd;
  effect.event.barrier = own.index;
  effect.event.end = acquire ? End::Acquire : End::Receive;
  effect.stage = message;
  b.addEffect(effect, steps);
  effect.event.action = Action::WaitCount;
  effect.event.barrier = acquire ? own.free : own.full;
  effect.stages = effect.depth = own.depth;
  // Acquires of the first round do not wait.
  effect.bias = acquire ? 0 : 1;
  if (effect.event.barrier != TracedEffect::none) {
    b.addEffect(effect, steps);
    b.addAction(Action::FenceAfter, steps);
  }
  b.arithmetic(Arithmetic::Rem, b.id(op->getResult(0)), message,
               b.constant(own.depth, steps), steps);
}

/// Reads a publish or release: a signal of the unit or of the threads.
void TileReader::readSignal(Operation *op, bool publish, Steps &steps) {
  const ChannelBarriers &own = barriers.ofChannel(op->getOperand(0));
  ChannelOp channel = own.op;
  Agent agent = publish ? channel.getProducer() : channel.getConsumer();
  TracedEffect effect;
  effect.event.action = Action::ChannelEnd;
  effect.event.barrier = own.index;
  effect.event.end = publish ? End::Publish : End::Release;
  effect.stage = b.id(op->getOperand(1));
  b.addEffect(effect, steps);
  if (agent != Agent::Mma)
    for (Action fence : {Action::FenceBefore, Action::FenceProxy})
      b.addAction(fence, steps);
  effect.event.action = agent == Agent::Mma ? Action::Commit : Action::Arrive;
  effect.event.barrier = publish ? own.full : own.free;
  effect.stages = effect.depth = own.depth;
  if (effect.event.barrier != TracedEffect::none)
    b.addEffect(effect, steps);
}

bool TileReader::readChannelEnd(Operation *op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AcquireOp>([&](auto) { return readSlot(op, true, steps), true; })
      .Case<ReceiveOp>([&](auto) { return readSlot(op, false, steps), true; })
      .Case<PublishOp>([&](auto) { return readSignal(op, true, steps), true; })
      .Case<ReleaseOp>([&](auto) { return readSignal(op, false, steps), true; })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static uint32_t addressOf(TmemAttr place) {
  return layout::tmemAddress(place.getLane(), place.getColumn());
}

/// Returns the strips of a panel's rows that a tile occupies. TMA writes and
/// reads whole rows.
static Strips stripsOf(TileType type, Unit unit) {
  bool tma = unit == Unit::TmaLoad || unit == Unit::TmaStore;
  if (tma || type.getShape().size() != 2 ||
      type.getElementType().getIntOrFloatBitWidth() != 16)
    return allStrips;
  int64_t first = type.getSmem().getOffset() % stripRowBytes;
  int64_t end = first + 2 * type.getColumns();
  if (end > stripRowBytes)
    return allStrips;
  int64_t strips = (end + stripBytes - 1) / stripBytes;
  return ((1 << strips) - 1) & ~((1 << first / stripBytes) - 1);
}

/// Adds an access to the whole tile, by `unit` in shared memory; threads access
/// tensor memory by loads and stores.
void TileReader::touch(Value tile, bool write, Unit unit, uint64_t chain,
                       Steps &steps) {
  auto type = dyn_cast<TileType>(tile.getType());
  if (!type || !(type.getSmem() || type.getTmem()))
    return;
  TracedEffect effect;
  effect.event.action = Action::Access;
  effect.event.unit = unit;
  effect.event.write = write;
  effect.shape = chain;
  if (SmemAttr place = type.getSmem()) {
    // A slice may begin inside a panel, of which it accesses parts of rows.
    effect.offset = place.getOffset() / 128 * 128;
    effect.extent = type.getBytes();
    effect.stride = type.getStagePitch();
    effect.address = b.id(tile);
    effect.event.strips = stripsOf(type, unit);
  } else {
    effect.event.memory = Memory::Tensor;
    effect.offset = addressOf(type.getTmem());
    effect.halfLanes = type.hasHalfLanes();
    effect.extent = type.getTmemColumns();
    if (type.getStages() > 1) {
      effect.stride = type.getStagePitch();
      effect.address = b.id(tile);
    }
    if (unit == Unit::Threads)
      effect.event.unit = write ? Unit::TmemStore : Unit::TmemLoad;
  }
  b.addEffect(effect, steps);
}

/// Checks that an op of a role uses no tile that is defined outside of the
/// role.
static LogicalResult checkCrossing(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  for (Value operand : op->getOperands())
    if (role && isa<TileType>(operand.getType()) &&
        !role.getBody().isAncestor(operand.getParentRegion()))
      return op->emitOpError()
             << "uses a tile that is made outside of role \"" << role.getName()
             << "\": expected it to come through a tile.channel";
  return success();
}

/// Reads a load to `slot`, which signals the full barrier of its channel.
LogicalResult TileReader::readLoad(Operation *op, Value slot, Steps &steps) {
  auto acquired = slot ? slot.getDefiningOp<AcquireOp>() : AcquireOp();
  if (!acquired)
    return op->emitOpError()
           << "has no acquired slot; run tile-warp-specialize first";
  const ChannelBarriers &own = barriers.ofChannel(acquired.getChannel());
  auto type = cast<TileType>(op->getResult(0).getType());
  if (!type.getSmem())
    return op->emitOpError()
           << "expected a tile in shared memory to copy to, got " << type;
  TracedEffect effect;
  effect.event.action = Action::Access;
  // Fences are checked at a lower level; here copies by threads count as
  // stores.
  bool byThreads = ChannelOp(own.op).getProducer() != Agent::Tma;
  effect.event.unit = byThreads ? Unit::Threads : Unit::TmaLoad;
  effect.event.write = true;
  effect.event.barrier = own.full;
  effect.offset = type.getSmem().getOffset();
  effect.extent = type.getBytes();
  effect.stride = type.getStagePitch();
  effect.address = b.id(slot);
  effect.stage = b.id(acquired.getMessage());
  effect.stages = effect.depth = own.depth;
  b.addEffect(effect, steps);
  return success();
}

/// Adds the reads of operands and the writes of results, by the unit that
/// executes the op.
void TileReader::readMoves(Operation *op, Steps &steps) {
  auto product = dyn_cast<DotOp>(op);
  Unit unit = product            ? Unit::Mma
              : isa<StoreOp>(op) ? Unit::TmaStore
                                 : Unit::Threads;
  uint64_t chain = 0;
  if (product)
    if (TmemAttr place = product.getType().getTmem())
      chain = uint64_t(addressOf(place)) << 32 |
              uint64_t(product.getType().getColumns());
  auto move = dyn_cast<MoveOp>(op);
  for (Value operand : op->getOperands())
    if (!move || operand == move.getInput())
      touch(operand, false, unit, chain, steps);
  // Loads are complete before the tile is written in place.
  if (unit == Unit::Threads)
    b.addAction(Action::WaitLoads, steps);
  for (Value result : op->getResults())
    touch(result, true, unit, chain, steps);
  if (unit == Unit::Threads)
    b.addAction(Action::WaitStores, steps);
  if (unit == Unit::TmaStore)
    b.addAction(Action::WaitBulk, steps);
}

void TileReader::touchRegisters(Value tile, Unit unit, bool write,
                                Steps &steps) {
  auto type = dyn_cast<TileType>(tile.getType());
  if (!type || !type.inFragments())
    return;
  TracedEffect effect;
  effect.event.action = Action::Access;
  effect.event.unit = unit;
  effect.event.memory = Memory::Registers;
  effect.event.write = write;
  effect.event.ownRows = true;
  effect.extent = 1;
  effects.addRegisters(effect, tile, steps);
}

/// Reads a product of wgmma, which is one group.
void TileReader::readBegunDot(DotOp op, Steps &steps) {
  for (Value factor : {Value(op.getA()), Value(op.getB())}) {
    touch(factor, false, Unit::Wgmma, /*chain=*/0, steps);
    touchRegisters(factor, Unit::Wgmma, false, steps);
  }
  touchRegisters(op.getResult(), Unit::Wgmma, true, steps);
  b.addAction(Action::WgmmaCommit, steps);
}

/// Reads a wait, which counts as a write of the registers, because ops after it
/// may write them.
void TileReader::readWait(WaitDotsOp op, Steps &steps) {
  TracedEffect effect;
  effect.event.action = Action::WgmmaWait;
  effect.event.amount = op.getPending();
  b.addEffect(effect, steps);
  for (Value value : op.getValues())
    touchRegisters(value, Unit::Threads, true, steps);
}

LogicalResult TileReader::read(Operation *op, Steps &steps) {
  if (readChannelEnd(op, steps))
    return success();
  // A slot has the stage of its operand, a slice that of its tile.
  if (isa<SlotAddressOp, SliceOp>(op)) {
    Step step{StepCode::Copy};
    step.result = b.id(op->getResult(0));
    step.a = b.id(op->getOperand(0));
    steps.push_back(step);
    return checkCrossing(op);
  }
  // The result has the stage of the slot, if there is one, or else stage 0.
  auto slot =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<MoveOp, LoadOpInterface>(
              [](auto writer) -> Value { return writer.getInto(); })
          .Case([](DotOp dot) -> Value {
            return dot.getType().getStages() > 1 ? dot.getAcc() : Value();
          })
          .Default(Value());
  for (Value result : op->getResults()) {
    Step step{slot ? StepCode::Copy : StepCode::Constant};
    step.result = b.id(result);
    step.a = slot ? b.id(slot) : 0;
    steps.push_back(step);
  }
  if (failed(checkCrossing(op)))
    return failure();
  if (isa<LoadOpInterface>(op))
    return readLoad(op, slot, steps);
  auto dot = dyn_cast<DotOp>(op);
  if (auto wait = dyn_cast<WaitDotsOp>(op))
    readWait(wait, steps);
  else if (dot && dot.getType().inFragments())
    readBegunDot(dot, steps);
  else
    readMoves(op, steps);
  return success();
}
