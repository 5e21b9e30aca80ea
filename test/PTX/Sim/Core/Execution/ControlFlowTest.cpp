//===- ControlFlowTest.cpp - Divergence, calls, exits -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

static void expectClean(const LaunchResult &result) {
  EXPECT_EQ(result.status, Status::Ok) << describe(result);
}

TEST(ControlFlow, NestedBranchesReconverge) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    // The activemask after each join shows who is there.
    kernel.body = "and.b32 %r4, %r1, 1; and.b32 %r5, %r1, 2; mov.u32 %r6, 0;\n"
                  "setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r5, 0;\n"
                  "@%p1 bra ELSE;\n"
                  "@%p2 bra INNER; add.u32 %r6, %r6, 10;\n"
                  "INNER: add.u32 %r6, %r6, 1; activemask.b32 %r7;\n"
                  "bra JOIN;\nELSE: add.u32 %r6, %r6, 100;"
                  " activemask.b32 %r7;\n"
                  "JOIN: activemask.b32 %r8; setp.eq.u32 %p3, %r8, -1;\n"
                  "selp.u32 %r9, 1000, 0, %p3; add.u32 %r6, %r6, %r9;\n"
                  "popc.b32 %r7, %r7; mad.lo.u32 %r6, %r7, 10000, %r6;\n"
                  "st.global.u32 [%rd1], %r6;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 32; ++i) {
      uint32_t want = i % 2 == 0 ? 100 : (i & 2 ? 11 : 1);
      EXPECT_EQ(kernel.out[i], want + 1000 + 160000) << i;
    }
  });
}

TEST(ControlFlow, LoopLeftAtDifferentTimes) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {96, 1, 1};
    kernel.body = "mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
                  "LOOP: setp.gt.u32 %p1, %r4, %r1; @%p1 bra DONE;\n"
                  "add.u32 %r5, %r5, %r4; add.u32 %r4, %r4, 1; bra LOOP;\n"
                  "DONE: bar.sync 0; activemask.b32 %r6;\n"
                  "setp.ne.u32 %p2, %r6, -1; @%p2 mov.u32 %r5, 0;\n"
                  "st.global.u32 [%rd1], %r5;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 96; ++i)
      EXPECT_EQ(kernel.out[i], i * (i + 1) / 2) << i;
  });
}

TEST(ControlFlow, BranchTable) {
  Kernel kernel;
  kernel.body = "T: .branchtargets A, B, C, A;\nand.b32 %r4, %r1, 3;\n"
                "brx.idx %r4, T;\nA: mov.u32 %r5, 7; bra JOIN;\n"
                "B: mov.u32 %r5, 8; bra JOIN;\nC: mov.u32 %r5, 9;\n"
                "JOIN: activemask.b32 %r6; add.u32 %r5, %r5, %r6;\n"
                "st.global.u32 [%rd1], %r5;";
  expectClean(kernel.run());
  const uint32_t want[] = {7, 8, 9, 7};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(kernel.out[i], want[i % 4] - 1) << i;
  kernel.body = "T: .branchtargets A, A;\nbrx.idx %r1, T;\nA: ret;";
  LaunchResult result = kernel.run();
  EXPECT_TRUE(hasFinding(result, "illegal-instruction")) << describe(result);
}

TEST(ControlFlow, CallsWithDivergentReturns) {
  Kernel kernel;
  kernel.functions =
      ".func (.param .b32 r) f(.param .b32 a, .reg .b32 b)\n{\n"
      ".reg .b32 %x; .reg .pred %q;\nld.param.u32 %x, [a];\n"
      "setp.lt.u32 %q, %x, 10; @%q bra SMALL;\nadd.u32 %x, %x, b;\n"
      "st.param.b32 [r], %x; ret;\nSMALL: mul.lo.u32 %x, %x, 3;\n"
      "st.param.b32 [r], %x; ret;\n}\n";
  kernel.body = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n"
                "mov.u32 %r4, 5;\ncall (r), f, (a, %r4);\n"
                "ld.param.b32 %r5, [r]; }\nactivemask.b32 %r6;\n"
                "add.u32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(kernel.out[i], (i < 10 ? i * 3 : i + 5) - 1) << i;
}

TEST(ControlFlow, ExitOfSomeLanesLetsTheOthersJoin) {
  Kernel kernel;
  kernel.body = "setp.lt.u32 %p1, %r1, 16; setp.lt.u32 %p2, %r1, 20;\n"
                "@%p2 bra L; bra JOIN;\nL: @%p1 exit;\n"
                "JOIN: activemask.b32 %r4; st.global.u32 [%rd1], %r4;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(kernel.out[i], i < 16 ? 0u : 0xFFFF0000u) << i;
}

/// Lane 0 spins until lane 1 of the same warp has written: only independent
/// progress of the two sides of a branch gets through.
TEST(ControlFlow, LanesOfAWarpMakeProgressIndependently) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.options.maxSteps = 10000000;
    kernel.body = "setp.eq.u32 %p1, %r1, 0; @!%p1 bra WRITE;\n"
                  "SPIN: ld.volatile.global.u32 %r4, [%rd0+4];\n"
                  "setp.ne.u32 %p2, %r4, 77; @%p2 bra SPIN;\n"
                  "st.global.u32 [%rd0], %r4; bra DONE;\n"
                  "WRITE: setp.eq.u32 %p3, %r1, 1;\n"
                  "@%p3 st.volatile.global.u32 [%rd0+4], 77;\nDONE:";
    expectClean(kernel.run());
    EXPECT_EQ(kernel.out[0], 77u);
  });
}

TEST(ControlFlow, UnsupportedFormsOnlyMatterWhereReached) {
  Kernel kernel;
  kernel.body = "bra OVER;\nadd.weird.s32 %r1, %r1, 1;\nOVER: "
                "st.global.u32 [%rd1], 5;";
  expectClean(kernel.run());
  EXPECT_EQ(kernel.out[3], 5u);
  kernel.body = "\nadd.weird.s32 %r1, %r1, 1;";
  try {
    kernel.run();
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, Error::Kind::Unsupported);
    EXPECT_EQ(error.line, kernel.firstLine() + 1);
    EXPECT_NE(std::string(error.what()).find("add.weird.s32"),
              std::string::npos);
  }
}

TEST(ControlFlow, RedeclaredNamesInScopes) {
  Kernel kernel;
  kernel.body = "mov.u32 %r4, 0;\n"
                "{ .reg .b32 x; .reg .pred P1; mov.u32 x, 3; LAB: add.u32 %r4, "
                "%r4, x; setp.lt.u32 P1, %r4, 9; @P1 bra LAB; }\n"
                "{ .reg .b32 x; .reg .pred P1; mov.u32 x, 5; LAB: add.u32 %r4, "
                "%r4, x; setp.lt.u32 P1, %r4, 30; @P1 bra LAB; }\n"
                "st.global.u32 [%rd1], %r4;";
  expectClean(kernel.run());
  EXPECT_EQ(kernel.out[0], 34u);
}

TEST(ControlFlow, StepLimitAndTrap) {
  Kernel kernel;
  kernel.options.maxSteps = 1000;
  kernel.body = "LOOP: add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4; bra "
                "LOOP;";
  EXPECT_EQ(kernel.run().status, Status::StepLimit);
  kernel.body = "setp.eq.u32 %p1, %r1, 9; @%p1 trap;";
  LaunchResult result = kernel.run();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "trap");
  EXPECT_EQ(result.findings[0].lane, 9);
}
