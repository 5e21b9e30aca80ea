//===- Roles.h - What the digits of an attention are ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_ROLES_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_ROLES_H

#include "AttentionForm.h"
#include "Linalg/Reader.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace fmha::raise {

/// A tensor that a product multiplies, and its constant factors.
struct Operand {
  Code *load = nullptr;
  double factor = 1;
};

/// Follows `code` through views, copies and broadcasts of tensors, with
/// `widened` also through conversions to wider floats, and with `scaled`
/// through products with constants. The load is null if the code is something
/// else.
Operand operandOf(Reader &reader, Code *code, bool widened, bool scaled);

/// The digits of each dimension of one operand of fmha.attention.
struct Letters {
  Index b, h, l, d;

  /// Returns the letter of a digit, or 0.
  char of(Digit digit) const;
  const Index &digitsOf(char letter) const;
};

/// The digits of each dimension of an attention.
struct Roles {
  Index batch, heads, kvHeads, rows, keys, dim, valueDim;

  Letters query() const { return {batch, heads, rows, dim}; }
  Letters key() const { return {batch, kvHeads, keys, dim}; }
  Letters value() const { return {batch, kvHeads, keys, valueDim}; }
  Letters output() const { return {batch, heads, rows, valueDim}; }
};

/// The places of the tensors of an attention.
struct Places {
  Place query, key, value, scores, output;
};

/// Sets the roles, or returns why the places are not those of an attention.
std::optional<Refusal> findRoles(const Digits &digits, const Places &places,
                                 const Index &keys, Roles &roles);

/// A view of a tensor whose dimensions are split first, one group per
/// dimension, unless there are no groups.
struct SplitView {
  TensorView view;
  llvm::SmallVector<mlir::ReassociationIndices> groups;

  /// Creates the split.
  void prepare(mlir::OpBuilder &b, mlir::Location location,
               TensorView &into) const;
};

/// Sets the view of an operand with these letters, or returns why there is
/// none.
std::optional<Refusal> makeView(const Digits &digits, Code *load,
                                const Letters &letters, llvm::StringRef what,
                                SplitView &split);

/// How the output becomes the result of the second product.
struct OutputShape {
  /// A view with each letter once.
  TensorView view;
  mlir::RankedTensorType type;
  /// The parts into which the dimensions of the view are split, those that are
  /// joined to the dimensions of the result, and how ones of extent 1 are
  /// added.
  llvm::SmallVector<mlir::ReassociationIndices> split, join, units;
  llvm::SmallVector<int64_t> parts;
  /// The dimension of the result that has each part.
  llvm::SmallVector<int64_t> dimensionOf;

  /// Returns `output` as the result; `sizes` are those of the result.
  mlir::Value restore(mlir::OpBuilder &b, mlir::Location location,
                      mlir::Value output,
                      llvm::ArrayRef<mlir::OpFoldResult> sizes) const;
};

/// Sets how the output becomes a result of `type`, or returns why it cannot.
std::optional<Refusal> makeOutput(const Digits &digits,
                                  mlir::RankedTensorType type,
                                  const Place &place, const Letters &letters,
                                  OutputShape &shape);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_ROLES_H
