//===- ScaledArithmeticTest.cpp - Sums with scale factors -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledOracle.h"

#include "fmha/PTX/Sim/Units/ScaledArithmetic.h"

#include <bit>
#include <cmath>
#include <map>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

std::vector<float> decodeAll(ElementType type,
                             const std::vector<uint32_t> &bits) {
  std::vector<float> values;
  for (uint32_t x : bits)
    values.push_back(decodeElement(type, x));
  return values;
}

/// The operands of a tile as the sums take them.
struct Operands {
  explicit Operands(const ScaledTile &tile)
      : a(decodeAll(tile.a, tile.left)), b(tile.right.size()),
        scaleA(decodeAll(tile.scale, tile.scaleA)),
        scaleB(decodeAll(tile.scale, tile.scaleB)), d(tile.before),
        block{tile.m, tile.n, tile.k, tile.n, tile.n, true},
        scales{scaleA.data(), scaleB.data(), tile.vector,
               minExponent(tile.scale)} {
    for (uint32_t j = 0; j < tile.n; ++j)
      for (uint32_t x = 0; x < tile.k; ++x)
        b[x * tile.n + j] = decodeElement(tile.b, tile.right[j * tile.k + x]);
  }
  std::vector<float> a, b, scaleA, scaleB;
  std::vector<uint32_t> d;
  MmaBlock block;
  ScaleFactors scales;
};

/// The committed data must not shrink.
TEST(ScaledArithmetic, ExactSumsAreThoseOfTheModel) {
  ScaledOracle oracle;
  SCOPED_TRACE(oracle.source);
  std::map<MmaKind, size_t> sums;
  for (const ScaledTile &tile : oracle.tiles) {
    Operands o(tile);
    SumRules rules{minExponent(tile.a), minExponent(tile.b)};
    exactScaledMma(o.a.data(), o.b.data(), o.d.data(), o.block, o.scales, rules,
                   tile.k == 64);
    expectSums(tile, o.d);
    sums[tile.kind] += o.d.size();
  }
  EXPECT_GE(sums[MmaKind::MXF8F6F4], 12000u);
  EXPECT_GE(sums[MmaKind::MXF4], 6000u);
  EXPECT_GE(sums[MmaKind::MXF4NVF4], 18000u);
}

/// The fast mode differs from the sum in f64 by its roundings to f32 alone.
TEST(ScaledArithmetic, FastSumsAreClose) {
  ScaledOracle oracle;
  for (const ScaledTile &tile : oracle.tiles) {
    Operands o(tile);
    fastScaledMma(o.a.data(), o.b.data(), o.d.data(), o.block, o.scales);
    for (uint32_t i = 0; i < tile.m * tile.n; ++i) {
      uint32_t row = i / tile.n, column = i % tile.n;
      double sum = std::bit_cast<float>(tile.before[i]);
      double magnitude = std::fabs(sum);
      for (uint32_t x = 0; x < tile.k; ++x) {
        uint32_t s = x * tile.vector / tile.k;
        double product = double(o.a[row * tile.k + x]) *
                         double(o.b[x * tile.n + column]) *
                         double(o.scaleA[row * tile.vector + s]) *
                         double(o.scaleB[column * tile.vector + s]);
        sum += product;
        magnitude += std::fabs(product);
      }
      if (!(magnitude < 0x1p127))
        continue;
      float got = std::bit_cast<float>(o.d[i]);
      EXPECT_LE(std::fabs(got - sum), magnitude * 0x1p-18 + 0x1p-147)
          << tile.name << " element " << i;
    }
  }
}

/// A factor of 2^127 does not overflow where the other factor brings the
/// product back.
TEST(ScaledArithmetic, LargeFactorsCancel) {
  const std::vector<float> a(32, 256.0f), b(32, 1.0f);
  const float up = 0x1p127f, down = 0x1p-127f;
  ScaleFactors scales{&up, &down, 1, -127};
  MmaBlock block{1, 1, 32, 1, 1, false};
  SumRules rules{-6, -6};
  uint32_t d = 0;
  fastScaledMma(a.data(), b.data(), &d, block, scales);
  EXPECT_EQ(std::bit_cast<float>(d), 8192.0f);
  exactScaledMma(a.data(), b.data(), &d, block, scales, rules, false);
  EXPECT_EQ(std::bit_cast<float>(d), 8192.0f);
}

} // namespace
