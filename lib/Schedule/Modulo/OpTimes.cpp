//===- OpTimes.cpp - Clocks of ops on tiles -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/OpTimes.h"

#include "Cost/Counts.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

void OpTime::write(LoopOp &op) const {
  double most = *std::max_element(busy.begin(), busy.end()) + waits;
  op.mostClocks = unsigned(std::lround(most));
  op.clocks = unsigned(std::lround(most * share));
  op.uses.clear();
  for (unsigned unit = 0; unit < unitCount; ++unit)
    if (unsigned clocks = unsigned(std::lround(busy[unit] * share)))
      op.uses.push_back({Unit(unit), clocks});
}

OpTime OpTimes::product(double rows, double columns, double depth,
                        bool aInSmem) const {
  constexpr double elementBytes = 2;
  Product made =
      productOf(gpu, {rows, columns, depth, elementBytes, aInSmem, ctaGroup});
  OpTime time;
  time.at(Unit::Mma) = made.clocks;
  time.at(Unit::Smem) = made.bytes / gpu.smemBytesPerClock;
  return time;
}

OpTime OpTimes::copy(double bytes) const {
  OpTime time;
  time.at(Unit::L2) = bytes / gpu.l2BytesPerClock;
  time.at(Unit::Smem) = bytes / gpu.smemBytesPerClock;
  return time;
}

OpTime OpTimes::tmem(double bytes) const {
  OpTime time;
  time.at(Unit::Tmem) = bytes / gpu.tmemBytesPerClock;
  return time;
}

OpTime OpTimes::smem(double bytes) const {
  OpTime time;
  time.at(Unit::Smem) = bytes / gpu.smemBytesPerClock;
  return time;
}

OpTime OpTimes::maxima(double rows, double scores) const {
  OpTime time;
  time.at(Unit::Mufu) = rows / gpu.mufuPerClock;
  time.at(Unit::Alu) = maximaPerScore * scores / gpu.aluPerClock;
  return time;
}

OpTime OpTimes::exponentials(double scores, double emulated) const {
  OpTime time;
  time.at(Unit::Mufu) = scores * (1 - emulated) / gpu.mufuPerClock;
  time.at(Unit::Fma) = scores *
                       (fmaPerExponential + fmaPerEmulated * emulated) /
                       gpu.fmaPerClock;
  time.at(Unit::Alu) = scores * aluPerEmulated * emulated / gpu.aluPerClock;
  return time;
}

OpTime OpTimes::sums(double scores) const {
  return arithmetic(scores, fmaPerSum);
}

OpTime OpTimes::conversions(double scores) const {
  OpTime time;
  time.at(Unit::Alu) = conversionsPerScore * scores / gpu.convertPerClock;
  return time;
}

OpTime OpTimes::mask(double scores) const {
  OpTime time;
  time.at(Unit::Alu) = aluPerMasked * scores / gpu.aluPerClock;
  time.share = maskedShare;
  return time;
}

OpTime OpTimes::arithmetic(double elements, double instructions) const {
  OpTime time;
  time.at(Unit::Fma) = elements * instructions / gpu.fmaPerClock;
  return time;
}

OpTime OpTimes::rescale(double elements, bool inTmem) const {
  OpTime time = arithmetic(elements, 1);
  if (inTmem) {
    time.at(Unit::Tmem) = 2 * elements * sizeof(float) / gpu.tmemBytesPerClock;
    time.waits = gpu.scoreLatency;
  }
  time.share = alwaysRescales || !inTmem ? 1 : rescaledShare;
  return time;
}

OpTime OpTimes::sometimes(OpTime time) {
  time.share *= maskedShare;
  return time;
}
