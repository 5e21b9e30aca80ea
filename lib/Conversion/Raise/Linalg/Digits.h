//===- Digits.h - Indices of tensors in digits ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reshapes between two products make one index of several, or several of one.
// An index is therefore a list of digits: whole loops of the second product, or
// the parts that reshapes make of them. Two reads of a tensor are of the same
// element if their digits are equal.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_DIGITS_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_DIGITS_H

#include "mlir/IR/Operation.h"

#include <map>
#include <optional>

namespace fmha::raise {

/// The number of a digit.
using Digit = unsigned;
/// An index of a dimension: its digits, the slowest first. No digits mean 0.
using Index = llvm::SmallVector<Digit, 2>;
/// An index for each dimension of a tensor.
using Place = llvm::SmallVector<Index, 4>;

/// The digits that the loops of some ops have.
class Digits {
public:
  /// Returns the index that the loop of `op` with that number runs over.
  Index loop(mlir::Operation *op, unsigned number, int64_t extent);

  /// Returns how many values a digit or an index has, or the dynamic size.
  int64_t extent(Digit digit) const { return entries[digit].extent; }
  int64_t extent(llvm::ArrayRef<Digit> index) const;

  /// Returns the indices of the dimensions with these extents to which a
  /// dimension with that index is expanded, or nothing if its digits do not
  /// divide so. May split digits; older indices are then out of date.
  std::optional<Place> divide(llvm::ArrayRef<Digit> index,
                              llvm::ArrayRef<int64_t> extents);

  /// Returns whether a digit was split since the last call.
  bool takeChange() { return std::exchange(changed, false); }

private:
  struct Entry {
    int64_t extent;
    std::optional<std::pair<Digit, Digit>> parts;
  };

  Digit add(int64_t extent);
  /// Splits a digit into a slow and a fast one. An extent may be dynamic.
  void split(Digit digit, int64_t slow, int64_t fast);
  void appendParts(Digit digit, Index &index) const;
  /// Removes the digits of `extent` values from the end or the start of `rest`.
  std::optional<Index> takeFast(Index &rest, int64_t extent);
  std::optional<Index> takeSlow(Index &rest, int64_t extent);

  std::vector<Entry> entries;
  std::map<std::pair<mlir::Operation *, unsigned>, Digit> loops;
  bool changed = false;
};

/// Returns whether `index` has one of the digits of `others`.
bool hasAny(llvm::ArrayRef<Digit> index, llvm::ArrayRef<Digit> others);
/// Returns whether an index of `place` has one of these digits.
bool hasAny(const Place &place, llvm::ArrayRef<Digit> others);
/// Returns the digits of all indices, in order.
Index flat(const Place &place);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_DIGITS_H
