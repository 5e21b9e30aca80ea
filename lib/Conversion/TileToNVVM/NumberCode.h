//===- NumberCode.h - Numbers and addresses of patterns ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_NUMBERCODE_H
#define FMHA_LIB_CONVERSION_TILETONVVM_NUMBERCODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

/// Emits numbers and addresses.
class NumberCode {
protected:
  explicit NumberCode(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  mlir::Value i32(int64_t n) {
    return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(n)));
  }
  mlir::Value i64(int64_t n) {
    return mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(n));
  }
  mlir::Value narrow(mlir::Value index) {
    return mlir::arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  mlir::Value wide(mlir::Value number) {
    return mlir::arith::ExtUIOp::create(b, b.getI64Type(), number);
  }
  template <typename Made> mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return Made::create(b, lhs, rhs);
  }
  mlir::Value isLess(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt, lhs,
                                       rhs);
  }
  mlir::Value at(mlir::Value pointer, mlir::LLVM::GEPArg offset) {
    return mlir::LLVM::GEPOp::create(
        b, pointer.getType(), b.getI8Type(), pointer,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }
  /// Returns the index of this thread, counted from the first thread of warp
  /// `firstWarp`. An empty asm statement hides it from LLVM, which would
  /// otherwise compute the indices of all steps once and keep them in registers
  /// for all tiles.
  mlir::Value threadFrom(int64_t firstWarp);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_NUMBERCODE_H
