//===- TraceReader.cpp - Read a kernel into steps ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceReader.h"

#include "fmha/Dialect/Tile/Transforms/KernelAbi.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool TraceReader::isTracked(Type type) {
  return isa<IndexType, IntegerType, LLVM::LLVMPointerType, TileType>(type);
}

uint32_t TraceReader::id(Value value) {
  auto [at, added] = ids.try_emplace(value, trace.values);
  if (added)
    ++trace.values;
  return at->second;
}

uint32_t TraceReader::constant(int64_t value, Steps &steps) {
  Step step{StepCode::Constant};
  step.result = fresh();
  step.constant = value;
  steps.push_back(step);
  return step.result;
}

void TraceReader::arithmetic(Arithmetic op, uint32_t result, uint32_t a,
                             uint32_t b, Steps &steps) {
  Step step{StepCode::Arithmetic, op};
  step.result = result;
  step.a = a;
  step.b = b;
  steps.push_back(step);
}

static Step valueStep(StepCode code, uint32_t result, uint32_t a = 0) {
  Step step{code};
  step.result = result;
  step.a = a;
  return step;
}

//===----------------------------------------------------------------------===//
// Members and barriers
//===----------------------------------------------------------------------===//

/// Lane 0 of each warp, which elect is taken to choose, and the other lanes;
/// of 64 rows those apart that have the right half of a row, so that it is
/// known where that begins.
void TraceReader::makeWarps() {
  SmallVector<Interval> parts{{0, 0}, {1, layout::tmemWarpLanes - 1}};
  if (info.schedule.qTileRows == 64)
    parts = {{0, 0},
             {1, layout::tmemHalfLanes - 1},
             {layout::tmemHalfLanes, layout::tmemWarpLanes - 1}};
  for (const schedule::Role &of : info.schedule.roles)
    for (unsigned warp = of.firstWarp; warp < of.firstWarp + of.warps; ++warp)
      for (Interval lanes : parts) {
        Member member;
        member.name = of.name;
        member.threads = lanes.hi - lanes.lo + 1;
        member.warps = uint64_t(1) << warp;
        member.leader = lanes.lo == 0;
        member.rows = 1 << (warp % 4 * 2 + !member.leader);
        int64_t first = 32 * warp;
        member.thread = {first + lanes.lo, first + lanes.hi};
        trace.members.push_back(member);
      }
}

void TraceReader::declareStages(StringRef name, unsigned count,
                                unsigned arrivals, bool ready) {
  for (unsigned stage = 0; stage < count; ++stage) {
    std::string suffix = count == 1 ? "" : "[" + std::to_string(stage) + "]";
    trace.declared.barriers.push_back({name.str() + suffix, arrivals, ready});
  }
  trace.deepest = std::max(trace.deepest, count);
}

void TraceReader::declareBarrier(BarrierOp op) {
  uint32_t first = trace.declared.barriers.size();
  unsigned count = op.getType().getCount();
  barriers[op.getResult()] = {first, count};
  declareStages(op.getName(), count, op.getArrivals(), false);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The length of the queries, or of the keys of a source.
static Step lengthStep(bool ofQueries, bool ofSecond, uint32_t result) {
  Step step{ofQueries ? StepCode::QueryLength : StepCode::KeyLength};
  step.result = result;
  step.constant = ofSecond;
  return step;
}

/// The arithmetic that an op of two operands does.
static std::optional<Arithmetic> arithmeticOf(Operation *op) {
  using A = Arithmetic;
  return llvm::TypeSwitch<Operation *, std::optional<A>>(op)
      .Case<arith::AddIOp>([](auto) { return A::Add; })
      .Case<arith::SubIOp>([](auto) { return A::Sub; })
      .Case<arith::MulIOp>([](auto) { return A::Mul; })
      .Case<arith::DivUIOp, arith::DivSIOp>([](auto) { return A::Div; })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [](auto) { return A::CeilDiv; })
      .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return A::Rem; })
      .Case<arith::AndIOp>([](auto) { return A::And; })
      .Case<arith::OrIOp>([](auto) { return A::Or; })
      .Case<arith::XOrIOp>([](auto) { return A::Xor; })
      .Case<arith::ShLIOp>([](auto) { return A::Shl; })
      .Case<arith::ShRUIOp, arith::ShRSIOp>([](auto) { return A::Shr; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return A::Min; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return A::Max; })
      .Default(std::nullopt);
}

namespace {
/// a < b, a <= b or a == b, with operands swapped and the answer negated.
struct Comparison {
  Arithmetic op;
  bool swapped, negated;
};
} // namespace

static Comparison comparisonOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return {Arithmetic::Equal, false, false};
  case P::ne:
    return {Arithmetic::Equal, false, true};
  case P::slt:
  case P::ult:
    return {Arithmetic::Less, false, false};
  case P::sle:
  case P::ule:
    return {Arithmetic::LessEqual, false, false};
  case P::sgt:
  case P::ugt:
    return {Arithmetic::Less, true, false};
  case P::sge:
  case P::uge:
    return {Arithmetic::LessEqual, true, false};
  }
  llvm_unreachable("all predicates are listed");
}

static int64_t valueOf(arith::ConstantOp op) {
  const APInt value = cast<IntegerAttr>(op.getValue()).getValue();
  return value.getBitWidth() == 1 ? int64_t(value.getZExtValue())
                                  : value.getSExtValue();
}

bool TraceReader::readInteger(Operation *op, Steps &steps) {
  if (op->getNumResults() != 1 || !isTracked(op->getResult(0).getType()))
    return false;
  uint32_t result = id(op->getResult(0));
  if (std::optional<Arithmetic> what = arithmeticOf(op)) {
    arithmetic(*what, result, id(op->getOperand(0)), id(op->getOperand(1)),
               steps);
    return true;
  }
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp made) {
        steps.push_back(valueStep(StepCode::Constant, result));
        steps.back().constant = valueOf(made);
        return true;
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        Comparison how = comparisonOf(compare.getPredicate());
        uint32_t a = id(compare.getLhs()), b = id(compare.getRhs());
        if (how.swapped)
          std::swap(a, b);
        arithmetic(how.op, result, a, b, steps);
        if (how.negated)
          steps.push_back(valueStep(StepCode::Not, result, result));
        return true;
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        Step step =
            valueStep(StepCode::Select, result, id(select.getCondition()));
        step.b = id(select.getTrueValue());
        step.c = id(select.getFalseValue());
        steps.push_back(step);
        return true;
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
            arith::ExtSIOp, arith::TruncIOp>([&](auto cast) {
        Value in = cast.getIn();
        // The numbers among a kernel's operands are max_q_len and batch.
        auto operand = dyn_cast<BlockArgument>(in);
        if (!operand || operand.getOwner() != &func.getBody().front()) {
          steps.push_back(valueStep(StepCode::Copy, result, id(in)));
          return true;
        }
        // Numbers of a program count few things.
        if (info.isProgram) {
          uint32_t length = fresh();
          steps.push_back(
              lengthStep(operand.getArgNumber() % 2, false, length));
          arithmetic(Arithmetic::Div, result, length,
                     constant(info.schedule.kvBlock, steps), steps);
          return true;
        }
        bool isBatch = nameOf(operand) == "batch";
        steps.push_back(valueStep(
            isBatch ? StepCode::Constant : StepCode::QueryLength, result));
        steps.back().constant = isBatch;
        return true;
      })
      .Default(false);
}

/// What the ABI calls an operand of the kernel; empty where it has no name.
std::string TraceReader::nameOf(BlockArgument operand) {
  if (info.isProgram)
    return "";
  std::vector<KernelParameter> operands = kernelOperands(info.problem);
  unsigned number = operand.getArgNumber();
  bool isKernels = operand.getOwner() == &func.getBody().front();
  return isKernels && number < operands.size() ? operands[number].name : "";
}

/// A run is of sequence 0, the first that is packed and the only one: it begins
/// at 0, and its end, which entry 1 is, is its length.
bool TraceReader::readListEntry(memref::LoadOp load, Steps &steps) {
  auto list = dyn_cast<BlockArgument>(load.getMemref());
  if (!list || load.getIndices().size() != 1)
    return false;
  std::string name = nameOf(list);
  bool isLength = name == "kv_lens" || name == "source2_lens";
  uint32_t result = id(load), length = isLength ? result : fresh();
  steps.push_back(
      lengthStep(name == "cu_seqlens_q", name == "source2_lens", length));
  if (!isLength)
    arithmetic(Arithmetic::Mul, result, id(load.getIndices().front()), length,
               steps);
  return true;
}

/// Lengths, indices of thread and block, and what depends on data.
bool TraceReader::readLeaf(Operation *op, Steps &steps) {
  if (op->getNumResults() != 1 || !isTracked(op->getResult(0).getType()))
    return false;
  uint32_t result = id(op->getResult(0));
  auto add = [&](StepCode code, int64_t value = 0) {
    Step step = valueStep(code, result);
    step.constant = value;
    steps.push_back(step);
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<gpu::ThreadIdOp>([&](gpu::ThreadIdOp thread) {
        return add(thread.getDimension() == gpu::Dimension::x
                       ? StepCode::Thread
                       : StepCode::Constant);
      })
      // The only CTA of its launch.
      .Case<gpu::BlockIdOp>([&](auto) { return add(StepCode::Constant); })
      .Case<gpu::GridDimOp>([&](auto) { return add(StepCode::Constant, 1); })
      .Case<TileCountOp>([&](auto) { return add(StepCode::TileCount); })
      .Case<NextTileOp>([&](auto) { return add(StepCode::NextTile); })
      .Case<QueryCancelOp>([&](auto) { return add(StepCode::Unknown); })
      .Case<ElectOp>([&](auto) { return add(StepCode::Leader); })
      .Case<AnyInWarpOp>([&](auto) { return add(StepCode::Oracle); })
      .Case<UniformOp, RereadOp>([&](auto same) {
        steps.push_back(
            valueStep(StepCode::Copy, result, id(same.getNumber())));
        return true;
      })
      .Case<memref::LoadOp>(
          [&](memref::LoadOp load) { return readListEntry(load, steps); })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        auto argument = dyn_cast<BlockArgument>(dim.getSource());
        std::optional<int64_t> which = dim.getConstantIndex();
        // Extents of a program are either length of the scenario by turns.
        if (info.isProgram && which) {
          auto key = std::pair<Value, int64_t>(dim.getSource(), *which);
          unsigned number =
              extents.try_emplace(key, extents.size()).first->second;
          steps.push_back(lengthStep(number % 2, false, result));
          return true;
        }
        auto extent = argument && which
                          ? extentParameter(nameOf(argument), *which)
                          : std::nullopt;
        if (!extent)
          return add(StepCode::Unknown);
        if (*which != 1)
          return add(StepCode::Constant, 1);
        steps.push_back(
            lengthStep(*extent == "q_len", *extent == "kv_len2", result));
        return true;
      })
      .Default(false);
}

/// Pointers are offsets into their memory.
bool TraceReader::readAddress(Operation *op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SmemAddressOp>([&](SmemAddressOp address) {
        Step step = valueStep(StepCode::Constant, id(address));
        step.constant = address.getOffset();
        steps.push_back(step);
        return true;
      })
      .Case<TmemAddressOp>([&](TmemAddressOp address) {
        arithmetic(Arithmetic::Add, id(address), id(address.getBase()),
                   constant(layout::tmemAddress(address.getLane(),
                                                address.getColumn()),
                            steps),
                   steps);
        return true;
      })
      .Case<DescriptorOp>([&](DescriptorOp descriptor) {
        uint32_t address = fresh();
        arithmetic(Arithmetic::Add, address, id(descriptor.getBase()),
                   constant(descriptor.getOffset(), steps), steps);
        arithmetic(Arithmetic::Shr, id(descriptor), address,
                   constant(llvm::Log2_64(descriptorUnit), steps), steps);
        return true;
      })
      .Case<TmemBaseOp>([&](TmemBaseOp base) {
        steps.push_back(valueStep(StepCode::Constant, id(base)));
        return false;
      })
      .Case<LLVM::GEPOp>([&](LLVM::GEPOp gep) {
        bool simple =
            gep.getIndices().size() == 1 && gep.getElemType().isInteger(8);
        Value dynamic = simple ? dyn_cast<Value>(gep.getIndices()[0]) : Value();
        if (!simple)
          return false;
        uint32_t offset =
            dynamic ? id(dynamic)
                    : constant(cast<IntegerAttr>(gep.getIndices()[0]).getInt(),
                               steps);
        arithmetic(Arithmetic::Add, id(gep), id(gep.getBase()), offset, steps);
        return true;
      })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

uint32_t TraceReader::readBlock(Block &block,
                                function_ref<void(Steps &)> finish) {
  uint32_t body = trace.bodies.size();
  trace.bodies.emplace_back();
  Steps steps;
  for (Operation &op : block)
    if (failed(readOp(&op, steps)))
      failedOp = true;
  if (finish)
    finish(steps);
  trace.bodies[body] = std::move(steps);
  return body;
}

/// A branch without effects is left out if no integer comes out of it.
void TraceReader::readIf(scf::IfOp op, Steps &steps) {
  size_t before = effectSteps;
  auto yield = [&](Block *from) {
    return [this, op, from](Steps &into) mutable {
      for (auto [result, value] :
           llvm::zip(op.getResults(), from->getTerminator()->getOperands()))
        if (isTracked(result.getType()))
          into.push_back(valueStep(StepCode::Copy, id(result), id(value)));
    };
  };
  Step step{StepCode::If};
  step.a = id(op.getCondition());
  step.body = readBlock(*op.thenBlock(), yield(op.thenBlock()));
  if (op.elseBlock()) {
    step.otherwise = readBlock(*op.elseBlock(), yield(op.elseBlock()));
  } else {
    step.otherwise = trace.bodies.size();
    trace.bodies.emplace_back();
  }
  if (effectSteps != before || llvm::any_of(op.getResultTypes(), isTracked))
    steps.push_back(step);
}

void TraceReader::readFor(scf::ForOp op, Steps &steps) {
  size_t before = effectSteps;
  auto copy = [&](auto to, auto from, Steps &into) {
    for (auto [target, source] : llvm::zip(to, from))
      if (isTracked(target.getType()))
        into.push_back(valueStep(StepCode::Copy, id(target), id(source)));
  };
  copy(op.getRegionIterArgs(), op.getInitArgs(), steps);
  Step step{StepCode::For};
  step.result = id(op.getInductionVar());
  step.a = id(op.getLowerBound());
  step.b = id(op.getUpperBound());
  step.c = id(op.getStep());
  step.source = trace.ops.size();
  trace.ops.push_back(op);
  // Over a third set of values, since what is yielded may be an argument.
  step.body = readBlock(*op.getBody(), [&](Steps &into) {
    copy(op.getResults(), op.getYieldedValues(), into);
    copy(op.getRegionIterArgs(), op.getResults(), into);
  });
  if (effectSteps != before)
    steps.push_back(step);
  for (auto [result, argument] :
       llvm::zip(op.getResults(), op.getRegionIterArgs()))
    if (isTracked(result.getType()))
      steps.push_back(
          effectSteps == before
              ? valueStep(StepCode::Unknown, id(result))
              : valueStep(StepCode::Copy, id(result), id(argument)));
}

/// Unlike those of scf.for, what one part hands to the other are values of
/// their own.
void TraceReader::readWhile(scf::WhileOp op, Steps &steps) {
  auto copy = [&](auto to, auto from, Steps &into) {
    for (auto [target, source] : llvm::zip(to, from))
      if (isTracked(target.getType()))
        into.push_back(valueStep(StepCode::Copy, id(target), id(source)));
  };
  copy(op.getBeforeArguments(), op.getInits(), steps);
  scf::ConditionOp condition = op.getConditionOp();
  Step step{StepCode::While};
  step.a = id(condition.getCondition());
  step.source = trace.ops.size();
  trace.ops.push_back(op);
  step.body = readBlock(*op.getBeforeBody(), [&](Steps &into) {
    copy(op.getAfterArguments(), condition.getArgs(), into);
    copy(op.getResults(), condition.getArgs(), into);
  });
  step.otherwise = readBlock(*op.getAfterBody(), [&](Steps &into) {
    copy(op.getBeforeArguments(), op.getYieldOp().getResults(), into);
  });
  steps.push_back(step);
}

/// All threads of the role do the same, unless one of each warp is elected.
void TraceReader::addMembers(RoleOp of) {
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
    trace.members.push_back(leaders);
    member.threads -= warps;
    member.rows = others;
    member.leader = false;
  }
  trace.members.push_back(member);
}

void TraceReader::readSpecialise(SpecialiseOp op, Steps &steps) {
  for (RoleOp each : op.getBody().front().getOps<RoleOp>()) {
    Step step{StepCode::Role};
    step.constant = trace.members.size();
    addMembers(each);
    step.a = trace.members.size() - step.constant;
    role = each;
    step.body = readBlock(each.getBody().front());
    role = RoleOp();
    steps.push_back(step);
  }
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

LogicalResult TraceReader::readOp(Operation *op, Steps &steps) {
  // Most ops of a machine kernel compute with vectors and floats.
  current = op;
  if (readAddress(op, steps) || readEffects(op, steps))
    return readLeaf(op, steps), success();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return readIf(branch, steps), success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return readFor(loop, steps), success();
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return readWhile(loop, steps), success();
  if (auto roles = dyn_cast<SpecialiseOp>(op))
    return readSpecialise(roles, steps), success();
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return declareBarrier(barrier), success();
  if (isa<ChannelOp, ViewOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (isa_and_nonnull<TileDialect>(op->getDialect()) &&
      !isa<TmemAddressOp, TileCountOp>(op))
    return readTileOp(op, steps);
  if (op->getNumRegions())
    return op->emitError() << "tile-verify-sync cannot follow this op: "
                              "expected scf.if, scf.for and scf.while";
  if (readInteger(op, steps) || readLeaf(op, steps))
    return success();
  for (Value result : op->getResults())
    if (isTracked(result.getType()))
      steps.push_back(valueStep(StepCode::Unknown, id(result)));
  return success();
}

FailureOr<KernelTrace> TraceReader::read() {
  bool roles = false;
  func.walk([&](SpecialiseOp) { roles = true; });
  if (!roles)
    makeWarps();
  else if (failed(declareChannels()))
    return failure();
  readBlock(func.getBody().front());
  if (failedOp)
    return failure();
  return std::move(trace);
}
