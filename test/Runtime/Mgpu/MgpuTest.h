//===- MgpuTest.h - Kernels and the simulator as driver ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_RUNTIME_MGPU_MGPUTEST_H
#define FMHA_TEST_RUNTIME_MGPU_MGPUTEST_H

#include "fmha/Runtime/Driver/Calls.h"
#include "fmha/Runtime/Mgpu/Mgpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

/// `add` adds v to n integers; `shared` writes and reads the last of `bytes` of
/// dynamic shared memory, in addition to 40 KiB of static shared memory; `rank`
/// stores each CTA's rank in its cluster; `early` increments an integer, after
/// a wait for earlier grids if `waits` is not 0, and its module says that it
/// may be launched before they have ended.
inline const char *const kernels = R"(.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];

.visible .entry add(.param .u64 p, .param .u32 v, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [v];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r3, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r3, %r2;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, %r1;
  st.global.u32 [%rd3], %r6;
done:
  ret;
}

.visible .entry shared(.param .u64 p, .param .u32 bytes)
{
  .shared .align 16 .b8 fixed[40960];
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [bytes];
  mov.u32 %r2, dynamic;
  add.u32 %r2, %r2, %r1;
  mov.u32 %r3, fixed;
  st.shared.u32 [%r3], %r1;
  st.shared.u32 [%r2+-4], %r1;
  ld.shared.u32 %r4, [%r2+-4];
  st.global.u32 [%rd1], %r4;
  ret;
}

.visible .entry rank(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %cluster_ctarank;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}

.visible .global .align 1 .u8 __fmha_programmatic_early = 1;
.visible .entry early(.param .u64 p, .param .u32 waits)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [waits];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra now;
  griddepcontrol.wait;
now:
  ld.global.u32 %r2, [%rd1];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

/// The simulator as the driver library, and its calls for further checks.
class MgpuTest : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("FMHA_DRIVER", FMHA_PTXSIM_LIBRARY, 1);
    setenv("PTXSIM_MESSAGES", "off", 1);
    setenv("PTXSIM_TARGET", "sm_90a", 1);
  }
  static const fmha::runtime::driver::Calls &calls() {
    static const auto opened = [] {
      std::string why;
      auto calls = fmha::runtime::driver::open(FMHA_PTXSIM_LIBRARY, why);
      if (!calls)
        throw std::runtime_error(why);
      calls->init(0);
      return *calls;
    }();
    return opened;
  }

  void SetUp() override { module = mgpuModuleLoadJIT((void *)kernels, 2); }
  void TearDown() override { mgpuModuleUnload(module); }

  void *function(const char *name) {
    return mgpuModuleGetFunction(module, name);
  }
  static void launch(void *function, unsigned grid, unsigned block,
                     std::vector<void *> arguments, int smem = 0,
                     void *stream = nullptr) {
    mgpuLaunchKernel(function, grid, 1, 1, block, 1, 1, smem, stream,
                     arguments.data(), nullptr, arguments.size());
  }
  /// Reads `count` integers of device memory.
  static std::vector<uint32_t> read(void *from, size_t count) {
    std::vector<uint32_t> values(count, 0xDEADu);
    mgpuMemcpy(values.data(), from, count * 4, nullptr);
    mgpuStreamSynchronize(nullptr);
    return values;
  }

  void *module = nullptr;
};

/// Expects that `statement` ends the process with status 1 and a line that
/// matches.
#define EXPECT_FAILS(statement, matcher)                                       \
  EXPECT_EXIT(statement, ::testing::ExitedWithCode(1), matcher)

#endif // FMHA_TEST_RUNTIME_MGPU_MGPUTEST_H
