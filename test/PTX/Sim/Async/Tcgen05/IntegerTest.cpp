//===- IntegerTest.cpp - tcgen05.mma of bytes -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr uint32_t k = 32;

struct Case {
  bool signedA, signedB, saturate, accumulate, aInTmem;
  uint32_t m, n;
};

int32_t valueOf(uint8_t code, bool isSigned) {
  return isSigned ? int8_t(code) : code;
}

std::vector<uint8_t> drawBytes(std::mt19937 &random, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = uint8_t(random());
  return bytes;
}

/// The lane of row m: M = 64 uses half of every 32 lanes.
uint32_t laneOf(const Case &c, uint32_t m) {
  return c.m == 64 ? m / 16 * 32 + m % 16 : m;
}

void place(const Case &c, const std::vector<uint8_t> &a,
           const std::vector<uint8_t> &b, TensorKernel &kernel) {
  SharedMatrix left{0, c.m}, right{8192, c.n};
  for (uint32_t row = 0; row < c.n; ++row)
    for (uint32_t x = 0; x < k; ++x)
      kernel.ctas[0].shared[right.address(row, x)] = b[row * k + x];
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t x = 0; x < k; ++x)
      if (c.aInTmem) {
        uint32_t &cell = kernel.cell(0, laneOf(c, row), 64 + x / 4);
        cell &= ~(0xffu << 8 * (x % 4));
        cell |= uint32_t(a[row * k + x]) << 8 * (x % 4);
      } else {
        kernel.ctas[0].shared[left.address(row, x)] = a[row * k + x];
      }
  uint32_t word = uint32_t(c.saturate) << 3 | 2u << 4 |
                  uint32_t(c.signedA) << 7 | uint32_t(c.signedB) << 10 |
                  c.n / 8 << 17 | c.m / 16 << 24;
  kernel.code = left.descriptorIn(10) + right.descriptorIn(11) +
                "setp.ne.u32 %p5, " + std::to_string(c.accumulate) +
                ", 0;\nadd.u32 %r62, %r4, 64;\n"
                "tcgen05.mma.cta_group::1.kind::i8 [%r4], " +
                (c.aInTmem ? "[%r62]" : "%q10") + ", %q11, " +
                std::to_string(word) + ", %p5;\n";
}

void check(const Case &c, unsigned seed, Policy policy) {
  std::mt19937 random(seed);
  std::vector<uint8_t> a = drawBytes(random, c.m * k);
  std::vector<uint8_t> b = drawBytes(random, c.n * k);
  TensorKernel kernel = makeTensorKernel(1, 16384, 128);
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t column = 0; column < c.n; ++column)
      kernel.cell(0, lane, column) =
          column % 3 ? uint32_t(random()) : 0x7fffffffu + column % 2;
  place(c, a, b, kernel);
  kernel.options = optionsOf(policy, seed);
  TensorKernel run = kernel;
  LaunchResult result = run.run();
  ASSERT_EQ(result.status, Status::Ok) << textOf(result);
  for (uint32_t m = 0; m < c.m; ++m)
    for (uint32_t n = 0; n < c.n; ++n) {
      int64_t sum =
          c.accumulate ? int64_t(int32_t(kernel.cell(0, laneOf(c, m), n))) : 0;
      for (uint32_t x = 0; x < k; ++x)
        sum +=
            valueOf(a[m * k + x], c.signedA) * valueOf(b[n * k + x], c.signedB);
      if (c.saturate)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      ASSERT_EQ(run.cell(0, laneOf(c, m), n), uint32_t(sum))
          << "m " << m << " n " << n;
    }
}

TEST(Integer, SumsAreExactAndWrapOrSaturate) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned i = 0; i < 16; ++i)
    for (Policy policy : {Policy::Eager, Policy::Random})
      check({(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, i % 3 != 0, (i & 8) != 0,
             i % 5 ? 128u : 64u, i % 2 ? 48u : 8u},
            seed + i, policy);
}

/// A bit of the vector keeps a lane of D as it was.
TEST(Integer, DisabledLanesKeepTheirValues) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Case c{true, true, false, false, false, 128, 8};
  TensorKernel kernel = makeTensorKernel(1, 16384, 128);
  place(c, drawBytes(random, c.m * k), drawBytes(random, c.n * k), kernel);
  std::array<uint32_t, 4> disabled{};
  std::string moves, vector;
  for (unsigned i = 0; i < 4; ++i) {
    disabled[i] = uint32_t(random());
    std::string reg = "%r" + std::to_string(70 + i);
    moves += "mov.b32 " + reg + ", " + std::to_string(disabled[i]) + ";\n";
    vector += (i ? ", " : "") + reg;
  }
  TensorKernel all = kernel, some = kernel;
  std::string &code = some.code;
  code.insert(code.rfind(", %p5"), ", {" + vector + "}");
  code = moves + code;
  ASSERT_EQ(all.run().status, Status::Ok);
  ASSERT_EQ(some.run().status, Status::Ok);
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t column = 0; column < c.n; ++column) {
      bool keeps = disabled[lane / 32] >> lane % 32 & 1;
      ASSERT_EQ(some.cell(0, lane, column),
                (keeps ? kernel : all).cell(0, lane, column))
          << "lane " << lane;
    }
}

/// The manual gives scale-input-d to two other kinds, and bytes to two targets.
TEST(Integer, IllegalFormsAreRefused) {
  TensorKernel kernel = makeTensorKernel(1, 16384, 128);
  Case c{true, true, false, true, false, 128, 64};
  place(c, std::vector<uint8_t>(c.m * k), std::vector<uint8_t>(c.n * k),
        kernel);
  std::string good = kernel.code;
  kernel.target = "sm_103a";
  EXPECT_THROW(kernel.run(), Error);
  kernel.target = "sm_100a";
  kernel.code = good.substr(0, good.rfind(";")) + ", 1;\n";
  EXPECT_THROW(kernel.run(), Error);
}

} // namespace
