//===- VerifySync.cpp - Verify that accesses of roles are ordered ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InFlight.h"
#include "KernelTrace.h"

#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <map>

namespace fmha::tile {
#define GEN_PASS_DEF_TILEVERIFYSYNC
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

void report(const schedule::sync::Complaint &complaint,
            const KernelTrace &trace) {
  Operation *op = trace.opOf(complaint.source);
  InFlightDiagnostic error = op->emitError() << complaint.text;
  if (complaint.other)
    error.attachNote(trace.opOf(*complaint.other)->getLoc())
        << "the conflicting access";
}

/// Checks that a wait, and nothing else, uses the result of a tcgen05.ld: the
/// registers are valid after the wait, and a wait for another load is not
/// counted.
LogicalResult checkLoadedRegisters(gpu::GPUFuncOp func) {
  WalkResult result = func.walk([](TmemLoadOp load) -> WalkResult {
    if (load->use_empty())
      return load.emitError()
             << "Y1: fills registers that nothing waits for: expected "
                "tile.tmem_wait load of them";
    for (Operation *user : load->getUsers())
      if (!isa<TmemWaitOp>(user))
        return user->emitError()
               << "Y1: uses registers that tmem_load has not filled yet: "
                  "expected tile.tmem_wait load of them between";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Checks that a kernel with channels has roles, which are their ends.
LogicalResult checkRoles(gpu::GPUFuncOp func) {
  auto isRoles = [](WarpSpecializeOp) { return WalkResult::interrupt(); };
  if (func.walk(isRoles).wasInterrupted())
    return success();
  WalkResult result = func.walk([](ChannelOp channel) -> WalkResult {
    return channel.emitOpError() << "expected a tile.warp_specialize with the "
                                    "roles that it joins, got "
                                    "none; run tile-warp-specialize first";
  });
  return failure(result.wasInterrupted());
}

/// Checks that no address of a barrier is computed, which would make one op
/// represent several barriers.
LogicalResult checkBarriers(gpu::GPUFuncOp func) {
  auto check = [](auto op) -> WalkResult {
    if (!op.getDistance())
      return WalkResult::advance();
    return op.emitOpError()
           << "expected a barrier in a fixed place, got a computed one; run "
              "tile-verify-sync ahead of tile-share-consumers";
  };
  return failure(
      func.walk([&](BarrierOp op) { return check(op); }).wasInterrupted() ||
      func.walk([&](SyncNamedOp op) { return check(op); }).wasInterrupted() ||
      func.walk([&](ArriveNamedOp op) { return check(op); }).wasInterrupted());
}

/// Checks that each warpgroup sets the registers of its role, if the launch
/// gives its threads another number: tile.set_registers waits until the other
/// warpgroups have given theirs back.
LogicalResult checkSetRegisters(gpu::GPUFuncOp func, const KernelInfo &info) {
  unsigned warps = 0;
  // By warpgroup: its first role.
  std::map<unsigned, const schedule::Role *> groups;
  for (const schedule::Role &role : info.schedule.roles) {
    groups.try_emplace(role.firstWarp / target::warpgroupWarps, &role);
    warps = std::max(warps, role.firstWarp + role.warps);
  }
  llvm::SmallDenseMap<unsigned, unsigned> set;
  func.walk([&](SetRegistersOp op) { ++set[op.getCount()]; });
  unsigned atLaunch = schedule::registersAtLaunch(warps * target::warpThreads,
                                                  info.schedule.ctasPerSm);
  for (const auto &[group, role] : groups) {
    if (role->registers == atLaunch || set[role->registers]-- > 0)
      continue;
    return func.emitError()
           << "expected tile.set_registers " << role->registers << " from "
           << atLaunch << " in the warpgroup of role \"" << role->name
           << "\", as its schedule says, got none; add it, or give the role "
           << atLaunch << " registers";
  }
  return success();
}

/// Checks that the control flow is structured.
LogicalResult checkBlocks(gpu::GPUFuncOp func) {
  size_t blocks = llvm::range_size(func.getBody());
  if (blocks == 1)
    return success();
  return func.emitOpError()
         << "expected a kernel of one block, got " << blocks
         << "; run tile-verify-sync ahead of convert-scf-to-cf";
}

/// Verifies `func`, and reports the errors of the first scenario that has some.
LogicalResult verify(gpu::GPUFuncOp func, const KernelInfo &info) {
  if (failed(checkBlocks(func)) || failed(checkLoadedRegisters(func)) ||
      failed(checkRegistersInFlight(func)) || failed(checkRoles(func)) ||
      failed(checkBarriers(func)))
    return failure();
  FailureOr<KernelTrace> trace = KernelTrace::read(func, info);
  if (failed(trace))
    return failure();
  for (const Scenario &scenario : trace->scenarios()) {
    FailureOr<schedule::sync::Program> program = trace->run(scenario);
    if (failed(program))
      return failure();
    auto complaints = schedule::sync::verify(*program);
    for (const schedule::sync::Complaint &complaint : complaints)
      report(complaint, *trace);
    if (!complaints.empty())
      return failure();
  }
  return stageOf(func) == KernelStage::Machine ? checkSetRegisters(func, info)
                                               : success();
}

struct TileVerifySyncPass
    : public fmha::tile::impl::TileVerifySyncBase<TileVerifySyncPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    std::optional<KernelStage> stage = stageOf(getOperation());
    if (!isTiledKernel(getOperation()) ||
        (stage != KernelStage::Specialized && stage != KernelStage::Machine))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) || failed(verify(getOperation(), *info)))
      signalPassFailure();
  }
};

} // namespace
