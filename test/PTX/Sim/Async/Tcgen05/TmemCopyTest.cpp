//===- TmemCopyTest.cpp - tcgen05.cp --------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Thread t writes row t of 16 bytes, 4 * t + c in word c; the copy and a load
/// bring them back through tensor memory.
std::string copyText(const std::string &shape, const std::string &fence) {
  return R"(
setp.ne.u32 %p0, %r1, 0;
setp.ne.u32 %p1, %r0, 0;
@%p0 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2+64], 32;
ALLOCATED:
@%p1 bra INITIALIZED;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
INITIALIZED:
shl.b32 %r3, %r0, 4;
add.u32 %r3, %r3, %r2;
shl.b32 %r4, %r0, 2;
add.u32 %r5, %r4, 1;
add.u32 %r6, %r4, 2;
add.u32 %r7, %r4, 3;
st.shared.v4.b32 [%r3+4096], {%r4, %r5, %r6, %r7};
)" + fence +
         R"(
bar.sync 0;
ld.shared.b32 %r9, [%r2+64];
@%p1 bra ISSUED;
add.u32 %r13, %r2, 4096;
shr.u32 %r13, %r13, 4;
and.b32 %r13, %r13, 0x3fff;
cvt.u64.u32 %q3, %r13;
or.b64 %q3, %q3, 0x0000400800010000;
tcgen05.cp.cta_group::1.)" +
         shape + R"( [%r9], %q3;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];
ISSUED:
)" + waitFor(0, "0", "DONE") +
         R"(
tcgen05.fence::after_thread_sync;
shl.b32 %r10, %r1, 21;
add.u32 %r10, %r10, %r9;
tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20, %r21, %r22, %r23}, [%r10];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %q0, [out];
mul.wide.u32 %q1, %r0, 16;
add.u64 %q0, %q0, %q1;
st.global.v4.b32 [%q0], {%r20, %r21, %r22, %r23};
bar.sync 0;
@%p0 bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;
END:
)";
}

LaunchResult runCopy(const std::string &body, Policy policy,
                     std::vector<uint32_t> &got) {
  Device device;
  uint64_t out = device.allocate(128 * 16);
  KernelRun run;
  run.text = kernelText(".param .u64 out", body);
  run.threads = 128;
  run.sharedBytes = 8192;
  run.parameters = {bytesOf(out)};
  run.options = optionsOf(policy);
  LaunchResult result = launchOn(device, run);
  got.resize(128 * 4);
  device.read(out, std::as_writable_bytes(std::span(got)));
  return result;
}

TEST(TmemCopy, RowsArriveInTheirLanes) {
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  for (auto [shape, rows] : {std::pair{"128x128b", 128u},
                             {"32x128b.warpx4", 32u},
                             {"64x128b.warpx2::02_13", 64u}})
    for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
      std::vector<uint32_t> got;
      LaunchResult result = runCopy(copyText(shape, fence), policy, got);
      ASSERT_EQ(result.status, Status::Ok) << textOf(result);
      for (uint32_t t = 0; t < 128; ++t)
        for (uint32_t c = 0; c < 4; ++c)
          ASSERT_EQ(got[t * 4 + c], t % rows * 4 + c) << shape << " lane " << t;
    }
}

TEST(TmemCopy, AMissingFenceIsFound) {
  std::vector<uint32_t> got;
  LaunchResult result = runCopy(copyText("128x128b", ""), Policy::Eager, got);
  EXPECT_TRUE(idsOf(result).count("missing-proxy-fence")) << textOf(result);
}

struct Shape {
  const char *name;
  uint32_t rows, words;
  /// The lanes of row i: lane(i), and `copies` times `step` more.
  uint32_t (*lane)(uint32_t i);
  uint32_t copies, step;
};

uint32_t same(uint32_t i) { return i; }

const std::vector<Shape> shapes = {
    {"128x256b", 128, 8, same, 1, 0},
    {"128x128b", 128, 4, same, 1, 0},
    {"4x256b", 4, 8, [](uint32_t i) { return 32 * i; }, 1, 0},
    {"32x128b.warpx4", 32, 4, same, 4, 32},
    {"64x128b.warpx2::02_13", 64, 4, same, 2, 64},
    {"64x128b.warpx2::01_23", 64, 4,
     [](uint32_t i) { return i % 32 + i / 32 * 64; }, 2, 32}};

/// Element i of 16 bytes as a byte: the low bits of the stream.
uint8_t expanded(const uint8_t *from, unsigned i, unsigned bits) {
  uint8_t byte = 0;
  for (unsigned bit = 0; bit < bits; ++bit)
    byte |= uint8_t((from[(i * bits + bit) / 8] >> (i * bits + bit) % 8 & 1)
                    << bit);
  return byte;
}

/// Every shape in every format, in both CTAs of a pair from their own shared
/// memory.
TEST(TmemCopy, ShapesAndFormats) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::pair<const char *, unsigned>> formats = {
      {"", 8}, {".b8x16.b6x16_p32", 6}, {".b8x16.b4x16_p64", 4}};
  for (const Shape &shape : shapes)
    for (auto [format, bits] : formats)
      for (unsigned group : {1u, 2u}) {
        TensorKernel kernel = makeTensorKernel(group, 4096, 32);
        for (TensorImage &image : kernel.ctas)
          for (uint8_t &byte : image.shared)
            byte = uint8_t(random());
        SharedMatrix rows{0, shape.rows};
        kernel.code = rows.descriptorIn(10) + "tcgen05.cp" +
                      kernel.groupName() + "." + shape.name + format +
                      " [%r4+8], %q10;\n";
        TensorKernel expected = kernel;
        for (unsigned cta = 0; cta < group; ++cta)
          for (uint32_t i = 0; i < shape.rows; ++i)
            for (uint32_t byte = 0; byte < 4 * shape.words; ++byte)
              for (uint32_t copy = 0; copy < shape.copies; ++copy) {
                const uint8_t *chunk =
                    &kernel.ctas[cta].shared[rows.address(i, byte / 16 * 16)];
                uint32_t lane = shape.lane(i) + copy * shape.step;
                uint32_t &cell = expected.cell(cta, lane, 8 + byte / 4);
                cell &= ~(0xffu << 8 * (byte % 4));
                cell |= uint32_t(expanded(chunk, byte % 16, bits))
                        << 8 * (byte % 4);
              }
        LaunchResult result = kernel.run();
        ASSERT_EQ(result.status, Status::Ok) << textOf(result);
        for (unsigned cta = 0; cta < group; ++cta)
          ASSERT_EQ(kernel.ctas[cta].cells, expected.ctas[cta].cells)
              << shape.name << format;
      }
}

TEST(TmemCopy, IllegalFormsAreRefused) {
  TensorKernel kernel = makeTensorKernel(1, 4096, 32);
  for (const char *form : {"128x128b.b8x16", "128x128b.b4x16_p64", "64x128b",
                           "32x128b.warpx2::02_13"}) {
    kernel.code = SharedMatrix{0, 128}.descriptorIn(10) +
                  "tcgen05.cp.cta_group::1." + form + " [%r4], %q10;\n";
    EXPECT_THROW(kernel.run(), Error) << form;
  }
}

} // namespace
