//===- MmaArithmetic.cpp - The tensor core's sums -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

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

/// mantissa * 2^scale, with the exponent that the window compares: subnormals
/// of the source type all count as its smallest normal.
struct Term {
  int64_t mantissa = 0;
  int scale = 0;    // exponent of the mantissa's lowest bit
  int exponent = 0; // stored exponent of the source
};

Term termOf(float value, int minExponent) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t biased = (bits >> 23) & 0xff;
  int64_t magnitude = (bits & 0x7fffff) | (biased ? 0x800000 : 0);
  int exponent = int(biased ? biased : 1) - 127;
  return {bits >> 31 ? -magnitude : magnitude, exponent - 23,
          std::max(exponent, minExponent)};
}

/// Returns mantissa * 2^-shift truncated toward zero. No left shift moves C
/// beyond its place in the window, and a product is never shifted left.
int64_t cut(int64_t mantissa, int shift) {
  // A zero may be at any distance.
  if (mantissa == 0)
    return 0;
  if (shift <= 0)
    return mantissa * (int64_t(1) << -shift);
  // Every mantissa is below 2^62, so larger shifts leave nothing.
  shift = std::min(shift, 62);
  int64_t towardZero = (mantissa >> 63) & ((int64_t(1) << shift) - 1);
  return (mantissa + towardZero) >> shift;
}

/// Returns sum * 2^quantum truncated toward zero to f32, or to fewer fraction
/// bits.
float roundDown(int64_t sum, int quantum, int fractionBits) {
  uint64_t magnitude = uint64_t(sum < 0 ? -sum : sum);
  if (!magnitude)
    return 0.0f;
  int top = 63 - std::countl_zero(magnitude) + quantum;
  if (top > 127)
    return sum < 0 ? -std::numeric_limits<float>::infinity()
                   : std::numeric_limits<float>::infinity();
  int lowest = std::max(top - fractionBits, -149);
  int drop = lowest - quantum;
  if (drop > 0)
    magnitude = drop > 63 ? 0 : magnitude >> drop << drop;
  float value = float(std::ldexp(double(magnitude), quantum));
  return sum < 0 ? -value : value;
}

/// Returns sum * 2^quantum rounded to the nearest f16, ties to even.
float roundToHalf(int64_t sum, int quantum) {
  return decodeElement(ElementType::F16,
                       encodeF16(std::ldexp(double(sum), quantum)));
}

constexpr uint32_t canonicalNan = 0x7fffffff;

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
