//===- TensorKernel.h - Kernels around a few tcgen05 instructions -*- C++ -*-=//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that fills shared memory and tensor memory with given bytes, lets
// one thread execute given instructions, commits them and returns tensor
// memory. Tests compute what tensor memory must hold on their own.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_ASYNC_TCGEN05_TENSORKERNEL_H
#define FMHA_TEST_PTX_SIM_ASYNC_TCGEN05_TENSORKERNEL_H

#include "../Product.h"

#include <functional>

namespace ptxsim::test {

/// Shared and tensor memory of one CTA, before a kernel and after it.
struct TensorImage {
  std::vector<uint8_t> shared;
  /// 128 lanes of `columns` columns.
  std::vector<uint32_t> cells;
};

struct TensorKernel {
  unsigned group = 1;
  uint32_t columns = 128;
  /// One CTA, or the two of a pair.
  std::vector<TensorImage> ctas;
  /// Executed by thread 0 of CTA 0. %r4 is the address of tensor memory; free
  /// are %r60 .. %r99, %q10 .. %q30.
  std::string code;
  std::string target = "sm_100a";
  Options options = {};

  uint32_t sharedBytes() const { return uint32_t(ctas[0].shared.size()); }
  uint32_t &cell(unsigned cta, uint32_t lane, uint32_t column) {
    return ctas[cta].cells[lane * columns + column];
  }
  std::string groupName() const {
    return ".cta_group::" + std::to_string(group);
  }
  LaunchResult run();

private:
  std::string setUp() const;
  std::string move(bool load) const;
  std::string issue() const;
};

inline TensorKernel makeTensorKernel(unsigned group, uint32_t sharedBytes,
                                     uint32_t columns) {
  TensorKernel kernel;
  kernel.group = group;
  kernel.columns = columns;
  kernel.ctas.resize(group);
  for (TensorImage &image : kernel.ctas) {
    image.shared.assign(sharedBytes, 0xff);
    image.cells.assign(128 * columns, 0x7fc0dead);
  }
  return kernel;
}

const std::string everyCta = "barrier.cluster.arrive.release.aligned;\n"
                             "barrier.cluster.wait.acquire.aligned;\n";

inline std::string TensorKernel::setUp() const {
  std::string bytes = std::to_string(sharedBytes());
  return R"(
setp.ne.u32 %p0, %r1, 0;
setp.ne.u32 %p1, %r0, 0;
mov.u32 %r40, %cluster_ctarank;
setp.ne.u32 %p3, %r40, 0;
@%p0 bra ALLOCATED;
add.u32 %r3, %r2, )" +
         bytes + ";\nadd.u32 %r3, %r3, 8;\ntcgen05.alloc" + groupName() +
         ".sync.aligned.shared::cta.b32 [%r3], " + std::to_string(columns) +
         R"(;
ALLOCATED:
@%p1 bra INITIALIZED;
mbarrier.init.shared::cta.b64 [%r2+)" +
         bytes + R"(], 1;
fence.mbarrier_init.release.cluster;
INITIALIZED:
ld.param.u64 %q0, [shared];
mul.lo.u32 %r41, %r40, )" +
         bytes + R"(;
cvt.u64.u32 %q1, %r41;
add.u64 %q0, %q0, %q1;
shl.b32 %r42, %r0, 4;
FILL:
setp.ge.u32 %p4, %r42, )" +
         bytes + R"(;
@%p4 bra FILLED;
cvt.u64.u32 %q1, %r42;
add.u64 %q1, %q0, %q1;
ld.global.v4.b32 {%r44, %r45, %r46, %r47}, [%q1];
add.u32 %r43, %r2, %r42;
st.shared.v4.b32 [%r43], {%r44, %r45, %r46, %r47};
add.u32 %r42, %r42, 2048;
bra FILL;
FILLED:
fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %r4, [%r2+)" +
         bytes + R"(+8];
shl.b32 %r5, %r1, 21;
add.u32 %r5, %r4, %r5;
ld.param.u64 %q2, [cells];
shl.b32 %r48, %r40, 7;
add.u32 %r48, %r48, %r0;
mul.wide.u32 %q1, %r48, )" +
         std::to_string(4 * columns) + ";\nadd.u64 %q2, %q2, %q1;\n";
}

/// Moves the thread's lane between tensor memory and global memory.
inline std::string TensorKernel::move(bool load) const {
  std::string text, list = registerList(100, 32);
  for (uint32_t c = 0; c < columns; c += 32) {
    std::string at = "[%r5+" + std::to_string(c) + "]", bytes;
    for (uint32_t i = 0; i < 32; ++i) {
      std::string reg = "%r" + std::to_string(100 + i);
      std::string global = "[%q2+" + std::to_string(4 * (c + i)) + "]";
      bytes += load ? "ld.global.b32 " + reg + ", " + global + ";\n"
                    : "st.global.b32 " + global + ", " + reg + ";\n";
    }
    text += load ? bytes + "tcgen05.st.sync.aligned.32x32b.x32.b32 " + at +
                       ", " + list + ";\n"
                 : "tcgen05.ld.sync.aligned.32x32b.x32.b32 " + list + ", " +
                       at + ";\ntcgen05.wait::ld.sync.aligned;\n" + bytes;
  }
  return text;
}

inline std::string TensorKernel::issue() const {
  std::string barrier = std::to_string(sharedBytes());
  bool pair = group == 2;
  return "tcgen05.wait::st.sync.aligned;\n"
         "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n" +
         (pair ? everyCta : "") +
         "tcgen05.fence::after_thread_sync;\n@%p1 bra ISSUED;\n"
         "@%p3 bra ISSUED;\n" +
         code + "add.u32 %r6, %r2, " + barrier + ";\nmov.u16 %h1, 3;\n" +
         "tcgen05.commit" + groupName() +
         ".mbarrier::arrive::one.shared::cluster" +
         (pair ? ".multicast::cluster.b64 [%r6], %h1" : ".b64 [%r6]") +
         ";\nISSUED:\n" + waitFor(sharedBytes(), "0", "DONE") +
         "tcgen05.fence::after_thread_sync;\n";
}

inline LaunchResult TensorKernel::run() {
  Device device;
  size_t bytes = sharedBytes(), words = ctas[0].cells.size();
  uint64_t shared = device.allocate(ctas.size() * bytes);
  uint64_t cells = device.allocate(ctas.size() * words * 4);
  for (size_t i = 0; i < ctas.size(); ++i) {
    device.write(shared + i * bytes, std::as_bytes(std::span(ctas[i].shared)));
    device.write(cells + i * words * 4,
                 std::as_bytes(std::span(ctas[i].cells)));
  }
  KernelRun run;
  run.text = kernelText(
      ".param .u64 shared, .param .u64 cells",
      setUp() + move(true) + issue() + move(false) +
          "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n" +
          (group == 2 ? everyCta : "") + "@%p0 bra END;\ntcgen05.dealloc" +
          groupName() + ".sync.aligned.b32 %r4, " + std::to_string(columns) +
          ";\nEND:\n",
      "", target);
  run.threads = 128;
  run.sharedBytes = uint32_t(bytes) + 64;
  run.parameters = {bytesOf(shared), bytesOf(cells)};
  run.options = options;
  run.ctas = unsigned(ctas.size());
  if (group == 2)
    run.cluster = Dim3{2, 1, 1};
  LaunchResult result = launchOn(device, run);
  for (size_t i = 0; i < ctas.size(); ++i)
    device.read(cells + i * words * 4,
                std::as_writable_bytes(std::span(ctas[i].cells)));
  return result;
}

/// A floating-point format as the tests decode it: bits of exponent and of
/// mantissa. No code is infinity or NaN.
struct SmallFormat {
  unsigned exponentBits, mantissaBits;
  bool isSigned = true;

  double value(uint32_t code) const {
    int bias = (1 << (exponentBits - 1)) - 1;
    int mantissa = int(code & ((1u << mantissaBits) - 1));
    int exponent = int(code >> mantissaBits & ((1u << exponentBits) - 1));
    bool negative = isSigned && code >> (exponentBits + mantissaBits) & 1;
    double magnitude = exponent
                           ? std::ldexp(mantissa + (1 << mantissaBits),
                                        exponent - bias - int(mantissaBits))
                           : std::ldexp(mantissa, 1 - bias - int(mantissaBits));
    return negative ? -magnitude : magnitude;
  }
};

/// A matrix in shared memory with K in 16-byte chunks and no swizzle: the chunk
/// of 8 rows is 128 bytes, the next chunk of K follows all rows.
struct SharedMatrix {
  uint32_t offset = 0, rows = 0;
  uint32_t stepK() const { return (rows + 7) / 8 * 128; }
  uint32_t address(uint32_t row, uint32_t byte) const {
    return offset + row / 8 * 128 + row % 8 * 16 + byte / 16 * stepK() +
           byte % 16;
  }
  /// Puts the descriptor into %q<to>.
  std::string descriptorIn(unsigned to) const {
    uint64_t fields = uint64_t(1) << 46 | uint64_t(128 / 16) << 32 |
                      uint64_t(stepK() / 16) << 16;
    return descriptor(to, offset, std::to_string(fields).c_str());
  }
};

/// Writes the low `bits` bits of a code at a bit of the bytes from `at` on.
inline void putBits(std::vector<uint8_t> &bytes, size_t at, unsigned bit,
                    unsigned bits, uint32_t code) {
  for (unsigned i = 0; i < bits; ++i) {
    uint8_t &byte = bytes[at + (bit + i) / 8];
    unsigned shift = (bit + i) % 8;
    byte = uint8_t((byte & ~(1u << shift)) | (code >> i & 1) << shift);
  }
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_ASYNC_TCGEN05_TENSORKERNEL_H
