//===- CopyPlan.cpp - Where a buffer is copied to the device and back -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyPlan.h"

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace fmha;

namespace {

/// The sides on which the contents are valid; at least one is true.
struct State {
  bool host, device;
};

/// The possible states where control-flow paths meet, in order of preference if
/// the buffer is written.
constexpr State meetingStates[] = {{true, false}, {true, true}, {false, true}};
/// The state where paths meet if the buffer is not written.
constexpr State onBothSides{true, true};

/// The assumed number of iterations of a loop.
constexpr double loopWeight = 16;

class Planner {
public:
  explicit Planner(const BufferUses &uses) : uses(uses) {}

  SmallVector<PlannedCopy> run();

private:
  void walk(Block &block, State &state);
  void visit(Operation *op, State &state);
  void enter(Operation *op, State &state);
  void planRegion(Region &region, State initial);
  void end(Block &block, State &state, State meeting);
  void need(State sides, Operation *before, State &state);
  void cheapest(const Access &access, llvm::function_ref<void(State)> plan);

  const BufferUses &uses;
  SmallVector<PlannedCopy> copies;
  double cost = 0, weight = 1;
};

} // namespace

SmallVector<PlannedCopy> Planner::run() {
  // A new buffer has no contents to copy.
  State initial{true, uses.areOfNew()};
  Block &home = *uses.getRoot().getParentBlock();
  if (uses.areSpread()) {
    planRegion(*home.getParent(), initial);
    return copies;
  }
  walk(home, initial);
  // Memory that outlives the block must have what was written.
  if (!uses.areOfOwned())
    need({true, false}, home.getTerminator(), initial);
  return copies;
}

/// Plans the blocks of a region. All blocks begin and end with the same state,
/// so that the order of blocks at run time does not matter. Only the entry
/// block, which has no predecessors, begins with `initial`.
void Planner::planRegion(Region &region, State initial) {
  DominanceInfo dominance(region.getParentOp());
  CFGLoopInfo loops(dominance.getDomTree(&region));
  cheapest(uses.total(), [&](State meeting) {
    for (Block &block : region) {
      weight = std::pow(loopWeight, loops.getLoopDepth(&block));
      State state = block.isEntryBlock() ? initial : meeting;
      walk(block, state);
      bool isExit = block.hasNoSuccessors();
      if (!isExit)
        end(block, state, meeting);
      else if (!uses.areOfOwned())
        end(block, state, {true, false});
    }
    weight = 1;
  });
}

void Planner::walk(Block &block, State &state) {
  for (Operation &op : block)
    visit(&op, state);
}

/// Plans copies to the side on which `op` reads the contents. After a write
/// only the side that wrote is valid.
void Planner::visit(Operation *op, State &state) {
  Access access = uses.of(op);
  if (access.onHost() && access.onDevice() && op->getNumRegions())
    return enter(op, state);
  // A region may not be executed, and then it does not write.
  bool mayKeep = access.devicePartly || !isKernelOp(op);
  bool onDevice = access.deviceReads || (access.deviceWrites && mayKeep);
  need({access.onHost(), onDevice}, op, state);
  if (access.hostWrites)
    state = {true, false};
  if (access.deviceWrites)
    state = {false, true};
}

/// Plans the regions of `op`. Regions that use the buffer on both sides begin
/// and end with the same state, regardless of how often they are executed.
void Planner::enter(Operation *op, State &state) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  bool isLoop = isa<LoopLikeOpInterface>(op) || !branch || branch.hasLoop();
  State before = state;
  double outside = weight;
  cheapest(uses.of(op), [&](State meeting) {
    state = before;
    need(meeting, op, state);
    weight = isLoop ? outside * loopWeight : outside;
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        State inside = meeting;
        walk(block, inside);
        end(block, inside, meeting);
      }
    weight = outside;
    state = meeting;
  });
}

void Planner::end(Block &block, State &state, State meeting) {
  need(meeting, block.getTerminator(), state);
}

/// Plans copies so that the contents are valid on each of `sides`.
void Planner::need(State sides, Operation *before, State &state) {
  auto copy = [&](bool toDevice) {
    copies.push_back({before, toDevice});
    cost += weight;
  };
  if (sides.host && !state.host)
    copy(/*toDevice=*/false);
  if (sides.device && !state.device)
    copy(/*toDevice=*/true);
  state = {state.host || sides.host, state.device || sides.device};
}

/// Calls `plan` with the meeting state of the lowest cost. `access` is the sum
/// of the effects of the planned ops.
void Planner::cheapest(const Access &access,
                       llvm::function_ref<void(State)> plan) {
  if (!access.writes())
    return plan(onBothSides);
  size_t count = copies.size();
  double before = cost;
  auto restore = [&] {
    copies.truncate(count);
    cost = before;
  };
  std::optional<double> least;
  State best = meetingStates[0];
  for (State meeting : meetingStates) {
    restore();
    plan(meeting);
    if (least && cost >= *least)
      continue;
    least = cost;
    best = meeting;
  }
  restore();
  plan(best);
}

SmallVector<PlannedCopy> fmha::planCopies(const BufferUses &uses) {
  return Planner(uses).run();
}
