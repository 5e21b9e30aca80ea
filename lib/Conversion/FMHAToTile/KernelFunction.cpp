//===- KernelFunction.cpp - The function of a kernel ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"
#include "Append/AppendKernel.h"
#include "Merge/MergeKernel.h"
#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Kernel/Programmatic.h"

#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fmha;

/// Returns an operand type with run-time extents and strides.
static MemRefType dynamicMemref(MLIRContext *ctx, ArrayRef<int64_t> shape,
                                Type element, bool contiguous,
                                Attribute space = {}) {
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  if (contiguous)
    strides.back() = 1;
  return MemRefType::get(shape, element,
                         StridedLayoutAttr::get(ctx, /*offset=*/0, strides),
                         space);
}

/// Returns the address space of tensors that threads address directly. Tensors
/// that TMA copies have none.
static Attribute addressedSpace(MLIRContext *ctx) {
  return gpu::AddressSpaceAttr::get(ctx, gpu::AddressSpace::Global);
}

/// Returns the type of a captured tensor. Kernels read an i1 as an i8.
static MemRefType captureType(Value source) {
  auto type = cast<ShapedType>(source.getType());
  MLIRContext *ctx = source.getContext();
  Attribute space = addressedSpace(ctx);
  Type element = type.getElementType();
  if (element.isInteger(1))
    element = IntegerType::get(ctx, 8);
  if (type.getRank() == 0)
    return MemRefType::get({}, element, AffineMap(), space);
  SmallVector<int64_t> dynamic(type.getRank(), ShapedType::kDynamic);
  SmallVector<int64_t> strides = dynamic;
  strides.back() = 1;
  return MemRefType::get(dynamic, element,
                         StridedLayoutAttr::get(ctx, 0, strides), space);
}

/// Returns the function type, with operands in the order of the ABI.
static FunctionType kernelType(AttentionOp op) {
  schedule::Problem problem =
      schedule::kernelProblem(op.getProblem(), op.getScheduleAttr().getValue());
  MLIRContext *ctx = op.getContext();
  constexpr int64_t dyn = ShapedType::kDynamic;
  SmallVector<Value> captures = op.getCaptures();
  auto typeOf = [&](const KernelParameter &operand) -> Type {
    if (operand.capture)
      return captureType(captures[*operand.capture]);
    if (operand.kind == KernelParameter::Kind::U32)
      return IntegerType::get(ctx, 32);
    if (llvm::any_of(schedule::rowFields,
                     [&](const auto &row) { return operand.name == row.name; }))
      return dynamicMemref(ctx, {dyn, dyn, dyn}, Float32Type::get(ctx),
                           /*contiguous=*/false);
    if (schedule::isFloatList(operand.name))
      return MemRefType::get({dyn}, Float32Type::get(ctx));
    if (llvm::is_contained(angleTables, operand.name))
      return dynamicMemref(ctx, {dyn, int64_t(problem.rotaryDim / 2)},
                           Float32Type::get(ctx), /*contiguous=*/true,
                           addressedSpace(ctx));
    bool isNew = operand.name == "key_new" || operand.name == "value_new";
    if (operand.kind == KernelParameter::Kind::Pointer && !isNew &&
        operand.name != "o")
      return MemRefType::get({dyn}, IntegerType::get(ctx, 32));
    bool isCache =
        problem.pageSize && (operand.name == "k" || operand.name == "v");
    bool isValue = operand.name == "v" || operand.name == "o" ||
                   operand.name == "v2" || operand.name == "value_new";
    const schedule::Schedule &plan = op.getScheduleAttr().getValue();
    bool isCopiedByThreads = schedule::usesAddresses(plan) ||
                             ((operand.name == "k" || operand.name == "v") &&
                              schedule::copiesKeysByThreads(plan));
    bool isRotated = operand.name == "q" && problem.rotates();
    Type element = op.getElementType();
    if (operand.name == "k" || operand.name == "v" || isNew)
      element = op.getKey().getType().getElementType();
    if (operand.name == "o" && problem.outF32)
      element = Float32Type::get(ctx);
    return dynamicMemref(ctx,
                         {dyn, isCache ? int64_t(problem.pageSize) : dyn, dyn,
                          isValue ? op.getHeadDimV() : op.getHeadDim()},
                         element,
                         /*contiguous=*/true,
                         isCopiedByThreads || isNew || isRotated
                             ? addressedSpace(ctx)
                             : Attribute());
  };
  SmallVector<Type> inputs;
  for (const KernelParameter &operand : kernelOperands(problem))
    inputs.push_back(typeOf(operand));
  return FunctionType::get(ctx, inputs, {});
}

/// Checks that the symbol table in which the op finds its kernel is a module.
static LogicalResult checkPlace(Operation *op) {
  Operation *table = SymbolTable::getNearestSymbolTable(op);
  if (isa_and_nonnull<ModuleOp>(table))
    return success();
  return op->emitError()
         << "expected a builtin.module as the nearest symbol table, where the "
            "kernel goes, got "
         << (table ? table->getName().getStringRef() : StringRef("none"))
         << "; move the op's function into a module";
}

/// Checks that the kernel that the op names exists.
static LogicalResult checkOwnKernel(Operation *op, SymbolRefAttr kernel) {
  Operation *named =
      SymbolTable::lookupNearestSymbolFrom(op, kernel.getRootReference());
  if (isa_and_nonnull<gpu::GPUModuleOp, gpu::BinaryOp>(named))
    return success();
  return op->emitError() << "expected a gpu.module or gpu.binary @"
                         << kernel.getRootReference().getValue()
                         << ", which fmha.kernel names, got "
                         << (named ? named->getName().getStringRef()
                                   : StringRef("none"))
                         << "; drop fmha.kernel to make a kernel";
}

LogicalResult fmha::checkKernelOp(MergeOp op) {
  if (failed(checkPlace(op)))
    return failure();
  if (auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel"))
    return checkOwnKernel(op, kernel);
  return checkHeadDim(op);
}

LogicalResult fmha::checkKernelOp(AppendOp op) {
  if (failed(checkPlace(op)))
    return failure();
  if (auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel"))
    return checkOwnKernel(op, kernel);
  return checkHeadDims(op);
}

LogicalResult fmha::checkKernelOp(AttentionOp op) {
  if (failed(checkPlace(op)))
    return failure();
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule)
    return op.emitError()
           << "attention has no schedule; run fmha-plan-schedule first";
  if (schedule.getValue().roles.empty())
    return op.emitError() << "attention has a schedule without roles; run "
                             "fmha-plan-schedule first, which adds them";
  auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
  return kernel ? checkOwnKernel(op, kernel) : success();
}

gpu::GPUModuleOp fmha::makeModule(AttentionOp op, SymbolTable &symbols) {
  OpBuilder b(op.getContext());
  auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "fmha_fwd_kernel");
  symbols.insert(module);
  return module;
}

gpu::GPUFuncOp fmha::makeKernel(AttentionOp op, gpu::GPUModuleOp module,
                                StringRef name) {
  const schedule::Schedule &plan = op.getScheduleAttr().getValue();
  OpBuilder b = OpBuilder::atBlockBegin(&module.getBodyRegion().front());
  auto func = gpu::GPUFuncOp::create(b, op.getLoc(), name, kernelType(op));
  unsigned warps = 0;
  for (const schedule::Role &role : plan.roles)
    warps = std::max(warps, role.firstWarp + role.warps);
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(warps * 32), 1, 1}));
  func->setAttr("fmha.schedule", op.getScheduleAttr());
  func->setAttr("fmha.problem", op.getProblemAttr());
  return func;
}

void fmha::markProgrammatic(gpu::GPUModuleOp module, StringRef kernel) {
  constexpr unsigned globalSpace = 1;
  OpBuilder b = OpBuilder::atBlockEnd(&module.getBodyRegion().front());
  Type type = b.getI8Type();
  LLVM::GlobalOp::create(
      b, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External,
      (programmaticPrefix + kernel).str(), b.getIntegerAttr(type, 1),
      /*alignment=*/1, globalSpace);
}
