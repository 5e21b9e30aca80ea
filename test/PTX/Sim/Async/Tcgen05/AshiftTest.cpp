//===- AshiftTest.cpp - tcgen05.mma that shifts A -------------------------===//
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

/// bf16 numbers, so that sums of 16 products are exact.
uint16_t smallNumber(std::mt19937 &random) {
  return encodeBF16(double(int(random() % 17)) - 8);
}

double numberOf(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// The MMA reads A before it moves by a row in each quarter of the lanes.
TEST(Ashift, AnMmaMovesItsA) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr uint32_t n = 16, k = 16;
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    TensorKernel kernel = makeTensorKernel(1, 4096, 64);
    SharedMatrix right{0, n};
    std::vector<uint16_t> b(n * k);
    for (uint32_t i = 0; i < n * k; ++i) {
      b[i] = smallNumber(random);
      putBits(kernel.ctas[0].shared, right.address(i / k, i % k * 2), 0, 16,
              b[i]);
    }
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t c = 0; c < 8; ++c)
        kernel.cell(0, lane, 32 + c) =
            smallNumber(random) | uint32_t(smallNumber(random)) << 16;
    std::string mma = "tcgen05.mma.cta_group::1.kind::f16.ashift [%r4], "
                      "[%r4+32], %q10, 0x08040490, ";
    kernel.code = right.descriptorIn(10) + mma + "0;\n" + mma + "1;\n";
    kernel.options = optionsOf(policy, seed);
    TensorKernel run = kernel;
    LaunchResult result = run.run();
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    auto rowAfter = [](uint32_t lane, unsigned shifts) {
      return std::min(lane + shifts, lane / 32 * 32 + 31);
    };
    for (uint32_t lane = 0; lane < 128; ++lane) {
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0;
        for (unsigned shifts : {0u, 1u})
          for (uint32_t x = 0; x < k; ++x)
            sum +=
                numberOf(kernel.cell(0, rowAfter(lane, shifts), 32 + x / 2) >>
                             16 * (x % 2) &
                         0xffff) *
                numberOf(b[j * k + x]);
        ASSERT_EQ(std::bit_cast<float>(run.cell(0, lane, j)), sum)
            << "lane " << lane << " n " << j;
      }
      for (uint32_t c = 32; c < 40; ++c)
        ASSERT_EQ(run.cell(0, lane, c), kernel.cell(0, rowAfter(lane, 2), c));
    }
  }
}

TEST(Ashift, NeedsFullHeightAndNoKeptA) {
  TensorKernel kernel = makeTensorKernel(1, 4096, 64);
  SharedMatrix right{0, 16};
  std::string text =
      right.descriptorIn(10) + "tcgen05.mma.cta_group::1.kind::f16.ashift";
  kernel.code = text + " [%r4], [%r4+32], %q10, 0x04040490, 0;\n";
  EXPECT_TRUE(idsOf(kernel.run()).count("mma-instruction-descriptor"));
  for (const char *use : {"::fill", "::use"}) {
    kernel.code = text + ".collector::a" + use +
                  " [%r4], [%r4+32], %q10, 0x08040490, 0;\n";
    EXPECT_THROW(kernel.run(), Error);
  }
  kernel.code = text + " [%r4], %q10, %q10, 0x08040490, 0;\n";
  EXPECT_THROW(kernel.run(), Error);
}

} // namespace
