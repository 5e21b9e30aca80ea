//===- TraceIntegers.cpp - Read the integers of a kernel ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceIntegers.h"

#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Returns the arithmetic of an op with two operands.
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
      .Case<arith::MinSIOp>([](auto) { return A::Min; })
      .Case<arith::MaxSIOp>([](auto) { return A::Max; })
      .Case<arith::MinUIOp>([](auto) { return A::UnsignedMin; })
      .Case<arith::MaxUIOp>([](auto) { return A::UnsignedMax; })
      .Default(std::nullopt);
}

namespace {
/// A comparison as a < b, a <= b or a == b, perhaps with swapped operands and a
/// negated result.
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
    return {Arithmetic::Less, false, false};
  case P::ult:
    return {Arithmetic::UnsignedLess, false, false};
  case P::sle:
    return {Arithmetic::LessEqual, false, false};
  case P::ule:
    return {Arithmetic::UnsignedLessEqual, false, false};
  case P::sgt:
    return {Arithmetic::Less, true, false};
  case P::ugt:
    return {Arithmetic::UnsignedLess, true, false};
  case P::sge:
    return {Arithmetic::LessEqual, true, false};
  case P::uge:
    return {Arithmetic::UnsignedLessEqual, true, false};
  }
  llvm_unreachable("all predicates are listed");
}

static int64_t valueOf(arith::ConstantOp op) {
  const APInt value = cast<IntegerAttr>(op.getValue()).getValue();
  return value.getBitWidth() == 1 ? int64_t(value.getZExtValue())
                                  : value.getSExtValue();
}

bool IntegerReader::readArithmetic(Operation *op, Steps &steps) {
  if (op->getNumResults() != 1 || !isTracked(op->getResult(0).getType()))
    return false;
  uint32_t result = b.id(op->getResult(0));
  if (std::optional<Arithmetic> what = arithmeticOf(op)) {
    b.arithmetic(*what, result, b.id(op->getOperand(0)),
                 b.id(op->getOperand(1)), steps);
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
        uint32_t lhs = b.id(compare.getLhs()), rhs = b.id(compare.getRhs());
        if (how.swapped)
          std::swap(lhs, rhs);
        b.arithmetic(how.op, result, lhs, rhs, steps);
        if (how.negated)
          steps.push_back(valueStep(StepCode::Not, result, result));
        return true;
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        Step step =
            valueStep(StepCode::Select, result, b.id(select.getCondition()));
        step.b = b.id(select.getTrueValue());
        step.c = b.id(select.getFalseValue());
        steps.push_back(step);
        return true;
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
            arith::ExtSIOp, arith::TruncIOp>([&](auto conversion) {
        Value in = conversion.getIn();
        if (isOperand(in))
          readOperand(cast<BlockArgument>(in), result, steps);
        else
          steps.push_back(valueStep(StepCode::Copy, result, b.id(in)));
        return true;
      })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Operands, lengths and indices
//===----------------------------------------------------------------------===//

/// Returns a step for the length of the queries, or of the keys of a source.
static Step lengthStep(bool ofQueries, bool ofSecond, uint32_t result) {
  Step step{ofQueries ? StepCode::QueryLength : StepCode::KeyLength};
  step.result = result;
  step.constant = ofSecond;
  return step;
}

/// Returns the name of an operand of the kernel in the ABI; empty if it has
/// none.
std::string IntegerReader::nameOf(BlockArgument operand) {
  if (info.isProgram)
    return "";
  std::vector<KernelParameter> operands = kernelOperands(info.problem);
  unsigned number = operand.getArgNumber();
  bool isKernels = operand.getOwner() == &func.getBody().front();
  return isKernels && number < operands.size() ? operands[number].name : "";
}

bool IntegerReader::isOperand(Value value) {
  auto operand = dyn_cast<BlockArgument>(value);
  return operand && operand.getOwner() == &func.getBody().front();
}

/// Returns whether a run has as many of `name` as keys: pages, and entries of
/// lists. These limit no length.
static bool isCountOfKeys(StringRef name) {
  return llvm::is_contained(
      {"max_pages", "topk_len", "blocks_len", "full_blocks_len"}, name);
}

/// Reads a scalar operand of the kernel. Extents of lists that are not lengths
/// are those of one batch and head.
void IntegerReader::readOperand(BlockArgument operand, uint32_t result,
                                Steps &steps) {
  // Scalars of a program are taken to be small numbers.
  if (info.isProgram) {
    uint32_t length = b.fresh();
    steps.push_back(lengthStep(operand.getArgNumber() % 2, false, length));
    b.arithmetic(Arithmetic::Div, result, length,
                 b.constant(info.schedule.kvBlock, steps), steps);
    return;
  }
  if (isCountOfKeys(nameOf(operand))) {
    steps.push_back(lengthStep(false, false, result));
    return;
  }
  bool isBatch = llvm::is_contained({"batch", "blocks_batch", "blocks_heads"},
                                    StringRef(nameOf(operand)));
  steps.push_back(
      valueStep(isBatch ? StepCode::Constant : StepCode::QueryLength, result));
  steps.back().constant = isBatch;
}

/// Reads an entry of varlen metadata. A run has one sequence, number 0, which
/// begins at 0; entry 1 is its end, and so its length. Each block of rows lists
/// as many blocks of keys as the sequence has.
bool IntegerReader::readListEntry(memref::LoadOp load, Steps &steps) {
  auto list = dyn_cast<BlockArgument>(load.getMemref());
  if (!list || load.getIndices().size() != 1)
    return false;
  std::string name = nameOf(list);
  bool isLength = name == "kv_lens" || name == "source2_lens";
  uint32_t result = b.id(load), length = isLength ? result : b.fresh();
  if (name == "kv_num_blocks" || name == "full_kv_num_blocks") {
    steps.push_back(lengthStep(false, false, length));
    b.arithmetic(Arithmetic::CeilDiv, result, length,
                 b.constant(info.problem.blockKeys, steps), steps);
    return true;
  }
  steps.push_back(
      lengthStep(name == "cu_seqlens_q", name == "source2_lens", length));
  if (!isLength)
    b.arithmetic(Arithmetic::Mul, result, b.id(load.getIndices().front()),
                 length, steps);
  return true;
}

/// Reads an extent. Those of a program are alternately the two lengths of the
/// scenario; those of other kernels have names.
void IntegerReader::readExtent(memref::DimOp dim, Steps &steps) {
  uint32_t result = b.id(dim);
  auto argument = dyn_cast<BlockArgument>(dim.getSource());
  std::optional<int64_t> which = dim.getConstantIndex();
  if (info.isProgram && which) {
    auto key = std::pair<Value, int64_t>(dim.getSource(), *which);
    unsigned number = extents.try_emplace(key, extents.size()).first->second;
    steps.push_back(lengthStep(number % 2, false, result));
    return;
  }
  auto extent = argument && which ? extentParameter(nameOf(argument), *which)
                                  : std::nullopt;
  if (!extent) {
    steps.push_back(valueStep(StepCode::Unknown, result));
  } else if (*which != 1) {
    steps.push_back(valueStep(StepCode::Constant, result));
    steps.back().constant = 1;
  } else {
    steps.push_back(
        lengthStep(*extent == "q_len", *extent == "kv_len2", result));
  }
}

/// The only CTA of a run computes the first part of the first sequence.
void IntegerReader::readSlot(FindSlotOp op, Steps &steps) {
  auto add = [&](Value result, int64_t value) {
    steps.push_back(valueStep(StepCode::Constant, b.id(result)));
    steps.back().constant = value;
  };
  add(op.getSequence(), 0);
  add(op.getPart(), 0);
  add(op.getParts(), op.getSplits());
}

void IntegerReader::readTrips(SplitTripsOp op, Steps &steps) {
  for (auto [code, result] :
       {std::pair(StepCode::ComputedTrips, op.getComputed()),
        std::pair(StepCode::SkippedTrips, op.getSkipped())}) {
    Step step = valueStep(code, b.id(result));
    step.b = b.id(op.getAll());
    steps.push_back(step);
  }
}

bool IntegerReader::readLeaf(Operation *op, Steps &steps) {
  if (auto slot = dyn_cast<FindSlotOp>(op))
    return readSlot(slot, steps), true;
  if (auto trips = dyn_cast<SplitTripsOp>(op))
    return readTrips(trips, steps), true;
  if (op->getNumResults() != 1 || !isTracked(op->getResult(0).getType()))
    return false;
  uint32_t result = b.id(op->getResult(0));
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
      // A run is of the first CTA of a launch with one cluster.
      .Case<gpu::BlockIdOp>([&](auto) { return add(StepCode::Constant); })
      .Case<gpu::GridDimOp>(
          [&](auto) { return add(StepCode::Constant, info.schedule.ctaGroup); })
      .Case<TileCountOp>([&](auto) { return add(StepCode::TileCount); })
      // All entries of a list name keys.
      .Case<ListLengthOp>([&](ListLengthOp list) {
        steps.push_back(
            valueStep(StepCode::Copy, result, b.id(list.getMost())));
        return true;
      })
      // All listed blocks are the first one.
      .Case<ListEntryOp>([&](auto) { return add(StepCode::Constant); })
      .Case<NextTileOp, DrawTileOp, AwaitTileOp>(
          [&](auto) { return add(StepCode::NextTile); })
      .Case<QueryCancelOp>([&](auto) { return add(StepCode::Unknown); })
      .Case<ElectOp>([&](auto) { return add(StepCode::Leader); })
      .Case<AnyInWarpOp>([&](auto) { return add(StepCode::Oracle); })
      .Case<UniformOp, RereadOp>([&](auto same) {
        steps.push_back(
            valueStep(StepCode::Copy, result, b.id(same.getNumber())));
        return true;
      })
      .Case<memref::LoadOp>(
          [&](memref::LoadOp load) { return readListEntry(load, steps); })
      .Case<memref::DimOp>([&](memref::DimOp dim) {
        readExtent(dim, steps);
        return true;
      })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

bool tile::readAddress(StepBuilder &b, Operation *op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SmemAddressOp>([&](SmemAddressOp address) {
        Step step = valueStep(StepCode::Constant, b.id(address));
        step.constant = address.getOffset();
        steps.push_back(step);
        return true;
      })
      .Case<TmemAddressOp>([&](TmemAddressOp address) {
        b.arithmetic(Arithmetic::Add, b.id(address), b.id(address.getBase()),
                     b.constant(layout::tmemAddress(address.getLane(),
                                                    address.getColumn()),
                                steps),
                     steps);
        return true;
      })
      .Case<DescriptorOp>([&](DescriptorOp descriptor) {
        uint32_t address = b.fresh();
        b.arithmetic(Arithmetic::Add, address, b.id(descriptor.getBase()),
                     b.constant(descriptor.getOffset(), steps), steps);
        b.arithmetic(Arithmetic::Shr, b.id(descriptor), address,
                     b.constant(llvm::Log2_64(descriptorUnit), steps), steps);
        return true;
      })
      .Case<TmemBaseOp>([&](TmemBaseOp base) {
        steps.push_back(valueStep(StepCode::Constant, b.id(base)));
        return false;
      })
      // A generic address counts from the start of shared memory, too.
      .Case<LLVM::AddrSpaceCastOp>([&](LLVM::AddrSpaceCastOp generic) {
        steps.push_back(
            valueStep(StepCode::Copy, b.id(generic), b.id(generic.getArg())));
        return true;
      })
      .Case<LLVM::GEPOp>([&](LLVM::GEPOp gep) {
        bool simple =
            gep.getIndices().size() == 1 && gep.getElemType().isInteger(8);
        Value dynamic = simple ? dyn_cast<Value>(gep.getIndices()[0]) : Value();
        if (!simple)
          return false;
        uint32_t offset =
            dynamic
                ? b.id(dynamic)
                : b.constant(cast<IntegerAttr>(gep.getIndices()[0]).getInt(),
                             steps);
        b.arithmetic(Arithmetic::Add, b.id(gep), b.id(gep.getBase()), offset,
                     steps);
        return true;
      })
      .Default(false);
}
