//===- MmaForm.h - The form of a tcgen05.mma --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether Tcgen05Forms.def has a tcgen05.mma of a form, and the 32 bits of its
// instruction descriptor. No op is needed.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TCGEN05_IR_MMAFORM_H
#define FMHA_DIALECT_TCGEN05_IR_MMAFORM_H

#include <cstdint>
#include <optional>
#include <string>

namespace fmha::tcgen05 {

enum class MmaKind : uint32_t;

/// A product, as the verifier and the instruction descriptor see it. Types have
/// the names that MLIR prints.
struct MmaForm {
  MmaKind kind{};
  std::string a, b, d;
  unsigned m = 128, n = 64, ctaGroup = 1;
  bool sparse = false, weightStationary = false, shiftA = false;
  bool aInTmem = false;
  bool transposeA = false, transposeB = false;
  bool negateA = false, negateB = false;
  bool saturate = false;
  /// Whether lanes of D are disabled, and the number of words that say which.
  unsigned laneWords = 0;
  /// Whether the instruction names a mask of zero columns.
  bool hasZeroColumns = false;
  /// D is multiplied by 2 to the power of minus this.
  unsigned scaleD = 0;
  unsigned selector = 0, maxShift = 0;
  /// Elements of a scale factor, its type, and the first byte of a column.
  unsigned block = 0;
  std::string scale;
  unsigned scaleIdA = 0, scaleIdB = 0;
  /// Whether the collector buffer keeps an operand after the product.
  bool keepsOperand = false;

  /// Returns what is wrong and how to mend it, or nullopt.
  std::optional<std::string> check() const;
  /// Returns the instruction descriptor (PTX ISA 9.7.16.4.2).
  uint32_t word() const;
  /// Returns K of the product.
  unsigned k() const;
};

} // namespace fmha::tcgen05

#endif // FMHA_DIALECT_TCGEN05_IR_MMAFORM_H
