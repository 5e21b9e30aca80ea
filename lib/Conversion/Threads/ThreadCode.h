//===- ThreadCode.h - Code of kernels of plain threads ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_THREADS_THREADCODE_H
#define FMHA_LIB_CONVERSION_THREADS_THREADCODE_H

#include "fmha/Kernel/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace fmha {

/// Creates a kernel at the end of `module`, for CTAs of `threads` threads, with
/// at most `registers` registers each if there is such a limit. If it
/// `flushes`, subnormals of f32 are 0, as in kernels of attention. Its only
/// code is the wait for the grids before it, so that its launch may be
/// programmatic.
mlir::LLVM::LLVMFuncOp
makeThreadKernel(mlir::gpu::GPUModuleOp module, mlir::Location location,
                 mlir::StringRef name,
                 const std::vector<KernelParameter> &parameters,
                 unsigned threads, std::optional<unsigned> registers = {},
                 bool flushes = true);

/// Emits the arithmetic of one thread at the end of a kernel.
class ThreadCode {
protected:
  using Value = mlir::Value;
  using Values = mlir::SmallVector<Value>;

  ThreadCode(mlir::LLVM::LLVMFuncOp func,
             std::vector<KernelParameter> parameters);

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  /// Returns the parameter with that name; null if the kernel has none.
  Value parameter(const std::string &name);
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value lhs, Value rhs);
  /// Returns an unsigned i32, extended to i64.
  Value wide(Value number);
  /// Returns whether `max` is -inf, the maximum of a row without scores.
  Value isNone(Value max);
  Value select(Value condition, Value yes, Value no);
  void ifThen(Value condition, mlir::function_ref<void()> body);
  void ifElse(Value condition, mlir::function_ref<void()> yes,
              mlir::function_ref<void()> no);
  /// Emits a loop that carries one value, or several.
  Value loop(Value from, Value to, int32_t step, Value init,
             mlir::function_ref<Value(Value at, Value sofar)> body);
  Values
  loop(Value from, Value to, int32_t step, mlir::ValueRange init,
       mlir::function_ref<Values(Value at, mlir::ValueRange sofar)> body);
  Value elementAt(Value base, Value offset, mlir::Type element);
  Value load(Value address);
  /// Emits OpTy on the values of `lanes` lanes, `step` apart, both powers of
  /// two; all of them get the result.
  template <typename OpTy>
  Value acrossLanes(Value mine, unsigned lanes, unsigned step = 1) {
    for (unsigned distance = lanes / 2 * step; distance >= step; distance /= 2)
      mine = make<OpTy>(mine, fromLane(mine, distance));
    return mine;
  }
  /// Emits 2^x and log2 x.
  Value exp2(Value x);
  Value log2(Value x);

  mlir::LLVM::LLVMFuncOp func;
  std::vector<KernelParameter> parameters;
  mlir::ImplicitLocOpBuilder b;
  /// The constants -inf and 0.
  Value none, zero;

private:
  Value fromLane(Value mine, unsigned distance);
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_THREADS_THREADCODE_H
