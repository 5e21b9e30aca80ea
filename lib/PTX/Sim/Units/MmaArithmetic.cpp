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
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

// The widest vectors that the machine has; other compilers and architectures
// take the plain build. Every clone gives the same bits: each element of D is
// one chain of sums in the order of k, whatever the width, and the file is
// compiled without contraction, so that no clone fuses a product and a sum. The
// clones are named by features: names of processors match those alone, and not
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

/// magnitude * 2^(exponent - 23), with the exponent that the window compares:
/// subnormals of the source type all count as its smallest normal.
struct Term {
  uint64_t magnitude = 0;
  int scale = 0;    // exponent of the magnitude's lowest bit
  int exponent = 0; // stored exponent of the source
  bool negative = false;
};

Term termOf(float value, int minExponent) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t biased = (bits >> 23) & 0xff;
  Term term;
  term.negative = bits >> 31;
  term.magnitude = (bits & 0x7fffff) | (biased ? 0x800000 : 0);
  int exponent = int(biased ? biased : 1) - 127;
  term.scale = exponent - 23;
  term.exponent = std::max(exponent, minExponent);
  return term;
}

Term product(const Term &a, const Term &b) {
  return {a.magnitude * b.magnitude, a.scale + b.scale, a.exponent + b.exponent,
          a.negative != b.negative};
}

/// The term as a multiple of 2^quantum, cut toward zero.
int64_t cut(const Term &term, int quantum) {
  int shift = term.scale - quantum;
  uint64_t cutMagnitude = 0;
  if (shift >= 0)
    cutMagnitude = term.magnitude << shift;
  else if (shift > -64)
    cutMagnitude = term.magnitude >> -shift;
  return term.negative ? -int64_t(cutMagnitude) : int64_t(cutMagnitude);
}

/// sum * 2^quantum cut toward zero to f32.
float roundDown(int64_t sum, int quantum) {
  uint64_t magnitude = uint64_t(sum < 0 ? -sum : sum);
  if (!magnitude)
    return 0.0f;
  int top = 63 - std::countl_zero(magnitude) + quantum;
  if (top > 127)
    return sum < 0 ? -std::numeric_limits<float>::infinity()
                   : std::numeric_limits<float>::infinity();
  int lowest = std::max(top - 23, -149);
  int drop = lowest - quantum;
  if (drop > 0)
    magnitude = drop > 63 ? 0 : magnitude >> drop << drop;
  float value = float(std::ldexp(double(magnitude), quantum));
  return sum < 0 ? -value : value;
}

/// sum * 2^quantum rounded to the nearest f16, ties to even.
float roundToHalf(int64_t sum, int quantum) {
  return decodeElement(ElementType::F16,
                       encodeF16(std::ldexp(double(sum), quantum)));
}

constexpr uint32_t canonicalNan = 0x7fffffff;

/// The result where an operand or C is not finite, else nothing to say.
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
  // Finite terms can not change an infinity, and are left out of the sum.
  result = std::isnan(sum)
               ? std::bit_cast<float>(canonicalNan)
               : std::copysign(std::numeric_limits<float>::infinity(), sum);
  return true;
}

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
  constexpr size_t mostTerms = 64;
  Term terms[mostTerms + 1];
  size_t count = 0;
  int largest = INT_MIN;
  auto add = [&](const Term &term) {
    largest = std::max(largest,
                       term.magnitude ? term.exponent : rules.zeroExponent());
    if (term.magnitude)
      terms[count++] = term;
  };
  for (size_t i = 0; i < a.size() && i < mostTerms; ++i)
    add(product(termOf(a[i], rules.minExponentA),
                termOf(b[i * strideB], rules.minExponentB)));
  add(termOf(c, rules.halfResult ? minExponent(ElementType::F16) : -126));
  if (!count)
    return 0.0f;
  int quantum = largest - rules.window;
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += cut(terms[i], quantum);
  float result =
      rules.halfResult ? roundToHalf(sum, quantum) : roundDown(sum, quantum);
  // A negative sum below the format is +0, as every other zero.
  return result == 0 ? 0.0f : result;
}

void fastMma(const float *a, const float *b, uint32_t *d,
             const MmaBlock &block) {
  fastRows(a, b, d, block);
}

void exactMma(const float *a, const float *b, uint32_t *d,
              const MmaBlock &block, const SumRules &rules) {
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t j = 0; j < block.n; ++j) {
      uint32_t &element = d[i * block.strideD + j];
      float c = block.accumulate ? std::bit_cast<float>(element) : 0.0f;
      float sum = exactDot({a + size_t(i) * block.k, block.k}, b + j,
                           block.strideB, c, rules);
      element = std::bit_cast<uint32_t>(sum);
    }
}

} // namespace ptxsim
