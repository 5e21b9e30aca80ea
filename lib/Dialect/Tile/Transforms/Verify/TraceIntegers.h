//===- TraceIntegers.h - Read the integers of a kernel ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEINTEGERS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEINTEGERS_H

#include "StepBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fmha::tile {

/// Unit of the address in a matrix descriptor, in bytes.
constexpr int64_t descriptorUnit = 16;

/// Reads `op` if its result is an offset into a memory. Returns whether it is,
/// and there is nothing else to read.
bool readAddress(StepBuilder &b, mlir::Operation *op, Steps &steps);

/// Reads ops that compute integers. Its functions return whether `op` is one
/// that they read.
class IntegerReader {
public:
  IntegerReader(StepBuilder &b, mlir::gpu::GPUFuncOp func,
                const KernelInfo &info)
      : b(b), func(func), info(info) {}

  /// Reads arithmetic.
  bool readArithmetic(mlir::Operation *op, Steps &steps);
  /// Reads lengths, thread and block indices, and conditions on data.
  bool readLeaf(mlir::Operation *op, Steps &steps);

private:
  std::string nameOf(mlir::BlockArgument operand);
  bool isOperand(mlir::Value value);
  void readOperand(mlir::BlockArgument operand, uint32_t result, Steps &steps);
  bool readListEntry(mlir::memref::LoadOp load, Steps &steps);
  void readExtent(mlir::memref::DimOp dim, Steps &steps);
  void readSlot(FindSlotOp op, Steps &steps);
  void readTrips(SplitTripsOp op, Steps &steps);

  StepBuilder &b;
  mlir::gpu::GPUFuncOp func;
  const KernelInfo &info;
  /// Numbers of the extents that a program reads, in the order of their use.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> extents;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEINTEGERS_H
