//===- RoleMatcher.h - Whether regions differ in numbers only ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROLEMATCHER_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROLEMATCHER_H

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace fmha::tile {

/// An operand of an op of the first region and those of the corresponding ops
/// of the other regions, which are constants or defined outside; or, without
/// `operand`, the numbers in the attributes of these ops.
struct Difference {
  mlir::Operation *op;
  std::optional<unsigned> operand;
  mlir::SmallVector<mlir::OpFoldResult> values;
};

/// Compares regions of one op, or of ops in its other regions, with its first
/// one, op by op.
class RoleMatcher {
public:
  explicit RoleMatcher(mlir::Region &base) : base(base) {}

  /// Returns whether `region` is equal to the first one except for its numbers,
  /// which getDifferences() then includes. After a false no other member may be
  /// called.
  bool add(mlir::Region &region);
  mlir::SmallVector<Difference> getDifferences() const;

private:
  using Place = std::pair<mlir::Operation *, unsigned>;

  bool match(mlir::Region &a, mlir::Region &b);
  bool match(mlir::Block &a, mlir::Block &b);
  bool match(mlir::Operation *a, mlir::Operation *b);
  bool matchOperand(mlir::Operation *a, unsigned operand, mlir::Value b);
  bool isAbove(mlir::Value value) const;
  void record(Place place, mlir::OpFoldResult a, mlir::OpFoldResult b);

  mlir::Region &base;
  /// Maps values of the first region to those of the compared one.
  mlir::IRMapping mapping;
  unsigned regions = 1;
  llvm::MapVector<Place, mlir::SmallVector<mlir::OpFoldResult>> numbers;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROLEMATCHER_H
