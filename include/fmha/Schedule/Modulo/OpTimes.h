//===- OpTimes.h - Clocks of ops on tiles -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rates and counts of the cost model (CostModel.h), for one op.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODULO_OPTIMES_H
#define FMHA_SCHEDULE_MODULO_OPTIMES_H

#include "fmha/Schedule/Modulo/LoopGraph.h"
#include "fmha/Target/Target.h"

#include <array>

namespace fmha::schedule::modulo {

/// Clocks for which an op keeps units busy, and clocks for which it only waits.
struct OpTime {
  std::array<double, unitCount> busy = {};
  double waits = 0;
  /// Share of iterations in which the op does its work.
  double share = 1;

  double &at(Unit unit) { return busy[unsigned(unit)]; }
  /// Sets clocks and uses of `op`.
  void write(LoopOp &op) const;
};

/// Times of the ops of a CTA on a target. CTAs of a group share each B: a
/// product reads the CTA's part of it.
/// Accumulators in tensor memory are rescaled in each iteration, or only in
/// some if maxima have a threshold.
class OpTimes {
public:
  OpTimes(const target::Target &gpu, unsigned ctaGroup, bool alwaysRescales)
      : gpu(gpu), ctaGroup(ctaGroup), alwaysRescales(alwaysRescales) {}

  /// A product with D of `rows` x `columns` and an inner extent `depth`, of
  /// elements of 16 bits.
  OpTime product(double rows, double columns, double depth, bool aInSmem) const;
  /// A copy of `bytes` from device memory to the shared memory of a CTA or
  /// back.
  OpTime copy(double bytes) const;
  /// Moves between registers and memory.
  OpTime tmem(double bytes) const;
  OpTime smem(double bytes) const;
  /// Arithmetic on `scores` elements of `rows` rows.
  OpTime maxima(double rows, double scores) const;
  OpTime exponentials(double scores, double emulated) const;
  OpTime sums(double scores) const;
  OpTime conversions(double scores) const;
  /// A mask, which only the blocks at its edge need.
  OpTime mask(double scores) const;
  OpTime arithmetic(double elements, double instructions) const;
  /// A product of an accumulator and a factor per row; with `inTmem` the
  /// accumulator is loaded and stored.
  OpTime rescale(double elements, bool inTmem) const;
  /// Returns `time` of an op under a condition that the loop changes.
  static OpTime sometimes(OpTime time);

private:
  const target::Target &gpu;
  unsigned ctaGroup;
  bool alwaysRescales;
};

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_MODULO_OPTIMES_H
