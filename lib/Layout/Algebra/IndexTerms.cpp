//===- IndexTerms.cpp - A layout as arithmetic on an index ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/IndexTerms.h"

#include "fmha/Layout/Algebra/Simplify.h"

namespace fmha::layout::algebra {

std::vector<IndexTerm> indexTerms(const Layout &layout) {
  std::vector<Layout> modes = coalesce(layout).modes();
  std::vector<IndexTerm> terms;
  int64_t divisor = 1;
  for (const Layout &mode : modes) {
    int64_t stride = mode.stride().value();
    if (stride && mode.size() > 1)
      terms.push_back({divisor, mode.size(), stride, &mode == &modes.back()});
    divisor *= mode.size();
  }
  return terms;
}

static bool isPowerOfTwo(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

bool areDisjointBits(const std::vector<IndexTerm> &terms) {
  int64_t taken = 0;
  for (const IndexTerm &term : terms) {
    if (!isPowerOfTwo(term.divisor) || !isPowerOfTwo(term.extent) ||
        !isPowerOfTwo(term.stride))
      return false;
    int64_t bits = (term.extent - 1) * term.stride;
    if (taken & bits)
      return false;
    taken |= bits;
  }
  return true;
}

} // namespace fmha::layout::algebra
