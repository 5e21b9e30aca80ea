//===- MmaOracleTest.cpp - tcgen05.mma against a model of the hardware ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle's tiles, each through a kernel of one tcgen05.mma in exact mode:
// the types, the negate bits, the enabling of D and its scale take effect where
// they are decoded.
//
//===----------------------------------------------------------------------===//

#include "../../Units/MmaOracle.h"
#include "../Product.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Shared memory: A 0, B 4096 (K-major, no swizzle), barrier 8192, address of
/// tensor memory 8200. Thread t copies row t of A, of B, of D before.
const std::string loadOperands = R"(
setp.ne.u32 %p0, %r1, 0;
setp.ne.u32 %p1, %r0, 0;
@%p0 bra ALLOCATED;
add.u32 %r3, %r2, 8200;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
@%p1 bra INITIALIZED;
mbarrier.init.shared::cta.b64 [%r2+8192], 1;
fence.mbarrier_init.release.cluster;
INITIALIZED:
mul.wide.u32 %q1, %r0, 32;
shr.u32 %r5, %r0, 3;
shl.b32 %r5, %r5, 8;
and.b32 %r6, %r0, 7;
shl.b32 %r6, %r6, 4;
add.u32 %r5, %r5, %r6;
add.u32 %r5, %r5, %r2;
ld.param.u64 %q0, [a];
add.u64 %q0, %q0, %q1;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%q0];
ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%q0+16];
st.shared.v4.b32 [%r5], {%r10, %r11, %r12, %r13};
st.shared.v4.b32 [%r5+128], {%r14, %r15, %r16, %r17};
@%p0 bra LOADED;
ld.param.u64 %q0, [b];
add.u64 %q0, %q0, %q1;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%q0];
ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%q0+16];
st.shared.v4.b32 [%r5+4096], {%r10, %r11, %r12, %r13};
st.shared.v4.b32 [%r5+4224], {%r14, %r15, %r16, %r17};
LOADED:
fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r4, [%r2+8200];
shl.b32 %r7, %r1, 21;
add.u32 %r8, %r4, %r7;
)";

/// Moves the thread's 32 words between %r100.. and `array`.
std::string rowAccess(bool load, const char *array) {
  std::string text =
      "ld.param.u64 %q0, [" + std::string(array) +
      "];\nmul.wide.u32 %q1, %r0, 128;\nadd.u64 %q0, %q0, %q1;\n";
  for (unsigned i = 0; i < 32; ++i) {
    std::string reg = "%r" + std::to_string(100 + i);
    std::string at = "[%q0+" + std::to_string(4 * i) + "]";
    text += load ? "ld.global.b32 " + reg + ", " + at + ";\n"
                 : "st.global.b32 " + at + ", " + reg + ";\n";
  }
  return text;
}

std::string kernelOf(const OracleTile &tile) {
  std::string scale = tile.scale ? ", " + std::to_string(tile.scale) : "";
  std::string body =
      loadOperands + rowAccess(true, "before") +
      "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r8], " + registerList(100, 32) +
      ";\ntcgen05.wait::st.sync.aligned;\n"
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "tcgen05.fence::after_thread_sync;\n@%p1 bra ISSUED;\n" +
      descriptor(4, 0, "0x401000080000") +
      descriptor(5, 4096, "0x401000080000") +
      "ld.param.u32 %r9, [instr];\nld.param.u32 %r10, [enable];\n"
      "setp.ne.u32 %p2, %r10, 0;\ntcgen05.mma.cta_group::1." +
      nameOf(tile.kind) + " [%r4], %q4, %q5, %r9, %p2" + scale +
      ";\nadd.u32 %r11, %r2, 8192;\ntcgen05.commit.cta_group::1."
      "mbarrier::arrive::one.shared::cluster.b64 [%r11];\nISSUED:\n" +
      waitFor(8192, "0", "DONE") +
      "tcgen05.fence::after_thread_sync;\n"
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 " +
      registerList(100, 32) + ", [%r8];\ntcgen05.wait::ld.sync.aligned;\n" +
      rowAccess(false, "out") +
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n@%p0 bra END;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\nEND:\n";
  return kernelText(".param .u64 a, .param .u64 b, .param .u64 before, "
                    ".param .u64 out, .param .u32 instr, .param .u32 enable",
                    body);
}

/// Bits of the instruction descriptor (PTX ISA, "Instruction descriptor").
uint32_t instructionDescriptor(const OracleTile &tile) {
  static const std::map<ElementType, uint32_t> codes = {
      {ElementType::F16, 0},  {ElementType::BF16, 1}, {ElementType::TF32, 2},
      {ElementType::E4M3, 0}, {ElementType::E5M2, 1}, {ElementType::E2M3, 3},
      {ElementType::E3M2, 4}, {ElementType::E2M1, 5}};
  return uint32_t(tile.d == ElementType::F32) << 4 | codes.at(tile.a) << 7 |
         codes.at(tile.b) << 10 | uint32_t(tile.negateA) << 13 |
         uint32_t(tile.negateB) << 14 | tile.n / 8 << 17 | tile.m / 16 << 24;
}

/// Bits of an element in shared memory. 16 elements of 4 or 6 bits are one
/// stream at the start of 16 bytes.
unsigned packedBits(ElementType type) {
  static const std::map<ElementType, unsigned> narrow = {
      {ElementType::E2M3, 6}, {ElementType::E3M2, 6}, {ElementType::E2M1, 4}};
  auto found = narrow.find(type);
  return found == narrow.end() ? containerBits(type) : found->second;
}

std::vector<uint8_t> pack(ElementType type,
                          const std::vector<uint32_t> &elements) {
  unsigned bits = packedBits(type), per = 128 / containerBits(type);
  // What a stream leaves of its 16 bytes is not read.
  std::vector<uint8_t> bytes(elements.size() / per * 16, 0xff);
  for (size_t i = 0; i < elements.size(); ++i)
    for (unsigned bit = 0; bit < bits; ++bit) {
      size_t at = i % per * bits + bit;
      uint8_t &byte = bytes[i / per * 16 + at / 8];
      byte &= uint8_t(~(1u << at % 8));
      byte |= uint8_t((elements[i] >> bit & 1) << at % 8);
    }
  return bytes;
}

template <typename T>
uint64_t upload(Device &device, const std::vector<T> &values) {
  uint64_t at = device.allocate(values.size() * sizeof(T));
  device.write(at, std::as_bytes(std::span(values)));
  return at;
}

std::vector<uint32_t> runTile(const OracleTile &tile) {
  Device device;
  std::vector<uint32_t> before = tile.before;
  if (!tile.accumulate)
    before.assign(before.size(), 0x7fc07fc0);
  uint64_t out = upload(device, before);
  KernelRun run;
  run.text = kernelOf(tile);
  run.threads = 128;
  run.sharedBytes = 16384;
  run.parameters = {bytesOf(upload(device, pack(tile.a, tile.left))),
                    bytesOf(upload(device, pack(tile.b, tile.right))),
                    bytesOf(upload(device, before)),
                    bytesOf(out),
                    bytesOf(instructionDescriptor(tile)),
                    bytesOf(uint32_t(tile.accumulate))};
  run.options.mma = MmaMode::Exact;
  LaunchResult result = launchOn(device, run);
  EXPECT_EQ(result.status, Status::Ok) << textOf(result);
  std::vector<uint32_t> d(before.size());
  device.read(out, std::as_writable_bytes(std::span(d)));
  return d;
}

TEST(MmaOracle, KernelsGiveTheSumsOfTheModel) {
  MmaOracle oracle;
  SCOPED_TRACE(oracle.source);
  size_t sums = 0;
  for (const OracleTile &tile : oracle.tiles) {
    std::vector<uint32_t> got = runTile(tile);
    expectSums(tile, got);
    sums += got.size();
  }
  EXPECT_GE(sums, 100000u);
}

/// The manual gives scale-input-d to two kinds alone.
TEST(MmaOracle, ScaleOfDNeedsItsKind) {
  OracleTile tile;
  tile.d = ElementType::F32;
  tile.scale = 3;
  auto accepts = [&](MmaKind kind, ElementType type) {
    tile.kind = kind;
    tile.a = tile.b = type;
    tile.k = 256 / containerBits(type);
    tile.left.assign(tile.m * tile.k, 0);
    tile.right.assign(tile.n * tile.k, 0);
    tile.before.assign(tile.m * tile.n, 0);
    try {
      runTile(tile);
      return true;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, Error::Kind::Unsupported) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(accepts(MmaKind::F16, ElementType::BF16));
  EXPECT_TRUE(accepts(MmaKind::TF32, ElementType::TF32));
  EXPECT_FALSE(accepts(MmaKind::F8F6F4, ElementType::E4M3));
}

} // namespace
