//===- DispatchTargets.cpp - One attention op for each GPU ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOperands.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha {
#define GEN_PASS_DEF_DISPATCHTARGETS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

bool hasTarget(Operation *op);

struct DispatchTargetsPass
    : public fmha::impl::DispatchTargetsBase<DispatchTargetsPass> {
  using DispatchTargetsBase::DispatchTargetsBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AppendOp, MergeOp>(op) && !hasTarget(op))
        ops.push_back(op);
    });
    if (!ops.empty() && failed(checkTargets(ops.front()->getLoc())))
      return signalPassFailure();
    for (Operation *op : ops)
      if (failed(dispatch(op)))
        return signalPassFailure();
  }

private:
  LogicalResult checkTargets(Location loc);
  LogicalResult dispatch(Operation *op);
};

/// Returns whether `op` has a target.
bool hasTarget(Operation *op) {
  return op->hasAttr(isa<AttentionOp>(op) ? "fmha.target" : "target");
}

/// Returns the compute capability of a target, for example 103 for "sm_103a",
/// or 0 for other names.
int64_t capabilityOf(StringRef target) {
  int64_t capability = 0;
  target.consume_front("sm_");
  return target.consumeInteger(10, capability) ? 0 : capability;
}

LogicalResult DispatchTargetsPass::checkTargets(Location loc) {
  if (targets.empty())
    return emitError(loc) << "expected at least one target, for example "
                             "targets=sm_90a,sm_100a, got none";
  SmallVector<int64_t> seen;
  for (StringRef target : targets) {
    const target::Target *known = target::findTarget(target);
    if (!known || !known->supported)
      return emitError(loc) << "expected targets among "
                            << target::supportedNames() << ", got " << target;
    if (llvm::is_contained(seen, capabilityOf(target)))
      return emitError(loc)
             << "expected targets of different compute capabilities, got "
             << target << " twice";
    seen.push_back(capabilityOf(target));
  }
  return success();
}

/// Sets the target of `op`. Removes its kernel, and its schedule if that is for
/// another target.
void setTarget(Operation *op, StringRef target) {
  op->removeAttr("fmha.kernel");
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention)
    return op->setAttr("target", StringAttr::get(op->getContext(), target));
  ScheduleAttr schedule = attention.getScheduleAttr();
  if (schedule && schedule.getValue().target != target)
    attention.removeScheduleAttr();
  op->setAttr("fmha.target", StringAttr::get(op->getContext(), target));
}

LogicalResult DispatchTargetsPass::dispatch(Operation *op) {
  if (failed(expectMemrefs(op, "fmha-dispatch-targets")))
    return failure();
  OpBuilder b(op);
  Value capability =
      ComputeCapabilityOp::create(b, op->getLoc(), b.getIndexType());
  SmallVector<int64_t> cases = llvm::map_to_vector(
      targets, [](const std::string &name) { return capabilityOf(name); });
  auto choice = scf::IndexSwitchOp::create(b, op->getLoc(), TypeRange(),
                                           capability, cases, cases.size());
  for (auto [region, target] :
       llvm::zip_equal(choice.getCaseRegions(), targets)) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    setTarget(b.clone(*op), target);
    scf::YieldOp::create(b, op->getLoc());
  }
  b.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  Value never = arith::ConstantIntOp::create(b, op->getLoc(), 0, 1);
  cf::AssertOp::create(
      b, op->getLoc(), never,
      launchCheckMessage(op, "expected a device of " +
                                 llvm::join(targets, " or ") +
                                 ", the targets of the program, got another "
                                 "compute capability; add it to target="));
  scf::YieldOp::create(b, op->getLoc());
  op->erase();
  return success();
}

} // namespace
