//===- Compare.cpp - Is an output close enough to the reference? ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fmha::reference;

namespace {

constexpr double slack = 1.1;
constexpr double absoluteBound = 1e-6;
constexpr double f32Roundoff = 0x1p-24;
constexpr double rowRelativeBound = 1e-5, rowAbsoluteBound = 1e-5;
/// What the sum of a row adds to it.
constexpr double summationBound = 1e-5;
/// Averages mean little over fewer elements.
constexpr int64_t leastForAverages = 512;
constexpr double largest = std::numeric_limits<double>::max();

double leastCosine(Element type) {
  return type == Element::F32 ? 0.9999999 : 0.999996;
}
double mostRelL2(Element type) {
  constexpr double all[] = {5e-4, 2.8e-3, 1e-5};
  return all[size_t(type)];
}

/// Equal, or both NaN: which NaN it is means nothing.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double finite(double value) { return std::isfinite(value) ? value : largest; }

/// Sums over a set of elements, from which cosine and relative norm follow.
struct Sums {
  double oo = 0, rr = 0, or_ = 0, dd = 0;

  void add(double o, double r) {
    oo += o * o;
    rr += r * r;
    or_ += o * r;
    dd += (o - r) * (o - r);
  }
  void add(const Sums &other) {
    oo += other.oo;
    rr += other.rr;
    or_ += other.or_;
    dd += other.dd;
  }
  bool degenerate() const { return oo == 0 || rr == 0; }
  double cosine() const {
    if (degenerate())
      return dd == 0 ? 1 : 0;
    double value = or_ / (std::sqrt(oo) * std::sqrt(rr));
    return std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : 0;
  }
  double relL2() const {
    return finite(std::sqrt(degenerate() ? dd : dd / rr));
  }
};

class Comparer {
public:
  Comparer(const Problem &problem, const Result &expected, Element type,
           const Outputs &outputs)
      : p(problem), expected(expected), type(type), got(outputs), o(outputs.o) {
  }

  Comparison run();

private:
  void compareHead(int64_t batch, int64_t head);
  /// False where both are the same NaN or infinity: there is no distance that
  /// averages could take.
  bool compareElement(std::array<int64_t, 4> at, double got, double want,
                      double magnitude);
  double scoreBound(double want, double max) const;
  /// The largest error of `rows`, absolute or relative.
  double compareRows(const float *rows, const std::vector<double> &want,
                     double (*bound)(double want, double max), bool relative);

  const Problem &p;
  const Result &expected;
  Element type;
  const Outputs &got;
  const Tensor &o;
  Sums all;
  Comparison result;
};

bool Comparer::compareElement(std::array<int64_t, 4> at, double got,
                              double want, double magnitude) {
  if (!std::isfinite(want) && same(got, want))
    return false;
  if (!std::isfinite(got) || !std::isfinite(want))
    ++result.nonFinite;
  double error = finite(std::fabs(got - want));
  bool isWider = this->got.isF32 && type != Element::F32;
  double rounding = isWider ? f32Roundoff : unitRoundoff(type);
  double bound =
      slack * (rounding * std::fabs(want) + unitRoundoff(type) * magnitude) +
      absoluteBound;
  double inTolerance = std::isfinite(bound) ? finite(error / bound) : largest;
  result.maxAbsError = std::max(result.maxAbsError, error);
  if (inTolerance > result.maxErrorInTolerance) {
    result.maxErrorInTolerance = inTolerance;
    result.worst = at;
  }
  // A bound that is no number, or infinite, holds nothing.
  if (!std::isfinite(bound) || !(error <= bound))
    result.ok = false;
  return true;
}

void Comparer::compareHead(int64_t batch, int64_t head) {
  Sums sums;
  for (int64_t i = 0; i < p.qLen; ++i) {
    int64_t base = ((batch * p.qLen + i) * p.qHeads + head) * p.headDimV;
    for (int64_t d = 0; d < p.headDimV; ++d) {
      double got = o.at(batch, i, head, d), want = expected.o[base + d];
      if (compareElement({batch, i, head, d}, got, want, expected.a[base + d]))
        sums.add(got, want);
    }
  }
  result.minHeadCosine = std::min(result.minHeadCosine, sums.cosine());
  all.add(sums);
}

double logarithmBound(double want, double) {
  return rowRelativeBound * std::max(1.0, std::fabs(want)) + rowAbsoluteBound;
}

double sumBound(double want, double max) {
  if (want == 0)
    return 0;
  return want * (logarithmBound(max, max) + summationBound);
}

/// Returns what approximate scores may add to the error of a logarithm.
double Comparer::scoreBound(double want, double max) const {
  if (p.score.relativeError == 0)
    return 0;
  return p.score.relativeError *
         std::max({1.0, std::fabs(want), std::fabs(max)});
}

double Comparer::compareRows(const float *rows, const std::vector<double> &want,
                             double (*boundOf)(double, double), bool relative) {
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (same(rows[i], want[i]))
      continue; // also both -inf
    double error = finite(std::fabs(rows[i] - want[i]));
    worst = std::max(worst, relative ? finite(error / want[i]) : error);
    double max = i < expected.rowMax.size() ? expected.rowMax[i] : 0;
    double bound =
        boundOf(want[i], max) +
        scoreBound(relative ? max : want[i], max) * (relative ? want[i] : 1);
    // An infinite bound would let everything pass where -inf is expected.
    if (!std::isfinite(bound) || !(error <= bound))
      result.ok = false;
  }
  return worst;
}

Comparison Comparer::run() {
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.qHeads; ++h)
      compareHead(b, h);
  result.cosine = all.cosine();
  result.relL2 = all.relL2();
  if (int64_t(expected.o.size()) >= leastForAverages &&
      (result.cosine < leastCosine(type) || result.relL2 > mostRelL2(type)))
    result.ok = false;
  if (got.lse)
    result.lseMaxAbsError =
        compareRows(got.lse, expected.lse, logarithmBound, false);
  if (got.rowMax)
    result.rowMaxMaxAbsError =
        compareRows(got.rowMax, expected.rowMax, logarithmBound, false);
  if (got.rowSum)
    result.rowSumMaxRelError =
        compareRows(got.rowSum, expected.rowSum, sumBound, true);
  return result;
}

} // namespace

Comparison fmha::reference::compare(const Problem &problem,
                                    const Result &expected, Element type,
                                    const Tensor &o, const float *lse) {
  return compare(problem, expected, type, Outputs{o, false, lse});
}

Comparison fmha::reference::compare(const Problem &problem,
                                    const Result &expected, Element type,
                                    const Outputs &outputs) {
  return Comparer(problem, expected, type, outputs).run();
}
