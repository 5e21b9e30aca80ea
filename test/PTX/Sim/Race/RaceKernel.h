//===- RaceKernel.h - Kernels that differ in one edge -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_RACE_RACEKERNEL_H
#define FMHA_TEST_PTX_SIM_RACE_RACEKERNEL_H

#include "Kernel.h"

namespace ptxsim::test {

/// A body, and where it runs.
struct RaceKernel {
  std::string body;
  unsigned threads = 64, ctas = 1, cluster = 1;
  Conformance conformance = Conformance::Isa;
  std::set<std::string> checks = {"all"};
};

/// Registers besides those of kernelText: %q0 = 4096 initialized bytes of
/// global memory, %r3 = smem + 1024, %r4 = lane, %p0 = not thread 0, %p1 = not
/// lane 0, %r7 = %ctaid.x.
/// `after` takes what the buffer holds in the end.
inline LaunchResult runRace(const RaceKernel &kernel, Policy policy,
                            uint64_t seed,
                            std::vector<std::byte> *after = nullptr) {
  Device device;
  uint64_t buffer = device.allocate(4096);
  device.fill(buffer, std::byte{0}, 4096);
  KernelRun run;
  run.text = kernelText(".param .u64 buffer",
                        "ld.param.u64 %q0, [buffer];\n"
                        "add.u32 %r3, %r2, 1024;\nand.b32 %r4, %r0, 31;\n"
                        "setp.ne.u32 %p0, %r0, 0;\nsetp.ne.u32 %p1, %r4, 0;\n"
                        "mov.u32 %r7, %ctaid.x;\n" +
                            kernel.body);
  run.threads = kernel.threads;
  run.ctas = kernel.ctas;
  if (kernel.cluster > 1)
    run.cluster = Dim3{kernel.cluster, 1, 1};
  run.parameters = {bytesOf(buffer)};
  run.options = optionsOf(policy, seed);
  run.options.conformance = kernel.conformance;
  run.options.checks = kernel.checks;
  LaunchResult result = launchOn(device, run);
  if (after)
    device.read(buffer, *after);
  return result;
}

template <typename F> void forSchedules(F visit) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Policy policy = seed == 0   ? Policy::Eager
                    : seed == 1 ? Policy::Late
                                : Policy::Random;
    SCOPED_TRACE("schedule " + std::to_string(seed));
    visit(policy, seed);
  }
}

/// The finding is raised, with both parties, whatever the schedule; `id` empty
/// means that nothing is found.
inline void expectFinding(const std::string &id, const RaceKernel &kernel) {
  forSchedules([&](Policy policy, uint64_t seed) {
    LaunchResult result = runRace(kernel, policy, seed);
    if (id.empty()) {
      EXPECT_EQ(result.status, Status::Ok) << textOf(result);
      return;
    }
    EXPECT_TRUE(idsOf(result).count(id)) << "got:\n" << textOf(result);
    for (const Finding &finding : result.findings)
      if (finding.id == id && id.starts_with("race-")) {
        EXPECT_GT(finding.ptxLine, 0u);
        EXPECT_NE(finding.other.find("warp"), std::string::npos);
        EXPECT_NE(finding.other.find("in line"), std::string::npos);
      }
  });
}

/// A mistake and its repair.
inline void expectTwins(const std::string &id, RaceKernel wrong,
                        const std::string &right) {
  SCOPED_TRACE(id);
  expectFinding(id, wrong);
  wrong.body = right;
  expectFinding("", wrong);
}

/// Text for one warp (of two or more) or, `once`, for its lane 0.
inline std::string warpText(unsigned warp, const std::string &text,
                            bool once = false) {
  static unsigned count = 0;
  std::string label = "PAST" + std::to_string(count++);
  return "setp.ne.u32 %p2, %r1, " + std::to_string(warp) + ";\n@%p2 bra " +
         label + ";\n" + (once ? "@%p1 bra " + label + ";\n" : "") + text +
         label + ":\n";
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_RACE_RACEKERNEL_H
