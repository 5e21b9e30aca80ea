//===- MemoryTest.cpp - Loads, stores, atomics, findings --------*- C++ -*-===//
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

TEST(Memory, WidthsAndSignExtension) {
  Kernel kernel;
  kernel.body = "mov.u32 %r4, 0x8081F2F3; st.global.u32 [%rd1], %r4;\n"
                "ld.global.s8 %r5, [%rd1]; ld.global.u8 %r6, [%rd1+1];\n"
                "ld.global.s16 %r7, [%rd1+2]; ld.global.u16 %r8, [%rd1];\n"
                "add.u64 %rd2, %rd1, 128;\n"
                "mul.wide.u32 %rd3, %r1, 12; add.u64 %rd2, %rd2, %rd3;\n"
                "st.global.u32 [%rd2], %r5; st.global.u32 [%rd2+4], %r6;\n"
                "xor.b32 %r7, %r7, %r8; st.global.u32 [%rd2+8], %r7;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(kernel.out[32 + 4 * i], 0xFFFFFFF3u);
    EXPECT_EQ(kernel.out[33 + 4 * i], 0xF2u);
    EXPECT_EQ(kernel.out[34 + 4 * i], 0xFFFF8081u ^ 0xF2F3u);
  }
}

TEST(Memory, AConstantBesideARegisterIsAdded) {
  Kernel kernel;
  kernel.body = "shl.b32 %r4, %r1, 2; cvt.u64.u32 %rd2, %r4;\n"
                "add.u32 %r5, %r1+7, 3;\n"
                "sub.u32 %r6, 0, %r5+-1; mov.b64 {%r7, %r8}, %rd2+4294967296;\n"
                "add.u32 %r6, %r6, %r8; st.global.u32 [%rd1], %r6;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(kernel.out[i], 0u - (i + 9) + 1) << i;
}

TEST(Memory, NothingIsAddedToAFloatOrADestination) {
  for (const char *body : {"add.f32 %f1, %f1+2, %f1;", "add.u32 %r4+1, %r4, 0;",
                           "not.b32 %r4, -%r4+1;"}) {
    Kernel kernel;
    kernel.body = body;
    EXPECT_THROW(kernel.run(), Error) << body;
  }
}

TEST(Memory, SharedVectorsAndGenericWindows) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.block = {64, 1, 1};
    kernel.dynamicShared = 2048;
    kernel.declarations = ".shared .align 16 .b8 fixed[1024];\n";
    kernel.functions = ".extern .shared .align 128 .b8 dyn[];\n";
    kernel.body =
        "mov.u32 %r4, fixed; mov.u32 %r5, dyn; shl.b32 %r6, %r1, 4;\n"
        "add.u32 %r4, %r4, %r6; add.u32 %r5, %r5, %r6; add.u32 %r7, %r1, 1;\n"
        "st.shared.v4.u32 [%r4], {%r1, %r7, %r1, %r7};\n"
        "bar.sync 0;\nxor.b32 %r8, %r6, 1008; mov.u64 %rd2, fixed;\n"
        "cvta.shared.u64 %rd2, %rd2; cvt.u64.u32 %rd3, %r8;\n"
        "add.u64 %rd2, %rd2, %rd3; ld.v2.u32 {%r9, %r10}, [%rd2+8];\n"
        "isspacep.shared %p1, %rd2; isspacep.global %p2, %rd2;\n"
        "selp.u32 %r11, 1000, 0, %p1; selp.u32 %r12, 5000, 0, %p2;\n"
        "st.shared.b32 [%r5], %r10; ld.shared.b32 %r13, [%r5];\n"
        "add.u32 %r9, %r9, %r13; add.u32 %r9, %r9, %r11;\n"
        "add.u32 %r9, %r9, %r12; st.global.u32 [%rd1], %r9;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(kernel.out[i], (63 - i) * 2 + 1 + 1000) << i;
  });
}

TEST(Memory, LocalIsPerThread) {
  Kernel kernel;
  kernel.block = {64, 1, 1};
  kernel.declarations = ".local .align 8 .b8 depot[64];\n";
  kernel.body = "mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2;\n"
                "st.local.u32 [%rd2+60], %r1; ld.u32 %r4, [%rd3+60];\n"
                "st.global.u32 [%rd1], %r4;";
  expectClean(kernel.run());
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(kernel.out[i], i);
}

TEST(Memory, Atomics) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.grid = {3, 1, 1};
    kernel.block = {64, 1, 1};
    kernel.body =
        "atom.global.add.u32 %r4, [%rd0], %r1;\n"
        "red.global.max.s32 [%rd0+4], %r0;\n"
        "atom.global.inc.u32 %r5, [%rd0+8], 9;\n"
        "cvt.rn.f32.u32 %f1, %r1; red.global.add.f32 [%rd0+12], %f1;\n"
        "atom.global.or.b32 %r6, [%rd0+16], %r0;\n"
        "atom.global.cas.b32 %r7, [%rd0+20], 0, 5;\n"
        "neg.s32 %r8, %r0; red.global.min.s32 [%rd0+24], %r8;\n"
        "atom.global.exch.b64 %rd5, [%rd0+32], %rd0;";
    expectClean(kernel.run());
    EXPECT_EQ(kernel.out[0], 3u * 63 * 64 / 2);
    EXPECT_EQ(kernel.out[1], 191u);
    EXPECT_EQ(kernel.out[2], 192u % 10);
    EXPECT_EQ(std::bit_cast<float>(kernel.out[3]), 3.0f * 63 * 64 / 2);
    EXPECT_EQ(kernel.out[4], 255u);
    EXPECT_EQ(kernel.out[5], 5u);
    EXPECT_EQ(int32_t(kernel.out[6]), -191);
  });
}

struct BadAccess {
  const char *body, *id;
  int lane;
};
class MemoryFaults : public testing::TestWithParam<BadAccess> {};
TEST_P(MemoryFaults, StopTheLaunchAndNameTheLane) {
  for (const char *checks : {"all", "none"}) {
    Kernel kernel;
    kernel.options.checks = {checks};
    kernel.words = 40;
    kernel.declarations = ".shared .align 16 .b8 s[64];\n";
    kernel.body = GetParam().body;
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.status, Status::Findings) << checks;
    ASSERT_EQ(result.findings.size(), 1u) << describe(result);
    EXPECT_EQ(result.findings[0].id, GetParam().id);
    EXPECT_EQ(result.findings[0].lane, GetParam().lane);
    EXPECT_EQ(result.findings[0].ptxLine, kernel.firstLine() + 1);
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, MemoryFaults,
    testing::Values(
        BadAccess{"mad.wide.u32 %rd2, %r1, 8, %rd0;\nst.global.u32 [%rd2], 1;",
                  "out-of-bounds", 20},
        BadAccess{"mov.u32 %r4, s;\n ld.shared.u32 %r5, [%r4+64];",
                  "out-of-bounds", 0},
        BadAccess{"mov.u32 %r4, 4;\n st.shared.u32 [%r4], 1;", "out-of-bounds",
                  0},
        BadAccess{"add.u64 %rd2, %rd0, 2;\n ld.global.u32 %r5, [%rd2];",
                  "misaligned", 0},
        BadAccess{"mov.u32 %r4, 0;\n ld.global.u32 %r5, [0];", "out-of-bounds",
                  0},
        BadAccess{"setp.eq.u32 %p1, %r1, 7;\n@%p1 st.global.v4.u32 [%rd1], "
                  "{%r1, %r1, %r1, %r1};",
                  "misaligned", 7}));

TEST(Memory, UninitializedReadsAreFound) {
  Kernel kernel;
  kernel.declarations = ".shared .align 16 .b8 s[256];\n.local .b32 l;\n";
  kernel.body = "shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;\n"
                "setp.ne.u32 %p1, %r1, 13; @%p1 st.shared.u32 [%r4], %r1;\n"
                "ld.shared.u32 %r6, [%r4];\nld.local.u32 %r7, [l];";
  LaunchResult result = kernel.run();
  ASSERT_EQ(result.findings.size(), 2u) << describe(result);
  EXPECT_EQ(result.findings[0].id, "uninit-shared");
  EXPECT_EQ(result.findings[0].lane, 13);
  EXPECT_EQ(result.findings[0].ptxLine, kernel.firstLine() + 2);
  EXPECT_EQ(result.findings[1].id, "uninit-local");
  kernel.options.checks = {"uninit-local"};
  EXPECT_EQ(kernel.run().findings.size(), 1u);
  kernel.options.checks = {"none"};
  expectClean(kernel.run());
  kernel.options.checks = {"all"};
  kernel.initialize = false;
  kernel.body = "ld.global.u32 %r4, [%rd1];";
  EXPECT_TRUE(hasFinding(kernel.run(), "uninit-global"));
}

TEST(Memory, ModuleVariables) {
  Kernel kernel;
  kernel.block = {1, 1, 1};
  kernel.functions = ".global .align 4 .u32 table[3] = {10, 20, 30};\n"
                     ".const .align 4 .f32 pi = 0f40490FDB;\n"
                     ".global .align 8 .u64 where = table;\n";
  kernel.body = "ld.global.u32 %r4, [table+8]; ld.const.f32 %f1, [pi];\n"
                "mov.b32 %r5, %f1; ld.global.u64 %rd2, [where];\n"
                "ld.u32 %r6, [%rd2+4]; st.global.v2.u32 [%rd0], {%r4, %r5};\n"
                "st.global.u32 [%rd0+8], %r6;";
  expectClean(kernel.run());
  EXPECT_EQ(kernel.out[0], 30u);
  EXPECT_EQ(kernel.out[1], 0x40490FDBu);
  EXPECT_EQ(kernel.out[2], 20u);
}

TEST(Memory, ClusterSharedThroughMapa) {
  underEveryPolicy([](Options options) {
    Kernel kernel;
    kernel.options = options;
    kernel.grid = {4, 1, 1};
    kernel.cluster = Dim3{2, 1, 1};
    kernel.declarations = ".shared .align 16 .b8 s[128];\n";
    kernel.body =
        "mov.u32 %r4, s; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5;\n"
        "mov.u32 %r6, %cluster_ctarank; mad.lo.u32 %r7, %r2, 1000, %r1;\n"
        "st.shared.u32 [%r4], %r7;\nbarrier.cluster.arrive.aligned;\n"
        "barrier.cluster.wait.aligned;\nxor.b32 %r8, %r6, 1;\n"
        "mapa.shared::cluster.u32 %r9, %r4, %r8;\n"
        "ld.shared::cluster.u32 %r10, [%r9]; st.global.u32 [%rd1], %r10;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;";
    expectClean(kernel.run());
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(kernel.out[i], ((i / 32) ^ 1) * 1000 + i % 32) << i;
  });
}

TEST(Memory, VariablesOfAModuleLieAtTheirAlignment) {
  Module module =
      Module::parse(".version 8.8\n.target sm_100a\n.address_size 64\n"
                    ".global .align 65536 .b8 a[3];\n"
                    ".global .b32 b;\n.const .align 2097152 .b8 c[16];\n",
                    "aligned.ptx");
  Device device;
  EXPECT_EQ(device.addressOf(module, "a") % 65536, 0u);
  EXPECT_EQ(device.addressOf(module, "c") % 2097152, 0u);
}

TEST(Memory, AClusterOfZerosIsLeftToTheLaunch) {
  for (uint32_t size : {1u, 2u}) {
    Kernel kernel;
    kernel.head = ".reqnctapercluster 0, 0, 0\n";
    kernel.grid = {4, 1, 1};
    if (size > 1)
      kernel.cluster = Dim3{size, 1, 1};
    kernel.body = "mov.u32 %r4, %cluster_nctarank; st.global.u32 [%rd1], %r4;";
    expectClean(kernel.run());
    EXPECT_EQ(kernel.out[0], size);
  }
}

TEST(Memory, ParametersHaveALimit) {
  Module module = Module::parse(
      ".version 8.8\n.target sm_100a\n.address_size 64\n"
      ".entry k(.param .b8 a[4], .param .align 2097152 .b8 b[8]) { ret; }\n",
      "wide.ptx");
  Device device;
  LaunchConfig config;
  config.entry = "k";
  try {
    launch(device, module, config, {});
    ADD_FAILURE() << "launched";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, Error::Kind::Launch);
    EXPECT_EQ(error.line, 4u);
    EXPECT_NE(std::string(error.what()).find("at most 32764 bytes"),
              std::string::npos);
  }
}
