//===- CheckedOp.h - Run-time checks that ops share -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_CHECKEDOP_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_CHECKEDOP_H

#include "fmha/Dialect/FMHA/Transforms/IndexMath.h"
#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"

#include <map>

namespace fmha {

/// The constraint `rule`: extent `dim` of `name` equals extent `ofDim` of `of`.
struct EqualExtents {
  mlir::StringLiteral rule, of;
  unsigned ofDim;
  mlir::StringLiteral name;
  unsigned dim;
};

/// An op, its operands, and what its checks have to require.
class CheckedOp {
protected:
  CheckedOp(mlir::OpBuilder &b, mlir::Operation *op,
            const CheckMessage &message)
      : b(b), op(op), message(message), math{b, op->getLoc()} {}

  void add(mlir::StringRef name, mlir::Value memref);
  bool has(mlir::StringRef name) const { return operands.count(name); }
  const TensorView &view(mlir::StringRef name) const {
    return operands.find(name)->second.view;
  }
  void require(mlir::Value condition, mlir::StringRef rule,
               const llvm::Twine &expected) {
    assertRule(b, op, condition, rule, expected, message);
  }
  void requireEqual(mlir::Value x, mlir::Value y, mlir::StringRef rule,
                    const llvm::Twine &expected) {
    require(math.compare(mlir::arith::CmpIPredicate::eq, x, y), rule, expected);
  }
  void forEachEntry(
      mlir::StringRef name, int64_t first,
      mlir::function_ref<void(mlir::Value index, mlir::Value entry)> body);
  void extents(mlir::ArrayRef<EqualExtents> table);
  void contiguous(mlir::StringRef name, mlir::StringRef rule);
  /// Requires the last dimension, if the op has that operand, to be contiguous.
  void denseRows(mlir::StringRef name, mlir::StringRef rule);
  void apart(mlir::StringRef rule);
  void eachElementOnce(mlir::StringRef rule);
  mlir::Value load(mlir::StringRef name, mlir::Value index);
  mlir::Value loadCount(mlir::StringRef name, mlir::Value index);

  struct Operand {
    mlir::Value memref;
    TensorView view;
    bool isWritten;
  };
  mlir::OpBuilder &b;
  mlir::Operation *op;
  const CheckMessage &message;
  IndexMath math;
  std::map<std::string, Operand, std::less<>> operands;
};

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_CHECKEDOP_H
