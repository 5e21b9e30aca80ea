//===- Kernels.h - The PTX of the driver tests ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_DRIVER_KERNELS_H
#define FMHA_TEST_PTX_DRIVER_KERNELS_H

#include <algorithm>
#include <string>

inline const std::string kernels = R"(.version 8.6
.target sm_90
.address_size 64
.global .align 4 .u32 factor = 3;

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
done:
  ret;
}

.visible .entry scale(.param .u64 c, .param .u32 v)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [c];
  ld.param.u32 %r1, [v];
  mov.u64 %rd2, factor;
  ld.global.u32 %r2, [%rd2];
  mul.lo.u32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  ret;
}

.visible .entry outside(.param .u64 c, .param .u32 offset)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [c];
  ld.param.u32 %r1, [offset];
  cvt.u64.u32 %rd2, %r1;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1; // outside stores here
  ret;
}

.visible .entry waits()
{
  .shared .align 8 .b64 barrier;
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  mov.u32 %r1, barrier;
  mbarrier.init.shared::cta.b64 [%r1], 1;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra again;
  ret;
}

.visible .entry spins(.param .u64 flag)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%rd1], %r2;
  bra again;
}
)";

/// The 1-based line of `kernels` that holds `text`.
inline unsigned lineOf(const std::string &text) {
  auto end = kernels.begin() + std::ptrdiff_t(kernels.find(text));
  return 1 + unsigned(std::count(kernels.begin(), end, '\n'));
}

#endif // FMHA_TEST_PTX_DRIVER_KERNELS_H
