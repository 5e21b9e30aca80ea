//===- Kernel.h - Small kernels for tests -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_ASYNC_KERNEL_H
#define FMHA_TEST_PTX_SIM_ASYNC_KERNEL_H

#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Sim/Units/TensorMap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace ptxsim::test {

/// An entry `k` around `body`. Registers: %r, %q (64 bit), %p, %h (16 bit),
/// %f. %r0 is the thread, %r1 the warp, %r2 the shared base `smem`
/// (1024-aligned, dynamic).
inline std::string kernelText(const std::string &parameters,
                              const std::string &body,
                              const std::string &directives = "",
                              const std::string &target = "sm_100a") {
  return ".version 8.8\n.target " + target +
         "\n.address_size 64\n"
         ".extern .shared .align 1024 .b8 smem[];\n"
         ".visible .entry k(" +
         parameters + ")\n" + directives +
         "{\n"
         ".reg .b32 %r<600>;\n.reg .b64 %q<64>;\n.reg .pred %p<32>;\n"
         ".reg .b16 %h<32>;\n.reg .f32 %f<32>;\n"
         "mov.u32 %r0, %tid.x;\nshr.u32 %r1, %r0, 5;\nmov.u32 %r2, smem;\n" +
         body + "\nret;\n}\n";
}

template <typename T> std::vector<uint8_t> bytesOf(const T &value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

struct KernelRun {
  std::string text;
  unsigned threads = 32;
  uint32_t sharedBytes = 65536;
  std::vector<std::vector<uint8_t>> parameters = {};
  Options options = {};
  unsigned ctas = 1;
  std::optional<Dim3> cluster = {};
};

inline LaunchResult launchOn(Device &device, const KernelRun &run) {
  Module module = Module::parse(run.text, "test.ptx");
  LaunchConfig config;
  config.entry = "k";
  config.grid = {run.ctas, 1, 1};
  config.block = {run.threads, 1, 1};
  config.cluster = run.cluster;
  config.dynamicSharedBytes = run.sharedBytes;
  config.parameters = run.parameters;
  return launch(device, module, config, run.options);
}

inline std::set<std::string> idsOf(const LaunchResult &result) {
  std::set<std::string> ids;
  for (const Finding &finding : result.findings)
    ids.insert(finding.id);
  return ids;
}

inline std::string textOf(const LaunchResult &result) {
  std::string text;
  for (const Finding &finding : result.findings)
    text += finding.id + " line " + std::to_string(finding.ptxLine) + ": " +
            finding.message + " [" + finding.other + "]\n";
  return text;
}

inline Options optionsOf(Policy policy, uint64_t seed = 0) {
  Options options;
  options.policy = policy;
  options.scheduleSeed = seed;
  return options;
}

/// Waits for a phase of the mbarrier at %r2 + offset; `label` must be unique.
inline std::string waitFor(unsigned offset, const std::string &parity,
                           const std::string &label) {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p31, [%r2+" +
         std::to_string(offset) + "], " + parity + ";\n@!%p31 bra " + label +
         ";\n";
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_ASYNC_KERNEL_H
