//===- Kernel.h - Kernels whose time is known -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_TIME_KERNEL_H
#define FMHA_TEST_PTX_TIME_KERNEL_H

#include "fmha/PTX/Time/CriticalPath.h"
#include "fmha/PTX/Time/Recorder.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>

namespace ptxsim::timing::test {

struct Kernel {
  std::string body;
  unsigned threads = 32;
  std::string target = "sm_100a", parameters = {};
  uint32_t sharedBytes = 65536;
  std::vector<std::vector<uint8_t>> values = {};
  /// Functions that `body` calls.
  std::string functions = {};
  uint32_t ctas = 1;
};

/// An entry `k` around `body` with registers %r, %q (64 bit), %p and %f, and
/// shared memory `smem` without any instruction of its own but `ret`.
inline std::string textOf(const Kernel &kernel) {
  return ".version 8.8\n.target " + kernel.target +
         "\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n" +
         kernel.functions + ".visible .entry k(" + kernel.parameters +
         ")\n{\n.reg .b32 %r<300>;\n.reg .b64 %q<64>;\n.reg .pred %p<32>;\n"
         ".reg .f32 %f<300>;\n" +
         kernel.body + "\nret;\n}\n";
}

/// Runs the CTAs of one SM and returns what their warps executed.
inline Recording record(const Kernel &kernel, Device &device,
                        bool isL2Warm = false) {
  Module module = Module::parse(textOf(kernel), "test.ptx");
  LaunchConfig config;
  config.entry = "k";
  config.grid = {kernel.ctas, 1, 1};
  config.block = {kernel.threads, 1, 1};
  config.dynamicSharedBytes = kernel.sharedBytes;
  config.parameters = kernel.values;
  Recorder recorder({0, 1, kernel.ctas}, Recorder::kMostSteps, isL2Warm);
  Options options;
  options.checks = {"none"};
  options.observer = &recorder;
  LaunchResult result = launch(device, module, config, options);
  EXPECT_EQ(result.status, Status::Ok);
  moveToUniformPipe(recorder.recording().codes);
  return recorder.recording();
}

inline Recording record(const Kernel &kernel) {
  Device device;
  return record(kernel, device);
}

inline double clocksOf(const Kernel &kernel, Device &device,
                       Level level = Level::Middle) {
  Recording recording = record(kernel, device);
  return schedule(recording, *figuresOf(kernel.target, level)).clocks;
}

inline double clocksOf(const Kernel &kernel, Level level = Level::Middle) {
  Device device;
  return clocksOf(kernel, device, level);
}

inline double figure(Figure of, const char *target = "sm_100a") {
  return (*figuresOf(target, Level::Middle))[of];
}

/// Returns `count` copies of `line`, with each # replaced by the number of the
/// copy.
inline std::string repeat(unsigned count, const std::string &line) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    for (char c : line)
      text += c == '#' ? std::to_string(i) : std::string(1, c);
    text += "\n";
  }
  return text;
}

/// Returns the bytes of a parameter.
inline std::vector<uint8_t> bytesOf(uint64_t value) {
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(uint8_t(value >> 8 * i));
  return bytes;
}

/// Waits for the phase of the mbarrier at smem + offset; `label` is unique.
inline std::string waitFor(unsigned offset, const char *parity,
                           const std::string &label) {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p31, [smem+" +
         std::to_string(offset) + "], " + parity + ";\n@!%p31 bra " + label +
         ";\n";
}

/// `count` products of 64 x columns x 16 in one group, and a wait for them. A
/// is in shared memory if `a` is a descriptor, and in registers if it lists
/// four.
inline std::string chain(unsigned count, unsigned columns = 128,
                         const std::string &a = "%q1") {
  std::string d = "{";
  for (unsigned i = 0; i < columns / 2; ++i)
    d += (i ? ", %f" : "%f") + std::to_string(i);
  std::string one = "wgmma.mma_async.sync.aligned.m64n" +
                    std::to_string(columns) + "k16.f32.bf16.bf16 " + d + "}, " +
                    a + ", %q1, 1, 1, 1, " +
                    (a.starts_with("{") ? "0;" : "0, 0;");
  return "wgmma.fence.sync.aligned;\n" + repeat(count, one) +
         "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
}

} // namespace ptxsim::timing::test

#endif // FMHA_TEST_PTX_TIME_KERNEL_H
