//===- StepBuilder.cpp - Writes the steps of a kernel ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::sync::Action;

bool tile::isTracked(Type type) {
  return isa<IndexType, IntegerType, LLVM::LLVMPointerType, TileType>(type);
}

Step tile::valueStep(StepCode code, uint32_t result, uint32_t a) {
  Step step{code};
  step.result = result;
  step.a = a;
  return step;
}

uint32_t StepBuilder::id(Value value) {
  auto [at, added] = ids.try_emplace(value, kernel.values);
  if (added)
    ++kernel.values;
  return at->second;
}

uint32_t StepBuilder::constant(int64_t value, Steps &steps) {
  Step step{StepCode::Constant};
  step.result = fresh();
  step.constant = value;
  steps.push_back(step);
  return step.result;
}

void StepBuilder::arithmetic(Arithmetic op, uint32_t result, uint32_t a,
                             uint32_t b, Steps &steps) {
  Step step{StepCode::Arithmetic, op};
  step.result = result;
  step.a = a;
  step.b = b;
  steps.push_back(step);
}

void StepBuilder::copy(ValueRange to, ValueRange from, Steps &steps) {
  for (auto [target, source] : llvm::zip(to, from))
    if (isTracked(target.getType()))
      steps.push_back(valueStep(StepCode::Copy, id(target), id(source)));
}

void StepBuilder::addEffect(TracedEffect effect, Steps &steps) {
  Step step{StepCode::Effect};
  step.constant = kernel.effects.size();
  if (kernel.ops.empty() || kernel.ops.back() != current)
    kernel.ops.push_back(current);
  step.source = kernel.ops.size() - 1;
  kernel.effects.push_back(effect);
  steps.push_back(step);
  ++effectSteps;
}

void StepBuilder::addAction(Action action, Steps &steps) {
  TracedEffect effect;
  effect.event.action = action;
  addEffect(effect, steps);
}
