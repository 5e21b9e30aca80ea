//===- PairTest.cpp - Products of half height and of CTA pairs ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Product.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr unsigned n = 128, k = 64;

/// Shared memory: A 0, B 16384, barriers 32768 (TMA) and 32776 (MMA), address
/// of tensor memory 32792.
std::string setUp(const std::string &group, const std::string &everyone) {
  return R"(
setp.ne.u32 %p0, %r1, 0;
@%p0 bra ALLOCATED;
add.u32 %r3, %r2, 32792;
tcgen05.alloc.)" +
         group + R"(.sync.aligned.shared::cta.b32 [%r3], 128;
ALLOCATED:
setp.ne.u32 %p1, %r0, 0;
@%p1 bra INITIALIZED;
mbarrier.init.shared::cta.b64 [%r2+32768], 1;
mbarrier.init.shared::cta.b64 [%r2+32776], 1;
fence.mbarrier_init.release.cluster;
INITIALIZED:
tcgen05.fence::before_thread_sync;
bar.sync 0;
)" + everyone +
         R"(tcgen05.fence::after_thread_sync;
ld.shared.b32 %r4, [%r2+32792];
mov.b64 %q2, mapA;
cvta.param.u64 %q2, %q2;
mov.b64 %q3, mapB;
cvta.param.u64 %q3, %q3;
mov.u32 %r8, 0;
add.u32 %r9, %r2, 16384;
add.u32 %r10, %r2, 32768;
)";
}

std::string steps(const std::string &group, const std::string &instr) {
  std::string text = descriptor(4, 0, "0x4000404000010000") +
                     descriptor(5, 16384, "0x4000404000010000");
  for (unsigned step = 0; step < 4; ++step)
    text += "tcgen05.mma." + group + ".kind::f16 [%r4], %q4, %q5, " + instr +
            ", " + (step ? "1" : "0") +
            ";\nadd.u64 %q4, %q4, 2;\nadd.u64 %q5, %q5, 2;\n";
  return text;
}

const std::string clusterBarrier = "barrier.cluster.arrive.release.aligned;\n"
                                   "barrier.cluster.wait.acquire.aligned;\n";

const std::string parameters =
    ".param .align 64 .b8 mapA[128], .param .align 64 .b8 mapB[128], "
    ".param .u64 out";

/// M = 64: each warp holds 16 rows in the lower half of its lanes.
std::string halfHeight() {
  std::string text = setUp("cta_group::1", "") + R"(
@%p1 bra ISSUED;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+32768], 24576;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%q2, {%r8, %r8}], [%r10];
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r9], [%q3, {%r8, %r8}], [%r10];
)" + waitFor(32768, "0", "LOADED") +
                     steps("cta_group::1", "0x04200490") + R"(
add.u32 %r11, %r2, 32776;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r11];
ISSUED:
)" + waitFor(32776, "0", "DONE") +
                     R"(
tcgen05.fence::after_thread_sync;
shl.b32 %r5, %r1, 21;
add.u32 %r6, %r4, %r5;
)";
  text += "tcgen05.ld.sync.aligned.16x64b.x64.b32 " + registerList(100, 64) +
          R"(, [%r6];
tcgen05.wait::ld.sync.aligned;
and.b32 %r12, %r0, 31;
shr.u32 %r13, %r12, 2;
and.b32 %r14, %r12, 1;
shl.b32 %r14, %r14, 3;
add.u32 %r13, %r13, %r14;
shl.b32 %r14, %r1, 4;
add.u32 %r13, %r13, %r14;
shr.u32 %r15, %r12, 1;
and.b32 %r15, %r15, 1;
shl.b32 %r13, %r13, 7;
add.u32 %r13, %r13, %r15;
ld.param.u64 %q0, [out];
mul.wide.u32 %q1, %r13, 4;
add.u64 %q0, %q0, %q1;
)";
  for (unsigned i = 0; i < 64; ++i)
    text += "st.global.b32 [%q0+" + std::to_string(8 * i) + "], %r" +
            std::to_string(100 + i) + ";\n";
  return text + R"(
bar.sync 0;
@%p0 bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 128;
END:
)";
}

/// M = 256 over two CTAs: each loads half of A and half of B, both signal the
/// even CTA's barrier, which issues; the commit goes to both.
std::string pair() {
  std::string text = setUp("cta_group::2", clusterBarrier) + R"(
mov.u32 %r16, %cluster_ctarank;
setp.ne.u32 %p3, %r16, 0;
@%p1 bra ISSUED;
@%p3 bra LOAD;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+32768], 49152;
LOAD:
and.b32 %r10, %r10, 0xFEFFFFFF;
shl.b32 %r17, %r16, 7;
shl.b32 %r18, %r16, 6;
cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%q2, {%r8, %r17}], [%r10];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%r9], [%q3, {%r8, %r18}], [%r10];
@%p3 bra ISSUED;
)" + waitFor(32768, "0", "LOADED") +
                     steps("cta_group::2", "0x10200490") + R"(
add.u32 %r11, %r2, 32776;
mov.u16 %h1, 3;
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r11], %h1;
ISSUED:
)" + waitFor(32776, "0", "DONE") +
                     R"(
tcgen05.fence::after_thread_sync;
shl.b32 %r5, %r1, 21;
add.u32 %r6, %r4, %r5;
shl.b32 %r17, %r16, 7;
add.u32 %r17, %r17, %r0;
ld.param.u64 %q0, [out];
mul.wide.u32 %q1, %r17, 512;
add.u64 %q0, %q0, %q1;
)";
  text += "tcgen05.ld.sync.aligned.32x32b.x128.b32 " + registerList(100, 128) +
          ", [%r6];\ntcgen05.wait::ld.sync.aligned;\n";
  for (unsigned i = 0; i < 128; ++i)
    text += "st.global.b32 [%q0+" + std::to_string(4 * i) + "], %r" +
            std::to_string(100 + i) + ";\n";
  return text + clusterBarrier + R"(
@%p0 bra END;
tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r4, 128;
END:
)";
}

void check(unsigned m, unsigned boxA, unsigned boxB, const std::string &body,
           unsigned ctas) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Problem problem = makeProblem(seed, m, n, k, false);
  std::vector<Options> schedules = {optionsOf(Policy::Eager),
                                    optionsOf(Policy::Late)};
  for (uint64_t s = 0; s < 10; ++s)
    schedules.push_back(optionsOf(Policy::Random, s));
  for (const Options &options : schedules) {
    Device device;
    uint64_t a = device.allocate(problem.a.size() * 2);
    uint64_t b = device.allocate(problem.b.size() * 2);
    uint64_t out = device.allocate(m * n * 4);
    device.write(a, std::as_bytes(std::span(problem.a)));
    device.write(b, std::as_bytes(std::span(problem.b)));
    KernelRun run;
    run.text = kernelText(parameters, body);
    run.threads = 128;
    run.sharedBytes = 34816;
    run.parameters = {mapOf(a, k, m, boxA), mapOf(b, k, n, boxB), bytesOf(out)};
    run.options = options;
    run.ctas = ctas;
    if (ctas > 1)
      run.cluster = Dim3{ctas, 1, 1};
    LaunchResult result = launchOn(device, run);
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    std::vector<float> d(m * n);
    device.read(out, std::as_writable_bytes(std::span(d)));
    for (unsigned i = 0; i < m * n; ++i)
      ASSERT_LE(std::fabs(d[i] - problem.expected[i]),
                problem.magnitude[i] * (k + 1) * 0x1p-23)
          << "element " << i;
  }
}

TEST(Pair, HalfHeightUsesHalfTheLanes) { check(64, 64, 128, halfHeight(), 1); }

TEST(Pair, TwoCtasShareOneProduct) { check(256, 128, 64, pair(), 2); }

} // namespace
