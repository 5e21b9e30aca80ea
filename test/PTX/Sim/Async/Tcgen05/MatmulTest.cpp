//===- MatmulTest.cpp - Products through TMA and the tensor core ----------===//
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

constexpr unsigned m = 128, n = 128, k = 64;

/// Shared memory: A 0, B 16384, barriers 32768 (TMA), 32776 (MMA), 32784 (A in
/// tensor memory), address of tensor memory 32792.
const std::string setUp = R"(
setp.ne.u32 %p0, %r1, 0;
@%p0 bra ALLOCATED;
add.u32 %r3, %r2, 32792;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 256;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
setp.ne.u32 %p1, %r0, 0;
@%p1 bra INITIALIZED;
mbarrier.init.shared::cta.b64 [%r2+32768], 1;
mbarrier.init.shared::cta.b64 [%r2+32776], 1;
mbarrier.init.shared::cta.b64 [%r2+32784], 128;
fence.mbarrier_init.release.cluster;
INITIALIZED:
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r4, [%r2+32792];
)";

/// Every thread stores its row of D; then the memory is given back.
std::string epilogue() {
  std::string text = waitFor(32776, "0", "DONE") + R"(
tcgen05.fence::after_thread_sync;
shl.b32 %r5, %r1, 21;
add.u32 %r6, %r4, %r5;
ld.param.u64 %q0, [out];
mul.wide.u32 %q1, %r0, 512;
add.u64 %q0, %q0, %q1;
)";
  text += "tcgen05.ld.sync.aligned.32x32b.x128.b32 " + registerList(100, 128) +
          ", [%r6];\ntcgen05.wait::ld.sync.aligned;\n";
  for (unsigned i = 0; i < 128; ++i)
    text += "st.global.b32 [%q0+" + std::to_string(4 * i) + "], %r" +
            std::to_string(100 + i) + ";\n";
  return text + R"(
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p0 bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 256;
END:
)";
}

const std::string parameters =
    ".param .align 64 .b8 mapA[128], .param .align 64 .b8 mapB[128], "
    ".param .u64 rowsA, .param .u64 out";

/// A and B by TMA, both K-major; four K steps of 16.
std::string bothInShared() {
  std::string text = setUp + R"(
@%p1 bra ISSUED;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+32768], 32768;
mov.b64 %q2, mapA;
cvta.param.u64 %q2, %q2;
mov.b64 %q3, mapB;
cvta.param.u64 %q3, %q3;
mov.u32 %r8, 0;
add.u32 %r9, %r2, 16384;
add.u32 %r10, %r2, 32768;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%q2, {%r8, %r8}], [%r10];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r9], [%q3, {%r8, %r8}], [%r10], 0;
)" + waitFor(32768, "0", "LOADED") +
                     descriptor(4, 0, "0x4000404000010000") +
                     descriptor(5, 16384, "0x4000404000010000");
  for (unsigned step = 0; step < 4; ++step)
    text += "setp.ne.u32 %p2, " + std::to_string(step) +
            ", 0;\ntcgen05.mma.cta_group::1.kind::f16 [%r4], %q4, %q5, "
            "0x08200490, %p2;\nadd.u64 %q4, %q4, 2;\nadd.u64 %q5, %q5, 2;\n";
  return text + R"(
add.u32 %r11, %r2, 32776;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r11];
ISSUED:
)" + epilogue();
}

/// A from registers into tensor memory (columns 128..159), as P of an
/// attention kernel; B with N contiguous, as V.
std::string aInTensorMemory() {
  std::string text = setUp + R"(
@%p1 bra LOADING;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+32768], 16384;
mov.b64 %q3, mapB;
cvta.param.u64 %q3, %q3;
mov.u32 %r8, 0;
mov.u32 %r12, 64;
add.u32 %r9, %r2, 16384;
add.u32 %r10, %r2, 32768;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r9], [%q3, {%r8, %r8}], [%r10];
add.u32 %r9, %r2, 24576;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r9], [%q3, {%r12, %r8}], [%r10];
LOADING:
ld.param.u64 %q6, [rowsA];
mul.wide.u32 %q7, %r0, 128;
add.u64 %q6, %q6, %q7;
shl.b32 %r5, %r1, 21;
add.u32 %r6, %r4, %r5;
add.u32 %r6, %r6, 128;
)";
  for (unsigned i = 0; i < 32; ++i)
    text += "ld.global.b32 %r" + std::to_string(300 + i) + ", [%q6+" +
            std::to_string(4 * i) + "];\n";
  text += "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r6], " +
          registerList(300, 32) + R"(;
tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync;
mbarrier.arrive.shared::cta.b64 _, [%r2+32784];
@%p1 bra ISSUED;
)" + waitFor(32768, "0", "LOADED") +
          waitFor(32784, "0", "STORED") +
          "tcgen05.fence::after_thread_sync;\n" +
          descriptor(5, 16384, "0x4000404002000000");
  for (unsigned step = 0; step < 4; ++step)
    text += "tcgen05.mma.cta_group::1.kind::f16 [%r4], [%r4+" +
            std::to_string(128 + 8 * step) + "], %q5, 0x08210490, " +
            (step ? "1" : "0") + ";\nadd.u64 %q5, %q5, 128;\n";
  return text + R"(
add.u32 %r11, %r2, 32776;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r11];
ISSUED:
)" + epilogue();
}

struct Outcome {
  LaunchResult result;
  std::vector<float> d;
};

Outcome runProblem(const Problem &problem, const std::string &body,
                   bool bTransposed, const Options &options) {
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
  run.parameters = {mapOf(a, k, m, 128),
                    bTransposed ? mapOf(b, n, k, 64) : mapOf(b, k, n, 128),
                    bytesOf(a), bytesOf(out)};
  run.options = options;
  Outcome outcome;
  outcome.result = launchOn(device, run);
  outcome.d.resize(m * n);
  device.read(out, std::as_writable_bytes(std::span(outcome.d)));
  return outcome;
}

/// Every product within the rounding of 64 sums in f32, no findings, and the
/// same bits whatever the order of completion.
void checkAllSchedules(const std::string &body, bool bTransposed, MmaMode mma) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Problem problem = makeProblem(seed, m, n, k, bTransposed);
  std::vector<Options> schedules = {optionsOf(Policy::Eager),
                                    optionsOf(Policy::Late)};
  for (uint64_t s = 0; s < 10; ++s)
    schedules.push_back(optionsOf(Policy::Random, s));
  std::vector<float> first;
  for (Options &options : schedules) {
    options.mma = mma;
    Outcome outcome = runProblem(problem, body, bTransposed, options);
    ASSERT_EQ(outcome.result.status, Status::Ok) << textOf(outcome.result);
    for (unsigned i = 0; i < m * n; ++i)
      ASSERT_LE(std::fabs(outcome.d[i] - problem.expected[i]),
                problem.magnitude[i] * (k + 1) * 0x1p-23)
          << "element " << i;
    if (first.empty())
      first = outcome.d;
    ASSERT_EQ(0, std::memcmp(first.data(), outcome.d.data(), m * n * 4));
  }
}

TEST(Matmul, BothOperandsInSharedMemory) {
  checkAllSchedules(bothInShared(), false, MmaMode::Fast);
}

TEST(Matmul, AInTensorMemoryAndBTransposed) {
  checkAllSchedules(aInTensorMemory(), true, MmaMode::Fast);
}

TEST(Matmul, ExactSums) {
  checkAllSchedules(bothInShared(), false, MmaMode::Exact);
}

std::string without(std::string text, const std::string &part) {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}

/// The ids found when a part of the kernel is deleted, over all policies.
std::set<std::string> idsWithout(const std::string &body, bool bTransposed,
                                 const std::string &part) {
  Problem problem = makeProblem(7, m, n, k, bTransposed);
  std::set<std::string> ids;
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    Outcome outcome = runProblem(problem, without(body, part), bTransposed,
                                 optionsOf(policy, 3));
    for (const std::string &id : idsOf(outcome.result))
      ids.insert(id);
  }
  return ids;
}

TEST(Matmul, DeletedSynchronizationIsFound) {
  std::string loaded = "@!%p31 bra LOADED;\n", done = "@!%p31 bra DONE;\n";
  EXPECT_TRUE(
      idsWithout(bothInShared(), false, loaded).count("async-write-in-flight"));
  EXPECT_TRUE(idsWithout(bothInShared(), false, done).count("tmem-in-flight"));
  EXPECT_TRUE(
      idsWithout(aInTensorMemory(), true, "tcgen05.wait::st.sync.aligned;\n")
          .count("tmem-in-flight"));
  EXPECT_TRUE(
      idsWithout(bothInShared(), false, "tcgen05.wait::ld.sync.aligned;\n")
          .count("tcgen05-ld-register-before-wait"));
  EXPECT_TRUE(
      idsWithout(bothInShared(), false,
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 256;\n")
          .count("tmem-leak"));
}

TEST(Matmul, EnablingAFreshAccumulatorIsFound) {
  std::string body = bothInShared();
  size_t at = body.find("setp.ne.u32 %p2, 0, 0;");
  ASSERT_NE(at, std::string::npos);
  body.replace(at, 22, "setp.eq.u32 %p2, 0, 0;");
  Outcome outcome = runProblem(makeProblem(7, m, n, k, false), body, false,
                               optionsOf(Policy::Eager));
  EXPECT_TRUE(idsOf(outcome.result).count("tmem-uninit"));
}

} // namespace
