//===- TmemShiftTest.cpp - tcgen05.shift and refreshing rows --------------===//
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

void fillRandom(TensorKernel &kernel, std::mt19937 &random) {
  for (TensorImage &image : kernel.ctas) {
    for (uint32_t &cell : image.cells)
      cell = uint32_t(random());
    for (uint8_t &byte : image.shared)
      byte = uint8_t(random());
  }
}

std::string shiftOf(const TensorKernel &kernel, uint32_t lane,
                    uint32_t column) {
  return "add.u32 %r60, %r4, " + std::to_string(lane << 16 | column) +
         ";\ntcgen05.shift" + kernel.groupName() + ".down [%r60];\n";
}

/// Each of 31 rows receives the next one, in 8 columns.
TEST(TmemShift, MovesTheRowsOfOneWarp) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (unsigned group : {1u, 2u})
    for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
      TensorKernel kernel = makeTensorKernel(group, 1024, 64);
      fillRandom(kernel, random);
      kernel.code = shiftOf(kernel, 32, 5) + shiftOf(kernel, 96, 40);
      kernel.options = optionsOf(policy, seed);
      TensorKernel run = kernel;
      LaunchResult result = run.run();
      ASSERT_EQ(result.status, Status::Ok) << textOf(result);
      for (unsigned cta = 0; cta < group; ++cta)
        for (uint32_t lane = 0; lane < 128; ++lane)
          for (uint32_t column = 0; column < 64; ++column) {
            bool first = lane / 32 == 1 && column >= 5 && column < 13;
            bool second = lane / 32 == 3 && column >= 40 && column < 48;
            uint32_t from = lane + ((first || second) && lane % 32 != 31);
            ASSERT_EQ(run.cell(cta, lane, column),
                      kernel.cell(cta, from, column))
                << "lane " << lane << " column " << column;
          }
    }
}

/// A convolution keeps its rows and copies one new row for each quarter.
TEST(TmemShift, ACopyOfFourRowsFollows) {
  std::mt19937 random(3);
  TensorKernel kernel = makeTensorKernel(1, 1024, 64);
  fillRandom(kernel, random);
  SharedMatrix rows{0, 8};
  kernel.code = rows.descriptorIn(10);
  for (uint32_t quarter = 0; quarter < 4; ++quarter)
    kernel.code += shiftOf(kernel, 32 * quarter, 0);
  kernel.code += "add.u32 %r61, %r4, " + std::to_string(31 << 16) +
                 ";\ntcgen05.cp.cta_group::1.4x256b [%r61], %q10;\n";
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    TensorKernel run = kernel;
    run.options = optionsOf(policy, 5);
    LaunchResult result = run.run();
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 8; ++column) {
        uint32_t expected = 0;
        if (lane % 32 == 31)
          std::memcpy(
              &expected,
              &kernel.ctas[0].shared[rows.address(lane / 32, 4 * column)], 4);
        else
          expected = kernel.cell(0, lane + 1, column);
        ASSERT_EQ(run.cell(0, lane, column), expected) << "lane " << lane;
      }
  }
}

/// By the manual, a copy of another shape is not ordered after a shift, nor a
/// shift after a copy.
TEST(TmemShift, WhatIsNotPipelinedIsFound) {
  std::mt19937 random(3);
  TensorKernel kernel = makeTensorKernel(1, 4096, 64);
  kernel.options = optionsOf(Policy::Late);
  kernel.options.conformance = Conformance::Isa;
  fillRandom(kernel, random);
  SharedMatrix rows{0, 128};
  kernel.code = rows.descriptorIn(10) + shiftOf(kernel, 0, 0) +
                "tcgen05.cp.cta_group::1.128x256b [%r4], %q10;\n";
  EXPECT_TRUE(idsOf(kernel.run()).count("tmem-in-flight"));
  kernel.code = rows.descriptorIn(10) +
                "tcgen05.cp.cta_group::1.128x256b [%r4], %q10;\n" +
                shiftOf(kernel, 0, 0);
  EXPECT_TRUE(idsOf(kernel.run()).count("tmem-in-flight"));
}

TEST(TmemShift, IllegalFormsAreRefused) {
  TensorKernel kernel = makeTensorKernel(1, 1024, 64);
  kernel.code = shiftOf(kernel, 16, 0);
  EXPECT_TRUE(idsOf(kernel.run()).count("invalid_datapath_alignment"));
  kernel.code = "tcgen05.shift.cta_group::1 [%r4];\n";
  EXPECT_THROW(kernel.run(), Error);
}

} // namespace
