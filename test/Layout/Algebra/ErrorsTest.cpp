//===- ErrorsTest.cpp - What is not admitted ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Simplify.h"
#include "fmha/Layout/Algebra/Text.h"
#include "fmha/Layout/Algebra/TiledMma.h"
#include "fmha/Layout/Algebra/TmemFragments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace fmha::layout::algebra;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// Returns the message of the error, empty if there is none.
std::string errorOf(const std::function<void()> &work) {
  try {
    work();
  } catch (const LayoutError &error) {
    return error.what();
  }
  return "";
}

std::string errorOfText(const std::string &text) {
  return errorOf([&] { parseComposedLayout(text); });
}

TEST(LayoutErrors, OfTextHaveAColumn) {
  struct Case {
    const char *text, *column, *expected;
  } cases[] = {
      {"(4,8", "column 5", "expected ')', got the end"},
      {"(4,,8)", "column 4", "expected an integer, got ',8)'"},
      {"", "column 1", "expected an integer, got the end"},
      {"4:x", "column 3", "got 'x'"},
      {"4:1)", "column 4", "expected the end, got ')'"},
      {"99999999999999999999", "column 1", "expected an integer below 2^63"},
      {"Sw<3,4", "column 7", "expected ','"},
      {"Sw<3,4,99> o 0 o 8", "column 4", "from -62 to 62, got 99"},
  };
  for (const Case &c : cases)
    EXPECT_THAT(errorOfText(c.text),
                AllOf(HasSubstr(c.column), HasSubstr(c.expected)))
        << c.text;
}

TEST(LayoutErrors, OfLayoutsSayExpectedAndGot) {
  EXPECT_THAT(errorOfText("(4,8):(1,2,3)"),
              HasSubstr("expected a stride for each extent of (4,8), got the "
                        "strides (1,2,3)"));
  EXPECT_THAT(errorOfText("(4,0):(1,2)"),
              HasSubstr("expected extents of at least 1, got (4,0)"));
  EXPECT_THAT(errorOfText("(9999999999,9999999999)"),
              HasSubstr("expected numbers below 2^63"));
  EXPECT_THAT(errorOfText("4:-9223372036854775808"),
              HasSubstr("expected numbers below 2^63"));
  EXPECT_THAT(
      errorOf([] { parseLayout("(4,8)")(parseIntTuple("(1,2,3)")); }),
      HasSubstr("expected a coordinate of the shape (4,8), got (1,2,3)"));
  EXPECT_THAT(errorOf([] { parseLayout("(4,8)")(-1); }),
              HasSubstr("expected an index of at least 0, got -1"));
}

TEST(LayoutErrors, OfOperationsNameThem) {
  struct Case {
    std::function<void()> work;
    const char *expected;
  } cases[] = {
      {[] { composition(parseLayout("(6,4):(1,10)"), parseLayout("4:4")); },
       "composition: expected strides and extents in 4:4 that divide the "
       "extents of (6,4):(1,10), got the stride 4 at the extent 6"},
      {[] {
         composition(parseLayout("(4,2):(1,10)"), parseLayout("(2,3):(3,1)"));
       },
       "whose sum stays below the extent 4 of (4,2):(1,10), got 5"},
      {[] { composition(parseLayout("4"), parseLayout("2:-1")); },
       "expected strides of at least 0 in the second layout, got 2:-1"},
      {[] { complement(parseLayout("(2,3):(1,1)"), 24); },
       "complement: expected strides that are multiples"},
      {[] { complement(parseLayout("4"), 0); },
       "expected a cotarget of at least 1, got 0"},
      {[] { leftInverse(parseLayout("(2,2):(1,1)")); },
       "left_inverse: expected strides that are multiples"},
      {[] { upcast(parseLayout("2:3"), 4); },
       "upcast: expected strides that divide the factor 4"},
      {[] { recast(parseLayout("8"), 12, 16); },
       "recast: expected sizes of which one divides the other, got 12 and 16"},
      {[] {
         logicalDivide(parseLayout("8"),
                       Tiler::ofShape(parseIntTuple("(2,2)")));
       },
       "logical_divide: expected at most 1 tilers"},
      {[] { zippedDivide(parseLayout("(8,8)"), Tiler::byMode({{}, {}})); },
       "expected a mode of rank 2 where the tiler has _"},
      {[] { coalesce(parseLayout("(8,8)"), parseIntTuple("(1,1,1)")); },
       "coalesce: expected a profile of at most 2 modes"},
      {[] { Swizzle(3, 4, 2); }, "a shift of at least the bits"},
  };
  for (const Case &c : cases)
    EXPECT_THAT(errorOf(c.work), HasSubstr(c.expected));
}

TEST(LayoutErrors, OfTiledCopiesAndProducts) {
  EXPECT_THAT(errorOf([] { copyAtom("copy_7"); }),
              AllOf(HasSubstr("copy_128"), HasSubstr("got 'copy_7'")));
  EXPECT_THAT(errorOf([] { mmaAtom("wgmma_m64n12k16_f32_f16"); }),
              HasSubstr("N a multiple of 8 up to 256"));
  EXPECT_THAT(errorOf([] { tmemFragment("tcgen05_ld_16x256b_x64"); }),
              HasSubstr("got 'tcgen05_ld_16x256b_x64'"));
  auto copy = [](const char *values, int64_t bits) {
    return TiledCopy::make(copyAtom("copy_128"), bits, parseLayout("(8,4)"),
                           parseLayout(values));
  };
  EXPECT_THAT(errorOf([&] { copy("(1,4)", 16); }),
              HasSubstr("copy_128: expected a multiple of 8 values of 16 bits "
                        "for each thread, got 4"));
  EXPECT_THAT(errorOf([&] { copy("(1,8)", 24); }),
              HasSubstr("divides 128 bits, got 24"));
  EXPECT_THAT(
      errorOf([&] { copy("(1,8)", 16).partitionS(parseLayout("(8,32)"), 32); }),
      HasSubstr("expected a thread below 32, got 32"));
  EXPECT_THAT(errorOf([] {
                TiledMma(mmaAtom("mma_m16n8k16_f32_f16"), parseLayout("4"));
              }),
              HasSubstr("expected a layout of atoms along M, N and K"));
  EXPECT_THAT(errorOf([] {
                TiledMma(mmaAtom("mma_m16n8k16_f32_f16"),
                         parseLayout("(4,1,1)"),
                         Tiler::ofShape(parseIntTuple("(32,8,16)")));
              }),
              HasSubstr("expected a permutation of multiples of 64 in mode 0"));
}

/// Returns a random text of characters that layouts have.
std::string randomText(std::mt19937 &generator) {
  static constexpr std::string_view alphabet = "(((,,,)))::0123459_ Sw<>o-";
  std::string text;
  for (size_t i = 0, length = generator() % 24; i < length; ++i)
    text += alphabet[generator() % alphabet.size()];
  return text;
}

TEST(LayoutErrors, NoTextCrashes) {
  std::mt19937 generator(20261128);
  for (unsigned i = 0; i < 20000; ++i) {
    std::string text = randomText(generator);
    SCOPED_TRACE(text);
    try {
      parseComposedLayout(text);
    } catch (const LayoutError &error) {
      EXPECT_THAT(error.what(), HasSubstr("expected"));
    }
  }
  EXPECT_THAT(errorOfText(std::string(100000, '(')),
              HasSubstr("nested parentheses"));
}

} // namespace
