//===- IndexTerms.h - A layout as arithmetic on an index --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The offset of an index is a sum with a term for each mode of the coalesced
// layout: of ((4,8),4):((0,1),16) and thread t it is
//   (t / 4) % 8 * 1 + (t / 32) % 4 * 16
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_INDEXTERMS_H
#define FMHA_LAYOUT_ALGEBRA_INDEXTERMS_H

#include "fmha/Layout/Algebra/Layout.h"

namespace fmha::layout::algebra {

/// The term index / divisor % extent * stride.
struct IndexTerm {
  int64_t divisor = 1, extent = 1, stride = 1;
  /// Whether no mode follows. Then the quotient is below the extent for every
  /// index below the size, so that it needs no remainder.
  bool isLast = false;

  int64_t operator()(int64_t index) const {
    return index / divisor % extent * stride;
  }
  bool operator==(const IndexTerm &) const = default;
};

/// Returns the terms of the offset of an index below the size of `layout`.
/// Modes that add nothing have no term.
std::vector<IndexTerm> indexTerms(const Layout &layout);
/// Returns whether each term moves some bits of the index to bits of the sum
/// that no other term uses.
bool areDisjointBits(const std::vector<IndexTerm> &terms);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_INDEXTERMS_H
