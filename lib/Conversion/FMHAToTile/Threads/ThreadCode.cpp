//===- ThreadCode.cpp - Kernels of plain threads --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
    const std::vector<KernelParameter> &parameters, unsigned threads) {
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
  func.addEntryBlock(b);
  return func;
}

ThreadCode::ThreadCode(LLVM::LLVMFuncOp func,
                       std::vector<KernelParameter> parameters)
    : func(func), parameters(std::move(parameters)),
      b(ImplicitLocOpBuilder::atBlockEnd(func.getLoc(),
                                         &func.getBody().front())) {}

Value ThreadCode::parameter(const std::string &name) {
  std::optional<unsigned> n = parameterIndex(parameters, name);
  return n ? Value(func.getArgument(*n)) : Value();
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

Value ThreadCode::rowAt(const std::string &tensor, Type element, Value batch,
                        Value row, Value head) {
  Value offset;
  const std::pair<const char *, Value> places[] = {
      {"_stride_batch", batch}, {"_stride_row", row}, {"_stride_head", head}};
  for (auto [stride, place] : places) {
    Value term = make<arith::MulIOp>(wide(place), parameter(tensor + stride));
    offset = offset ? make<arith::AddIOp>(offset, term) : term;
  }
  return elementAt(parameter(tensor), offset, element);
}
