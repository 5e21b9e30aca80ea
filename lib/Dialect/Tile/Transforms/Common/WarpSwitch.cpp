//===- WarpSwitch.cpp - Lower roles to branches on the warp index ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   prologue: allocate tensor memory, initialize barriers, one CTA barrier
//   if (warp < 4) { setmaxnreg; softmax0 }
//   else if (warp < 8) { ... }
//   else { setmaxnreg; if (warp == 12) { if (elected) load } else ... }
//   epilogue: one CTA barrier, free tensor memory
//
// If a CTA computes several tiles, each role is a loop (TileLoop.cpp), also an
// idle one.
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"
#include "TileLoop.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

constexpr unsigned warpsPerGroup = target::warpgroupWarps;

class WarpSwitch {
public:
  WarpSwitch(WarpSpecializeOp op, const KernelInfo &info)
      : op(op), info(info), b(op.getLoc(), op.getContext()), tiles(b, info) {}
  LogicalResult run();

private:
  void makeNumbersUniform(RoleOp role);
  void buildGridDependencies(gpu::GPUFuncOp func);
  void buildPrologue();
  void buildEpilogue();
  void freeTmem();
  void buildGroups(unsigned group);
  void buildGroup(unsigned group);
  void buildRoles(ArrayRef<RoleOp> roles);
  void buildRole(RoleOp role);
  LogicalResult readRoles();

  Value warpBelow(unsigned warp) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, warpIndex,
                                 constantI32(b, warp));
  }
  /// Returns whether this warp is one of `role`. The warps of earlier roles
  /// have been excluded by earlier tests.
  Value isOf(RoleOp role) {
    return role.getLastWarp() - role.getFirstWarp() == 1
               ? isWarp(role.getFirstWarp())
               : warpBelow(role.getLastWarp());
  }
  bool hasTmem() const { return info.map.tmemColumns != 0; }
  Value isWarp(unsigned warp) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpIndex,
                                 constantI32(b, warp));
  }
  void ifThen(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr);
  bool needs(Workaround what) const { return tile::needs(what, info); }
  /// Whether the MMA role frees tensor memory after its loop over tiles, whose
  /// end is a barrier of the CTA.
  bool freesInRole() const {
    return tiles.isNeeded() && needs(Workaround::FreeInRole);
  }
  unsigned tmemOffset() const {
    return info.map.findSmem("tmem_address")->offset;
  }

  WarpSpecializeOp op;
  const KernelInfo &info;
  ImplicitLocOpBuilder b;
  TileLoop tiles;
  /// Values that roles compute again if they have no loop over tiles.
  TileNumbers ownNumbers;
  /// Roles by warpgroup.
  SmallVector<SmallVector<RoleOp>> groups;
  /// The role whose warp allocates and frees tensor memory.
  RoleOp mma;
  Value warpIndex, thread;
  unsigned warps = 0;
};

void WarpSwitch::ifThen(Value condition, function_ref<void()> body,
                        function_ref<void()> otherwise) {
  auto made = scf::IfOp::create(b, condition, /*withElseRegion=*/!!otherwise);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(made.elseBlock());
  otherwise();
}

/// Whether a loop inside of `region` uses `number`, in its body or as a bound
/// or step.
static bool isUsedInLoop(Value number, Region &region) {
  return llvm::any_of(number.getUsers(), [&](Operation *user) {
    if (!region.isAncestor(user->getParentRegion()))
      return false;
    auto loop = user->getParentOfType<scf::ForOp>();
    return isa<scf::ForOp>(user) ||
           (loop && region.isAncestor(loop->getParentRegion()));
  });
}

/// Passes the numbers that `role` uses in loops through tile.uniform: no number
/// above the roles depends on a thread. Extents and constants are uniform
/// already, and a number that is used once does not matter.
void WarpSwitch::makeNumbersUniform(RoleOp role) {
  if (!needs(Workaround::UniformNumbers))
    return;
  for (Value number : usedOfOthers(role.getBody())) {
    Operation *from = number.getDefiningOp();
    if (!number.getType().isIndex() ||
        isa_and_nonnull<arith::ConstantOp, memref::DimOp>(from) ||
        !isUsedInLoop(number, role.getBody()))
      continue;
    replaceInRole(role, number, UniformOp::create(b, number));
  }
}

/// Waits for the grids before this one, so that its launch may be programmatic:
/// before all accesses to memory, also those above the roles. The kernel that
/// combines the parts starts while this one runs. No other grid does: if CTAs
/// of attention start on an SM that is not empty, SMs get unequal numbers.
void WarpSwitch::buildGridDependencies(gpu::GPUFuncOp func) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  AwaitGridsOp::create(b);
  if (schedule::kernelProblem(info.problem, info.schedule).isPart)
    LaunchDependentsOp::create(b);
}

void WarpSwitch::buildPrologue() {
  auto func = op->getParentOfType<gpu::GPUFuncOp>();
  if (!info.isProgram)
    buildGridDependencies(func);
  thread = arith::IndexCastOp::create(
      b, b.getI32Type(), gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  warpIndex = arith::ShRUIOp::create(b, thread, constantI32(b, 5));
  if (hasTmem())
    ifThen(isWarp(mma.getFirstWarp()),
           [&] { TmemAllocOp::create(b, info.map.tmemColumns, tmemOffset()); });
  SmallVector<BarrierOp> barriers;
  func.walk([&](BarrierOp barrier) { barriers.push_back(barrier); });
  if (barriers.empty() && !hasTmem())
    return syncAround(b, info);
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread,
                                      constantI32(b, 0));
  ifThen(first, [&] {
    for (BarrierOp barrier : barriers)
      InitBarrierOp::create(b, barrier, barrier.getArrivals());
    FenceOp::create(b, FenceKind::MbarrierInit);
  });
  syncAround(b, info);
}

void WarpSwitch::freeTmem() {
  Value base = TmemBaseOp::create(b, b.getI32Type(), tmemOffset());
  TmemDeallocOp::create(b, base, info.map.tmemColumns);
}

/// Emits a barrier of the CTA and frees tensor memory after it, when no thread
/// uses that any more. A loop over tiles has such a barrier at its end already.
void WarpSwitch::buildEpilogue() {
  if (!hasTmem() || freesInRole())
    return;
  if (!tiles.isNeeded()) {
    SyncWarpOp::create(b);
    syncAround(b, info);
  }
  ifThen(isWarp(mma.getFirstWarp()), [&] { freeTmem(); });
}

/// TMA and MMA are issued by one thread, which stays the same throughout:
/// commits and bulk groups track the work of the thread that issued it.
void WarpSwitch::buildRole(RoleOp role) {
  auto inlineBody = [&] {
    Block *into = b.getInsertionBlock();
    into->getOperations().splice(b.getInsertionPoint(),
                                 role.getBody().front().getOperations());
  };
  auto elect = [&]() -> Value {
    if (!role.getSingleThread())
      return {};
    return ElectOp::create(b, b.getI1Type());
  };
  auto inlineFor = [&](Value leader) {
    leader ? ifThen(leader, inlineBody) : inlineBody();
  };
  if (!tiles.isNeeded()) {
    if (needs(Workaround::OwnNumbers))
      ownNumbers.place(b, role, gpu::BlockIdOp::create(b, gpu::Dimension::x));
    makeNumbersUniform(role);
    return inlineFor(elect());
  }
  Value leader = elect();
  tiles.build(role, leader, [&] {
    makeNumbersUniform(role);
    inlineFor(leader);
  });
  if (role == mma && freesInRole())
    freeTmem();
}

void WarpSwitch::buildRoles(ArrayRef<RoleOp> roles) {
  if (roles.empty())
    return;
  RoleOp role = roles.front();
  if (role.getLastWarp() - role.getFirstWarp() == warpsPerGroup)
    return buildRole(role);
  ifThen(
      isOf(role), [&] { buildRole(role); },
      [&] { buildRoles(roles.drop_front()); });
}

/// setmaxnreg is one instruction for the whole warpgroup, so it comes before
/// the branches of its warps.
void WarpSwitch::buildGroup(unsigned group) {
  unsigned atLaunch =
      schedule::registersAtLaunch(warps * 32, info.schedule.ctasPerSm);
  if (!groups[group].empty())
    if (unsigned count = groups[group].front().getRegisters();
        count != atLaunch)
      SetRegistersOp::create(b, count, atLaunch);
  buildRoles(groups[group]);
}

void WarpSwitch::buildGroups(unsigned group) {
  if (group + 1 == groups.size())
    return buildGroup(group);
  ifThen(
      warpBelow((group + 1) * warpsPerGroup), [&] { buildGroup(group); },
      [&] { buildGroups(group + 1); });
}

/// Returns whether `role` copies rows and has no other op of a whole warpgroup.
static bool copiesOnly(RoleOp role) {
  bool copies = false;
  WalkResult walked = role.walk([&](Operation *op) {
    copies |= isa<CopyRowsOp>(op);
    return isa<WgmmaOp, StoreMatrixOp, TmemLoadOp, TmemStoreOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return copies && !walked.wasInterrupted();
}

LogicalResult WarpSwitch::readRoles() {
  bool hasKeeper = false;
  for (RoleOp role : op.getBody().front().getOps<RoleOp>()) {
    unsigned count = role.getLastWarp() - role.getFirstWarp();
    bool whole = count == warpsPerGroup && role.getFirstWarp() % count == 0;
    bool idle = role.getBody().front().empty();
    if (count != 1 && !whole && !idle && !copiesOnly(role))
      return role.emitOpError()
             << "expected one warp or the four of a warpgroup, got warps "
             << role.getFirstWarp() << " to " << role.getLastWarp();
    unsigned group = role.getFirstWarp() / warpsPerGroup;
    if ((role.getLastWarp() - 1) / warpsPerGroup != group)
      return role.emitOpError()
             << "expected the role inside one warpgroup of 4 warps, since "
                "setmaxnreg acts on whole ones, got warps "
             << role.getFirstWarp() << " to " << role.getLastWarp();
    groups.resize(std::max<size_t>(groups.size(), group + 1));
    groups[group].push_back(role);
    warps = std::max(warps, role.getLastWarp());
    if (role.getName() == "mma")
      mma = role;
    hasKeeper |= TileLoop::isKeeper(role) && role.getSingleThread();
  }
  if (!mma && hasTmem())
    return op.emitOpError() << "has no role \"mma\", whose warp allocates "
                               "tensor memory";
  if (tiles.isNeeded() && !hasKeeper)
    return op.emitOpError() << "has no role \"load\" of a single thread, which "
                               "chooses the next tile";
  return success();
}

LogicalResult WarpSwitch::run() {
  if (failed(readRoles()))
    return failure();
  // The base address is read after the prologue, which stores it.
  b.setInsertionPoint(hasTmem() ? op->getPrevNode() : op.getOperation());
  tiles.prepare(*op->getBlock());
  if (needs(Workaround::OwnNumbers))
    ownNumbers = TileNumbers::of(*op->getBlock(), /*withExtents=*/true);
  buildPrologue();
  b.setInsertionPoint(op);
  buildGroups(0);
  buildEpilogue();
  op.erase();
  tiles.finish();
  ownNumbers.eraseDead();
  return success();
}

} // namespace

LogicalResult fmha::tile::lowerWarpSpecialize(WarpSpecializeOp op,
                                              const KernelInfo &info) {
  return WarpSwitch(op, info).run();
}
