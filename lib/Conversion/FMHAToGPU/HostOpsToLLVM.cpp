//===- HostOpsToLLVM.cpp - Host ops become calls of libfmha_mgpu.so -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/HostProgram.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Returns the enumerator of CUtensorMapDataType (CUDA driver API) for a type.
int32_t driverType(Type element) {
  return element.isF16() ? 6 : element.isF32() ? 7 : 9;
}

/// Returns the declaration of a function, and creates it if needed. Fails if
/// the module has another symbol with that name.
FailureOr<LLVM::LLVMFuncOp> declare(ConversionPatternRewriter &rewriter,
                                    Operation *op, StringRef name,
                                    ArrayRef<Type> arguments, Type result) {
  auto symbols = op->getParentWithTrait<OpTrait::SymbolTable>();
  return LLVM::lookupOrCreateFn(rewriter, symbols, name, arguments, result);
}

/// %n = fmha.multiprocessor_count
/// ->
/// %i = llvm.call @mgpuFmhaMultiprocessorCount() : () -> i32
/// %n = llvm.sext %i : i32 to i64
template <typename OpTy> struct QueryLowering : ConvertOpToLLVMPattern<OpTy> {
  QueryLowering(const LLVMTypeConverter &converter, StringRef function)
      : ConvertOpToLLVMPattern<OpTy>(converter), function(function) {}

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<LLVM::LLVMFuncOp> callee =
        declare(rewriter, op, function, {}, rewriter.getI32Type());
    if (failed(callee))
      return failure();
    Value answer =
        LLVM::CallOp::create(rewriter, op.getLoc(), *callee, ValueRange())
            .getResult();
    rewriter.replaceOpWithNewOp<LLVM::SExtOp>(
        op, this->getTypeConverter()->convertType(rewriter.getIndexType()),
        answer);
    return success();
  }

  StringRef function;
};

/// %map = fmha.tensor_map %address sizes[...] strides[...] {...}
/// ->
/// %place = llvm.alloca ... x !llvm.array<16 x i64>   in the entry block
/// llvm.store ...                                     sizes, strides and box
/// llvm.call @mgpuFmhaEncodeTensorMap(%place, ...)
/// %map = llvm.load %place : !llvm.array<16 x i64>
struct TensorMapLowering : ConvertOpToLLVMPattern<TensorMapOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(TensorMapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Value reserve(ConversionPatternRewriter &rewriter, TensorMapOp op,
                Type element, unsigned count, unsigned alignment) const;
  Value list(ConversionPatternRewriter &rewriter, TensorMapOp op,
             ValueRange values, Type element) const;
};

/// Returns stack memory in the entry block of the function, so that a map in a
/// loop does not allocate in each iteration.
Value TensorMapLowering::reserve(ConversionPatternRewriter &rewriter,
                                 TensorMapOp op, Type element, unsigned count,
                                 unsigned alignment) const {
  OpBuilder::InsertionGuard guard(rewriter);
  auto function = op->getParentOfType<FunctionOpInterface>();
  rewriter.setInsertionPointToStart(&function.getFunctionBody().front());
  Value size = LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                        rewriter.getI64Type(), count);
  return LLVM::AllocaOp::create(rewriter, op.getLoc(), getPtrType(), element,
                                size, alignment);
}

Value TensorMapLowering::list(ConversionPatternRewriter &rewriter,
                              TensorMapOp op, ValueRange values,
                              Type element) const {
  Value place = reserve(rewriter, op, element,
                        std::max<unsigned>(values.size(), 1), /*alignment=*/8);
  for (auto [n, value] : llvm::enumerate(values)) {
    Value slot =
        LLVM::GEPOp::create(rewriter, op.getLoc(), getPtrType(), element, place,
                            ArrayRef<LLVM::GEPArg>{int32_t(n)});
    LLVM::StoreOp::create(rewriter, op.getLoc(), value, slot);
  }
  return place;
}

LogicalResult
TensorMapLowering::matchAndRewrite(TensorMapOp op, OpAdaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  Type i32 = rewriter.getI32Type(), pointer = getPtrType();
  FailureOr<LLVM::LLVMFuncOp> callee =
      declare(rewriter, op, "mgpuFmhaEncodeTensorMap",
              {pointer, i32, i32, pointer, pointer, pointer, pointer, i32},
              getVoidType());
  if (failed(callee) || !op->getParentOfType<FunctionOpInterface>())
    return failure();
  auto number = [&](int32_t value) -> Value {
    return LLVM::ConstantOp::create(rewriter, loc, i32, value);
  };
  SmallVector<Value> box = llvm::map_to_vector(op.getBox(), number);
  Value map = reserve(rewriter, op, op.getType(), 1, /*alignment=*/64);
  Value address =
      LLVM::IntToPtrOp::create(rewriter, loc, pointer, adaptor.getAddress());
  Value arguments[] = {map,
                       number(driverType(op.getElement())),
                       number(op.getSizes().size()),
                       address,
                       list(rewriter, op, adaptor.getSizes(), getIndexType()),
                       list(rewriter, op, adaptor.getStrides(), getIndexType()),
                       list(rewriter, op, box, i32),
                       number(op.getSwizzle())};
  LLVM::CallOp::create(rewriter, loc, *callee, arguments);
  rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), map);
  return success();
}

struct HostToLLVMInterface : ConvertToLLVMPatternInterface {
  using ConvertToLLVMPatternInterface::ConvertToLLVMPatternInterface;

  void populateConvertToLLVMConversionPatterns(
      ConversionTarget &target, LLVMTypeConverter &converter,
      RewritePatternSet &patterns) const final {
    patterns.add<TensorMapLowering>(converter);
    patterns.add<QueryLowering<MultiprocessorCountOp>>(
        converter, "mgpuFmhaMultiprocessorCount");
    patterns.add<QueryLowering<ComputeCapabilityOp>>(
        converter, "mgpuFmhaComputeCapability");
  }
};

} // namespace

void fmha::registerConvertFMHAHostToLLVMInterface(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, FMHADialect *dialect) {
    dialect->addInterfaces<HostToLLVMInterface>();
  });
}
