//===- ScaledArithmetic.cpp - Sums with scale factors ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/ScaledArithmetic.h"

#include "FixedPoint.h"

#include <optional>
#include <vector>

namespace ptxsim {
namespace {

/// One element of D: a row of A, a column of B, and their scale factors.
struct Dot {
  const float *a, *b;
  uint32_t k;
  size_t strideB;
  const float *scaleA, *scaleB;
  uint32_t vector;

  /// Returns the scale factor that applies to element x.
  uint32_t scaleOf(uint32_t x) const { return x * vector / k; }
};

/// Returns the sum if an operand, a scale factor or C is not finite.
std::optional<float> specialSum(const Dot &dot, float c) {
  float sum = c;
  bool special = !std::isfinite(c);
  for (uint32_t x = 0; x < dot.k; ++x) {
    float left = dot.a[x], right = dot.b[x * dot.strideB];
    float scale = dot.scaleA[dot.scaleOf(x)] + dot.scaleB[dot.scaleOf(x)];
    if (std::isfinite(left) && std::isfinite(right) && !std::isnan(scale))
      continue;
    special = true;
    sum += std::isnan(scale) ? scale : left * right;
  }
  if (!special)
    return std::nullopt;
  return std::isnan(sum)
             ? std::bit_cast<float>(canonicalNan)
             : std::copysign(std::numeric_limits<float>::infinity(), sum);
}

/// A term of the sum, at the exponent by which it is aligned.
struct Aligned {
  int64_t mantissa = 0;
  int scale = 0, exponent = 0;
};

/// Returns the terms' sum and C, truncated toward zero to f32.
float sumOf(const std::vector<Aligned> &terms, float c, int window, int zero) {
  Term addend = termOf(c, -126);
  int largest = addend.mantissa ? addend.exponent : zero;
  for (const Aligned &term : terms)
    largest = std::max(largest, term.exponent);
  int quantum = largest - window;
  int64_t sum = cut(addend.mantissa, quantum - addend.scale);
  for (const Aligned &term : terms)
    sum += cut(term.mantissa, quantum - term.scale);
  float result = roundDown(sum, quantum, 23);
  return result == 0 ? 0.0f : result;
}

/// Decodes a scale factor. Powers of two below the normal numbers of f32 keep
/// their own exponent; the smallest factors of ue4m3 count as its smallest
/// normal.
Term scaleTerm(float value, int minExponent) {
  Term term = termOf(value, minExponent);
  if (!term.mantissa)
    return term;
  int drop = std::countr_zero(uint64_t(term.mantissa));
  term.exponent = std::max(std::ilogb(value), minExponent);
  return {term.mantissa >> drop, term.scale + drop, term.exponent};
}

float bytesDot(const Dot &dot, float c, int minExponent,
               const SumRules &rules) {
  constexpr int zero = -133;
  static thread_local std::vector<Aligned> terms;
  terms.clear();
  Term left = scaleTerm(dot.scaleA[0], minExponent);
  Term right = scaleTerm(dot.scaleB[0], minExponent);
  for (uint32_t x = 0; x < dot.k; ++x) {
    Term a = termOf(dot.a[x], rules.minExponentA);
    Term b = termOf(dot.b[x * dot.strideB], rules.minExponentB);
    int64_t mantissa = a.mantissa * b.mantissa;
    int exponent = a.exponent + b.exponent + left.exponent + right.exponent;
    terms.push_back({mantissa, a.scale + b.scale + left.scale + right.scale,
                     mantissa ? exponent : zero});
  }
  return sumOf(terms, c, rules.window, zero);
}

float packedDot(const Dot &dot, float c, int minExponent) {
  constexpr int zero = -139, window = 35;
  constexpr uint32_t group = 16;
  static thread_local std::vector<Aligned> terms;
  terms.clear();
  for (uint32_t first = 0; first < dot.k; first += group) {
    // Products of 4-bit elements are multiples of a quarter.
    int64_t quarters = 0;
    bool none = true;
    for (uint32_t x = first; x < first + group; ++x) {
      float product = dot.a[x] * dot.b[x * dot.strideB];
      quarters += int64_t(product * 4);
      none &= product == 0;
    }
    Term a = scaleTerm(dot.scaleA[dot.scaleOf(first)], minExponent);
    Term b = scaleTerm(dot.scaleB[dot.scaleOf(first)], minExponent);
    none |= !a.mantissa || !b.mantissa;
    terms.push_back({quarters * a.mantissa * b.mantissa, a.scale + b.scale - 2,
                     none ? zero : a.exponent + b.exponent});
  }
  return sumOf(terms, c, window, zero);
}

} // namespace

void fastScaledMma(const float *a, const float *b, uint32_t *d,
                   const MmaBlock &block, const ScaleFactors &scales) {
  std::vector<uint32_t> sums(block.n);
  uint32_t share = block.k / scales.vector;
  MmaBlock part{1, block.n, share, block.strideB, block.n, false};
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t s = 0; s < scales.vector; ++s) {
      fastMma(a + size_t(i) * block.k + s * share,
              b + size_t(s) * share * block.strideB, sums.data(), part);
      double left = scales.a[i * scales.vector + s];
      for (uint32_t j = 0; j < block.n; ++j) {
        uint32_t &element = d[i * block.strideD + j];
        double sum = double(std::bit_cast<float>(sums[j])) * left *
                     double(scales.b[j * scales.vector + s]);
        if (s || block.accumulate)
          sum += double(std::bit_cast<float>(element));
        element = std::isnan(sum) ? canonicalNan
                                  : std::bit_cast<uint32_t>(float(sum));
      }
    }
}

void exactScaledMma(const float *a, const float *b, uint32_t *d,
                    const MmaBlock &block, const ScaleFactors &scales,
                    const SumRules &rules, bool packed) {
  for (uint32_t i = 0; i < block.m; ++i)
    for (uint32_t j = 0; j < block.n; ++j) {
      Dot dot{a + size_t(i) * block.k,
              b + j,
              block.k,
              block.strideB,
              scales.a + size_t(i) * scales.vector,
              scales.b + size_t(j) * scales.vector,
              scales.vector};
      uint32_t &element = d[i * block.strideD + j];
      float c = block.accumulate ? std::bit_cast<float>(element) : 0.0f;
      std::optional<float> sum = specialSum(dot, c);
      if (!sum)
        sum = packed ? packedDot(dot, c, scales.minExponent)
                     : bytesDot(dot, c, scales.minExponent, rules);
      element = std::bit_cast<uint32_t>(*sum);
    }
}

} // namespace ptxsim
