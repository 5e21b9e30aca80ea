//===- InstructionTest.cpp - Instruction descriptors against a table ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Instruction.h"

#include "TruthTable.h"

using namespace fmha::layout;
using nlohmann::json;

/// The words of one entry for one pair of majors, over N = 8, 16, ... 256.
static void compareWords(const json &entry, const char *key, Major a, Major b) {
  Instruction i;
  i.a = i.b = entry["a"] == "f16" ? InputType::F16 : InputType::BF16;
  i.d = entry["d"] == "f16" ? AccumulatorType::F16 : AccumulatorType::F32;
  i.m = entry["M"];
  i.aMajor = a;
  i.bMajor = b;
  ASSERT_EQ(entry[key].size(), 32u);
  for (unsigned n = 8; n <= 256; n += 8) {
    i.n = n;
    std::string want = entry[key][n / 8 - 1];
    EXPECT_EQ(instructionDescriptor(i), std::stoul(want, nullptr, 16))
        << key << " M " << i.m << " N " << n;
  }
}

TEST(Instruction, WordsEqualTheTable) {
  unsigned seen = 0;
  for (const json &entry : readTruth("instr_desc.json", "words")) {
    if (entry["kind"] != "f16")
      continue;
    compareWords(entry, "KK", Major::K, Major::K);
    compareWords(entry, "K_MN", Major::K, Major::MN);
    compareWords(entry, "MN_K", Major::MN, Major::K);
    compareWords(entry, "MN_MN", Major::MN, Major::MN);
    ++seen;
  }
  EXPECT_EQ(seen, 10u);
}

TEST(Instruction, NegationIsOneBitEach) {
  Instruction plain, a, b;
  a.negateA = true;
  b.negateB = true;
  EXPECT_EQ(instructionDescriptor(a) ^ instructionDescriptor(plain), 1u << 13);
  EXPECT_EQ(instructionDescriptor(b) ^ instructionDescriptor(plain), 1u << 14);
}

/// The shapes of PTX ISA 9.7.16.2.1, kind::f16.
static bool exists(unsigned group, unsigned m, unsigned n, bool aInTmem) {
  bool rows = group == 1 ? m == 64 || m == 128 : m == 128 || m == 256;
  unsigned step =
      group == 1 ? (aInTmem && m == 128 ? 16 : 8) : (aInTmem ? 32 : 16);
  return rows && n != 0 && n <= 256 && n % step == 0;
}

TEST(Instruction, CheckKnowsTheShapes) {
  for (unsigned group : {1u, 2u})
    for (unsigned m : {0u, 32u, 64u, 96u, 128u, 192u, 256u})
      for (unsigned n = 0; n <= 272; n += 4)
        for (bool aInTmem : {false, true}) {
          Instruction i;
          i.ctaGroup = group;
          i.m = m;
          i.n = n;
          i.aInTmem = aInTmem;
          EXPECT_EQ(!i.check(), exists(group, m, n, aInTmem))
              << group << " " << m << " " << n << " " << aInTmem;
        }
}

TEST(Instruction, CheckNamesWhatIsWrong) {
  Instruction i;
  i.n = 72;
  i.aInTmem = true;
  EXPECT_EQ(i.check(),
            "expected N to be a multiple of 16 up to 256 for M = 128 "
            "and A in tensor memory, got 72");
  i = {};
  i.m = 192;
  EXPECT_EQ(i.check(),
            "expected M to be 64 or 128 in a group of 1 CTAs, got 192");
  i = {};
  i.d = AccumulatorType::F16;
  EXPECT_EQ(i.check(), "an f16 accumulator takes f16 operands only; accumulate "
                       "bf16 in f32");
}
