//===- TraceReader.cpp - Read a kernel into steps -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedAddresses.h"
#include "TraceChannels.h"
#include "TraceIntegers.h"

#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// Returns the first lanes of the parts of a warp: lane 0, which elect is
/// assumed to choose, and the other lanes. For 64 rows the lanes with the right
/// half of a row are a part, so that the start of that half is known, and so
/// are lanes without an address of ldmatrix of one or two matrices.
static SmallVector<int64_t> partsOfWarp(gpu::GPUFuncOp func,
                                        const KernelInfo &info) {
  SmallVector<int64_t> starts{0, 1};
  bool isHalved =
      schedule::lanesOfHalves(info.schedule) == layout::tmemHalfLanes;
  bool hasFewer = func.walk([](NVVM::LdMatrixOp read) {
                        constexpr uint32_t most = 4;
                        return read.getNum() < most ? WalkResult::interrupt()
                                                    : WalkResult::advance();
                      })
                      .wasInterrupted();
  if (hasFewer)
    starts.push_back(layout::tmemHalfLanes / 2);
  if (hasFewer || isHalved)
    starts.push_back(layout::tmemHalfLanes);
  starts.push_back(layout::tmemWarpLanes);
  return starts;
}

/// Adds the parts of each warp.
static void addWarps(const KernelInfo &info, ArrayRef<int64_t> starts,
                     std::vector<Member> &members) {
  for (const schedule::Role &of : info.schedule.roles)
    for (unsigned warp = of.firstWarp; warp < of.firstWarp + of.warps; ++warp)
      for (auto [begin, end] : llvm::zip(starts, starts.drop_front())) {
        Interval lanes{begin, end - 1};
        Member member;
        member.name = of.name;
        member.threads = lanes.hi - lanes.lo + 1;
        member.warps = uint64_t(1) << warp;
        member.leader = lanes.lo == 0;
        member.rows = 1 << (warp % 4 * 2 + !member.leader);
        int64_t first = 32 * warp;
        member.thread = {first + lanes.lo, first + lanes.hi};
        members.push_back(member);
      }
}

/// Adds all threads of a role as one member, or, if one of each warp is
/// elected, as two.
static void addMembers(RoleOp of, std::vector<Member> &members) {
  Member member;
  member.name = of.getName().str();
  unsigned warps = of.getLastWarp() - of.getFirstWarp();
  member.threads = of.getSingleThread() ? 1 : 32 * warps;
  member.warps = ((uint64_t(1) << warps) - 1) << of.getFirstWarp();
  auto isElection = [](ElectOp) { return WalkResult::interrupt(); };
  if (!of.getSingleThread() && of.walk(isElection).wasInterrupted()) {
    // Lane 0 of each warp, of the classes of rows.
    constexpr schedule::sync::Rows first = 0x55, others = 0xAA;
    Member leaders = member;
    leaders.threads = warps;
    leaders.rows = first;
    members.push_back(leaders);
    member.threads -= warps;
    member.rows = others;
    member.leader = false;
  }
  members.push_back(member);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

namespace {

/// Reads the control flow of a kernel, and passes other ops to their readers.
class TraceReader {
public:
  TraceReader(gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info), b(kernel), barriers(kernel),
        integers(b, func, info), effects(b, barriers, info),
        tiles(b, barriers, effects), shared(func) {
    kernel.info = &info;
    // Indices of drawn tiles use each slot of their ring once.
    if (schedule::drawsTiles(info.schedule))
      kernel.tiles = schedule::DrawnTiles::slots + 1;
    kernel.tiles *= info.schedule.ctaGroup;
  }
  FailureOr<TracedKernel> read();

private:
  uint32_t readBlock(Block &block,
                     function_ref<void(Steps &)> finish = nullptr);
  LogicalResult readOp(Operation *op, Steps &steps);
  bool readControl(Operation *op, Steps &steps);
  void readIf(scf::IfOp op, Steps &steps);
  void readFor(scf::ForOp op, Steps &steps);
  void readWhile(scf::WhileOp op, Steps &steps);
  void readWarpSpecialize(WarpSpecializeOp op, Steps &steps);

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  TracedKernel kernel;
  StepBuilder b;
  TraceBarriers barriers;
  IntegerReader integers;
  EffectReader effects;
  TileReader tiles;
  SharedAddresses shared;
  bool failedOp = false;
};

} // namespace

uint32_t TraceReader::readBlock(Block &block,
                                function_ref<void(Steps &)> finish) {
  uint32_t body = kernel.bodies.size();
  kernel.bodies.emplace_back();
  Steps steps;
  for (Operation &op : block)
    if (failed(readOp(&op, steps)))
      failedOp = true;
  if (finish)
    finish(steps);
  kernel.bodies[body] = std::move(steps);
  return body;
}

/// Reads a branch. One without effects and integer results is omitted.
void TraceReader::readIf(scf::IfOp op, Steps &steps) {
  size_t before = b.countEffects();
  auto yield = [&](Block *from) {
    return [&, from](Steps &into) {
      b.copy(op.getResults(), from->getTerminator()->getOperands(), into);
    };
  };
  Step step{StepCode::If};
  step.a = b.id(op.getCondition());
  step.body = readBlock(*op.thenBlock(), yield(op.thenBlock()));
  if (op.elseBlock()) {
    step.otherwise = readBlock(*op.elseBlock(), yield(op.elseBlock()));
  } else {
    step.otherwise = kernel.bodies.size();
    kernel.bodies.emplace_back();
  }
  if (b.countEffects() != before ||
      llvm::any_of(op.getResultTypes(), isTracked))
    steps.push_back(step);
}

void TraceReader::readFor(scf::ForOp op, Steps &steps) {
  size_t before = b.countEffects();
  b.copy(op.getRegionIterArgs(), op.getInitArgs(), steps);
  Step step{StepCode::For};
  step.result = b.id(op.getInductionVar());
  step.a = b.id(op.getLowerBound());
  step.b = b.id(op.getUpperBound());
  step.c = b.id(op.getStep());
  step.source = kernel.ops.size();
  kernel.ops.push_back(op);
  // Copies through the results, since a yielded value may be an argument.
  step.body = readBlock(*op.getBody(), [&](Steps &into) {
    b.copy(op.getResults(), op.getYieldedValues(), into);
    b.copy(op.getRegionIterArgs(), op.getResults(), into);
  });
  if (b.countEffects() != before)
    steps.push_back(step);
  for (auto [result, argument] :
       llvm::zip(op.getResults(), op.getRegionIterArgs()))
    if (isTracked(result.getType()))
      steps.push_back(
          b.countEffects() == before
              ? valueStep(StepCode::Unknown, b.id(result))
              : valueStep(StepCode::Copy, b.id(result), b.id(argument)));
}

/// Reads an scf.while, whose two regions have different arguments.
void TraceReader::readWhile(scf::WhileOp op, Steps &steps) {
  b.copy(op.getBeforeArguments(), op.getInits(), steps);
  scf::ConditionOp condition = op.getConditionOp();
  Step step{StepCode::While};
  step.a = b.id(condition.getCondition());
  step.source = kernel.ops.size();
  kernel.ops.push_back(op);
  step.body = readBlock(*op.getBeforeBody(), [&](Steps &into) {
    b.copy(op.getAfterArguments(), condition.getArgs(), into);
    b.copy(op.getResults(), condition.getArgs(), into);
  });
  step.otherwise = readBlock(*op.getAfterBody(), [&](Steps &into) {
    b.copy(op.getBeforeArguments(), op.getYieldOp().getResults(), into);
  });
  steps.push_back(step);
}

void TraceReader::readWarpSpecialize(WarpSpecializeOp op, Steps &steps) {
  for (RoleOp each : op.getBody().front().getOps<RoleOp>()) {
    Step step{StepCode::Role};
    step.constant = kernel.members.size();
    addMembers(each, kernel.members);
    step.a = kernel.members.size() - step.constant;
    step.body = readBlock(each.getBody().front());
    steps.push_back(step);
  }
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Reads control flow. Returns whether `op` is control flow, or has nothing to
/// read.
bool TraceReader::readControl(Operation *op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](scf::IfOp branch) { return readIf(branch, steps), true; })
      .Case([&](scf::ForOp loop) { return readFor(loop, steps), true; })
      .Case([&](scf::WhileOp loop) { return readWhile(loop, steps), true; })
      .Case([&](WarpSpecializeOp roles) {
        return readWarpSpecialize(roles, steps), true;
      })
      .Case([&](BarrierOp barrier) { return barriers.declare(barrier), true; })
      .Default([](Operation *other) {
        return isa<ChannelOp, ViewOp>(other) ||
               other->hasTrait<OpTrait::IsTerminator>();
      });
}

/// Returns whether a call may have effects. The trace would miss them, since it
/// does not follow calls.
static bool mayHaveEffects(CallOpInterface call) {
  auto callee = dyn_cast_or_null<CallableOpInterface>(call.resolveCallable());
  Region *body = callee ? callee.getCallableRegion() : nullptr;
  if (!body)
    return true;
  return !llvm::all_of(body->getOps(), [](Operation &op) {
    return op.hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(&op);
  });
}

LogicalResult TraceReader::readOp(Operation *op, Steps &steps) {
  b.setOp(op);
  // Most ops of a machine kernel compute with vectors and floats.
  if (readAddress(b, op, steps) || effects.read(op, steps))
    return integers.readLeaf(op, steps), success();
  if (readControl(op, steps))
    return success();
  if (isa_and_nonnull<TileDialect>(op->getDialect()) &&
      !isa<ListLengthOp, ListEntryOp, FindSlotOp, AppendRowsOp, LoadRotatedOp,
           TmemAddressOp, TileCountOp, SplitTripsOp>(op))
    return tiles.read(op, steps);
  if (op->getNumRegions())
    return op->emitError() << "tile-verify-sync cannot follow this op: "
                              "expected scf.if, scf.for and scf.while";
  if (auto call = dyn_cast<CallOpInterface>(op); call && mayHaveEffects(call))
    return op->emitError() << "tile-verify-sync cannot follow this op: "
                              "expected a call of a function without effects "
                              "that it can see; inline the function first";
  if (failed(shared.check(op)))
    return failure();
  if (integers.readArithmetic(op, steps) || integers.readLeaf(op, steps))
    return success();
  for (Value result : op->getResults())
    if (isTracked(result.getType()))
      steps.push_back(valueStep(StepCode::Unknown, b.id(result)));
  return success();
}

FailureOr<TracedKernel> TraceReader::read() {
  bool roles = false;
  func.walk([&](WarpSpecializeOp) { roles = true; });
  if (!roles)
    addWarps(info, partsOfWarp(func, info), kernel.members);
  else if (failed(barriers.declareChannels(func)))
    return failure();
  readBlock(func.getBody().front());
  if (failedOp)
    return failure();
  return std::move(kernel);
}

FailureOr<KernelTrace> KernelTrace::read(gpu::GPUFuncOp func,
                                         const KernelInfo &info) {
  FailureOr<TracedKernel> kernel = TraceReader(func, info).read();
  if (failed(kernel))
    return failure();
  return KernelTrace(std::move(*kernel));
}
