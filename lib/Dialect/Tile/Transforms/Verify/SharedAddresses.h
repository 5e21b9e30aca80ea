//===- SharedAddresses.h - Addresses in shared memory -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_SHAREDADDRESSES_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_SHAREDADDRESSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// Finds the values of a kernel that may hold an address in shared memory:
/// pointers and memrefs of it, and generic pointers and numbers that are made
/// of these. Memory is not followed.
class SharedAddresses {
public:
  explicit SharedAddresses(mlir::gpu::GPUFuncOp func);

  bool mayHold(mlir::Value value) const;

  /// Fails with a diagnostic if `op` may access shared memory, or hand out an
  /// address in it, in a way that SyncOpInterface does not describe.
  mlir::LogicalResult check(mlir::Operation *op) const;

private:
  bool escapes(mlir::Operation *op) const;

  /// Whether any op makes other values of such addresses.
  bool isConverted = false;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_SHAREDADDRESSES_H
