//===- Error.cpp - What is wrong with a layout ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Error.h"

using namespace fmha::layout::algebra;

[[noreturn]] static void overflow(const char *operation, int64_t a, int64_t b) {
  throw LayoutError(std::string("expected numbers below 2^63, got ") +
                    std::to_string(a) + operation + std::to_string(b) +
                    "; use smaller extents or strides");
}

int64_t fmha::layout::algebra::checkedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    overflow(" + ", a, b);
  return sum;
}

int64_t fmha::layout::algebra::checkedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    overflow(" * ", a, b);
  return result;
}
