//===- Kernel.h - Run a few lines of PTX and look at the result -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_CORE_KERNEL_H
#define FMHA_TEST_PTX_SIM_CORE_KERNEL_H

#include "Replay.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptxsim::test {

/// A kernel with one parameter, `out`, and common registers: %p<8>, %h<8>
/// (b16), %r<32>, %f<8>, %rd<16>. %rd0 holds out; %r0 the flat thread in the
/// grid; %rd1 the address of word %r0 of out; %r1 the flat thread in the CTA.
struct Kernel {
  std::string declarations, body, head, functions;
  Dim3 grid{1, 1, 1}, block{32, 1, 1};
  std::optional<Dim3> cluster;
  uint32_t dynamicShared = 0;
  Options options;
  /// Words of out; written with zeros before the launch if `initialize`.
  size_t words = 1024;
  bool initialize = true;

  std::string text() const {
    return ".version 8.8\n.target sm_100a\n.address_size 64\n" + functions +
           ".visible .entry k(.param .u64 out)\n" + head +
           "{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 "
           "%f<8>; .reg .b64 %rd<16>;\n" +
           declarations +
           "\nld.param.u64 %rd0, [out];\nmov.u32 %r1, %tid.x;\n"
           "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
           "mad.lo.s32 %r0, %r2, %r3, %r1;\nmad.wide.u32 %rd1, %r0, 4, "
           "%rd0;\n" +
           body + "\nret;\n}\n";
  }
  /// Line of the first line of `body`.
  unsigned firstLine() const {
    std::string before = text().substr(0, text().find(body));
    return 1 + unsigned(std::count(before.begin(), before.end(), '\n'));
  }
  LaunchResult run() {
    Module module = Module::parse(text(), "kernel.ptx");
    Device device;
    uint64_t address = device.allocate(words * 4);
    if (initialize)
      device.fill(address, std::byte{0}, words * 4);
    LaunchConfig config;
    config.entry = "k";
    config.grid = grid;
    config.block = block;
    config.cluster = cluster;
    config.dynamicSharedBytes = dynamicShared;
    Bytes parameter(8);
    std::memcpy(parameter.data(), &address, 8);
    config.parameters = {parameter};
    LaunchResult result = launch(device, module, config, options);
    out.resize(words);
    device.read(address, std::as_writable_bytes(std::span(out)));
    return result;
  }
  std::vector<uint32_t> out;
};

/// Runs under all three policies and a few seeds.
template <typename F> void underEveryPolicy(F check) {
  for (uint64_t seed = 0; seed < 9; ++seed) {
    Options options;
    options.policy = seed == 0   ? Policy::Eager
                     : seed == 1 ? Policy::Late
                     : seed < 6  ? Policy::Random
                                 : Policy::Pct;
    options.scheduleSeed = seed;
    check(options);
  }
}

inline bool hasFinding(const LaunchResult &result, const std::string &id) {
  for (const Finding &finding : result.findings)
    if (finding.id == id)
      return true;
  return false;
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_CORE_KERNEL_H
