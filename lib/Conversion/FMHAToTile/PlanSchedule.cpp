//===- PlanSchedule.cpp - Ask the planner, write the answer down ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Schedule/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace fmha {
#define GEN_PASS_DEF_PLANSCHEDULE
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct PlanSchedulePass
    : public fmha::impl::PlanScheduleBase<PlanSchedulePass> {
  using PlanScheduleBase::PlanScheduleBase;

  void runOnOperation() override {
    std::optional<schedule::Overrides> overrides = readOverrides();
    if (!overrides)
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](AttentionOp op) {
      return succeeded(planOne(op, *overrides)) ? WalkResult::advance()
                                                : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  std::optional<schedule::Overrides> readOverrides();
  LogicalResult planOne(AttentionOp op, const schedule::Overrides &overrides);
  LogicalResult keepOwn(AttentionOp op, const schedule::Overrides &overrides);
};

std::optional<schedule::PPlacement> parsePlacement(StringRef text) {
  using schedule::PPlacement;
  for (PPlacement placement : {PPlacement::Auto, PPlacement::Tmem,
                               PPlacement::Smem, PPlacement::Registers})
    if (text == StringRef(schedule::stringify(placement)))
      return placement;
  return std::nullopt;
}

std::optional<schedule::Overrides> PlanSchedulePass::readOverrides() {
  schedule::Overrides overrides;
  std::optional<schedule::PPlacement> placement = parsePlacement(pPlacement);
  if (!placement) {
    getOperation().emitError() << "unknown p-placement \"" << pPlacement
                               << "\": expected auto, tmem, smem or registers";
    return std::nullopt;
  }
  overrides.pPlacement = *placement;
  if (qTiles)
    overrides.qTiles = qTiles;
  if (kvStages)
    overrides.kvStages = kvStages;
  return overrides;
}

/// A schedule written by hand is taken as it is, but for roles that it leaves
/// open; where an option contradicts it neither can be obeyed.
LogicalResult PlanSchedulePass::keepOwn(AttentionOp op,
                                        const schedule::Overrides &overrides) {
  const schedule::Schedule &own = op.getScheduleAttr().getValue();
  if (own.target != target)
    return op.emitError() << "has a schedule for " << own.target
                          << ", but is compiled for " << target
                          << "; change one of them (target=" << own.target
                          << " takes the schedule's)";
  if (overrides.qTiles && *overrides.qTiles != own.qTiles)
    return op.emitError() << "has a schedule with q_tiles = " << own.qTiles
                          << ", but q-tiles=" << *overrides.qTiles
                          << " is asked for; drop one of them";
  if (overrides.kvStages && *overrides.kvStages != own.kvStages)
    return op.emitError() << "has a schedule with kv_stages = " << own.kvStages
                          << ", but kv-stages=" << *overrides.kvStages
                          << " is asked for; drop one of them";
  if (overrides.pPlacement != schedule::PPlacement::Auto &&
      overrides.pPlacement != own.pPlacement)
    return op.emitError() << "has a schedule with p_placement = "
                          << schedule::stringify(own.pPlacement)
                          << ", but p-placement=" << pPlacement
                          << " is asked for; drop one of them";
  op.setScheduleAttr(
      ScheduleAttr::get(op.getContext(), schedule::withRoles(own)));
  return success();
}

LogicalResult PlanSchedulePass::planOne(AttentionOp op,
                                        const schedule::Overrides &overrides) {
  if (op.getScheduleAttr())
    return keepOwn(op, overrides);
  std::string error;
  std::optional<schedule::Plan> plan =
      schedule::plan(op.getProblem(), target, overrides, error);
  if (!plan)
    return op.emitError() << error;
  op.setScheduleAttr(ScheduleAttr::get(op.getContext(), plan->schedule));
  auto options = remark::RemarkOpts::name("schedule").category("fmha-plan");
  remark::passed(op.getLoc(), options) << plan->reason;
  for (const schedule::Rejected &rejected : plan->rejected)
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("candidate").category("fmha-plan"))
        << rejected.reason;
  return success();
}

} // namespace
