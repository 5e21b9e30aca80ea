//===- EmulateExp2.cpp - exp2 on the FMA units ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An SM does 16 ex2 per clock, while its tensor cores do 8192 FLOP. Some of the
// exponentials may be computed by multiplications and additions instead, with
// one instruction for a pair of elements (fma.rn.f32x2).
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "fmha/Schedule/Model/Emulation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// The polynomials of degree 3 and 4 for 2^f on [-1/2, 1/2] with the least
/// relative error, 7.5e-5 and 2.6e-6 (Remez exchange in float64; coefficients
/// rounded to f32), the highest power first. The first one is exact enough for
/// P, which is rounded to 16 bits; the sum in an LSE needs the second one.
static constexpr float cubic[] = {0x1.c3f76p-5f, 0x1.f0de1ap-3f, 0x1.62f31ap-1f,
                                  0x1.fff692p-1f};
static constexpr float quartic[] = {0x1.3997d6p-7f, 0x1.ca144p-5f,
                                    0x1.ec06dap-3f, 0x1.62e0dcp-1f,
                                    0x1.ffffe8p-1f};
/// 1.5·2^23 + 127. The lowest bits of x plus this are round(x) + 127, which are
/// the exponent bits of 2^round(x).
static constexpr float roundsToExponent = 12582912.0f + 127.0f;
/// The result is 0 from here down, where the exponent bits are 0.
static constexpr float leastExponent = -127.0f;
static constexpr int32_t mantissaBits = 23;

/// 1.5·2^23. The lowest bits of x plus this are round(x), in two's complement.
static constexpr float roundsToInteger = 12582912.0f;
/// From here down, p(f) is a little more than 1 and n = -127: the bits of the
/// sum are those of a denormal number that is 0 in 16 bits, and in sums, which
/// flush it.
static constexpr float leastSum = -127.0f + 0x1p-12f;

/// Returns p·2^n, where `bits` are those of n + roundsToExponent: NaN for NaN.
static Value multipliedPower(ImplicitLocOpBuilder &b, Value p, Value bits,
                             Value shift) {
  Value power = arith::BitcastOp::create(b, p.getType(),
                                         arith::ShLIOp::create(b, bits, shift));
  return arith::MulFOp::create(b, p, power);
}

/// Returns p·2^n by one integer operation, where `bits` are those of n +
/// roundsToInteger: for NaN a number that is large and finite.
static Value addedExponent(ImplicitLocOpBuilder &b, Value p, Value bits,
                           Value shift) {
  Value sum =
      arith::AddIOp::create(b, arith::BitcastOp::create(b, bits.getType(), p),
                            arith::ShLIOp::create(b, bits, shift));
  return arith::BitcastOp::create(b, p.getType(), sum);
}

/// Returns 2^x = p(f)·2^n, where x = n + f and n = round(x), and 0 below -127.
static Value emulated(ImplicitLocOpBuilder &b, Value x,
                      ArrayRef<float> coefficients, ExponentBy by) {
  bool adds = by == ExponentBy::Addition;
  float least = adds ? leastSum : leastExponent;
  float rounds = adds ? roundsToInteger : roundsToExponent;
  auto type = cast<VectorType>(x.getType());
  auto all = [&](float value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  };
  VectorType bitsType = type.clone(b.getI32Type());
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(bitsType, b.getI32IntegerAttr(mantissaBits)));
  Value clamped = arith::MaximumFOp::create(b, x, all(least));
  Value shifted = arith::AddFOp::create(b, clamped, all(rounds));
  Value whole = arith::SubFOp::create(b, shifted, all(rounds));
  Value f = arith::SubFOp::create(b, clamped, whole);
  Value p = all(coefficients.front());
  for (float coefficient : coefficients.drop_front())
    p = math::FmaOp::create(b, p, f, all(coefficient));
  Value bits = arith::BitcastOp::create(b, bitsType, shifted);
  return adds ? addedExponent(b, p, bits, shift)
              : multipliedPower(b, p, bits, shift);
}

/// Emulates `percent` of all pairs of a row, rounded to the nearest pair. They
/// are the last ones of each group of 16 elements (of gcd(n, 16) if 16 does not
/// divide the n elements of the row), so that both units have work throughout
/// the row. The numbers of pairs per group differ by at most one.
Value tile::exp2OfRow(ImplicitLocOpBuilder &b, Value x, unsigned percent,
                      bool forSum, ExponentBy by) {
  ArrayRef<float> coefficients = forSum ? ArrayRef(quartic) : ArrayRef(cubic);
  auto type = dyn_cast<VectorType>(x.getType());
  constexpr int64_t group = 16;
  if (!type || percent == 0 || type.getDimSize(0) % 2)
    return math::Exp2Op::create(b, x);
  // A thread may have, for example, 24 elements, half of a block of 48 keys.
  int64_t count = type.getDimSize(0), inGroup = std::gcd(count, group);
  int64_t pairs = schedule::emulatedPairs(unsigned(count), percent);
  if (2 * pairs == count)
    return emulated(b, x, coefficients, by);
  if (pairs == 0)
    return math::Exp2Op::create(b, x);
  // Group by group, so that each result soon reuses the register of its
  // element.
  Value result = x;
  auto put = [&](Value part, int64_t first) {
    result = vector::InsertStridedSliceOp::create(
        b, part, result, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
  };
  auto pairsBefore = [&](int64_t end) { return pairs * end / count; };
  for (int64_t first = 0; first < count; first += inGroup) {
    int64_t end = first + inGroup;
    int64_t of = 2 * (pairsBefore(end) - pairsBefore(first));
    if (of < inGroup)
      put(math::Exp2Op::create(b, slice(b, x, first, inGroup - of)), first);
    if (of)
      put(emulated(b, slice(b, x, end - of, of), coefficients, by), end - of);
  }
  return result;
}
