//===- LevelsTest.cpp - Properties that every form has --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each form, on random and on special values: the code for AVX2 and the code
// for any CPU agree; lanes that are not active keep their value; a destination
// may be one of the sources; slots hold zeros above the result's width.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Registry.h"

#include <gtest/gtest.h>

#include <random>

using namespace ptxsim::scalar;

namespace {

/// Slots that are likely to matter: special floats of each width, small
/// integers, random bits.
uint64_t interesting(std::mt19937_64 &generator) {
  static const uint64_t specials[] = {0,
                                      1,
                                      2,
                                      31,
                                      32,
                                      33,
                                      63,
                                      64,
                                      255,
                                      0x8000,
                                      0x7FFF,
                                      0x7C00,
                                      0x7F80,
                                      0xFC01,
                                      0x3C00,
                                      0x3F80,
                                      0x0400,
                                      0x03FF,
                                      0x80000000,
                                      0x7FFFFFFF,
                                      0x7F800000,
                                      0xFF800000,
                                      0x7F800001,
                                      0x00800000,
                                      0x007FFFFF,
                                      0x3F800000,
                                      0xBF800000,
                                      0x7F7FFFFF,
                                      0x80800000,
                                      0xFFFFFFFF,
                                      0x8000000000000000,
                                      0x7FF0000000000000,
                                      0xFFF0000000000001,
                                      0x0010000000000000,
                                      0x000FFFFFFFFFFFFF,
                                      0x3FF0000000000000,
                                      0x7FFFFFFFFFFFFFFF,
                                      0xFFFFFFFFFFFFFFFF};
  uint64_t kind = generator() % 4;
  if (kind == 0)
    return specials[generator() % std::size(specials)];
  if (kind == 1)
    return specials[generator() % std::size(specials)] |
           specials[generator() % std::size(specials)] << 32;
  if (kind == 2)
    return generator() % 64;
  return generator();
}

struct Operands {
  std::array<std::array<Row, 2>, 2> dst{};
  std::array<std::array<Row, 2>, 6> src{};
  Row carry{};
  uint64_t random = 1;

  explicit Operands(std::mt19937_64 &generator) {
    for (auto *rows : {&dst[0], &dst[1]})
      for (Row &row : *rows)
        row.fill(0x5A5A5A5A5A5A5A5A);
    for (auto &rows : src)
      for (Row &row : rows)
        for (uint64_t &slot : row)
          slot = interesting(generator);
    for (uint64_t &slot : carry)
      slot = generator() & 1;
  }

  void run(const Form &form, LaneMask active, bool inPlace = false) {
    Context context;
    context.perturbSeed = random;
    context.carry = &carry;
    std::array<Row *, 2> d{};
    std::array<const Row *, 6> s{};
    for (unsigned i = 0; i < form.numDst; ++i)
      d[i] = dst[i].data();
    for (unsigned i = 0; i < form.numSrc; ++i)
      s[i] = src[i].data();
    if (inPlace)
      d[0] = src[0].data();
    form.function(context, active, d.data(), s.data());
  }
};

class EveryForm : public testing::Test {
protected:
  void SetUp() override {
    portable::registerFamilies(registry);
    seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
  }
  Registry registry;
  uint64_t seed = 0;
};

TEST_F(EveryForm, AgreesBetweenInstructionSets) {
  size_t forms = 0;
  registry.forEach([&](const std::string &opcode, const Form &portableForm) {
    const Form *best = find(opcode);
    ASSERT_TRUE(best) << opcode;
    ++forms;
    for (unsigned round = 0; round < 4; ++round) {
      std::mt19937_64 generator(seed + round), same(seed + round);
      Operands left(generator), right(same);
      left.run(portableForm, ~LaneMask(0));
      right.run(*best, ~LaneMask(0));
      ASSERT_EQ(left.dst, right.dst) << opcode << " seed " << seed + round;
      ASSERT_EQ(left.carry, right.carry) << opcode;
    }
  });
  EXPECT_GT(forms, 3000u);
}

TEST_F(EveryForm, LeavesInactiveLanesAlone) {
  registry.forEach([&](const std::string &opcode, const Form &) {
    const Form &form = *find(opcode);
    std::mt19937_64 generator(seed), same(seed);
    Operands all(generator), some(same);
    auto active = static_cast<LaneMask>(seed * 0x9E3779B1 | 1) & 0x7FFFFFFF;
    all.run(form, ~LaneMask(0));
    some.run(form, active);
    for (unsigned d = 0; d < form.numDst; ++d)
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint64_t expected =
            active >> lane & 1 ? all.dst[d][0][lane] : 0x5A5A5A5A5A5A5A5A;
        ASSERT_EQ(some.dst[d][0][lane], expected)
            << opcode << " lane " << lane << " seed " << seed;
      }
  });
}

TEST_F(EveryForm, RunsInPlace) {
  registry.forEach([&](const std::string &opcode, const Form &) {
    const Form &form = *find(opcode);
    std::mt19937_64 generator(seed), same(seed);
    Operands apart(generator), inPlace(same);
    apart.run(form, ~LaneMask(0));
    inPlace.run(form, ~LaneMask(0), true);
    ASSERT_EQ(apart.dst[0][0], inPlace.src[0][0]) << opcode << " seed " << seed;
  });
}

TEST_F(EveryForm, ZeroesTheSlotAboveTheResult) {
  registry.forEach([&](const std::string &opcode, const Form &) {
    const Form &form = *find(opcode);
    std::mt19937_64 generator(seed);
    Operands operands(generator);
    operands.run(form, ~LaneMask(0));
    for (unsigned d = 0; d < form.numDst; ++d) {
      unsigned width = bitWidth(form.dst[d]);
      for (uint64_t slot : operands.dst[d][0])
        if (width < 64)
          ASSERT_EQ(slot >> width, 0u) << opcode << " seed " << seed;
    }
  });
}

} // namespace
