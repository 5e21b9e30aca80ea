//===- LaunchFuzzer.cpp - Any text that parses, launched ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every entry of the module runs under a policy that the length of the text
// picks. Parameters of eight bytes are addresses of buffers, others hold small
// numbers. A launch is refused with an Error, or ends, by the step limit at
// the latest.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <cstdio>
#include <cstdlib>

using namespace ptxsim;

static constexpr uint64_t kBufferBytes = 4096, kMaxSteps = 20000;

static std::vector<uint8_t> valueOf(Device &device, uint32_t bytes) {
  std::vector<uint8_t> value(bytes, 0);
  uint64_t address = bytes == 8 ? device.allocate(kBufferBytes) : 3;
  for (uint32_t i = 0; i < std::min(bytes, 8u); ++i)
    value[i] = uint8_t(address >> (8 * i));
  return value;
}

static void launchEntry(const Module &module, const Module::Entry &entry,
                        const Options &options) {
  Device device;
  LaunchConfig config;
  config.entry = entry.name;
  config.grid = entry.requiredCluster.value_or(Dim3());
  config.block = entry.requiredBlock.value_or(Dim3{40, 1, 1});
  config.dynamicSharedBytes = 1024;
  for (const Module::Parameter &parameter : entry.parameters)
    config.parameters.push_back(valueOf(device, parameter.size));
  LaunchResult result = launch(device, module, config, options);
  // A turn may end a little after the limit, never far.
  if (result.warpInstructions > kMaxSteps + 4096) {
    std::fprintf(stderr, "the step limit was passed by far\n");
    std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Options options;
  options.maxSteps = kMaxSteps;
  options.threads = 1;
  options.policy = std::array{Policy::Eager, Policy::Late, Policy::Random,
                              Policy::Pct}[size % 4];
  try {
    Module module = Module::parse(text, "fuzz.ptx");
    for (const Module::Entry &entry : module.entries())
      try {
        launchEntry(module, entry, options);
      } catch (const Error &) {
      }
  } catch (const Error &) {
  }
  return 0;
}
