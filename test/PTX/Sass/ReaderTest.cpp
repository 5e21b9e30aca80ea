//===- ReaderTest.cpp - Reading the text of nvdisasm ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sass/Reader.h"

#include <cinttypes>
#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ptxsim::sass;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Line {
  const char *text;
  uint64_t low, high;
  Control control;
};

/// Instructions as ptxas 13.0 emits them for sm_90a and, from LDTM on, for
/// sm_100a. Stall, yield, scoreboards that it sets and waits for, and reuse,
/// which the text also shows.
constexpr Line lines[] = {
    {"S2R R0, SR_TID.X",
     0x0000000000007919,
     0x000e620000002100,
     {1, false, 1, 7, 0b000000, 0}},
    {"UISETP.NE.U32.AND UP0, UPT, UR5, URZ, UPT",
     0x0000003f0500728c,
     0x000fe4000bf05070,
     {2, false, 7, 7, 0b000000, 0}},
    {"ISETP.NE.U32.AND P0, PT, R0, RZ, PT",
     0x000000ff0000720c,
     0x002fda0003f05070,
     {13, true, 7, 7, 0b000010, 0}},
    {"ULDC.64 UR24, c[0x0][0x198]",
     0x0000660000187ab9,
     0x000fe20000000a00,
     {1, false, 7, 7, 0b000000, 0}},
    {"FENCE.VIEW.ASYNC.S",
     0x00000000000073c6,
     0x000e760000000000,
     {11, false, 1, 7, 0b000000, 0}},
    {"SYNCS.EXCH.64 URZ, [UR11+0x12000], UR4",
     0x012000040b3f75b2,
     0x0022a20008000100,
     {1, false, 2, 1, 0b000010, 0}},
    {"BAR.SYNC.DEFER_BLOCKING 0x0",
     0x0000000000007b1d,
     0x03cfe20000010000,
     {1, false, 7, 7, 0b111100, 0}},
    {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7+0x12040], R0",
     0x01204000ff0075a7,
     0x000e620008000147,
     {1, false, 1, 7, 0b000000, 0}},
    {"@P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR5+0x12040], RZ",
     0x012040ffffff09a7,
     0x000fe20008100005,
     {1, false, 7, 7, 0b000000, 0}},
    {"UTMALDG.4D [UR8], [UR14]",
     0x000000080e0075b4,
     0x0005e20008018000,
     {1, false, 7, 2, 0b000000, 0}},
    {"UTMACMDFLUSH",
     0x00000000000079b7,
     0x0001e20000000000,
     {1, false, 7, 0, 0b000000, 0}},
    {"USETMAXREG.DEALLOC.CTAPOOL 0x18",
     0x00000018000079c8,
     0x000e4000080e0500,
     {0, true, 1, 7, 0b000000, 0}},
    {"HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], RZ, !UPT",
     0x00e00000081879f0,
     0x000fe2000c7018ff,
     {1, false, 7, 7, 0b000000, 0}},
    {"HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12], R24, gsb0",
     0x00e000000c1879f0,
     0x000fe60008001818,
     {3, false, 7, 7, 0b000000, 0}},
    {"MUFU.EX2 R2, R2",
     0x0000000200027308,
     0x000fe20000000800,
     {1, false, 7, 7, 0b000000, 0}},
    {"FADD.FTZ R2, R2, -INF",
     0xff80000002027421,
     0x000fe20000010000,
     {1, false, 7, 7, 0b000000, 0}},
    {"FFMA.FTZ R28, R28, 0.18033687770366668701, R12.reuse",
     0x3e38aa3b1c1c7823,
     0x100fe2000001000c,
     {1, false, 7, 7, 0b000000, 4}},
    {"SHFL.BFLY PT, R3, R2, 0x1, 0x1f",
     0x0c201f0002037f89,
     0x000e6200000e0000,
     {1, false, 1, 7, 0b000000, 0}},
    {"STSM.16.M88.4 [R19], R4",
     0x0000000413007844,
     0x000fe20000000200,
     {1, false, 7, 7, 0b000000, 0}},
    {"UIADD3 UR14, UP1, UR24, 0x30, URZ",
     0x00000030180e7890,
     0x000fe4000ff3e03f,
     {2, false, 7, 7, 0b000000, 0}},
    {"LDTM.x32 R100, tmem[UR5]",
     0x00000005006479ee,
     0x000e6200082c0000,
     {1, false, 1, 7, 0b000000, 0}},
    {"STTM.x32 tmem[UR5+0x40], R36",
     0x00004024000079ed,
     0x0005e200082c0005,
     {1, false, 7, 2, 0b000000, 0}},
    {"UTCHMMA gdesc[UR4], gdesc[UR16], tmem[UR15], tmem[UR50], idesc[UR51], "
     "!UPT",
     0x00ff3210040075ea,
     0x0003e2000f80000f,
     {1, false, 7, 1, 0b000000, 0}},
    {"UTCBAR [UR10], URZ",
     0x000000ff0a0073e9,
     0x0003e200080000ff,
     {1, false, 7, 1, 0b000000, 0}},
    {"FFMA2.FTZ R134, R94.F32x2.HI_LO, 0.12751743197441101074, R3.reuse.F32",
     0x3e0293ee5e867849,
     0x100fe40001210003,
     {2, false, 7, 7, 0b000000, 4}},
    {"FADD2.FTZ R126, R126.F32x2.HI_LO, R88.F32x2.HI_LO",
     0x000000587e7e724b,
     0x000fc40000010000,
     {2, true, 7, 7, 0b000000, 0}},
    {"FMNMX3.FTZ R3, R3, R108, R109, !PT",
     0x0000006c03037276,
     0x000fe4000781006d,
     {2, false, 7, 7, 0b000000, 0}},
    {"F2FP.BF16.F32.PACK_AB R37, R127, R126",
     0x0000007e7f25723e,
     0x004fe200000010ff,
     {1, false, 7, 7, 0b000100, 0}},
};

/// Returns what nvdisasm prints for one instruction.
std::string printed(const Line &line, unsigned address = 0) {
  char text[256];
  std::snprintf(text, sizeof text,
                "        /*%04x*/ %s ; /* 0x%016" PRIx64
                " */\n   /* 0x%016" PRIx64 " */\n",
                address, line.text, line.low, line.high);
  return text;
}

Instruction parsed(const Line &line) {
  return read(".text.k:\n" + printed(line))[0].instructions.at(0);
}

TEST(Reader, ReadsControlWords) {
  for (const Line &line : lines)
    EXPECT_EQ(parsed(line).control, line.control) << line.text;
}

TEST(Reader, ReuseIsWhatTheTextSays) {
  for (const Line &line : lines) {
    bool says = std::string_view(line.text).find(".reuse") != std::string::npos;
    EXPECT_EQ(parsed(line).control.reuse != 0, says) << line.text;
  }
}

/// Returns the instruction of a text, with any encoding.
Instruction made(const char *text) { return parsed({text, 0, 0, {}}); }

Registers general(uint16_t first, uint16_t count = 1) {
  return {File::General, first, count};
}
Registers uniform(uint16_t first, uint16_t count = 1) {
  return {File::Uniform, first, count};
}
Registers predicate(uint16_t first) { return {File::Predicate, first, 1}; }
Registers uniformPredicate(uint16_t first) {
  return {File::UniformPredicate, first, 1};
}

TEST(Registers, OfArithmetic) {
  Instruction fma = made("FFMA.FTZ R16, R42, 0.18, R104.reuse");
  EXPECT_THAT(fma.writes, ElementsAre(general(16)));
  EXPECT_THAT(fma.reads, ElementsAre(general(42), general(104)));
  Instruction wide = made("UIMAD.WIDE.U32 UR4, UR5, UR9, UR4");
  EXPECT_THAT(wide.writes, ElementsAre(uniform(4, 2)));
  EXPECT_THAT(wide.reads, ElementsAre(uniform(5), uniform(9), uniform(4, 2)));
  Instruction carry = made("UIADD3 UR14, UP1, UR24, 0x30, URZ");
  EXPECT_THAT(carry.writes, ElementsAre(uniform(14), uniformPredicate(1)));
  EXPECT_THAT(carry.reads, ElementsAre(uniform(24)));
}

TEST(Registers, OfPredicates) {
  Instruction compare = made("ISETP.GT.U32.AND P0, PT, R0, 0x7f, PT");
  EXPECT_THAT(compare.writes, ElementsAre(predicate(0)));
  EXPECT_THAT(compare.reads, ElementsAre(general(0)));
  Instruction guarded =
      made("@!UP3 ULOP3.LUT UR12, URZ, UR10, URZ, 0x33, !UPT");
  EXPECT_EQ(guarded.guard, "@!UP3");
  EXPECT_EQ(guarded.opcode, "ULOP3.LUT");
  EXPECT_THAT(guarded.reads, ElementsAre(uniformPredicate(3), uniform(10)));
}

TEST(Registers, OfMemoryAndProducts) {
  Instruction store = made("STS.128 [R2+UR4+0x10], R8");
  EXPECT_TRUE(store.writes.empty());
  EXPECT_THAT(store.reads, ElementsAre(general(2), uniform(4), general(8, 4)));
  Instruction wait =
      made("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7+0x12040], R0");
  EXPECT_THAT(wait.writes, ElementsAre(predicate(0)));
  EXPECT_THAT(wait.reads, ElementsAre(uniform(7), general(0)));
  Instruction product =
      made("HGMMA.64x64x16.F32.BF16 R56, R88, gdesc[UR20].tnspB, R56");
  EXPECT_THAT(product.writes, ElementsAre(general(56, 32)));
  EXPECT_THAT(product.reads,
              ElementsAre(general(88, 4), uniform(20, 4), general(56, 32)));
  Instruction load = made("LDTM.x32 R100, tmem[UR5]");
  EXPECT_THAT(load.writes, ElementsAre(general(100, 32)));
  EXPECT_THAT(load.reads, ElementsAre(uniform(5)));
}

TEST(Reader, ResolvesLabelsAndLines) {
  std::string text = ".text.k:\n"
                     "\t//## File \".nv_debug_ptx_txt\", line 12\n" +
                     printed({"BRA `(.L_x_1)", 0, 0, {}}) +
                     "\t//## File \"k.cu\", line 99\n" +
                     printed({"NOP", 0, 0, {}}, 16) + ".L_x_1:\n" +
                     printed({"EXIT", 0, 0, {}}, 32);
  Function function = read(text)[0];
  EXPECT_EQ(function.name, "k");
  ASSERT_EQ(function.instructions.size(), 3u);
  EXPECT_EQ(function.instructions[0].target, 2u);
  EXPECT_EQ(function.instructions[0].line, 12u);
  // A line of another file is not one of the PTX.
  EXPECT_EQ(function.instructions[1].line, 12u);
  EXPECT_EQ(function.instructions[2].address, 32u);
}

TEST(Reader, ResolvesTheTargetsOfBrx) {
  const char *brx = "BRX R4 -0xab0   (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*)";
  std::string text = ".text.k:\n" + printed({brx, 0, 0, {}}) + ".L_x_2:\n" +
                     printed({"NOP", 0, 0, {}}, 16) + ".L_x_1:\n" +
                     printed({"EXIT", 0, 0, {}}, 32);
  EXPECT_THAT(read(text)[0].instructions[0].targets, ElementsAre(2u, 1u));
  text.replace(text.find("L_x_2"), 5, "L_x_3");
  EXPECT_THROW(read(text), ReadError);
}

TEST(Reader, LabelsBelongToFunctions) {
  std::string one = printed({"BRA `(.L_x_1)", 0, 0, {}}) + ".L_x_1:\n" +
                    printed({"EXIT", 0, 0, {}}, 16);
  EXPECT_EQ(read(".text.a:\n" + one + ".text.b:\n" + one).size(), 2u);
  std::string other = printed({"BRA `(.L_x_2)", 0, 0, {}});
  EXPECT_THROW(read(".text.a:\n" + one + ".text.b:\n" + other), ReadError);
}

/// Returns the error of a text.
std::string errorOf(const std::string &text) {
  try {
    read(text);
  } catch (const ReadError &error) {
    return error.what();
  }
  return "nothing";
}

TEST(Reader, SaysWhatIsWrong) {
  EXPECT_THAT(errorOf(""), HasSubstr("expected a section .text.NAME"));
  EXPECT_THAT(errorOf("/*0000*/ NOP ; /* 0x00 */"),
              HasSubstr("line 1 of the SASS: expected .text.NAME:"));
  EXPECT_THAT(errorOf(".text.k:\n/*0000*/ NOP ; /* 0x00 */"),
              HasSubstr("line 2 of the SASS: expected the upper half"));
  EXPECT_THAT(errorOf(".text.k:\n/*0000*/ NOP ;\n"),
              HasSubstr("expected half of an encoding"));
  EXPECT_THAT(errorOf(".text.k:\n/*zz*/ NOP ; /* 0x00 */\n/* 0x00 */\n"),
              HasSubstr("expected an address"));
  EXPECT_THAT(errorOf(".text.k:\n/*0000*/ NOP /* 0x00 */\n/* 0x00 */\n"),
              HasSubstr("expected ';'"));
  EXPECT_THAT(errorOf(".text.k:\n/*0000*/ ; /* 0x00 */\n/* 0x00 */\n"),
              HasSubstr("expected an opcode"));
  for (const char *guard : {"@ NOP", "@! NOP", "@"})
    EXPECT_THAT(errorOf(".text.k:\n" + printed({guard, 0, 0, {}})),
                HasSubstr("expected a predicate in the guard"));
  EXPECT_THAT(errorOf(".text.k:\n" + printed({"BRA `(.L_9)", 0, 0, {}})),
              HasSubstr("expected a label of the function, got '.L_9'"));
  EXPECT_THAT(errorOf(".text.k:\n//## File \".nv_debug_ptx_txt\", line x\n"),
              HasSubstr("expected \", line N\""));
}

TEST(Reader, FindsTheTarget) {
  EXPECT_EQ(targetOf("\t.headerflags\t@\"x\"\n\t.target\tsm_90a\n.text.k:\n"),
            "sm_90a");
  EXPECT_EQ(targetOf(".text.k:\n"), "");
}

/// A text that is cut anywhere is read or refused.
TEST(Reader, CutTextsAreRefusedOrRead) {
  std::string whole = ".text.k:\n";
  for (const Line &line : lines)
    whole += printed(line);
  for (size_t size = 0; size < whole.size(); size += 7)
    try {
      read(whole.substr(0, size));
    } catch (const ReadError &error) {
      EXPECT_THAT(error.what(), HasSubstr("expected"));
    }
}

} // namespace
