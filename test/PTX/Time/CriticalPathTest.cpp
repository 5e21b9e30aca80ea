//===- CriticalPathTest.cpp - What bounds a kernel ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/CriticalPath.h"

#include "gtest/gtest.h"

using namespace ptxsim::timing;

namespace {

/// A path of one warp in whose steps rounds of labels repeat. Each label is at
/// one place of the code.
class Path {
public:
  Path() { recording.warps.resize(1); }

  void add(unsigned rounds, std::initializer_list<std::string_view> labels,
           double clocks) {
    size_t first = recording.codes.size();
    recording.codes.resize(first + labels.size());
    for (unsigned round = 0; round < rounds; ++round) {
      uint32_t code = uint32_t(first);
      for (std::string_view label : labels) {
        std::vector<Step> &steps = recording.warps[0].steps;
        segments.push_back({{0, uint32_t(steps.size())}, label, clocks});
        steps.emplace_back().code = code++;
      }
    }
  }
  std::string describe() const { return describePath(recording, segments); }

private:
  Recording recording;
  std::vector<Segment> segments;
};

TEST(CriticalPath, TheRoundIsFromTheMiddleByClocks) {
  // Most segments are before the loop, most clocks in it.
  Path path;
  path.add(40, {"LSU", "ALU"}, 1);
  path.add(5, {"MUFU", "MMA"}, 200);
  path.add(10, {"store"}, 2);
  EXPECT_EQ(path.describe(), "warp 0: MUFU → MMA (MUFU 48 %, MMA 48 %)");
}

} // namespace
