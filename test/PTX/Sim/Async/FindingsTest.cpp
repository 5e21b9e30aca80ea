//===- FindingsTest.cpp - Each finding and its repaired twin --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Two bodies of a kernel that differ in one mistake.
struct Twin {
  const char *id;
  std::string wrong, right;
  Policy policy = Policy::Eager;
  unsigned threads = 32;
};

/// Kernels get a buffer of 4096 initialized bytes and a map over it: 32 x 32
/// of u32, box 32 x 8; after `before` rows that precede the buffer.
LaunchResult runBody(const std::string &body, Policy policy, unsigned threads,
                     unsigned before = 0) {
  Device device;
  uint64_t buffer = device.allocate(4096);
  device.fill(buffer, std::byte{1}, 4096);
  TiledParams p;
  p.dataType = unsigned(MapType::U32);
  p.rank = 2;
  p.address = buffer - before * 128;
  p.dims = {32, 32 + before};
  p.strides = {0, 128};
  p.box = {32, 8};
  p.elementStrides = {1, 1};
  std::array<uint8_t, 128> map{};
  EXPECT_FALSE(encodeTiled(p, map));
  KernelRun run;
  run.text = kernelText(".param .align 64 .b8 map[128], .param .u64 buffer",
                        "ld.param.u64 %q0, [buffer];\nmov.b64 %q1, map;\n"
                        "cvta.param.u64 %q1, %q1;\nsetp.ne.u32 %p0, %r0, 0;\n"
                        "add.u32 %r3, %r2, 1024;\nmov.u32 %r4, 0;\n" +
                            body);
  run.threads = threads;
  run.parameters = {{map.begin(), map.end()}, bytesOf(buffer)};
  run.options = optionsOf(policy);
  return launchOn(device, run);
}

void check(const Twin &twin) {
  SCOPED_TRACE(twin.id);
  LaunchResult wrong = runBody(twin.wrong, twin.policy, twin.threads);
  EXPECT_TRUE(idsOf(wrong).count(twin.id)) << "got:\n" << textOf(wrong);
  for (const Finding &finding : wrong.findings) {
    EXPECT_GT(finding.ptxLine, 0u) << finding.id;
    EXPECT_GT(finding.message.size(), 20u) << finding.id;
  }
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    LaunchResult right = runBody(twin.right, policy, twin.threads);
    EXPECT_EQ(right.status, Status::Ok) << textOf(right);
  }
}

/// Only thread 0 executes the text.
std::string once(const std::string &text) {
  return "@%p0 bra SKIP;\n" + text + "SKIP:\nbar.sync 0;\n";
}

/// Only thread 1 does, and no other thread waits for it.
std::string second(const std::string &text) {
  return "setp.ne.u32 %p9, %r0, 1;\n@%p9 bra OTHERS;\n" + text + "OTHERS:\n";
}

const std::string init1 = "mbarrier.init.shared::cta.b64 [%r2], 1;\n"
                          "fence.mbarrier_init.release.cluster;\n";
const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r2];\n";

TEST(Findings, Mbarrier) {
  std::vector<Twin> twins = {
      {"mbarrier-not-initialised", once(arrive), once(init1 + arrive)},
      {"mbarrier-arrive-underflow",
       once(init1 + "mbarrier.arrive.shared::cta.b64 _, [%r2], 2;\n"),
       once("mbarrier.init.shared::cta.b64 [%r2], 2;\n"
            "mbarrier.arrive.shared::cta.b64 _, [%r2], 2;\n")},
      {"mbarrier-count",
       once("mbarrier.init.shared::cta.b64 [%r2], 1048576;\n"),
       once("mbarrier.init.shared::cta.b64 [%r2], 1048575;\n")},
      {"mbarrier-tx-range",
       once(init1 +
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 1048575;\n"
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 1;\n"),
       once(init1 +
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 1048575;\n"
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], "
            "1048575;\n")},
      {"mbarrier-drops-last",
       once(init1 + "mbarrier.arrive_drop.shared::cta.b64 _, [%r2];\n"),
       once("mbarrier.init.shared::cta.b64 [%r2], 2;\n"
            "mbarrier.arrive_drop.shared::cta.b64 _, [%r2];\n")},
      {"mbarrier-reinit", once(init1 + init1),
       once(init1 + "mbarrier.inval.shared::cta.b64 [%r2];\n" + init1)},
      {"mbarrier-live-access", once(init1 + "ld.shared.b32 %r5, [%r2];\n"),
       once(init1 + "mbarrier.inval.shared::cta.b64 [%r2];\n"
                    "ld.shared.b32 %r5, [%r2];\n")},
      {"mbarrier-tx-left",
       once(init1 +
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"),
       once(init1 + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"
                    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], "
                    "16;\n")},
      {"mbarrier-arrivals-left",
       once("mbarrier.init.shared::cta.b64 [%r2], 2;\n"
            "mbarrier.arrive.shared::cta.b64 _, [%r2];\n"),
       once("mbarrier.init.shared::cta.b64 [%r2], 2;\n"
            "mbarrier.arrive.shared::cta.b64 _, [%r2];\n"
            "mbarrier.inval.shared::cta.b64 [%r2];\n")},
      // Who drops out of a phase leaves nothing that somebody waits for.
      {"mbarrier-arrivals-left",
       once("mbarrier.init.shared::cta.b64 [%r2], 3;\n"
            "mbarrier.arrive_drop.shared::cta.b64 _, [%r2];\n"
            "mbarrier.arrive.shared::cta.b64 _, [%r2];\n"),
       once("mbarrier.init.shared::cta.b64 [%r2], 3;\n"
            "mbarrier.arrive_drop.shared::cta.b64 _, [%r2];\n")},
  };
  for (const Twin &twin : twins)
    check(twin);
}

const std::string load =
    init1 + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;\n"
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
            "[%r3], [%q0], 256, [%r2];\n";
const std::string useLoad = "ld.shared.b32 %r5, [%r3];\n";
const std::string write = "st.shared.b64 [%r3], %q0;\n"
                          "st.shared.b64 [%r3+8], %q0;\n";
const std::string fence = "fence.proxy.async.shared::cta;\n";
const std::string store =
    "cp.async.bulk.global.shared::cta.bulk_group [%q0], [%r3], 16;\n"
    "cp.async.bulk.commit_group;\n";
const std::string drain = "cp.async.bulk.wait_group.read 0;\n";

TEST(Findings, BulkCopies) {
  std::vector<Twin> twins = {
      {"async-write-in-flight", once(load + useLoad + waitFor(0, "0", "L0")),
       once(load + waitFor(0, "0", "L0") + useLoad), Policy::Late},
      {"async-read-in-flight", once(write + fence + store + write + drain),
       once(write + fence + store + drain + write), Policy::Late},
      {"missing-proxy-fence", once(write + store + drain),
       once(write + fence + store + drain)},
      {"uninit-shared", once(fence + store + drain),
       once(write + fence + store + drain)},
      {"bulk-operand",
       once(write + fence +
            "cp.async.bulk.global.shared::cta.bulk_group [%q0], [%r3], 8;\n" +
            "cp.async.bulk.commit_group;\n" + drain),
       once(write + fence + store + drain)},
      // The fence of a thread that has not met the writer cleans nothing.
      {"missing-proxy-fence",
       second(write) + "@!%p0 " + fence + "bar.sync 0;\n" + once(store + drain),
       second(write + fence) + "bar.sync 0;\n" + once(store + drain)},
      {"missing-proxy-fence",
       second(write) + "@!%p0 " + fence + "bar.sync 0;\n" + once(store + drain),
       second(write) + "bar.sync 0;\n" + once(fence + store + drain)},
  };
  for (const Twin &twin : twins)
    check(twin);
}

std::string tensorLoad(const std::string &first, const std::string &map,
                       const std::string &target) {
  return once(init1 +
              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], "
              "1024;\nmov.u32 %r6, " +
              first +
              ";\ncp.async.bulk.tensor.2d.shared::cluster.global.tile."
              "mbarrier::complete_tx::bytes [" +
              target + "], [" + map + ", {%r6, %r4}], [%r2];\n" +
              waitFor(0, "0", "L0"));
}

std::string tensorStore(const std::string &row) {
  std::string text;
  for (unsigned at = 0; at < 1024; at += 8)
    text += "st.shared.b64 [%r3+" + std::to_string(at) + "], %q0;\n";
  return once(text + fence + "mov.u32 %r6, " + row +
              ";\ncp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%q1, "
              "{%r4, %r6}], [%r3];\ncp.async.bulk.commit_group;\n"
              "cp.async.bulk.wait_group 0;\n");
}

TEST(Findings, TensorCopies) {
  std::string good = tensorLoad("0", "%q1", "%r3");
  std::vector<Twin> twins = {
      {"tma-inner-unaligned", tensorLoad("3", "%q1", "%r3"),
       tensorLoad("4", "%q1", "%r3")},
      {"tma-bad-map", tensorLoad("0", "%q0", "%r3"), good},
      {"tma-shared-alignment", tensorLoad("0", "%q1", "%r3+16"), good},
      {"tma-negative-store", tensorStore("-1"), tensorStore("28")},
      {"out-of-bounds", tensorLoad("0", "%q1", "%r3+64512"), good},
  };
  for (const Twin &twin : twins)
    check(twin);
  // Beyond the tensor a load fills and a barrier still counts the whole box.
  check({"mbarrier-tx-left",
         once(init1 + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], "
                      "1040;\n"
                      "cp.async.bulk.tensor.2d.shared::cta.global."
                      "mbarrier::complete_tx::bytes [%r3], [%q1, {%r4, 30}], "
                      "[%r2];\n"),
         tensorLoad("-4", "%q1", "%r3")});
}

std::string loadOfRow(int row) {
  return once(init1 +
              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;\n"
              "cp.async.bulk.tensor.2d.shared::cluster.global.tile."
              "mbarrier::complete_tx::bytes [%r3], [%q1, {%r4, " +
              std::to_string(row) + "}], [%r2];\n" + waitFor(0, "0", "L0"));
}

// The rows of the map before the buffer are in no allocation. Recorded on an
// H200 with scripts/probes/tma_outside.cu.
TEST(Findings, BoxesOutsideAMapThatBeginsNowhere) {
  const unsigned before = 64;
  for (int row : {96, 1000, -8}) {
    LaunchResult wrong =
        runBody(loadOfRow(row), Policy::Eager, /*threads=*/32, before);
    ASSERT_EQ(wrong.findings.size(), 1u) << row << "\n" << textOf(wrong);
    EXPECT_EQ(wrong.findings[0].id, std::string("out-of-bounds"));
    EXPECT_NE(wrong.findings[0].message.find("wholly outside"),
              std::string::npos);
    // In a map that begins in the buffer they are zeros.
    LaunchResult right = runBody(loadOfRow(row), Policy::Eager, 32);
    EXPECT_EQ(right.status, Status::Ok) << row << "\n" << textOf(right);
  }
  for (int row : {64, 88, 95}) {
    LaunchResult right = runBody(loadOfRow(row), Policy::Eager, 32, before);
    EXPECT_EQ(right.status, Status::Ok) << row << "\n" << textOf(right);
  }
  LaunchResult store = runBody(tensorStore("96"), Policy::Eager, 32, before);
  EXPECT_EQ(store.status, Status::Ok) << textOf(store);
}

std::string alloc(const std::string &columns) {
  return "mov.u32 %r8, " + columns +
         ";\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], "
         "%r8;\nbar.sync 0;\nld.shared.b32 %r9, [%r3];\n";
}
std::string dealloc(const std::string &columns) {
  return "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, " + columns +
         ";\n";
}
const std::string loadTmem = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, ";
const std::string storeTmem = "tcgen05.st.sync.aligned.32x32b.x1.b32 ";
const std::string waitLoad = "tcgen05.wait::ld.sync.aligned;\n";
const std::string waitStore = "tcgen05.wait::st.sync.aligned;\n";
const std::string stored = storeTmem + "[%r9], {%r0};\n" + waitStore;
const std::string loaded = loadTmem + "[%r9];\n" + waitLoad;

std::string around(const std::string &text) {
  return alloc("32") + text + dealloc("32");
}

TEST(Findings, TensorMemoryAllocation) {
  std::string relinquish =
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";
  std::string good = around("");
  std::vector<Twin> twins = {
      {"allocation_granularity_invalid", alloc("48"), good},
      {"phase_invalid_during_alloc", relinquish + good, good + relinquish},
      {"tmem-leak", alloc("32"), good},
      {"tmem-alloc-grows",
       alloc("32") + "mov.u32 %r20, %r9;\n" + alloc("64") + dealloc("64") +
           "mov.u32 %r9, %r20;\n" + dealloc("32"),
       alloc("64") + "mov.u32 %r20, %r9;\n" + alloc("32") + dealloc("32") +
           "mov.u32 %r9, %r20;\n" + dealloc("64")},
      {"col_being_dealloced_not_returned_by_alloc",
       alloc("64") + "add.u32 %r9, %r9, 32;\n" + dealloc("32"), good},
      {"unallocated_columns_being_dealloced", good + dealloc("32"), good},
      {"cta-group-mixed",
       alloc("32") + "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r9, 32;\n",
       good},
  };
  for (const Twin &twin : twins)
    check(twin);
}

TEST(Findings, TensorMemoryAccess) {
  std::string good = around(stored + loaded);
  std::vector<Twin> twins = {
      {"unallocated_columns_access",
       around(storeTmem + "[%r9+32], {%r0};\n" + waitStore), good},
      {"access_out_of_physical_bounds", around("mov.u32 %r9, 512;\n" + stored),
       good},
      {"current_warp_owner_invalid",
       around("add.u32 %r11, %r9, 0x200000;\n" + storeTmem +
              "[%r11], {%r0};\n" + waitStore),
       good},
      {"invalid_datapath_alignment",
       around("add.u32 %r11, %r9, 0x100000;\n" + storeTmem +
              "[%r11], {%r0};\n" + waitStore),
       good},
      {"tmem-uninit", around(loaded), good},
      {"tmem-in-flight",
       around(storeTmem + "[%r9], {%r0};\n" + loaded + waitStore), good},
      {"tmem-write-under-read",
       around(stored + loadTmem + "[%r9];\n" + stored + waitLoad),
       around(stored + loaded + stored)},
      {"tcgen05-ld-register-before-wait",
       around(stored + loadTmem + "[%r9];\nadd.u32 %r12, %r10, 1;\n" +
              waitLoad),
       around(stored + loaded + "add.u32 %r12, %r10, 1;\n")},
      {"tmem-dealloc-in-flight",
       alloc("32") + storeTmem + "[%r9], {%r0};\n" + dealloc("32") + waitStore,
       good},
  };
  for (const Twin &twin : twins)
    check(twin);
}

TEST(Findings, InPracticeALoadNeedsNoWait) {
  std::string body =
      around(stored + loadTmem + "[%r9];\nadd.u32 %r12, %r10, 1;\n" + stored);
  Device device;
  KernelRun run;
  run.text = kernelText("", "add.u32 %r3, %r2, 1024;\n" + body);
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    run.options = optionsOf(policy);
    run.options.conformance = Conformance::Practice;
    LaunchResult result = launchOn(device, run);
    EXPECT_EQ(result.status, Status::Ok) << textOf(result);
  }
}

/// A and B are 128 x 16 of zeros at %r2 + 4096, written and fenced by all.
std::string mma(const std::string &a, const std::string &instr,
                const std::string &beforeDealloc = waitFor(0, "0", "L0")) {
  std::string zero = "mov.b64 %q2, 0;\nshl.b32 %r12, %r0, 7;\n"
                     "add.u32 %r12, %r12, %r2;\n";
  for (unsigned at = 0; at < 128; at += 8)
    zero += "st.shared.b64 [%r12+" + std::to_string(4096 + at) + "], %q2;\n";
  return zero + fence + alloc("256") + "@%p0 bra READY;\n" + init1 +
         "READY:\nbar.sync 0;\n@%p0 bra ISSUED;\n"
         "add.u32 %r13, %r2, 4096;\nshr.u32 %r13, %r13, 4;\n"
         "and.b32 %r13, %r13, 0x3fff;\n"
         "cvt.u64.u32 %q3, %r13;\nor.b64 %q4, %q3, " +
         a +
         ";\nor.b64 %q5, %q3, 0x0000400800800000;\n"
         "tcgen05.mma.cta_group::1.kind::f16 [%r9], %q4, %q5, " +
         instr +
         ", 0;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one."
         "shared::cluster.b64 [%r2];\nISSUED:\n" +
         beforeDealloc + "bar.sync 0;\n" + dealloc("256");
}

TEST(Findings, TensorCore) {
  const std::string plain = "0x0000400800800000", bf16 = "0x08200490";
  std::string good = mma(plain, bf16);
  std::vector<Twin> twins = {
      {"mma-smem-descriptor", mma("0x0000000800800000", bf16), good},
      {"mma-smem-descriptor", mma("0x6000400800800000", bf16), good},
      {"mma-instruction-descriptor", mma(plain, "0x08200c90"), good},
      {"mma-instruction-descriptor", mma(plain, "0x18200490"), good},
      {"sparse_mismatch_between_idesc_mod", mma(plain, "0x08200494"), good},
      {"access_out_of_physical_bounds",
       "mov.u32 %r30, 0;\n" +
           mma(plain, bf16)
               .replace(mma(plain, bf16).find("kind::f16 [%r9]"), 15,
                        "kind::f16 [480]"),
       good},
      {"out-of-bounds", mma("0x0000500000800000", bf16), good},
      {"tmem-dealloc-in-flight", mma(plain, bf16, ""), good, Policy::Late},
  };
  for (const Twin &twin : twins)
    check(twin);
}

TEST(Findings, RegisterPool) {
  check({"setmaxnreg-pool", "setmaxnreg.inc.sync.aligned.u32 24;\n",
         "setmaxnreg.dec.sync.aligned.u32 24;\n"
         "setmaxnreg.inc.sync.aligned.u32 104;\n"});
}

TEST(Findings, ADeadlockNamesTheBarrier) {
  LaunchResult result =
      runBody(once(init1 +
                   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 48;\n"
                   "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], "
                   "16;\n" +
                   waitFor(0, "0", "L0")),
              Policy::Eager, 32);
  ASSERT_EQ(result.status, Status::Deadlock) << textOf(result);
  std::string text = textOf(result);
  EXPECT_NE(text.find("phase 0"), std::string::npos) << text;
  EXPECT_NE(text.find("tx 32"), std::string::npos) << text;
  EXPECT_NE(text.find("expect_tx 48"), std::string::npos) << text;
}

} // namespace

TEST(Findings, MalformedRepetitionsAreUnsupported) {
  for (const char *shape :
       {"32x32b.x", "32x32b.xb32b", "32x32b.x3", "32x32b.x2147483648",
        "32x32b.x99999999999", "16x256b.x1x", "x4"}) {
    Device device;
    std::string opcode = "tcgen05.ld.sync.aligned." + std::string(shape);
    try {
      launchOn(device, {.text = kernelText("", opcode + ".b32 {%r3}, [%r2];")});
      ADD_FAILURE() << "accepted " << opcode;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, Error::Kind::Unsupported) << error.what();
    }
  }
}
