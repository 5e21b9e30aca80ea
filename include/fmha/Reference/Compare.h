//===- Compare.h - Comparison of outputs with the reference -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tolerance that decides whether a kernel is right, at any size. With R the
// float64 result on the rounded inputs, A = softmax * |V| and u the unit
// roundoff of the output type (2^-8 for bf16, 2^-11 for f16, 2^-18 for f32):
//
//   every element    |O - R| <= 1.1 * u * (|R| + A) + 1e-6
//   every LSE        |L - R| <= 1e-5 * max(1, |R|) + 1e-5; -inf equals -inf
//   every row max    likewise
//   every row sum    |S - R| <= R * (1e-5 * max(1, |row max|) + 2e-5)
//   512 elements up  cosine >= 0.999996, rel_l2 <= 2.8e-3 (bf16), 5e-4 (f16);
//                    cosine >= 0.9999999, rel_l2 <= 1e-5 (f32)
//
// Where an approximate tanh makes scores (Score::relativeError), max(1, |LSE|,
// |row max|) times its error is added to the bounds of a row.
//
// For an output in f32 of 16-bit inputs the factor of |R| is 2^-24. A keeps u,
// since the weights P are rounded to the input type before they are multiplied.
//
// The bound of a row sum is that of LSE = max + log(sum), whose error is the
// relative one of the sum where the maximum is exact. Its parts: a term is
// 2^((s - max) * c), so that an error e of s - max in natural units changes it
// by the factor exp(e); s and max are sums of head_dim products in f32, with an
// error of 2^-24 times a few times |s|, far below 1e-5 * max(1, |max|); the
// approximate exp2 adds 2^-22; and a sum of n terms by halves, block after
// block, adds (7 + 2 * n / kv_block) * 2^-24, at most 1e-5 up to 5000
// keys of equal weight and, as errors of both signs cancel, far beyond.
//
// Inputs may hold NaN and infinities. Where R is NaN the output must be NaN,
// where R is an infinity it must be the same one, and where R is finite it must
// be finite; elements that agree so count in no average.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_REFERENCE_COMPARE_H
#define FMHA_REFERENCE_COMPARE_H

#include "fmha/Reference/Attention.h"
#include "fmha/Reference/Rounding.h"

namespace fmha::reference {

/// The outputs of a kernel; null is not compared.
struct Outputs {
  Tensor o;
  /// Whether `o` was written in f32 instead of the type of the inputs.
  bool isF32 = false;
  /// Dense [batch, qHeads, qLen].
  const float *lse = nullptr, *rowMax = nullptr, *rowSum = nullptr;
};

/// The result of a comparison. All numbers are finite: an error that is not
/// (NaN or an infinity in the output) counts as the largest double.
struct Comparison {
  /// Within tolerance in every respect.
  bool ok = true;
  /// Over the whole output. If O or R has norm zero or is empty: 1 and 0 if
  /// they are equal, otherwise 0 and the norm of O - R.
  double cosine = 1, relL2 = 0;
  /// The smallest cosine of one head of one batch.
  double minHeadCosine = 1;
  double maxAbsError = 0;
  /// The largest |O - R| over its bound: 1 = at the limit.
  double maxErrorInTolerance = 0;
  /// Its index: [batch, row, head, column].
  std::array<int64_t, 4> worst = {};
  /// Absent if no LSE was compared.
  std::optional<double> lseMaxAbsError;
  /// The same for row maxima, and the largest relative error of row sums.
  std::optional<double> rowMaxMaxAbsError, rowSumMaxRelError;
  /// Number of elements where only one of O and R is NaN, or the infinities
  /// differ.
  int64_t nonFinite = 0;
};

/// Compares `o` [batch, qLen, qHeads, headDimV] and, if not null, `lse`, dense
/// [batch, qHeads, qLen].
Comparison compare(const Problem &problem, const Result &expected, Element type,
                   const Tensor &o, const float *lse);

/// Compares all outputs; `type` is the type of the inputs.
Comparison compare(const Problem &problem, const Result &expected, Element type,
                   const Outputs &outputs);

} // namespace fmha::reference

#endif // FMHA_REFERENCE_COMPARE_H
