//===- MmaArithmeticTest.cpp - Sums of the tensor core --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Fragment maps of mma.sync m16n8kK (PTX ISA, "Matrix fragments").
struct Tile {
  unsigned k;
  std::vector<float> a, b, c;     // 16 x k, k x 8, 16 x 8
  std::vector<uint32_t> expected; // bits of d
};

struct Case {
  std::string name;
  ElementType type;
  unsigned k;
  bool halfResult;
};

uint32_t word(const std::vector<uint8_t> &bytes, size_t index) {
  uint32_t value;
  std::memcpy(&value, &bytes[index * 4], 4);
  return value;
}

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

struct Fragments {
  const std::vector<uint8_t> &bytes;
  const nlohmann::json &arrays;
  uint32_t at(const char *name, unsigned tile, unsigned lane,
              unsigned reg) const {
    unsigned registers = arrays[name]["registers"];
    size_t base = arrays[name]["offset"].get<size_t>() / 4;
    return word(bytes, base + (size_t(tile) * 32 + lane) * registers + reg);
  }
};

void readOperands(const Fragments &f, const Case &c, unsigned tile, Tile &out) {
  unsigned per = 32 / containerBits(c.type), half = c.k / 2;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned h = 0; h < per; ++h) {
        unsigned row = g + 8 * (r % 2), k = t * per + h + half * (r / 2);
        uint32_t bits = f.at("a", tile, lane, r) >> (h * containerBits(c.type));
        out.a[row * c.k + k] =
            decodeElement(c.type, per == 2 ? bits & 0xffff : bits);
      }
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned h = 0; h < per; ++h) {
        unsigned k = t * per + h + half * r;
        uint32_t bits = f.at("b", tile, lane, r) >> (h * containerBits(c.type));
        out.b[k * 8 + g] =
            decodeElement(c.type, per == 2 ? bits & 0xffff : bits);
      }
  }
}

void readResults(const Fragments &f, const Case &c, unsigned tile, Tile &out) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      unsigned reg = c.halfResult ? i / 2 : i;
      uint32_t cBits = f.at("c", tile, lane, reg);
      uint32_t dBits = f.at("d", tile, lane, reg);
      if (c.halfResult) {
        cBits = cBits >> (16 * (i % 2)) & 0xffff;
        dBits = dBits >> (16 * (i % 2)) & 0xffff;
      }
      out.c[row * 8 + column] = decodeElement(
          c.halfResult ? ElementType::F16 : ElementType::F32, cBits);
      out.expected[row * 8 + column] = dBits;
    }
}

TEST(MmaArithmetic, ExactSumsAreThoseOfSilicon) {
  const std::map<std::string, Case> cases = {
      {"mma.m16n8k16.row.col.f32.f16.f16.f32",
       {"f16", ElementType::F16, 16, false}},
      {"mma.m16n8k16.row.col.f16.f16.f16.f16",
       {"f16 to f16", ElementType::F16, 16, true}},
      {"mma.m16n8k16.row.col.f32.bf16.bf16.f32",
       {"bf16", ElementType::BF16, 16, false}},
      {"mma.m16n8k8.row.col.f32.tf32.tf32.f32",
       {"tf32", ElementType::TF32, 8, false}}};
  nlohmann::json index = readJson("async/mma_window.json");
  std::vector<uint8_t> bytes = readBytes("async/mma_window.bin");
  unsigned compared = 0;
  for (const nlohmann::json &entry : index["entries"]) {
    const Case &c = cases.at(entry["name"]);
    Fragments fragments{bytes, entry["arrays"]};
    SumRules rules{minExponent(c.type), minExponent(c.type), 25, c.halfResult};
    for (unsigned tile = 0; tile < entry["tiles"].get<unsigned>(); ++tile) {
      Tile t{c.k, std::vector<float>(16 * c.k), std::vector<float>(c.k * 8),
             std::vector<float>(128), std::vector<uint32_t>(128)};
      readOperands(fragments, c, tile, t);
      readResults(fragments, c, tile, t);
      std::vector<uint32_t> d = bitsOf(t.c);
      exactMma(t.a.data(), t.b.data(), d.data(), {16, 8, c.k, 8, 8, true},
               rules);
      for (unsigned i = 0; i < 128; ++i, ++compared) {
        uint32_t got =
            c.halfResult ? encodeF16(std::bit_cast<float>(d[i])) : d[i];
        ASSERT_EQ(got, t.expected[i])
            << c.name << " tile " << tile << " element " << i;
      }
    }
  }
  EXPECT_EQ(compared, 4u * 48 * 128);
}

TEST(MmaArithmetic, FastIsWithinItsRoundings) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (auto [m, n, k] : {std::array<uint32_t, 3>{128, 128, 16},
                         {64, 24, 16},
                         {128, 256, 16},
                         {64, 8, 32}}) {
    std::vector<float> a(m * k), b(k * n), d(m * n), before;
    for (float &x : a)
      x = decodeElement(ElementType::BF16, encodeBF16(normal(generator)));
    for (float &x : b)
      x = decodeElement(ElementType::BF16, encodeBF16(normal(generator)));
    for (float &x : d)
      x = normal(generator);
    before = d;
    std::vector<uint32_t> bits = bitsOf(d);
    fastMma(a.data(), b.data(), bits.data(), {m, n, k, n, n, true});
    for (size_t i = 0; i < d.size(); ++i)
      d[i] = std::bit_cast<float>(bits[i]);
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = before[i * n + j], magnitude = std::fabs(sum);
        for (uint32_t x = 0; x < k; ++x) {
          sum += double(a[i * k + x]) * b[x * n + j];
          magnitude += std::fabs(double(a[i * k + x]) * b[x * n + j]);
        }
        ASSERT_LE(std::fabs(d[i * n + j] - sum), magnitude * (k + 1) * 0x1p-24);
      }
  }
}

/// Fast sums are the same bits on every machine: each product is rounded, then
/// each sum, in the order of k. Operands of 24 bits make a fused multiply-add
/// show.
TEST(MmaArithmetic, FastSumsAreChainsOfTwoRoundings) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  constexpr uint32_t m = 16, n = 200, k = 32;
  std::vector<float> a(m * k), b(k * n), d(m * n);
  for (std::vector<float> *values : {&a, &b, &d})
    for (float &x : *values) {
      // 1 <= |x| < 2 with 24 bits, then scaled.
      uint32_t bits = (generator() & 0x807fffff) | 0x3f800000;
      x = std::ldexp(std::bit_cast<float>(bits), int(generator() % 12) - 6);
    }
  std::vector<uint32_t> got = bitsOf(d);
  fastMma(a.data(), b.data(), got.data(), {m, n, k, n, n, true});
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      float sum = d[i * n + j];
      for (uint32_t x = 0; x < k; ++x) {
        volatile float product = a[i * k + x] * b[x * n + j];
        sum += product;
      }
      ASSERT_EQ(got[i * n + j], std::bit_cast<uint32_t>(sum)) << i << " " << j;
    }
}

TEST(MmaArithmetic, WithoutAccumulationTheOldResultIsIgnored) {
  std::vector<float> a(16, 1), b(16 * 8, 2);
  std::vector<uint32_t> d(8, 0x7fc00000);
  fastMma(a.data(), b.data(), d.data(), {1, 8, 16, 8, 8, false});
  for (uint32_t x : d)
    EXPECT_EQ(std::bit_cast<float>(x), 32.0f);
  d.assign(8, 0x7fc00000);
  exactMma(a.data(), b.data(), d.data(), {1, 8, 16, 8, 8, false}, {});
  for (uint32_t x : d)
    EXPECT_EQ(std::bit_cast<float>(x), 32.0f);
  fastMma(a.data(), b.data(), d.data(), {1, 8, 16, 8, 8, true});
  for (uint32_t x : d)
    EXPECT_EQ(std::bit_cast<float>(x), 64.0f);
}

TEST(SmallFloat, RoundTripsEveryHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = decodeElement(ElementType::F16, bits);
    float brain = decodeElement(ElementType::BF16, bits);
    EXPECT_EQ(encodeF16(half), std::isnan(half) ? 0x7fff : bits);
    EXPECT_EQ(encodeBF16(brain), std::isnan(brain) ? 0x7fff : bits);
  }
}

TEST(SmallFloat, TinyFormats) {
  EXPECT_EQ(decodeElement(ElementType::E4M3, 0x7e), 448.0f);
  EXPECT_TRUE(std::isnan(decodeElement(ElementType::E4M3, 0x7f)));
  EXPECT_EQ(decodeElement(ElementType::E4M3, 0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(decodeElement(ElementType::E5M2, 0x7b), 57344.0f);
  EXPECT_TRUE(std::isinf(decodeElement(ElementType::E5M2, 0xfc)));
  EXPECT_EQ(decodeElement(ElementType::E2M1, 0x7), 6.0f);
  EXPECT_EQ(decodeElement(ElementType::E2M1, 0x9), -0.5f);
  EXPECT_EQ(decodeElement(ElementType::E2M3, 0x1f), 7.5f);
  EXPECT_EQ(decodeElement(ElementType::E3M2, 0x1f), 28.0f);
  EXPECT_EQ(minExponent(ElementType::F16), -14);
  EXPECT_EQ(minExponent(ElementType::E4M3), -6);
}

/// Bytes of every kind of sign, against sums of integers.
TEST(MmaArithmetic, IntegerSumsWrapOrSaturate) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr uint32_t m = 5, n = 70, k = 64;
  std::vector<float> a(m * k), b(k * n);
  for (float &x : a)
    x = float(int(random() % 256));
  for (float &x : b)
    x = float(int(random() % 256) - 128);
  std::vector<uint32_t> before(m * n);
  for (uint32_t i = 0; i < before.size(); ++i)
    before[i] = i % 3 ? uint32_t(random()) : 0x7fffffffu + i % 2;
  for (bool saturate : {false, true})
    for (bool accumulate : {false, true}) {
      std::vector<uint32_t> d = before;
      integerMma(a.data(), b.data(), d.data(), {m, n, k, n, n, accumulate},
                 saturate);
      for (uint32_t i = 0; i < m * n; ++i) {
        int64_t sum = accumulate ? int64_t(int32_t(before[i])) : 0;
        for (uint32_t x = 0; x < k; ++x)
          sum += int64_t(a[i / n * k + x]) * int64_t(b[x * n + i % n]);
        if (saturate)
          sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
        ASSERT_EQ(d[i], uint32_t(sum)) << "element " << i;
      }
    }
}

} // namespace
