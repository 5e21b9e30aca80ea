//===- MmaSyncTest.cpp - mma.sync on registers in use ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Product.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// Random A in %r10.., B in %r20.., C in %r30.., then `instruction`, then four
/// registers from `result` to the buffer.
std::vector<uint32_t> resultsOf(const std::string &instruction, unsigned result,
                                unsigned seed) {
  std::mt19937 generator(seed);
  std::string body;
  for (unsigned first : {10u, 20u, 30u})
    for (unsigned i = 0; i < 4; ++i) {
      std::string name = "%r" + std::to_string(first + i);
      // Another value in each lane, from two random numbers.
      body += "mad.lo.u32 " + name + ", %r0, " +
              std::to_string(generator() | 1u) + ", " +
              std::to_string(generator()) + ";\nand.b32 " + name + ", " + name +
              ", 0x3fff3fff;\n";
    }
  body += instruction + "ld.param.u64 %q0, [out];\nmul.wide.u32 %q1, %r0, 16;\n"
                        "add.u64 %q0, %q0, %q1;\n";
  for (unsigned i = 0; i < 4; ++i)
    body += "st.global.b32 [%q0+" + std::to_string(4 * i) + "], %r" +
            std::to_string(result + i) + ";\n";
  Device device;
  std::vector<uint32_t> out(128, 0xCDCDCDCD);
  uint64_t address = device.allocate(out.size() * 4);
  device.write(address, std::as_bytes(std::span(out)));
  KernelRun kernel;
  kernel.text = kernelText(".param .u64 out", body, "", "sm_90a");
  kernel.parameters = {bytesOf(address)};
  LaunchResult launched = launchOn(device, kernel);
  EXPECT_EQ(launched.status, Status::Ok) << textOf(launched);
  device.read(address, std::as_writable_bytes(std::span(out)));
  return out;
}

const char *const types[][2] = {{"m16n8k16", ".f32.f16.f16.f32"},
                                {"m16n8k32", ".s32.u8.s8.s32"}};

/// `D, A, B, C` by their first registers.
std::string multiply(const char *const (&type)[2], const std::string &d,
                     unsigned c) {
  return std::string("mma.sync.aligned.") + type[0] + ".row.col" + type[1] +
         " " + d + ", " + registerList(10, 4) + ", " + registerList(20, 2) +
         ", " + registerList(c, 4) + ";\n";
}

TEST(MmaSync, DMayBeRegistersOfAOrC) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const auto &type : types) {
    std::vector<uint32_t> apart =
        resultsOf(multiply(type, registerList(40, 4), 30), 40, seed);
    EXPECT_EQ(resultsOf(multiply(type, registerList(30, 4), 30), 30, seed),
              apart);
    EXPECT_EQ(resultsOf(multiply(type, registerList(10, 4), 30), 10, seed),
              apart);
    // D in the registers of C, in another order.
    std::string turned = "{%r33, %r32, %r31, %r30}";
    std::vector<uint32_t> got = resultsOf(multiply(type, turned, 30), 30, seed);
    for (unsigned lane = 0; lane < 32; ++lane)
      std::reverse(got.begin() + 4 * lane, got.begin() + 4 * lane + 4);
    EXPECT_EQ(got, apart);
  }
}

TEST(MmaSync, AllLanesOfTheWarpExecuteIt) {
  KernelRun kernel;
  kernel.text = kernelText("", "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra END;\n" +
                                   multiply(types[0], registerList(40, 4), 30) +
                                   "END:\n");
  Device device;
  LaunchResult result = launchOn(device, kernel);
  EXPECT_TRUE(idsOf(result).count("aligned-partial-warp")) << textOf(result);
}

} // namespace
