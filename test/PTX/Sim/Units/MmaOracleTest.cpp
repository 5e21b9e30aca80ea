//===- MmaOracleTest.cpp - Exact sums against a model of the hardware -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaOracle.h"

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

std::vector<float> decodeAll(ElementType type, bool negate,
                             const std::vector<uint32_t> &bits) {
  std::vector<float> values;
  for (uint32_t x : bits)
    values.push_back((negate ? -1.0f : 1.0f) * decodeElement(type, x));
  return values;
}

/// D of the tile, as the bits of its type.
std::vector<uint32_t> product(const OracleTile &tile) {
  std::vector<float> a = decodeAll(tile.a, tile.negateA, tile.left);
  std::vector<float> rows = decodeAll(tile.b, tile.negateB, tile.right);
  std::vector<float> b(rows.size());
  for (uint32_t j = 0; j < tile.n; ++j)
    for (uint32_t x = 0; x < tile.k; ++x)
      b[x * tile.n + j] = rows[j * tile.k + x];
  bool half = tile.d == ElementType::F16;
  std::vector<uint32_t> d(tile.before.size());
  for (size_t i = 0; i < d.size(); ++i)
    d[i] = std::bit_cast<uint32_t>(
        std::ldexp(decodeElement(tile.d, tile.before[i]), -int(tile.scale)));
  MmaBlock block{tile.m, tile.n, tile.k, tile.n, tile.n, tile.accumulate};
  exactMma(a.data(), b.data(), d.data(), block,
           {minExponent(tile.a), minExponent(tile.b), 25, half});
  for (uint32_t &bits : d)
    bits = half ? encodeF16(std::bit_cast<float>(bits)) : bits;
  return d;
}

/// Sums per type of D's operands: the committed data must not shrink.
TEST(MmaOracle, ExactSumsAreThoseOfTheModel) {
  MmaOracle oracle;
  SCOPED_TRACE(oracle.source);
  std::map<MmaKind, size_t> sums;
  for (const OracleTile &tile : oracle.tiles) {
    std::vector<uint32_t> got = product(tile);
    expectSums(tile, got);
    sums[tile.kind] += got.size();
  }
  EXPECT_GE(sums[MmaKind::F16], 100000u);
  EXPECT_GE(sums[MmaKind::TF32], 20000u);
  EXPECT_GE(sums[MmaKind::F8F6F4], 60000u);
}

/// A zero term counts with an exponent of its own, and what falls below the
/// smallest number of D is +0.
TEST(MmaOracle, LowerEndOfTheFormat) {
  const float a[] = {0x1p-75f, -0x1p-80f}, b[] = {0x1p-74f, 0x1p-80f};
  SumRules rules{-126, -126, 25, false};
  EXPECT_EQ(exactDot({a, 2}, b, 1, 0, rules), 0x1p-149f);
  EXPECT_EQ(exactDot({a, 2}, b, 1, 0x1p-149f, rules), 0x1p-148f);
  float none = exactDot({a + 1, 1}, b + 1, 1, 0, rules);
  EXPECT_EQ(std::bit_cast<uint32_t>(none), 0u);
}

} // namespace
