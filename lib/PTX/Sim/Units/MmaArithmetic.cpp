//===- MmaArithmetic.cpp - The tensor core's sums -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"

#include "FixedPoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

// Uses the widest vectors of the host; other compilers and architectures use
// the plain build. Every clone gives the same bits: each element of D is one
// chain of sums in the order of k, whatever the width, and the file is compiled
// without contraction, so that no clone fuses a product and a sum. The clones
// are named by features: names of processors match only these processors, not
// their successors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer)
#define PTXSIM_VECTOR_CLONES                                                   \
  __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#else
#define PTXSIM_VECTOR_CLONES                                                   \
  __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#endif
#ifndef PTXSIM_VECTOR_CLONES
#define PTXSIM_VECTOR_CLONES
#endif

namespace ptxsim {
namespace {

/// Sets `result` and returns true if an operand or C is not finite.
bool specialResult(std::span<const float> a, const float *b, size_t strideB,
                   float c, float &result) {
  float sum = c;
  bool special = !std::isfinite(c);
  for (size_t i = 0; i < a.size(); ++i) {
    float y = b[i * strideB];
    if (std::isfinite(a[i]) && std::isfinite(y))
      continue;
    special = true;
    sum += a[i] * y;
  }
  if (!special)
    return false;
  // Finite terms cannot change an infinity, and are left out of the sum.
  result = std::isnan(sum)
               ? std::bit_cast<float>(canonicalNan)
               : std::copysign(std::numeric_limits<float>::infinity(), sum);
  return true;
}

constexpr size_t mostTerms = 64;

/// Returns c + the sum of a[i] * b[i], all of them finite.
float windowSum(const Term *a, const Term *b, size_t count, float c,
                const SumRules &rules) {
  int minC = rules.halfResult ? minExponent(ElementType::F16) : -126;
  Term addend = termOf(c, minC);
  int zero = rules.zeroExponent();
  int largest = addend.mantissa ? addend.exponent : zero;
  int64_t products[mostTerms];
  for (size_t i = 0; i < count; ++i) {
    products[i] = a[i].mantissa * b[i].mantissa;
    int exponent = products[i] ? a[i].exponent + b[i].exponent : zero;
    largest = std::max(largest, exponent);
  }
  int quantum = largest - rules.window;
  int64_t sum = cut(addend.mantissa, quantum - addend.scale);
  for (size_t i = 0; i < count; ++i)
    sum += cut(products[i], quantum - a[i].scale - b[i].scale);
  float result = rules.halfResult ? roundToHalf(sum, quantum)
                                  : roundDown(sum, quantum, rules.fractionBits);
  // A negative sum below the format is +0, like every other zero.
  return result == 0 ? 0.0f : result;
}

/// Rows of A or columns of B as consecutive terms, `k` per row or column, and
/// whether all terms of each are finite.
struct Vectors {
  Vectors(const float *values, uint32_t count, uint32_t k, size_t stride,
          size_t strideK, int minExponent)
      : terms(size_t(count) * k), finite(count, true) {
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t x = 0; x < k; ++x) {
        float value = values[i * stride + x * strideK];
        terms[size_t(i) * k + x] = termOf(value, minExponent);
        if (!std::isfinite(value))
          finite[i] = false;
      }
  }
  std::vector<Term> terms;
  std::vector<char> finite;
};

/// Adds the products of one row to 64 columns (or fewer) of D.
template <typename Width>
inline void addProducts(const float *left, const float *right, size_t strideB,
                        float *sums, uint32_t k, Width width) {
  for (uint32_t x = 0; x < k; ++x) {
    float factor = left[x];
    const float *row = right + x * strideB;
    for (uint32_t c = 0; c < width; ++c)
      sums[c] += factor * row[c];
  }
}

constexpr uint32_t blockColumns = 64;
using FullWidth = std::integral_constant<uint32_t, blockColumns>;

PTXSIM_VECTOR_CLONES
void fastRows(const float *a, const float *b, uint32_t *d,
              const MmaBlock &block) {
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t j = 0; j < block.n; j += blockColumns) {
      // A block of columns stays in registers while k runs.
      uint32_t *target = d + i * block.strideD + j;
      uint32_t width = std::min(blockColumns, block.n - j);
      alignas(64) float sums[blockColumns] = {};
      if (block.accumulate)
        std::memcpy(sums, target, width * sizeof(float));
      const float *left = a + size_t(i) * block.k;
      if (width == blockColumns)
        addProducts(left, b + j, block.strideB, sums, block.k, FullWidth());
      else
        addProducts(left, b + j, block.strideB, sums, block.k, width);
      for (uint32_t c = 0; c < width; ++c)
        target[c] = sums[c] == sums[c] ? std::bit_cast<uint32_t>(sums[c])
                                       : canonicalNan;
    }
}

} // namespace

float exactDot(std::span<const float> a, const float *b, size_t strideB,
               float c, const SumRules &rules) {
  float special;
  if (specialResult(a, b, strideB, c, special))
    return special;
  size_t count = std::min(a.size(), mostTerms);
  Term left[mostTerms], right[mostTerms];
  for (size_t i = 0; i < count; ++i) {
    left[i] = termOf(a[i], rules.minExponentA);
    right[i] = termOf(b[i * strideB], rules.minExponentB);
  }
  return windowSum(left, right, count, c, rules);
}

void fastMma(const float *a, const float *b, uint32_t *d,
             const MmaBlock &block) {
  fastRows(a, b, d, block);
}

void integerMma(const float *a, const float *b, uint32_t *d,
                const MmaBlock &block, bool saturate) {
  // Sums of 64 products of 8 bits are exact in f32.
  std::vector<uint32_t> sums(size_t(block.m) * block.n);
  MmaBlock products = block;
  products.strideD = block.n;
  products.accumulate = false;
  fastRows(a, b, sums.data(), products);
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t j = 0; j < block.n; ++j) {
      uint32_t &element = d[i * block.strideD + j];
      int64_t sum = int64_t(std::bit_cast<float>(sums[i * block.n + j]));
      if (block.accumulate)
        sum += int32_t(element);
      if (saturate)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      element = uint32_t(sum);
    }
}

void exactMma(const float *a, const float *b, uint32_t *d,
              const MmaBlock &block, const SumRules &rules) {
  uint32_t k = block.k;
  Vectors rows(a, block.m, k, k, 1, rules.minExponentA);
  Vectors columns(b, block.n, k, 1, block.strideB, rules.minExponentB);
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t j = 0; j < block.n; ++j) {
      uint32_t &element = d[i * block.strideD + j];
      float c = block.accumulate ? std::bit_cast<float>(element) : 0.0f;
      bool finite = rows.finite[i] && columns.finite[j] && std::isfinite(c);
      float sum = finite && k <= mostTerms
                      ? windowSum(&rows.terms[size_t(i) * k],
                                  &columns.terms[size_t(j) * k], k, c, rules)
                      : exactDot({a + size_t(i) * k, k}, b + j, block.strideB,
                                 c, rules);
      element = std::bit_cast<uint32_t>(sum);
    }
}

} // namespace ptxsim
