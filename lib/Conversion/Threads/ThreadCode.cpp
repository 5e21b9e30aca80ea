//===- ThreadCode.cpp - Code of kernels of plain threads ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadCode.h"

#include "fmha/Target/Target.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fmha;

static Type typeOf(KernelParameter::Kind kind, MLIRContext *ctx) {
  switch (kind) {
  case KernelParameter::Kind::U32:
    return IntegerType::get(ctx, 32);
  case KernelParameter::Kind::U64:
    return IntegerType::get(ctx, 64);
  case KernelParameter::Kind::TensorMap:
  case KernelParameter::Kind::Pointer:
    return LLVM::LLVMPointerType::get(ctx, 1);
  }
  llvm_unreachable("every kind is listed");
}

LLVM::LLVMFuncOp fmha::makeThreadKernel(
    gpu::GPUModuleOp module, Location location, StringRef name,
    const std::vector<KernelParameter> &parameters, unsigned threads,
    std::optional<unsigned> registers, bool flushes) {
  MLIRContext *ctx = module.getContext();
  SmallVector<Type> types;
  for (const KernelParameter &parameter : parameters)
    types.push_back(typeOf(parameter.kind, ctx));
  OpBuilder b = OpBuilder::atBlockEnd(&module.getBodyRegion().front());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), types);
  auto func = LLVM::LLVMFuncOp::create(b, location, name, type);
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  if (registers)
    func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                  b.getI32IntegerAttr(int32_t(*registers)));
  if (flushes)
    func.setPassthroughAttr(b.getArrayAttr(b.getStrArrayAttr(
        {"denormal-fp-math-f32", "preserve-sign,preserve-sign"})));
  b.setInsertionPointToStart(func.addEntryBlock(b));
  NVVM::GriddepcontrolOp::create(b, location, NVVM::GridDepActionKind::wait);
  return func;
}

ThreadCode::ThreadCode(LLVM::LLVMFuncOp func,
                       std::vector<KernelParameter> parameters)
    : func(func), parameters(std::move(parameters)),
      b(ImplicitLocOpBuilder::atBlockEnd(func.getLoc(),
                                         &func.getBody().front())) {
  none = f32(-std::numeric_limits<double>::infinity());
  zero = f32(0);
}

Value ThreadCode::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Value ThreadCode::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

Value ThreadCode::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value ThreadCode::parameter(const std::string &name) {
  std::optional<unsigned> n = parameterIndex(parameters, name);
  return n ? Value(func.getArgument(*n)) : Value();
}

Value ThreadCode::compare(arith::CmpIPredicate predicate, Value lhs,
                          Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

Value ThreadCode::wide(Value number) {
  return arith::ExtUIOp::create(b, b.getI64Type(), number);
}

Value ThreadCode::isNone(Value max) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, none);
}

Value ThreadCode::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

void ThreadCode::ifThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void ThreadCode::ifElse(Value condition, function_ref<void()> yes,
                        function_ref<void()> no) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yes();
  b.setInsertionPointToStart(branch.elseBlock());
  no();
}

Value ThreadCode::loop(Value from, Value to, int32_t step, Value init,
                       function_ref<Value(Value, Value)> body) {
  return loop(from, to, step, ValueRange(init),
              [&](Value at, ValueRange sofar) {
                return Values{body(at, sofar.front())};
              })
      .front();
}

ThreadCode::Values
ThreadCode::loop(Value from, Value to, int32_t step, ValueRange init,
                 function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, from, to, i32(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  // Without values the loop has its terminator.
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

Value ThreadCode::elementAt(Value base, Value offset, Type element) {
  return LLVM::GEPOp::create(b, base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value ThreadCode::load(Value address) {
  return LLVM::LoadOp::create(b, b.getF32Type(), address);
}

Value ThreadCode::fromLane(Value mine, unsigned distance) {
  return NVVM::ShflOp::create(b, b.getF32Type(), i32(-1), mine, i32(distance),
                              i32(target::warpThreads - 1),
                              NVVM::ShflKind::bfly,
                              /*return_value_and_is_valid=*/UnitAttr());
}

Value ThreadCode::exp2(Value x) { return math::Exp2Op::create(b, x); }

/// Emits lg2.approx, since llvm.log2 would be a call to a missing library.
Value ThreadCode::log2(Value x) {
  return LLVM::CallIntrinsicOp::create(
             b, x.getType(), b.getStringAttr("llvm.nvvm.lg2.approx.f"), x)
      .getResult(0);
}
