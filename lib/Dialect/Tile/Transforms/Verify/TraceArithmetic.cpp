//===- TraceArithmetic.cpp - Arithmetic on intervals ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTrace.h"

#include <algorithm>
#include <bit>
#include <functional>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::sync::stripRowBytes;

bool tile::isKnown(Interval x) {
  return x.lo > unknown.lo && x.hi < unknown.hi;
}

Interval tile::hull(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi),
          std::min(a.getUnit(), b.getUnit())};
}

/// Returns the number of low bits in which the members of `x` may differ.
static unsigned varyingBits(Interval x) {
  return std::bit_width(uint64_t(x.lo ^ x.hi));
}

template <typename Function>
static Interval bitwise(Interval a, Interval b, Function function) {
  if (a.lo < 0 || b.lo < 0)
    return unknown;
  unsigned low = std::max(varyingBits(a), varyingBits(b));
  int64_t high = (function(a.lo, b.lo) >> low) << low;
  int64_t unit = std::min(a.getUnit(), b.getUnit());
  if (low == 0)
    return {high, high};
  return {high, high + (int64_t(1) << low) - std::min(unit, int64_t(1) << low),
          unit};
}

/// Returns the bitwise or, or exclusive or: of each operand it changes only
/// bits in which the other one may differ from 0.
template <typename Function>
static Interval combine(Interval a, Interval b, Function function) {
  Interval all = bitwise(a, b, function);
  if (!isKnown(all) || all.isExact())
    return all;
  auto bitsOf = [](Interval x) {
    return (int64_t(1) << std::bit_width(uint64_t(x.hi))) - 1;
  };
  int64_t ofA = bitsOf(a), ofB = bitsOf(b);
  all.lo = std::max({all.lo, a.lo & ~ofB, b.lo & ~ofA});
  all.hi = std::min({all.hi, a.hi | ofB, b.hi | ofA}) & ~(all.unit - 1);
  return all;
}

/// Returns the bitwise and: at most either operand, and without the low bits
/// that are 0 in one of them.
static Interval mask(Interval a, Interval b) {
  Interval all = bitwise(a, b, std::bit_and<int64_t>());
  all.hi = std::min({all.hi, a.hi, b.hi});
  if (isKnown(all))
    all.unit = std::max(a.getUnit(), b.getUnit());
  return all;
}

/// Returns the interval of a condition: 1 if it always holds, 0 if it never
/// does.
static Interval decide(bool always, bool never) {
  return always ? Interval{1, 1} : never ? Interval{0, 0} : Interval{0, 1};
}

/// Returns the quotient or remainder by a known positive divisor.
static Interval divide(Arithmetic op, Interval a, Interval b) {
  if (!b.isExact() || b.lo <= 0 || a.lo < 0)
    return unknown;
  int64_t d = b.lo;
  if (op == Arithmetic::Div)
    return {a.lo / d, a.hi / d, a.getUnit() % d ? 1 : a.getUnit() / d};
  if (op == Arithmetic::CeilDiv)
    return {(a.lo + d - 1) / d, (a.hi + d - 1) / d};
  if (a.lo / d == a.hi / d)
    return {a.lo % d, a.hi % d};
  int64_t unit = std::min(a.getUnit(), d & -d);
  return {0, d - unit, unit};
}

static Interval multiply(Interval a, Interval b) {
  int64_t products[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  int64_t unit = std::min(a.getUnit(), int64_t(1) << 16) *
                 std::min(b.getUnit(), int64_t(1) << 16);
  return {*std::min_element(products, products + 4),
          *std::max_element(products, products + 4), unit};
}

static Interval compare(Arithmetic op, Interval a, Interval b);

/// Compares as unsigned numbers, of which negative ones are the greatest.
static Interval compareUnsigned(Arithmetic op, Interval a, Interval b) {
  bool same = (a.lo >= 0 && b.lo >= 0) || (a.hi < 0 && b.hi < 0);
  if (same)
    return compare(op == Arithmetic::UnsignedLess ? Arithmetic::Less
                                                  : Arithmetic::LessEqual,
                   a, b);
  return decide(a.lo >= 0 && b.hi < 0, a.hi < 0 && b.lo >= 0);
}

static Interval compare(Arithmetic op, Interval a, Interval b) {
  if (op == Arithmetic::UnsignedLess || op == Arithmetic::UnsignedLessEqual)
    return compareUnsigned(op, a, b);
  if (op == Arithmetic::Less)
    return decide(a.hi < b.lo, a.lo >= b.hi);
  if (op == Arithmetic::LessEqual)
    return decide(a.hi <= b.lo, a.lo > b.hi);
  return decide(a.isExact() && b.isExact() && a.lo == b.lo,
                a.hi < b.lo || b.hi < a.lo);
}

/// Returns the column of a result. The XOR of the swizzle keeps the column, and
/// so does the addition of the address of a row.
static int16_t columnOf(Arithmetic op, Interval a, Interval b) {
  constexpr int64_t chunk = 16, last = stripRowBytes - chunk;
  if (a.isExact())
    std::swap(a, b);
  if (op == Arithmetic::Add && b.column >= 0)
    std::swap(a, b);
  if (op == Arithmetic::Add && b.getUnit() % stripRowBytes == 0)
    return a.column;
  bool swizzles = op == Arithmetic::Xor && b.isExact() && b.lo >= 0 &&
                  b.lo <= last && b.lo % chunk == 0 && a.lo >= 0 &&
                  a.hi <= last && a.getUnit() % chunk == 0;
  return swizzles && !a.isExact() ? int16_t(b.lo) : int16_t(-1);
}

static Interval applyTo(Arithmetic op, Interval a, Interval b);

Interval tile::apply(Arithmetic op, Interval a, Interval b) {
  Interval result = applyTo(op, a, b);
  if (!result.isExact())
    result.column = columnOf(op, a, b);
  return result;
}

static Interval applyTo(Arithmetic op, Interval a, Interval b) {
  if (op >= Arithmetic::Less)
    return compare(op, a, b);
  if (!isKnown(a) || !isKnown(b))
    return unknown;
  int64_t unit = std::min(a.getUnit(), b.getUnit());
  switch (op) {
  case Arithmetic::Add:
    return {a.lo + b.lo, a.hi + b.hi, unit};
  case Arithmetic::Sub:
    return {a.lo - b.hi, a.hi - b.lo, unit};
  case Arithmetic::Mul:
    return multiply(a, b);
  case Arithmetic::Div:
  case Arithmetic::CeilDiv:
  case Arithmetic::Rem:
    return divide(op, a, b);
  case Arithmetic::And:
    return mask(a, b);
  case Arithmetic::Or:
    return combine(a, b, std::bit_or<int64_t>());
  case Arithmetic::Xor:
    return combine(a, b, std::bit_xor<int64_t>());
  case Arithmetic::Shl:
    return b.isExact() && b.lo >= 0 && b.lo < 32
               ? multiply(a, {int64_t(1) << b.lo, int64_t(1) << b.lo})
               : unknown;
  case Arithmetic::Shr:
    return b.isExact() && b.lo >= 0 && b.lo < 64 && a.lo >= 0
               ? Interval{a.lo >> b.lo, a.hi >> b.lo}
               : unknown;
  case Arithmetic::UnsignedMin:
  case Arithmetic::UnsignedMax:
    if (a.lo < 0 || b.lo < 0)
      return unknown;
    return applyTo(op == Arithmetic::UnsignedMin ? Arithmetic::Min
                                                 : Arithmetic::Max,
                   a, b);
  case Arithmetic::Min:
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi), unit};
  case Arithmetic::Max:
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi), unit};
  default:
    return unknown;
  }
}
