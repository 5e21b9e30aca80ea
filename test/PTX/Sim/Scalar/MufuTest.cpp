//===- MufuTest.cpp - The special-function unit, every input --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An H200 computed each function for all 2^32 inputs; silicon/mufu.bin holds
// one sum per 2^24 inputs. A run checks ranges drawn from a printed seed, and
// with FMHA_EXHAUSTIVE=1 in the environment all of them (ten minutes and
// more).
//
//===----------------------------------------------------------------------===//

#include "MufuTables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace ptxsim::scalar;

namespace {

struct Recorded {
  const char *name;
  Mufu function;
  bool ftz;
};

/// In the order of the file.
const Recorded functions[] = {
    {"ex2.approx.ftz.f32", Mufu::Ex2, true},
    {"ex2.approx.f32", Mufu::Ex2, false},
    {"rcp.approx.ftz.f32", Mufu::Rcp, true},
    {"rcp.approx.f32", Mufu::Rcp, false},
    {"rsqrt.approx.ftz.f32", Mufu::Rsqrt, true},
    {"rsqrt.approx.f32", Mufu::Rsqrt, false},
    {"lg2.approx.ftz.f32", Mufu::Lg2, true},
    {"lg2.approx.f32", Mufu::Lg2, false},
    {"sqrt.approx.ftz.f32", Mufu::Sqrt, true},
    {"sqrt.approx.f32", Mufu::Sqrt, false},
};
constexpr size_t functionCount = std::size(functions);
constexpr unsigned ranges = 256;

/// The recording's sum over the 2^24 inputs of a range: a mixed word per input
/// with its place in its block of 65536, and blocks weighted by odd numbers.
uint64_t sumOf(const Recorded &recorded, uint32_t range) {
  uint64_t total = 0;
  for (uint32_t block = 0; block < 256; ++block) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 65536; ++i) {
      uint32_t input = range << 24 | block << 16 | i;
      uint64_t x = mufuF32(recorded.function, input, recorded.ftz);
      x ^= static_cast<uint64_t>(i) << 32;
      x *= 0xff51afd7ed558ccd;
      x ^= x >> 32;
      x *= 0xc4ceb9fe1a85ec53;
      sum += x ^ x >> 29;
    }
    total += sum * (2 * block + 1);
  }
  return total;
}

std::vector<uint64_t> recordedSums() {
  std::ifstream file(FMHA_TEST_DATA "/silicon/mufu.bin", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<uint64_t> sums(bytes.size() / 8);
  std::memcpy(sums.data(), bytes.data(), sums.size() * 8);
  return sums;
}

class MufuUnit : public testing::TestWithParam<size_t> {};

TEST_P(MufuUnit, GivesTheBitsOfSilicon) {
  std::vector<uint64_t> sums = recordedSums();
  ASSERT_EQ(sums.size(), functionCount * ranges);
  const Recorded &recorded = functions[GetParam()];
  auto check = [&](uint32_t range) {
    EXPECT_EQ(sumOf(recorded, range), sums[GetParam() * ranges + range])
        << recorded.name << " of the inputs 0x" << std::hex << range
        << "000000..";
  };
  const char *all = std::getenv("FMHA_EXHAUSTIVE");
  if (all && std::string(all) == "1") {
    for (uint32_t range = 0; range < ranges; ++range)
      check(range);
    return;
  }
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 generator(seed);
  // [0.5, 2), where the tables lie; the subnormals or anywhere.
  check(0x3F);
  check(generator() % 4 ? generator() % ranges : 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, MufuUnit,
                         testing::Range<size_t>(0, functionCount));

} // namespace
