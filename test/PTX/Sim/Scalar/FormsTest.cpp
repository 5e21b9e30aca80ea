//===- FormsTest.cpp - Which opcodes are found, and how -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

using namespace ptxsim::scalar;

namespace {

TEST(Forms, EveryFormOfPublicKernelsIsFound) {
  std::ifstream file(FMHA_TEST_DATA "/forms/scalar.txt");
  ASSERT_TRUE(file);
  size_t forms = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::stringstream fields(line);
    std::string opcode, counts, count;
    fields >> opcode >> counts;
    const Form *form = find(opcode);
    ASSERT_TRUE(form) << "no form " << opcode;
    ++forms;
    unsigned most = form->numDst + form->numSrc;
    unsigned least = most - form->optionalDst - form->optionalSrc;
    for (std::stringstream list(counts); std::getline(list, count, ',');) {
      EXPECT_GE(std::stoul(count), least) << opcode;
      EXPECT_LE(std::stoul(count), most) << opcode;
    }
  }
  EXPECT_GE(forms, 150u);
}

TEST(Forms, QualifierOrderDoesNotMatter) {
  for (auto [written, canonical] :
       {std::pair{"fma.ftz.rn.f32", "fma.rn.ftz.f32"},
        std::pair{"cvt.rn.satfinite.relu.f16.f32",
                  "cvt.rn.relu.satfinite.f16.f32"},
        std::pair{"max.NaN.ftz.f32", "max.ftz.NaN.f32"},
        std::pair{"setp.lt.ftz.and.f32", "setp.lt.and.ftz.f32"}}) {
    ASSERT_TRUE(find(written)) << written;
    EXPECT_EQ(find(written)->function, find(canonical)->function) << written;
  }
  // The order of types has a meaning.
  EXPECT_NE(find("cvt.u64.u32")->function, find("cvt.u32.u64")->function);
}

TEST(Forms, OperandTypesAreTheManuals) {
  const Form *wide = find("mad.wide.s32");
  EXPECT_EQ(wide->dst[0], Type::S64);
  EXPECT_EQ(wide->src[1], Type::S32);
  EXPECT_EQ(wide->src[2], Type::S64);
  const Form *compare = find("setp.lt.and.f32");
  EXPECT_EQ(compare->numDst, 2);
  EXPECT_EQ(compare->optionalDst, 1);
  EXPECT_EQ(compare->src[2], Type::Pred);
  const Form *convert = find("cvt.rn.satfinite.e4m3x2.f32");
  EXPECT_EQ(convert->dst[0], Type::E4M3x2);
  EXPECT_EQ(convert->numSrc, 2);
  EXPECT_EQ(find("max.f32")->optionalSrc, 1);
  EXPECT_EQ(bitWidth(Type::BF16x2), 32u);
  EXPECT_EQ(bitWidth(Type::E2M1x2), 8u);
  EXPECT_EQ(bitWidth(Type::Pred), 1u);
}

/// Every code of e4m3 in both halves: (-1)^s 2^(e-7) (1 + m/8), without the 1
/// and with e = 1 where e is 0; all ones but the sign are NaN, 0x7fff in f16.
/// The bits of f16 follow by integers alone.
TEST(Forms, EachCodeOfE4M3BecomesItsF16) {
  auto halfOf = [](uint32_t code) -> uint32_t {
    uint32_t sign = (code & 0x80) << 8, e = code >> 3 & 15, m = code & 7;
    if (e == 15 && m == 7)
      return 0x7fff;
    if (e)
      return sign | (e - 7 + 15) << 10 | m << 7;
    // m * 2^-9, which is normal in f16.
    uint32_t top = m >= 4 ? 2 : m >= 2 ? 1 : 0;
    return m ? sign | (top - 9 + 15) << 10 | ((m << (10 - top)) & 0x3ff) : sign;
  };
  const Form *form = find("cvt.rn.f16x2.e4m3x2");
  ASSERT_TRUE(form);
  for (uint32_t first = 0; first < 0x10000; first += 32) {
    Row source{}, result{};
    for (uint32_t lane = 0; lane < 32; ++lane)
      source[lane] = first + lane;
    Row *results[] = {&result};
    const Row *sources[] = {&source};
    form->function(Context(), ~LaneMask(0), results, sources);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t pair = first + lane;
      ASSERT_EQ(result[lane], halfOf(pair >> 8) << 16 | halfOf(pair & 0xff))
          << pair;
    }
  }
}

TEST(Forms, WhatDoesNotExistIsNull) {
  for (const char *opcode :
       {"", ".", "add", "add.", "add.f32.", "add.q32", "add.rn.rn.f32",
        "fma.f32", "add.sat.u32", "max.f32x2", "min.f32x2", "cvt.f32.s32",
        "add.rz.f16", "ld.global.b32", "mov.b256", "setp.lo.s32",
        "setp.equ.s32", "and.f32", "ex2.approx.f64"})
    EXPECT_FALSE(find(opcode)) << opcode;
}

TEST(Forms, RandomTextIsHarmless) {
  unsigned seed = std::random_device()();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  const std::string alphabet = "abcdfmnrstuvxz.0123468";
  for (unsigned i = 0; i < 20000; ++i) {
    std::string opcode(generator() % 40, ' ');
    for (char &c : opcode)
      c = alphabet[generator() % alphabet.size()];
    if (const Form *form = find(opcode))
      EXPECT_TRUE(form->function) << opcode;
  }
}

} // namespace
