//===- MmaSyncSiliconTest.cpp - mma.sync as recorded on an H200 -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every dense type and shape that was recorded, bit for bit.
// FMHA_MMA_SYNC_RECORDING names a folder with more tiles than the tree has.
//
//===----------------------------------------------------------------------===//

#include "../../Core/Replay.h"
#include "../../Core/SiliconCoverage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

Recording &recording() {
  const char *other = std::getenv("FMHA_MMA_SYNC_RECORDING");
  static Recording kRecording(other ? other
                                    : FMHA_TEST_DATA "/silicon/mma_sync");
  return kRecording;
}

bool isSparse(const nlohmann::json &entry) {
  return entry.at("name").get<std::string>().starts_with("mma.sp");
}

/// Which payload a NaN of f64 takes over is not modeled: any will do.
void forgetPayloads(Bytes &bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(double)) {
    double value;
    std::memcpy(&value, &bytes[at], sizeof value);
    if (std::isnan(value))
      std::memset(&bytes[at], 0xff, sizeof value);
  }
}

TEST(MmaSyncSilicon, EveryRecordedTile) {
  Options options;
  options.mma = MmaMode::Exact;
  unsigned replayed = 0;
  for (const nlohmann::json *entry : recording().family("mma_sync")) {
    if (isSparse(*entry))
      continue;
    SCOPED_TRACE(entry->at("name").get<std::string>());
    ReplayResult result = recording().replay(*entry, options);
    EXPECT_EQ(result.launch.status, Status::Ok) << describe(result.launch);
    for (ReplayResult::Output &output : result.outputs) {
      if (output.dtype == "f64") {
        forgetPayloads(output.got);
        forgetPayloads(output.expected);
      }
      EXPECT_EQ(firstDifference(output.got, output.expected,
                                elementBytes(output.dtype)),
                "")
          << output.name;
    }
    ++replayed;
  }
  EXPECT_EQ(replayed, entriesOf("MmaSyncSilicon.EveryRecordedTile"));
}

/// Whoever teaches the simulator sparse A must replay it.
TEST(MmaSyncSilicon, SparseFormsAreRefused) {
  unsigned refused = 0;
  for (const nlohmann::json *entry : recording().family("mma_sync"))
    if (isSparse(*entry)) {
      EXPECT_THROW(recording().replay(*entry, {}), Error) << entry->at("name");
      ++refused;
    }
  EXPECT_EQ(refused, entriesOf("MmaSyncSilicon.SparseFormsAreRefused"));
}

} // namespace
