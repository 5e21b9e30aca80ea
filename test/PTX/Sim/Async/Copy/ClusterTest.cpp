//===- ClusterTest.cpp - Copies and arrivals across a cluster -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

const std::string clusterBarrier = "barrier.cluster.arrive.release.aligned;\n"
                                   "barrier.cluster.wait.acquire.aligned;\n";

/// CTA 0 multicasts 256 bytes into both CTAs. CTA 1 sends 16 of them, with its
/// fence, into the shared memory of CTA 0 and arrives on a barrier there. CTA 0
/// writes what it got.
std::string exchangeText(const std::string &lastFence,
                         const std::string &arrival) {
  return R"(
setp.ne.u32 %p0, %r0, 0;
mov.u32 %r16, %cluster_ctarank;
setp.ne.u32 %p3, %r16, 0;
@%p0 bra READY;
mbarrier.init.shared::cta.b64 [%r2], 1;
mbarrier.init.shared::cta.b64 [%r2+8], 1;
mbarrier.init.shared::cta.b64 [%r2+16], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
@%p3 bra READY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8], 16;
READY:
)" + clusterBarrier +
         R"(
@%p0 bra END;
add.u32 %r3, %r2, 1024;
@%p3 bra SENT;
ld.param.u64 %q0, [in];
mov.u16 %h1, 3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%q0], 256, [%r2], %h1;
SENT:
)" + waitFor(0, "0", "LOADED") +
         R"(
@!%p3 bra RECEIVE;
ld.shared.u32 %r5, [%r3+240];
add.u32 %r5, %r5, 7;
st.shared.u32 [%r3+240], %r5;
)" + lastFence +
         R"(
add.u32 %r6, %r3, 240;
add.u32 %r7, %r2, 2048;
mapa.shared::cluster.u32 %r7, %r7, 0;
add.u32 %r8, %r2, 8;
mapa.shared::cluster.u32 %r8, %r8, 0;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r6], 16, [%r8];
add.u32 %r9, %r2, 16;
mapa.shared::cluster.u32 %r9, %r9, 0;
)" + arrival +
         R"(
bra END;
RECEIVE:
)" + waitFor(8, "0", "RECEIVED") +
         waitFor(16, "0", "ARRIVED") + R"(
ld.shared.u32 %r5, [%r2+2048];
ld.shared.u32 %r6, [%r2+2052];
ld.param.u64 %q1, [out];
st.global.u32 [%q1], %r5;
st.global.u32 [%q1+4], %r6;
END:
)" + clusterBarrier;
}

const std::string arrive =
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];\n";
const std::string fence = "fence.proxy.async.shared::cta;\n";

LaunchResult runExchange(const std::string &body, const Options &options,
                         std::array<uint32_t, 2> &got) {
  Device device;
  std::array<uint32_t, 64> in;
  for (uint32_t i = 0; i < 64; ++i)
    in[i] = 1000 + i;
  uint64_t source = device.allocate(256), out = device.allocate(8);
  device.write(source, std::as_bytes(std::span(in)));
  KernelRun run;
  run.text = kernelText(".param .u64 in, .param .u64 out", body);
  run.sharedBytes = 4096;
  run.parameters = {bytesOf(source), bytesOf(out)};
  run.options = options;
  run.ctas = 2;
  run.cluster = Dim3{2, 1, 1};
  LaunchResult result = launchOn(device, run);
  device.read(out, std::as_writable_bytes(std::span(got)));
  return result;
}

TEST(ClusterCopies, MulticastExchangeAndRemoteArrival) {
  std::vector<Options> schedules = {optionsOf(Policy::Eager),
                                    optionsOf(Policy::Late)};
  for (uint64_t s = 0; s < 10; ++s)
    schedules.push_back(optionsOf(Policy::Random, s));
  for (const Options &options : schedules) {
    std::array<uint32_t, 2> got{};
    LaunchResult result =
        runExchange(exchangeText(fence, arrive), options, got);
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    EXPECT_EQ(got[0], 1060u + 7);
    EXPECT_EQ(got[1], 1061u);
  }
}

TEST(ClusterCopies, AMissingFenceOrArrivalIsFound) {
  std::array<uint32_t, 2> got{};
  LaunchResult noFence =
      runExchange(exchangeText("", arrive), optionsOf(Policy::Eager), got);
  EXPECT_TRUE(idsOf(noFence).count("missing-proxy-fence")) << textOf(noFence);
  LaunchResult noArrival =
      runExchange(exchangeText(fence, ""), optionsOf(Policy::Eager), got);
  EXPECT_EQ(noArrival.status, Status::Deadlock) << textOf(noArrival);
}

} // namespace
