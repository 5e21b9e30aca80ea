//===- WgmmaSiliconTest.cpp - wgmma as recorded on an H200 ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every type, shape, layout, stride, step along K and chain that was recorded,
// bit for bit. FMHA_WGMMA_RECORDING names a folder with more tiles of them than
// the tree has.
//
//===----------------------------------------------------------------------===//

#include "../../Core/Replay.h"
#include "../../Core/SiliconCoverage.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

Recording &recording() {
  const char *other = std::getenv("FMHA_WGMMA_RECORDING");
  static Recording kRecording(other ? other : FMHA_TEST_DATA "/silicon/wgmma");
  return kRecording;
}

TEST(WgmmaSilicon, EveryRecordedTile) {
  for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
    Options options;
    options.policy = policy;
    options.mma = MmaMode::Exact;
    unsigned replayed = 0;
    for (const nlohmann::json *entry : recording().family("wgmma")) {
      SCOPED_TRACE(entry->at("name").get<std::string>());
      ReplayResult result = recording().replay(*entry, options);
      // All threads of the recorder store `used`.
      for (const Finding &finding : result.launch.findings)
        EXPECT_EQ(finding.id, "race-global") << describe(result.launch);
      for (const ReplayResult::Output &output : result.outputs)
        EXPECT_EQ(firstDifference(output.got, output.expected,
                                  elementBytes(output.dtype)),
                  "")
            << output.name;
      ++replayed;
    }
    EXPECT_EQ(replayed, entriesOf("WgmmaSilicon.EveryRecordedTile"));
  }
}

} // namespace
