//===- PlanSchedule.cpp - Attach the planner's schedule to an op ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Report/Explain.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include <cmath>

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
  PlanSchedulePass() = default;
  PlanSchedulePass(const PlanSchedulePass &other)
      : PlanScheduleBase(other), onPlan(other.onPlan) {}

  void runOnOperation() override {
    std::optional<schedule::Overrides> overrides = readOverrides();
    if (!overrides)
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](AttentionOp op) {
      return succeeded(planOne(op, *overrides)) ? WalkResult::advance()
                                                : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    auto setTarget = [&](auto op) {
      if (!op.getTarget())
        op.setTarget(StringRef(target));
    };
    getOperation().walk([&](MergeOp op) { setTarget(op); });
    getOperation().walk([&](AppendOp op) { setTarget(op); });
  }

private:
  std::optional<schedule::Overrides> readOverrides();
  LogicalResult planOne(AttentionOp op, const schedule::Overrides &overrides);
  LogicalResult keepOwn(AttentionOp op, const schedule::Overrides &overrides);
  /// Returns the GPU that `op` names in fmha.target, or the pass option.
  std::string targetOf(AttentionOp op) const {
    auto own = op->getAttrOfType<StringAttr>("fmha.target");
    return own ? own.getValue().str() : target.getValue();
  }

public:
  FieldOptions<Option<FieldChoice>> fields{*this};
  HintOptions<Option<unsigned>> hints{*this};
  schedule::PlanListener onPlan;
};

void reportPlan(Location loc, const schedule::Problem &problem,
                const schedule::Plan &plan);

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
  fields.fix(overrides);
  return overrides;
}

/// Keeps a schedule written by hand, and adds roles if it has none. Fails if an
/// option contradicts it.
LogicalResult PlanSchedulePass::keepOwn(AttentionOp op,
                                        const schedule::Overrides &overrides) {
  const schedule::Schedule &own = op.getScheduleAttr().getValue();
  std::string target = targetOf(op);
  if (own.target != target)
    return op.emitError() << "attention has a schedule for " << own.target
                          << ", but is compiled for " << target
                          << "; change one of them (target=" << own.target
                          << " takes the schedule's)";
  if (auto clash = schedule::contradiction(own, overrides))
    return op.emitError() << "attention has a schedule with " << clash->name
                          << " = " << clash->got << ", but " << clash->flag
                          << "=" << clash->wanted
                          << " is requested; drop one of them";
  op.setScheduleAttr(
      ScheduleAttr::get(op.getContext(), schedule::withRoles(own)));
  return success();
}

LogicalResult PlanSchedulePass::planOne(AttentionOp op,
                                        const schedule::Overrides &overrides) {
  if (op.getScheduleAttr())
    return keepOwn(op, overrides);
  schedule::Problem problem = schedule::withHints(op.getProblem(), hints.get());
  std::string error;
  std::optional<schedule::Plan> plan =
      schedule::plan(problem, targetOf(op), overrides, error);
  if (!plan)
    return op.emitError() << error;
  op.setScheduleAttr(ScheduleAttr::get(op.getContext(), plan->schedule));
  reportPlan(op.getLoc(), problem, *plan);
  if (onPlan)
    onPlan(*plan);
  return success();
}

/// Emits one remark for the choice, one for its loads, one for each runner-up,
/// and one for each reason for rejections.
void reportPlan(Location loc, const schedule::Problem &problem,
                const schedule::Plan &plan) {
  // The messages take longer than the plan.
  if (!loc->getContext()->getRemarkEngine())
    return;
  auto named = [](StringRef name) {
    return remark::RemarkOpts::name(name).category("fmha-plan");
  };
  remark::passed(loc, named("schedule")) << plan.reason;
  schedule::Cost cost = schedule::modelCost(problem, plan.schedule);
  for (unsigned i = 0; i < schedule::unitCount; ++i)
    remark::analysis(loc, named("unit-load")) << remark::metric(
        schedule::stringify(schedule::Unit(i)), std::llround(cost.busy[i]));
  for (const schedule::Rejected &other : plan.runnersUp)
    remark::missed(loc, named("runner-up"))
        << schedule::whySlower(problem, plan, other.schedule);
  for (const schedule::Reason &group :
       schedule::groupByReason(problem, plan.rejected))
    remark::missed(loc, named("rejected"))
        << group.text << remark::metric("Candidates", group.candidates);
}

} // namespace

std::unique_ptr<Pass> fmha::createPlanSchedule(
    const PlanScheduleOptions &options, const schedule::Overrides &overrides,
    const schedule::Hints &hints, schedule::PlanListener onPlan) {
  auto pass = std::make_unique<PlanSchedulePass>(options);
  pass->fields.set(overrides);
  pass->hints.set(hints);
  pass->onPlan = std::move(onPlan);
  return pass;
}
