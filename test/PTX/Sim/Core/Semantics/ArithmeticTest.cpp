//===- ArithmeticTest.cpp - Arithmetic in any thread of a host ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include <gtest/gtest.h>

#include <cfenv>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

using namespace ptxsim;
using namespace ptxsim::test;

/// Returns words of a sum that is rounded, and of a product of f32 and one of
/// f16 that are subnormal.
static std::vector<uint32_t> results() {
  Kernel kernel;
  kernel.block = {1, 1, 1};
  kernel.body = "mov.b32 %f1, 0x3DCCCCCD; mov.b32 %f2, 0x3E4CCCCD;\n"
                "add.f32 %f3, %f1, %f2; st.global.f32 [%rd0], %f3;\n"
                "mov.b32 %f1, 0x00800000; mov.b32 %f2, 0x3F000000;\n"
                "mul.f32 %f3, %f1, %f2; st.global.f32 [%rd0+4], %f3;\n"
                "mov.b16 %h1, 0x0400; mov.b16 %h2, 0x3800;\n"
                "mul.f16 %h3, %h1, %h2; st.global.b16 [%rd0+8], %h3;";
  LaunchResult result = kernel.run();
  EXPECT_EQ(result.status, Status::Ok) << describe(result);
  return {kernel.out.begin(), kernel.out.begin() + 3};
}

static const std::vector<uint32_t> expected = {0x3E99999A, 0x00400000, 0x0200};

TEST(Arithmetic, DoesNotDependOnTheRoundingOfTheThread) {
  EXPECT_EQ(results(), expected);
  for (int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    std::vector<uint32_t> found = results();
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, expected);
  }
}

#ifdef __SSE__
TEST(Arithmetic, DoesNotDependOnWhatTheThreadDoesToDenormals) {
  unsigned before = _mm_getcsr();
  // Flush results to zero, and take operands as zeros.
  _mm_setcsr(before | 0x8040);
  std::vector<uint32_t> found = results();
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(after & 0x8040, 0x8040u);
}
#endif
