//===- KernelInfo.cpp - Problem and schedule of a kernel --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Kernel/ProgramAbi.h"
#include "fmha/Layout/Tmem.h"
#include "fmha/Schedule/Model/Lists.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static KernelAttr programOf(Operation *func) {
  return func->getAttrOfType<KernelAttr>("tile.kernel");
}

bool tile::isTiledKernel(Operation *func) {
  return func->hasAttr("fmha.schedule") || programOf(func);
}

static schedule::Schedule scheduleOfProgram(KernelAttr kernel) {
  schedule::Schedule schedule;
  schedule.target = kernel.getTarget().str();
  if (kernel.getRoles())
    for (auto role : kernel.getRoles().getAsRange<RoleAttr>())
      schedule.roles.push_back(role.getValue());
  return schedule;
}

schedule::Schedule tile::scheduleOf(Operation *func) {
  if (KernelAttr kernel = programOf(func))
    return scheduleOfProgram(kernel);
  return func->getAttrOfType<ScheduleAttr>("fmha.schedule").getValue();
}

schedule::Problem tile::readOptionalOperands(Operation *func) {
  auto said = func->getAttrOfType<ProblemAttr>("fmha.problem");
  return said ? schedule::Problem(said.getValue()) : schedule::Problem();
}

/// Returns the problem with the optional operands of `func`. They are in
/// fmha.problem, except an LSE, which exists if there is one more operand.
static schedule::Problem operandsOf(gpu::GPUFuncOp func) {
  schedule::Problem problem = tile::readOptionalOperands(func);
  problem.lse |= func.getNumArguments() > kernelOperands(problem).size();
  return problem;
}

/// Derives the mask from the bounds of mask ops, which is exact enough for a
/// kernel without fmha.problem.
static void readMask(gpu::GPUFuncOp func, schedule::Problem &problem) {
  func.walk([&](MaskOp op) {
    if (op.getLower() && !problem.mask.left)
      problem.mask.left = schedule::Mask::largestWindow;
  });
}

static schedule::Problem problemOf(gpu::GPUFuncOp func) {
  schedule::Problem problem = operandsOf(func);
  auto query = cast<MemRefType>(func.getArgument(0).getType());
  auto value = cast<MemRefType>(func.getArgument(2).getType());
  problem.dtype = query.getElementType().isF16() ? schedule::DataType::F16
                                                 : schedule::DataType::BF16;
  problem.headDim = query.getDimSize(3);
  problem.headDimV = value.getDimSize(3);
  readMask(func, problem);
  return problem;
}

/// Whether a value of `type` can be that operand.
static bool fits(const schedule::Problem &problem,
                 const KernelParameter &operand, Type type) {
  if (operand.kind == KernelParameter::Kind::U32)
    return type.isSignlessInteger(32);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return false;
  if (operand.capture)
    return problem.captures[*operand.capture] ==
               schedule::Capture{mlir::debugString(memref.getElementType()),
                                 unsigned(memref.getRank())} &&
           isa_and_nonnull<gpu::AddressSpaceAttr>(memref.getMemorySpace());
  if (operand.kind == KernelParameter::Kind::TensorMap || operand.name == "o" ||
      operand.name.ends_with("_new"))
    return memref.getRank() == 4;
  if (llvm::is_contained(angleTables, operand.name))
    return memref.getRank() == 2 && memref.getElementType().isF32();
  bool isRow =
      llvm::any_of(schedule::rowFields, [&](const schedule::RowField &row) {
        return operand.name == row.name;
      });
  bool isFloat = isRow || schedule::isFloatList(operand.name);
  return memref.getRank() == (isRow ? 3 : 1) &&
         memref.getElementType().isF32() == isFloat;
}

static LogicalResult checkOperands(gpu::GPUFuncOp func) {
  schedule::Problem problem = operandsOf(func);
  std::vector<KernelParameter> operands = kernelOperands(problem);
  ArrayRef<Type> types = func.getArgumentTypes();
  auto fitting = [&](const KernelParameter &operand, Type type) {
    return fits(problem, operand, type);
  };
  if (operands.size() == types.size() &&
      llvm::all_of_zip(operands, types, fitting))
    return success();
  InFlightDiagnostic error =
      func.emitError()
      << "expected memrefs q, k, v, o of rank 4 and perhaps lse of rank 3";
  for (const KernelParameter &operand : operands)
    if (operand.capture || operand.name.find('_') != std::string::npos)
      error << ", " << operand.name;
  return error << " as operands, got " << func.getFunctionType();
}

/// Checks that all ops have the same offset. Results are wrong if one op
/// multiplies P by the factor and another one does not remove it.
static LogicalResult checkOffsets(gpu::GPUFuncOp func, uint32_t expected) {
  WalkResult walked = func.walk([&](Operation *op) {
    std::optional<uint32_t> got =
        TypeSwitch<Operation *, std::optional<uint32_t>>(op)
            .Case<Exp2Op, RowSumOp, NormalizeOp>(
                [](auto one) { return one.getOffset(); })
            .Case([](WriteOp write) -> std::optional<uint32_t> {
              if (write.getUndivided())
                return write.getOffset();
              return std::nullopt;
            })
            .Default(std::nullopt);
    if (!got || *got == expected)
      return WalkResult::advance();
    op->emitOpError() << "expected offset " << expected
                      << ", the p_offset of the schedule, got " << *got;
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

schedule::MemoryMap tile::memoryOf(KernelAttr kernel) {
  schedule::MemoryMap map;
  if (!kernel.getMemory())
    return map;
  unsigned columns = 0;
  for (auto extent : kernel.getMemory().getAsRange<ExtentAttr>()) {
    std::string name = extent.getName().str();
    if (auto tmem = dyn_cast<TmemAttr>(extent.getPlace())) {
      unsigned pitch = tmem.getPitch() ? tmem.getPitch() : extent.getSize();
      map.tmem.push_back({name, tmem.getColumn(), extent.getSize(), "",
                          tmem.getLane(), tmem.getStages(),
                          tmem.getStages() > 1 ? pitch : 0});
      columns = std::max(columns, map.tmem.back().end());
      continue;
    }
    auto smem = cast<SmemAttr>(extent.getPlace());
    map.smem.push_back({name, smem.getOffset(), extent.getSize(),
                        smem.getStages(), /*alignment=*/16, ""});
    map.smemBytes = std::max(
        map.smemBytes, smem.getOffset() + extent.getSize() * smem.getStages());
  }
  map.smemBytes = llvm::alignTo(map.smemBytes, 16);
  map.tmemColumns = columns ? layout::tmemAllocation(columns) : 0;
  return map;
}

static FailureOr<KernelInfo> readProgram(gpu::GPUFuncOp func,
                                         KernelAttr kernel) {
  if (func->hasAttr("fmha.schedule") || func->hasAttr("fmha.problem"))
    return func.emitError() << "expected tile.kernel, or fmha.schedule and "
                               "fmha.problem of an attention op, got both";
  for (Attribute role :
       kernel.getRoles() ? kernel.getRoles().getValue() : ArrayRef<Attribute>())
    if (!isa<RoleAttr>(role))
      return func.emitError()
             << "expected #fmha.role among the roles of tile.kernel, got "
             << role;
  if (failed(programParameters(func.getArgumentTypes(),
                               [&] { return func.emitError(); })))
    return failure();
  for (std::optional<size_t> entries :
       {kernel.getBoxRows() ? std::optional(kernel.getBoxRows().size())
                            : std::nullopt,
        kernel.getSequences() ? std::optional(kernel.getSequences().size())
                              : std::nullopt})
    if (entries.value_or(func.getNumArguments()) != func.getNumArguments())
      return func.emitError()
             << "expected an entry for each of " << func.getNumArguments()
             << " operands in boxRows and sequences of tile.kernel, got "
             << *entries;
  llvm::StringSet<> names;
  for (Attribute extent : kernel.getMemory() ? kernel.getMemory().getValue()
                                             : ArrayRef<Attribute>())
    if (StringRef name = cast<ExtentAttr>(extent).getName();
        !names.insert(name).second)
      return func.emitError() << "expected one region of each name in the "
                                 "memory map of tile.kernel, got two of \""
                              << name << '"';
  KernelInfo info;
  info.schedule = scheduleOfProgram(kernel);
  if (kernel.getBoxRows())
    info.programBoxes.assign(kernel.getBoxRows().asArrayRef().begin(),
                             kernel.getBoxRows().asArrayRef().end());
  info.map = memoryOf(kernel);
  info.isProgram = true;
  return info;
}

FailureOr<bool> tile::readRunsAhead(gpu::GPUFuncOp func) {
  if (scheduleOf(func).scheduler == schedule::Scheduler::Single)
    return false;
  FailureOr<KernelInfo> info = readKernelInfo(func);
  if (failed(info))
    return failure();
  return runsAhead(*info);
}

FailureOr<KernelInfo> tile::readKernelInfo(gpu::GPUFuncOp func) {
  if (KernelAttr kernel = programOf(func))
    return readProgram(func, kernel);
  auto attr = func->getAttrOfType<ScheduleAttr>("fmha.schedule");
  assert(attr && "expected a function for which isTiledKernel() holds");
  if (failed(checkOperands(func)))
    return failure();
  KernelInfo info;
  info.problem = problemOf(func);
  info.schedule = attr.getValue();
  const schedule::CheckedMap &checked =
      attr.getContext()->getLoadedDialect<FMHADialect>()->getMap(info.problem,
                                                                 attr);
  if (checked.error)
    return func.emitError() << *checked.error;
  info.map = checked.map;
  if (failed(checkOffsets(func, info.schedule.pOffset)))
    return failure();
  return info;
}

unsigned KernelInfo::boxRows(unsigned operand) const {
  if (isProgram)
    return operand < programBoxes.size() ? programBoxes[operand] : 0;
  return schedule::boxRows(problem, schedule, schedule::Operand(operand));
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
struct StageText {
  StringLiteral name, maker;
};
/// Indexed by KernelStage.
constexpr StageText stageTexts[] = {{"tiled", "convert-fmha-to-tile"},
                                    {"placed", "tile-assign-memory"},
                                    {"specialised", "tile-warp-specialize"},
                                    {"synchronized", "tile-lower-channels"},
                                    {"machine", "tile-distribute"}};

const StageText &textOf(KernelStage stage) {
  return stageTexts[unsigned(stage)];
}

/// The kinds of ops that a kernel has.
struct Evidence {
  bool tiles = false, places = false, roles = false, channels = false,
       instructions = false;

  void add(Operation *op) {
    roles |= isa<WarpSpecializeOp>(op);
    channels |= isa<ChannelOp>(op);
    bool isTile = isa_and_nonnull<TileDialect>(op->getDialect());
    bool onTiles = false;
    for (TypeRange types :
         {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (auto tile = dyn_cast<TileType>(type)) {
          onTiles = true;
          places |= bool(tile.getPlace());
        }
    tiles |= onTiles;
    instructions |=
        isTile && !onTiles && !isa<ViewOp, WarpSpecializeOp, RoleOp>(op);
  }
};
} // namespace

std::optional<KernelStage> tile::stageOf(gpu::GPUFuncOp func) {
  Evidence there;
  func.walk([&](Operation *op) { there.add(op); });
  if (there.channels)
    return KernelStage::Specialized;
  if (there.roles)
    return KernelStage::Synchronized;
  if (there.places)
    return KernelStage::Placed;
  if (there.tiles)
    return KernelStage::Tiled;
  if (there.instructions)
    return KernelStage::Machine;
  return std::nullopt;
}

/// Returns whether a pass makes one of the stages after `first` up to `last`.
static bool isMaker(StringRef pass, KernelStage first, KernelStage last) {
  for (unsigned n = unsigned(first) + 1; n <= unsigned(last); ++n)
    if (textOf(KernelStage(n)).maker == pass)
      return true;
  return false;
}

LogicalResult tile::expectStage(gpu::GPUFuncOp func, KernelStage expected,
                                StringRef pass) {
  std::optional<KernelStage> stage = stageOf(func);
  // The conversion to NVVM lowers ops one by one, so a kernel without tile ops
  // passes.
  if (!stage && expected == KernelStage::Machine)
    return success();
  if (!stage)
    return func.emitError() << pass << " expects a " << textOf(expected).name
                            << " kernel, as " << textOf(expected).maker
                            << " makes it, got one without ops on tiles";
  if (*stage == expected)
    return success();
  InFlightDiagnostic error =
      func.emitError() << pass << " expects a " << textOf(expected).name
                       << " kernel, as " << textOf(expected).maker
                       << " makes it, got a " << textOf(*stage).name << " one";
  if (*stage > expected && isMaker(pass, expected, *stage))
    return error << ": " << pass << " has been run on it already";
  if (*stage > expected)
    return error << "; run " << pass << " ahead of "
                 << textOf(KernelStage(unsigned(expected) + 1)).maker;
  return error << "; run " << textOf(KernelStage(unsigned(*stage) + 1)).maker
               << " first";
}
