//===- ThreadCode.h - Kernels of plain threads ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels without tiles share: an llvm.func whose parameters have names,
// and short forms of the ops in its body.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_THREADS_THREADCODE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_THREADS_THREADCODE_H

#include "fmha/Kernel/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

/// Makes the kernel `name` with an empty entry block at the end of `module`.
mlir::LLVM::LLVMFuncOp
makeThreadKernel(mlir::gpu::GPUModuleOp module, mlir::Location location,
                 mlir::StringRef name,
                 const std::vector<KernelParameter> &parameters,
                 unsigned threads);

/// Emits arithmetic at the end of a kernel's entry block.
class ThreadCode {
protected:
  ThreadCode(mlir::LLVM::LLVMFuncOp func,
             std::vector<KernelParameter> parameters);

  mlir::Value i32(int32_t value) {
    return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  /// Returns the parameter with that name, or null.
  mlir::Value parameter(const std::string &name);
  template <typename OpTy> mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  mlir::Value wide(mlir::Value number) {
    return mlir::arith::ExtUIOp::create(b, b.getI64Type(), number);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                      mlir::Value rhs) {
    return mlir::arith::CmpIOp::create(b, predicate, lhs, rhs);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return mlir::arith::SelectOp::create(b, condition, yes, no);
  }
  void ifThen(mlir::Value condition, mlir::function_ref<void()> body);
  void ifElse(mlir::Value condition, mlir::function_ref<void()> yes,
              mlir::function_ref<void()> no);
  mlir::Value elementAt(mlir::Value base, mlir::Value offset,
                        mlir::Type element) {
    return mlir::LLVM::GEPOp::create(
        b, base.getType(), element, base,
        mlir::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }
  /// Returns the address of `tensor` at [batch, row, head, 0].
  mlir::Value rowAt(const std::string &tensor, mlir::Type element,
                    mlir::Value batch, mlir::Value row, mlir::Value head);

  mlir::LLVM::LLVMFuncOp func;
  std::vector<KernelParameter> parameters;
  mlir::ImplicitLocOpBuilder b;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_THREADS_THREADCODE_H
