//===- LoadReduceTest.cpp - tcgen05.ld.red --------------------------------===//
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

constexpr uint32_t columns = 32;

/// One warp fills 32 lanes, loads them with `load` (16 registers from %r200 on
/// and the result in %r240) and stores what it has got.
std::string kernelOf(const std::string &load) {
  std::string fill, drain;
  for (uint32_t i = 0; i < columns; ++i)
    fill += "ld.global.b32 %r" + std::to_string(100 + i) + ", [%q0+" +
            std::to_string(4 * i) + "];\n";
  for (uint32_t i = 0; i < 17; ++i)
    drain += "st.global.b32 [%q2+" + std::to_string(4 * i) + "], %r" +
             std::to_string(i < 16 ? 200 + i : 240) + ";\n";
  return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;\n"
         "ld.shared.b32 %r4, [%r2];\nld.param.u64 %q0, [in];\n"
         "mul.wide.u32 %q1, %r0, 128;\nadd.u64 %q0, %q0, %q1;\n"
         "ld.param.u64 %q2, [out];\nmul.wide.u32 %q1, %r0, 68;\n"
         "add.u64 %q2, %q2, %q1;\n" +
         fill + "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r4], " +
         registerList(100, columns) + ";\ntcgen05.wait::st.sync.aligned;\n" +
         load + "tcgen05.wait::ld.sync.aligned;\n" + drain +
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\n";
}

struct Loaded {
  LaunchResult result;
  /// 17 words of each thread.
  std::vector<uint32_t> got;
};

Loaded runLoad(const std::string &load, const std::vector<uint32_t> &cells,
               Policy policy, const std::string &target = "sm_103a") {
  Device device;
  uint64_t in = device.allocate(cells.size() * 4);
  uint64_t out = device.allocate(32 * 17 * 4);
  device.write(in, std::as_bytes(std::span(cells)));
  KernelRun run;
  run.text =
      kernelText(".param .u64 in, .param .u64 out", kernelOf(load), "", target);
  run.parameters = {bytesOf(in), bytesOf(out)};
  run.options = optionsOf(policy, 1);
  Loaded ran{launchOn(device, run), std::vector<uint32_t>(32 * 17)};
  device.read(out, std::as_writable_bytes(std::span(ran.got)));
  return ran;
}

/// min or max by the manual, from IEEE comparisons.
uint32_t reduce(const std::string &form, std::vector<uint32_t> values) {
  auto has = [&](const char *part) { return form.find(part) != form.npos; };
  bool max = has("max"), floats = has("f32"), isSigned = has("s32");
  if (has("abs"))
    for (uint32_t &x : values)
      x &= 0x7fffffff;
  auto number = [](uint32_t x) { return std::bit_cast<float>(x); };
  bool none = true;
  uint32_t best = 0x7fffffff;
  for (uint32_t x : values) {
    if (floats && std::isnan(number(x))) {
      if (has("NaN"))
        return 0x7fffffff;
      continue;
    }
    bool less = isSigned ? int32_t(x) < int32_t(best)
                : floats
                    ? number(x) < number(best) || (x == 0x80000000 && best == 0)
                    : x < best;
    if (none || (x != best && less != max))
      best = x;
    none = false;
  }
  return best;
}

std::vector<uint32_t> drawCells(std::mt19937 &random, bool specials) {
  const std::vector<uint32_t> chosen = {0,          0x80000000, 0x7f800000,
                                        0xff800000, 0x7fc00001, 0xffc00000,
                                        1,          0x80000001};
  std::vector<uint32_t> cells(32 * columns);
  for (uint32_t &cell : cells)
    cell = specials ? chosen[random() % chosen.size()] : uint32_t(random());
  // A thread with nothing but NaN.
  std::fill_n(cells.begin(), specials ? columns : 0, 0x7fc00123u);
  return cells;
}

TEST(LoadReduce, EachOperation) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string &form :
       {"min.f32", "max.f32", "min.abs.f32", "max.NaN.f32", "max.abs.NaN.f32",
        "min.u32", "max.u32", "min.s32", "max.s32"})
    for (bool specials : {false, true})
      for (Policy policy : {Policy::Eager, Policy::Late}) {
        std::vector<uint32_t> cells = drawCells(random, specials);
        Loaded run = runLoad("tcgen05.ld.red.sync.aligned.32x32b.x16." + form +
                                 " " + registerList(200, 16) +
                                 ", %r240, "
                                 "[%r4+3];\n",
                             cells, policy);
        ASSERT_EQ(run.result.status, Status::Ok) << textOf(run.result);
        for (uint32_t t = 0; t < 32; ++t) {
          const uint32_t *row = &cells[t * columns + 3];
          for (uint32_t r = 0; r < 16; ++r)
            ASSERT_EQ(run.got[t * 17 + r], row[r]);
          ASSERT_EQ(run.got[t * 17 + 16],
                    reduce(form, std::vector<uint32_t>(row, row + 16)))
              << form << " thread " << t;
        }
      }
}

/// Threads 16 to 31 load and reduce other columns of the same lanes.
TEST(LoadReduce, TwoHalves) {
  std::mt19937 random(9);
  std::vector<uint32_t> cells = drawCells(random, false);
  Loaded run = runLoad("tcgen05.ld.red.sync.aligned.16x32bx2.x16.max.u32 " +
                           registerList(200, 16) + ", %r240, [%r4], 16;\n",
                       cells, Policy::Eager);
  ASSERT_EQ(run.result.status, Status::Ok) << textOf(run.result);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t *row = &cells[t % 16 * columns + t / 16 * 16];
    EXPECT_EQ(run.got[t * 17 + 16], *std::max_element(row, row + 16));
  }
}

TEST(LoadReduce, IllegalFormsAreRefused) {
  std::vector<uint32_t> cells(32 * columns);
  auto refuses = [&](const std::string &form, const std::string &operands,
                     const std::string &target = "sm_103a") {
    EXPECT_THROW(
        runLoad("tcgen05.ld.red.sync.aligned." + form + " " + operands + ";\n",
                cells, Policy::Eager, target),
        Error)
        << form;
  };
  const std::string two = "{%r200, %r201}, %r240, [%r4]";
  refuses("32x32b.x2.max.f32", two, "sm_100a");
  refuses("32x32b.x1.max.f32", "{%r200}, %r240, [%r4]");
  refuses("16x64b.x2.max.f32", two);
  refuses("32x32b.x2.max.abs.s32", two);
  refuses("32x32b.x2.f32", two);
  refuses("32x32b.x2.x2.max.f32", two);
  refuses("32x32b.x2.min.max.f32", two);
  refuses("32x32b.x2.max.u32.s32", two);
  refuses("32x32b.x2.max.bogus.u32", two);
  refuses("32x32b.x2.max.f32", "{%r200, %r201}, {%r240, %r241}, [%r4]");
}

} // namespace
