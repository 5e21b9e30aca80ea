//===- LexerTest.cpp - Words of PTX text ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Lexer.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <gtest/gtest.h>

#include <bit>

using namespace ptxsim;
using namespace ptxsim::syntax;
using Kind = Token::Kind;

static Token first(std::string_view text) { return Lexer(text, "t").next(); }

TEST(Lexer, Integers) {
  EXPECT_EQ(first("123").bits, 123u);
  EXPECT_EQ(first("0x1F").bits, 31u);
  EXPECT_EQ(first("0b101").bits, 5u);
  EXPECT_EQ(first("017").bits, 15u);
  EXPECT_EQ(first("0").bits, 0u);
  EXPECT_EQ(first("18446744073709551615").bits, ~uint64_t(0));
  EXPECT_TRUE(first("7U").isUnsigned);
  EXPECT_EQ(first("0xFFU").bits, 255u);
}

TEST(Lexer, Floats) {
  Token single = first("0f3F800000");
  EXPECT_EQ(single.kind, Kind::Float);
  EXPECT_EQ(single.floatBits, 32);
  EXPECT_EQ(std::bit_cast<float>(uint32_t(single.bits)), 1.0f);
  Token wide = first("0dBFF8000000000000");
  EXPECT_EQ(wide.floatBits, 64);
  EXPECT_EQ(std::bit_cast<double>(wide.bits), -1.5);
  EXPECT_EQ(std::bit_cast<double>(first("2.5").bits), 2.5);
  EXPECT_EQ(std::bit_cast<double>(first("1e-3").bits), 1e-3);
  EXPECT_EQ(std::bit_cast<double>(first("1.5E+2").bits), 150.0);
}

TEST(Lexer, WordsKeepModifiersAndLabelsEnd) {
  Lexer lexer("mbarrier.try_wait.parity.shared::cta.b64 LAB: %tid.x $L__1",
              "t");
  EXPECT_EQ(lexer.next().text, "mbarrier.try_wait.parity.shared::cta.b64");
  EXPECT_EQ(lexer.next().text, "LAB");
  EXPECT_TRUE(lexer.next().is(':'));
  EXPECT_EQ(lexer.next().text, "%tid.x");
  EXPECT_EQ(lexer.next().text, "$L__1");
  EXPECT_EQ(lexer.next().kind, Kind::End);
}

TEST(Lexer, LinesAndComments) {
  Lexer lexer("// one\n/* two\n three */ x\ny", "t");
  EXPECT_EQ(lexer.next().line, 3u);
  EXPECT_EQ(lexer.next().line, 4u);
}

class LexerErrors : public testing::TestWithParam<const char *> {};
TEST_P(LexerErrors, Throws) {
  try {
    Lexer lexer(GetParam(), "t");
    while (lexer.next().kind != Kind::End)
      ;
    FAIL() << "accepted " << GetParam();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, Error::Kind::Syntax);
    EXPECT_EQ(error.line, 1u);
  }
}
INSTANTIATE_TEST_SUITE_P(All, LexerErrors,
                         testing::Values("/* open", "\"open", "0f3F8", "0x",
                                         "0d3FF0", "12abc", "089", "#", "\x01",
                                         "99999999999999999999", ". "));
