//===- MmaSpeed.cpp - Floating-point operations per second ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of tcgen05.mma back to back, bf16 in shared memory into f32, one
// core: fast and exact sums, with and without checks. The counter is 2 * M * N
// * K per second of the launch, allocation and commit included.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

using namespace ptxsim;

namespace {

constexpr unsigned kM = 128, kK = 16, kUnrolled = 16, kRounds = 8;

/// A at byte 0 of shared memory, B at 16384: four K steps of 16 in tiles of 64,
/// K-major with the 128-byte swizzle.
std::string kernel(unsigned n) {
  uint32_t instruction =
      1u << 4 | 1u << 7 | 1u << 10 | n / 8 << 17 | kM / 16 << 24;
  std::string text =
      ".version 8.8\n.target sm_100a\n.address_size 64\n"
      ".extern .shared .align 1024 .b8 smem[];\n"
      ".visible .entry k(.param .u64 out)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<8>;\n"
      "mov.u32 %r1, %tid.x; mov.u32 %r2, smem;\n"
      // Ones in every element, written by the CTA of 32 threads.
      "shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0;\n"
      "mov.u32 %r5, 0x3f803f80;\n"
      "FILL: st.shared.v4.b32 [%r3], {%r5, %r5, %r5, %r5};\n"
      "add.u32 %r3, %r3, 512; add.u32 %r4, %r4, 1;\n"
      "setp.lt.u32 %p1, %r4, 96; @%p1 bra FILL;\n"
      "add.u32 %r6, %r2, 49160;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 512;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "setp.ne.u32 %p0, %r1, 0; @%p0 bra READY;\n"
      "mbarrier.init.shared::cta.b64 [%r2+49152], 1;\nREADY:\n"
      "fence.proxy.async.shared::cta; bar.sync 0;\n"
      "ld.shared.b32 %r4, [%r6]; @%p0 bra ISSUED;\n"
      "shr.u32 %r7, %r2, 4; cvt.u64.u32 %rd1, %r7;\n"
      "or.b64 %rd1, %rd1, 0x4000404000010000; add.u64 %rd2, %rd1, 1024;\n"
      "mov.u32 %r8, 0; setp.ne.u32 %p2, %r8, 0;\nLOOP:\n";
  for (unsigned i = 0; i < kUnrolled; ++i) {
    std::string step = std::to_string(i % 4 * 2);
    text += "add.u64 %rd3, %rd1, " + step + "; add.u64 %rd4, %rd2, " + step +
            ";\ntcgen05.mma.cta_group::1.kind::f16 [%r4], %rd3, %rd4, " +
            std::to_string(instruction) + ", %p2;\n" +
            (i ? "" : "setp.eq.u32 %p2, %r1, 0;\n");
  }
  return text + "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, " +
         std::to_string(kRounds) +
         "; @%p1 bra LOOP;\n"
         "add.u32 %r7, %r2, 49152;\n"
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
         ".b64 [%r7];\nISSUED:\n"
         "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+49152], 0;\n"
         "@!%p3 bra WAIT;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 512;\nret;\n}\n";
}

void run(benchmark::State &state, unsigned n, MmaMode mma, const char *checks) {
  Module module = Module::parse(kernel(n), "speed.ptx");
  Device device;
  LaunchConfig config;
  config.entry = "k";
  config.block = {32, 1, 1};
  config.dynamicSharedBytes = 49168;
  config.parameters = {std::vector<uint8_t>(8)};
  Options options;
  options.checks = {checks};
  options.mma = mma;
  double operations = 0;
  for (auto _ : state) {
    LaunchResult result = launch(device, module, config, options);
    if (result.status != Status::Ok)
      state.SkipWithError("the kernel raised findings");
    operations += 2.0 * kM * n * kK * kUnrolled * kRounds;
  }
  state.counters["FLOP"] =
      benchmark::Counter(operations, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(run, fast_n128_unchecked, 128, MmaMode::Fast, "none");
BENCHMARK_CAPTURE(run, fast_n128_checked, 128, MmaMode::Fast, "all");
BENCHMARK_CAPTURE(run, fast_n256_unchecked, 256, MmaMode::Fast, "none");
BENCHMARK_CAPTURE(run, fast_n256_checked, 256, MmaMode::Fast, "all");
BENCHMARK_CAPTURE(run, exact_n128_unchecked, 128, MmaMode::Exact, "none");
BENCHMARK_CAPTURE(run, exact_n256_unchecked, 256, MmaMode::Exact, "none");

} // namespace

BENCHMARK_MAIN();
