//===- ParserTest.cpp - PTX text to tree ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Parser.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

using namespace ptxsim;
using namespace ptxsim::syntax;
using Kind = Operand::Kind;

static const std::string kHead = ".version 8.8\n.target sm_100a\n"
                                 ".address_size 64\n";

static std::unique_ptr<syntax::Module> body(const std::string &text) {
  return parse(kHead + ".visible .entry k(.param .u64 p)\n{\n" + text + "\n}\n",
               "t.ptx");
}

static const syntax::Instruction &inst(const syntax::Module &module,
                                       size_t at) {
  return module.functions.at(0).body.at(at).instruction;
}

TEST(Parser, Operands) {
  auto module =
      body(".reg .pred p, q; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .b32 a;\n"
           "@!p mov.b64 {%r1, %r2}, %rd1;\n"
           "elect.sync _|q, -1;\n"
           "ld.global.v2.f32 {%r3, _}, [%rd1+-8];\n"
           "selp.b32 a, -%r1, 0x10, !p;\n"
           "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, "
           "%r2}], [%r3];\n"
           "add.f32 %r1, %r2, 0fBF800000;");
  size_t first = 4;
  const auto &mov = inst(*module, first);
  EXPECT_EQ(mov.guard, "p");
  EXPECT_TRUE(mov.guardNegated);
  EXPECT_EQ(mov.operands[0].kind, Kind::Vector);
  const auto &elect = inst(*module, first + 1);
  EXPECT_EQ(elect.operands[0].kind, Kind::Pair);
  EXPECT_EQ(elect.operands[0].elements[0].kind, Kind::Sink);
  EXPECT_EQ(elect.operands[1].bits, ~uint64_t(0));
  const auto &ld = inst(*module, first + 2);
  EXPECT_EQ(ld.operands[1].elements[0].offset, -8);
  EXPECT_EQ(ld.operands[0].elements[1].kind, Kind::Sink);
  const auto &selp = inst(*module, first + 3);
  EXPECT_TRUE(selp.operands[1].minus);
  EXPECT_TRUE(selp.operands[3].negated);
  const auto &tma = inst(*module, first + 4);
  EXPECT_EQ(tma.operands[0].elements.size(), 2u);
  EXPECT_TRUE(tma.has("shared::cta"));
  EXPECT_EQ(inst(*module, first + 5).operands[2].bits, 0xBF800000u);
}

TEST(Parser, ScopesLabelsAndSeveralStatementsOnALine) {
  auto module = body("{ .reg .pred P1; LAB: @P1 bra DONE; bra LAB; DONE: }\n"
                     "{ .reg .pred P1; LAB: @P1 bra DONE; bra LAB; DONE: }\n"
                     "ret;");
  const auto &block = module->functions[0].body;
  ASSERT_EQ(block.size(), 3u);
  EXPECT_EQ(block[0].scope->size(), 5u);
  EXPECT_EQ(block[2].line, 8u);
}

TEST(Parser, ModuleSurface) {
  auto module = parse(
      kHead +
          ".file 1 \"a.cu\"\n"
          ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 "
          "b);\n"
          ".extern .shared .align 1024 .b8 smem[];\n"
          ".visible .global .align 4 .u32 table[2][2] = {{1, 2}, {3, 4}};\n"
          ".const .f32 pi = 0f40490FDB;\n"
          ".global .b64 where = generic(table) + 4;\n"
          ".weak .func (.reg .b32 d) f(.reg .b32 s) { add.u32 d, s, 1; ret; }\n"
          ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 .ptr "
          ".global .align 16 q)\n"
          ".explicitcluster .reqnctapercluster 2, 1, 1 .reqntid 384\n"
          ".minnctapersm 1 .maxnreg 128\n{\n"
          ".pragma \"nounroll\";\n.loc 1 7 3, function_name $L__i, inlined_at "
          "1 "
          "9 5\n"
          ".reg .b32 %r<2>; .reg .b64 %rd; .reg .pred p;\n"
          "$T: .branchtargets $A, $B;\n"
          "P0: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
          "$A: brx.idx %r1, $T; $B: call (%r0), f, (%r1); ret;\n}\n"
          ".section .debug_info { .b8 1, 2\n.b32 $A }\n",
      "t.ptx");
  EXPECT_EQ(module->target, "sm_100a");
  ASSERT_EQ(module->functions.size(), 3u);
  const syntax::Function &entry = module->functions[2];
  EXPECT_EQ(entry.parameters[0].elements(), 128u);
  EXPECT_EQ(entry.parameters[0].align, 64u);
  ASSERT_EQ(entry.directives.size(), 5u);
  EXPECT_EQ(entry.directives[1].values, (std::vector<uint64_t>{2, 1, 1}));
  EXPECT_EQ(module->variables[1].initializer.size(), 4u);
  EXPECT_EQ(module->variables[3].initializer[0].offset, 4);
}

TEST(Parser, ConstantExpressions) {
  auto module = body(".reg .b32 %r;\nmov.b32 %r, (1 << 4) | 3 + 2 * 4;\n"
                     "mov.b32 %r, -(7 - 9) % 3;\nmov.b32 %r, ~0;");
  EXPECT_EQ(inst(*module, 1).operands[1].bits, uint64_t((1 << 4) | 11));
  EXPECT_EQ(inst(*module, 2).operands[1].bits, 2u);
  EXPECT_EQ(inst(*module, 3).operands[1].bits, ~uint64_t(0));
}

struct Bad {
  const char *text;
  unsigned line;
  const char *part;
};
class ParserErrors : public testing::TestWithParam<Bad> {};
TEST_P(ParserErrors, NamesLineExpectedAndGot) {
  try {
    body(GetParam().text);
    FAIL() << "accepted " << GetParam().text;
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, Error::Kind::Syntax);
    EXPECT_EQ(error.line, GetParam().line) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().part),
              std::string::npos)
        << error.what();
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, ParserErrors,
    testing::Values(Bad{"addd.s32 %r1, %r2;", 6, "'addd'"},
                    Bad{".reg .b32 %r<2>;\nadd.s32 %r1, %r2, 1;", 7, "'%r2'"},
                    Bad{".reg .b32 a;\n\nmov.b32 a, b;", 8, "'b'"},
                    Bad{"bra NOWHERE;", 6, "'NOWHERE'"},
                    Bad{".reg .b32 a; .reg .u32 a;", 6, "twice"},
                    Bad{"X: X: ret;", 6, "twice"},
                    Bad{".reg .b33 a;", 6, "'.b33'"}, Bad{"ret", 7, "';'"},
                    Bad{"ld.param.u64 p, [p;", 6, "']'"},
                    Bad{"@%p1 ret;", 6, "'%p1'"},
                    Bad{".reg .b32 a; mov.b32 a, 1 / 0;", 6, "zero"},
                    Bad{"{ ret;", 8, "the end of the text"},
                    Bad{".reg .b32 a; mov.b32 a, %tid.q;", 6, "'%tid.q'"},
                    Bad{".reg .b32 a; add..s32 a, a, a;", 6, "empty"}));

/// Every prefix of a good module is an error, never a crash, unless it ends at
/// a top-level boundary.
TEST(Parser, TruncatedTextIsAnError) {
  std::ifstream file(FMHA_TEST_DATA "/ptx/kernels.ptx");
  ASSERT_TRUE(file);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  ASSERT_NO_THROW(parse(text, "whole"));
  size_t begin = text.find("vector_add("), end = text.find("block_sum(");
  ASSERT_LT(begin, end);
  end = text.rfind('}', end);
  unsigned errors = 0;
  for (size_t cut = begin; cut < end; cut += 3) {
    try {
      parse(std::string_view(text).substr(0, cut), "cut");
      ADD_FAILURE() << "accepted a module cut at byte " << cut;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, Error::Kind::Syntax);
      EXPECT_GT(error.line, 0u);
      ++errors;
    }
  }
  EXPECT_GT(errors, 100u);
}

/// Damaged text is parsed or refused with a line, whatever the damage.
TEST(Parser, DamagedTextNeverCrashes) {
  std::ifstream file(FMHA_TEST_DATA "/ptx/kernels.ptx");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  const uint32_t seed = 20261120;
  std::mt19937 random(seed);
  const std::string kBytes = "{}[]()<>,;:.%@!|+-*/0x9fZ_\"\n \x7f";
  unsigned refused = 0;
  for (unsigned round = 0; round < 1500; ++round) {
    std::string damaged = text;
    for (unsigned edit = 0; edit <= round % 3; ++edit) {
      size_t at = random() % damaged.size();
      if (random() % 2)
        damaged[at] = kBytes[random() % kBytes.size()];
      else
        damaged.erase(at, 1 + random() % 8);
    }
    try {
      parse(damaged, "damaged");
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, Error::Kind::Syntax) << "seed " << seed;
      EXPECT_GT(error.line, 0u) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 500u);
}

TEST(Parser, DeepNestingIsAnError) {
  const std::string deep(200000, '(');
  for (const std::string &text :
       {std::string(200000, '{'), ".reg .b32 a; mov.b32 a, -" + deep,
        ".reg .b32 a; mov.b32 a, " + std::string(200000, '~') + "1;",
        ".reg .b32 a; mov.b32 " + std::string(200000, '{')})
    EXPECT_THROW(body(text), Error);
}

/// 2^32 + 32, which a field of 32 bits would hold as 32, and zeros: each is an
/// error of ptxas, too.
TEST(Parser, NumbersOfDirectivesDoNotWrap) {
  for (const char *directive :
       {".reqntid 4294967328", ".maxntid 1, 4294967328",
        ".reqnctapercluster 4294967298", ".maxclusterrank 4294967300",
        ".maxnreg 4294967328", ".minnctapersm 4294967298", ".reqntid 0",
        ".maxntid 32, 0", ".maxnreg 0", ".minnctapersm 0"}) {
    std::string text = kHead + ".entry k()\n" + directive + "\n{ ret; }";
    try {
      parse(text, "t.ptx");
      ADD_FAILURE() << "accepted " << directive;
    } catch (const Error &error) {
      EXPECT_EQ(error.line, 5u) << error.what();
      std::string number(directive + std::string(directive).rfind(' ') + 1);
      EXPECT_NE(std::string(error.what()).find("to 2^32-1, got " + number),
                std::string::npos)
          << error.what();
    }
  }
  for (const char *good :
       {".reqntid 1024, 1, 1", ".maxntid 4294967295", ".maxnreg 300",
        ".explicitcluster .reqnctapercluster 8", ".maxclusterrank 0",
        ".reqnctapercluster 0", ".reqnctapercluster 2, 0, 1",
        ".blocksareclusters .reqntid 32 .reqnctapercluster 2",
        ".maxntid 32 .minnctapersm 2 .maxnreg 64"})
    EXPECT_NO_THROW(
        parse(kHead + ".entry k()\n" + good + "\n{ ret; }", "t.ptx"))
        << good;
}

/// As ptxas 13.0 has it.
TEST(Parser, DirectivesThatDoNotGoTogether) {
  for (const char *directives :
       {".maxclusterrank 8 .reqnctapercluster 2", ".blocksareclusters",
        ".blocksareclusters .reqntid 32", ".maxnctapersm 2",
        ".maxntid 32 .maxnctapersm 2",
        ".blocksareclusters .reqnctapercluster 2"})
    EXPECT_THROW(parse(kHead + ".entry k() " + directives + " { ret; }", "t"),
                 Error)
        << directives;
}

TEST(Parser, AlignmentsGoUpTo2To31) {
  for (const char *space : {".global", ".shared", ".const"})
    for (const char *align : {"2097152", "2147483648"})
      EXPECT_NO_THROW(
          parse(kHead + space + " .align " + align + " .b8 g[16];", "t.ptx"));
}

TEST(Parser, MaxntidAndReqntidExcludeEachOther) {
  EXPECT_THROW(
      parse(kHead + ".entry k() .reqntid 64 .maxntid 64 { ret; }", "t"), Error);
  EXPECT_NO_THROW(
      parse(kHead + ".entry k() .reqntid 64 .maxnreg 64 { ret; }", "t"));
}

TEST(Parser, NumbersOutsideOfFunctionsDoNotWrap) {
  for (const char *text :
       {".global .align 4294967300 .b32 g;", ".global .align 3 .b32 g;",
        ".global .align 0 .b32 g;", ".file 4294967297 \"x.cu\"",
        ".global .b8 g[4294967296][4294967296];", ".const .b8 c[65537];",
        ".global .v4 .b32 g[4611686018427387905];"})
    EXPECT_THROW(parse(kHead + text + "\n", "t.ptx"), Error) << text;
  EXPECT_NO_THROW(parse(kHead + ".const .b8 c[65536];", "t.ptx"));
  EXPECT_THROW(body(".loc 1 4294967297 1\nret;"), Error);
}

TEST(Parser, HeaderNamesWhatPtxHas) {
  auto refusal = [](const std::string &version, const std::string &target) {
    try {
      parse(".version " + version + "\n.target " + target + "\n", "t.ptx");
      return std::string();
    } catch (const Error &error) {
      return std::to_string(error.line) + " " + error.what();
    }
  };
  for (const char *version : {"99.9", "8.9", "7.9", "0.1", "9.10", "10.0"})
    EXPECT_TRUE(refusal(version, "sm_100a").starts_with("1 ")) << version;
  EXPECT_NE(
      refusal("99.9", "sm_80").find("8.0 to 8.8, 9.0 to 9.9), got '99.9'"),
      std::string::npos);
  for (const char *target :
       {"sm_999", "sm_80a", "sm_90f", "sm_100b", "sm_100aa", "debug", "sm_"})
    EXPECT_TRUE(refusal("8.8", target).starts_with("2 ")) << target;
  EXPECT_NE(refusal("8.8", "sm_999").find("sm_90[a], sm_100[a|f]"),
            std::string::npos);
  EXPECT_TRUE(refusal("8.8", "sm_90, fast").starts_with("2 "));
  for (const char *target : {"sm_50", "sm_90a", "sm_100f", "sm_120a, debug",
                             "compute_90", "compute_100a"})
    EXPECT_EQ(refusal("9.4", target), "");
  EXPECT_TRUE(refusal("9.4", "compute_90f").starts_with("2 "));
  // The first version that ptxas 13.0 takes a target in, and the one before.
  for (auto [target, before, since] : {std::tuple{"sm_80", "6.5", "7.0"},
                                       {"sm_89", "7.7", "7.8"},
                                       {"sm_90a", "7.8", "8.0"},
                                       {"sm_100a", "8.5", "8.6"},
                                       {"sm_100f", "8.7", "8.8"},
                                       {"sm_120a", "8.6", "8.7"},
                                       {"compute_110", "8.8", "9.0"}}) {
    EXPECT_NE(refusal(before, target).find(".version " + std::string(since)),
              std::string::npos)
        << target;
    EXPECT_EQ(refusal(since, target), "");
  }
  EXPECT_EQ(parse(".version 9.0\n.target compute_90a\n", "t.ptx")->target,
            "sm_90a");
}

TEST(Parser, AbsurdSizesAreErrorsAtTheirLine) {
  for (const std::string &text :
       {".shared .b8 s[16777216];", ".local .b64 l[4294967296];",
        ".shared .b64 s[4294967296][4294967296];",
        ".local .b8 l[18446744073709551615][2];", ".param .b8 q[32765];",
        ".reg .b32 %r<16777217>;", ".shared .align 4294967296 .b8 s[4];"})
    try {
      body("\n" + text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, Error::Kind::Syntax);
      EXPECT_EQ(error.line, 7u) << text;
      EXPECT_NE(std::string(error.what()).find("at most"), std::string::npos)
          << error.what();
    }
  EXPECT_THROW(parse(kHead + ".global .b8 g[4294967297];", "t.ptx"), Error);
  EXPECT_NO_THROW(body(".shared .b8 s[16777215]; .param .b8 q[32764];"));
  EXPECT_NO_THROW(parse(kHead + ".global .b8 g[4294967296];", "t.ptx"));
}
