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

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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

/// Returns how many lanes of a warp have the addresses of an op: with ldmatrix
/// the first eight for each matrix.
static uint32_t addressLanes(Operation *op) {
  constexpr uint32_t rows = 8;
  auto matrices = dyn_cast<NVVM::LdMatrixOp>(op);
  return matrices ? rows * matrices.getNum() : TracedEffect::allLanes;
}

void EffectReader::readSync(const SyncEffect &from, uint32_t lanes,
                            Steps &steps) {
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
  effect.lanes = lanes;
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
    readSync(effect, addressLanes(op), steps);
  // Others may have integers as results.
  return isa<TileDialect>(op->getDialect());
}
