//===- LetteredOperands.h - Constraints of named dimensions -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constraints 1, 2, 4 and 5 of ops whose operands name their dimensions by
// letters.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_LETTEREDOPERANDS_H
#define FMHA_LIB_DIALECT_FMHA_IR_LETTEREDOPERANDS_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// An operand and its dimensions, by the letters of the op's description.
struct LetteredOperand {
  llvm::StringLiteral name;
  mlir::Value value;
  llvm::StringRef dims;

  mlir::ShapedType type() const {
    return mlir::cast<mlir::ShapedType>(value.getType());
  }
};

/// The operands that an op has, in the order of its description.
template <typename OpTy, typename OperandTy> class LetteredVerifier {
protected:
  /// `rule` begins the numbers of constraints: "merge.M".
  LetteredVerifier(OpTy op, llvm::StringRef rule,
                   llvm::ArrayRef<OperandTy> known)
      : op(op), rule(rule) {
    llvm::copy_if(known, std::back_inserter(all),
                  [](const OperandTy &operand) { return operand.value; });
  }

  mlir::InFlightDiagnostic error(unsigned constraint) {
    return op.emitError() << rule << constraint << ": ";
  }
  /// Checks that all operands are tensors, or all memrefs.
  mlir::LogicalResult kinds() {
    auto isMemRef = [](const OperandTy &operand) {
      return mlir::isa<mlir::MemRefType>(operand.type());
    };
    for (const OperandTy &operand : all)
      if (isMemRef(operand) != isMemRef(all[0]))
        return error(1) << "expected all operands to be tensors or all to be "
                           "memrefs, got "
                        << all[0].name << ' ' << all[0].type() << " and "
                        << operand.name << ' ' << operand.type();
    return mlir::success();
  }
  mlir::LogicalResult ranks() {
    for (const OperandTy &operand : all)
      if (operand.type().getRank() != int64_t(operand.dims.size()))
        return error(2) << "expected " << operand.name << " to have rank "
                        << operand.dims.size() << ", got "
                        << operand.type().getRank();
    return mlir::success();
  }
  /// Checks the last dimensions whose letters are in `letters`.
  mlir::LogicalResult checkHeadDims(llvm::StringRef letters) {
    for (const OperandTy &operand : all) {
      if (!letters.contains(operand.dims.back()))
        continue;
      int64_t dim = operand.type().getShape().back();
      bool isDynamic = mlir::ShapedType::isDynamic(dim);
      if (!isDynamic && dim > 0 && dim <= AttentionOp::maxHeadDim)
        continue;
      mlir::InFlightDiagnostic diagnostic =
          error(4) << "expected a static head dim of 1 to "
                   << AttentionOp::maxHeadDim << " in the last dimension of "
                   << operand.name << ", got ";
      return isDynamic ? diagnostic << "a dynamic one" : diagnostic << dim;
    }
    return mlir::success();
  }
  /// Checks that all dimensions with one letter have the first static extent.
  mlir::LogicalResult extents() {
    llvm::DenseMap<char, std::pair<const OperandTy *, int64_t>> known;
    for (const OperandTy &operand : all)
      for (auto [place, letter] : llvm::enumerate(operand.dims)) {
        if (operand.type().isDynamicDim(place))
          continue;
        int64_t got = operand.type().getDimSize(place);
        auto [first, expected] =
            known.try_emplace(letter, &operand, got).first->second;
        if (got != expected)
          return error(5) << "expected dimension " << place << " of "
                          << operand.name << " to be " << expected
                          << ", as it is in " << first->name << ", got " << got;
      }
    return mlir::success();
  }

  OpTy op;
  llvm::StringRef rule;
  llvm::SmallVector<OperandTy, 10> all;
};

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_LETTEREDOPERANDS_H
