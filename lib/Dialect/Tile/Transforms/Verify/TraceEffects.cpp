//===- TraceEffects.cpp - Read the effects of ops ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceEffects.h"
#include "InFlight.h"
#include "TraceIntegers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::sync::Action;

/// Returns the bytes of a box of `tensor`, q, k, v or o, whose rows are those
/// in the launch manifest and have 128 bytes.
int64_t EffectReader::boxBytes(Value tensor) const {
  auto argument = dyn_cast<BlockArgument>(tensor);
  unsigned number =
      argument ? argument.getArgNumber() : unsigned(schedule::Operand::Key);
  return 128 * int64_t(info.boxRows(number));
}

void EffectReader::readSync(const SyncEffect &from, Steps &steps) {
  auto number = [&](Value value) {
    return value ? b.id(value) : TracedEffect::none;
  };
  TracedEffect effect;
  effect.event.action = from.action;
  effect.event.unit = from.unit;
  effect.event.memory = from.memory;
  effect.event.write = from.write;
  effect.event.ownRows = from.ownRows;
  effect.event.amount = from.amount;
  effect.address = number(from.address);
  effect.offset = from.offset;
  effect.extent = from.extent;
  effect.halfLanes = from.halfLanes;
  effect.strip = from.strip;
  effect.stage = number(from.stage);
  effect.phase = number(from.parity);
  effect.accumulator = number(from.accumulator);
  effect.shape = from.shape;
  effect.stride = from.ofDescriptor ? descriptorUnit : from.pitch;
  if (from.action == Action::SyncNamed || from.action == Action::ArriveNamed)
    effect.event.barrier = from.offset;
  if (from.registers)
    return addRegisters(effect, from.registers, steps);
  if (from.barrier) {
    auto [first, count] = barriers.of(from.barrier);
    effect.event.barrier = first;
    effect.stages = count;
  }
  if (from.tensor) {
    effect.extent = boxBytes(from.tensor);
    effect.event.amount = effect.extent;
  }
  b.addEffect(effect, steps);
}

void EffectReader::addRegisters(TracedEffect effect, Value value,
                                Steps &steps) {
  SmallVector<Value> registers;
  appendRegisters(value, registers);
  for (Value each : registers) {
    effect.offset =
        registerNumbers.try_emplace(each, registerNumbers.size()).first->second;
    b.addEffect(effect, steps);
  }
}

bool EffectReader::read(Operation *op, Steps &steps) {
  auto sync = dyn_cast<SyncOpInterface>(op);
  if (!sync)
    return false;
  SmallVector<SyncEffect, 8> effects;
  sync.getSyncEffects(effects);
  for (const SyncEffect &effect : effects)
    readSync(effect, steps);
  // Others may have integers as results.
  return isa<TileDialect>(op->getDialect());
}

LogicalResult tile::checkEffects(Operation *op) {
  constexpr unsigned sharedSpace = 3;
  auto isShared = [](Type type) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    return pointer && pointer.getAddressSpace() == sharedSpace;
  };
  if (isa<SyncOpInterface>(op) || isMemoryEffectFree(op) ||
      llvm::none_of(op->getOperandTypes(), isShared))
    return success();
  return op->emitError() << "tile-verify-sync cannot follow this op: it takes "
                            "an address in shared memory, and its accesses are "
                            "not known; use llvm.load, llvm.store or "
                            "nvvm.ldmatrix, or give it SyncOpInterface";
}
