//===- SiliconTest.cpp - Collectives and special registers as on an H200 --===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Replay.h"
#include "../SiliconCoverage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace ptxsim;
using namespace ptxsim::test;

static Recording &recording() {
  static Recording kRecording(FMHA_TEST_DATA "/silicon/core");
  return kRecording;
}

static Recording &scalarRecording() {
  static Recording kRecording(FMHA_TEST_DATA "/silicon/scalar");
  return kRecording;
}

/// Votes, shuffles, reductions, ldmatrix, stmatrix, movmatrix.
TEST(Silicon, Collectives) {
  for (Policy policy : {Policy::Eager, Policy::Random}) {
    unsigned count = 0;
    std::vector<const nlohmann::json *> entries = recording().family("integer");
    for (const nlohmann::json *entry : recording().family("mma_sync"))
      entries.push_back(entry);
    for (const nlohmann::json *entry : entries) {
      Options options;
      options.policy = policy;
      // The recording shuffles from lanes outside the mask on purpose.
      options.checks = {"member-mask", "uninit-global", "aligned-partial-warp"};
      ReplayResult result = recording().replay(*entry, options);
      EXPECT_EQ(result.launch.status, Status::Ok)
          << (*entry)["name"] << describe(result.launch);
      for (const auto &output : result.outputs)
        EXPECT_EQ(firstDifference(output.got, output.expected,
                                  elementBytes(output.dtype)),
                  "")
            << (*entry)["name"] << " " << output.name;
      ++count;
    }
    EXPECT_EQ(count, entriesOf("Silicon.Collectives"));
  }
}

TEST(Silicon, SpecialRegisters) {
  // Slots, SM numbers and the reserved KiB are silicon's own.
  const std::set<std::string> kOwn = {"warpid",
                                      "nwarpid",
                                      "smid",
                                      "nsmid",
                                      "aggr_smem_size",
                                      "reserved_smem_offset_begin",
                                      "reserved_smem_offset_end",
                                      "reserved_smem_offset_cap"};
  unsigned count = 0;
  for (const nlohmann::json *entry : recording().family("sync")) {
    std::string name = entry->at("name");
    if (name.substr(0, 5) != "sregs")
      continue;
    ++count;
    ReplayResult result = recording().replay(*entry, Options());
    // All threads store to one word, so that the shared memory is in use.
    for (const Finding &finding : result.launch.findings)
      EXPECT_EQ(finding.id, "race-shared") << describe(result.launch);
    const auto &output = result.outputs.at(0);
    const auto &columns = entry->at("columns");
    for (size_t column = 0; column < columns.size(); ++column) {
      if (kOwn.count(columns[column]))
        continue;
      unsigned differ = 0;
      for (size_t at = column * 4; at < output.got.size();
           at += columns.size() * 4)
        differ += std::memcmp(&output.got[at], &output.expected[at], 4) != 0;
      EXPECT_EQ(differ, 0u) << name << " " << columns[column];
    }
  }
  EXPECT_EQ(count, entriesOf("Silicon.SpecialRegisters"));
}

static bool hasAny(const std::string &text,
                   const std::vector<const char *> &words) {
  for (const char *word : words)
    if (text.find(word) != std::string::npos)
      return true;
  return false;
}

/// The kernels of the scalar families as they ran, from parsing to memory.
/// Approximate functions without a model of silicon are only launched: their
/// bounds are Silicon.MatchesEveryRecordedSample's.
TEST(Silicon, ScalarKernels) {
  const std::vector<const char *> crossing = {"vote.",  "activemask", "elect.",
                                              "match.", "redux.",     "shfl."};
  // Roots and their reciprocals, but not those of f64.
  const std::vector<const char *> modeled = {
      "ex2.approx",      "lg2.approx",
      "rcp.approx.f32",  "rcp.approx.ftz.f32",
      "sqrt.approx.f32", "sqrt.approx.ftz.f32",
      "sin.approx",      "cos.approx",
      "div.approx",      "div.full"};
  Options options;
  options.approx = ApproxMode::Sm90;
  unsigned count = 0;
  for (const char *family : {"scalar_f32", "half", "cvt", "integer"})
    for (const nlohmann::json *entry : scalarRecording().family(family)) {
      std::string ptx = entry->at("ptx");
      if (hasAny(ptx, crossing))
        continue;
      ++count;
      ReplayResult result = scalarRecording().replay(*entry, options);
      EXPECT_EQ(result.launch.status, Status::Ok)
          << (*entry)["name"] << describe(result.launch);
      if (hasAny(ptx, {".approx", "div.full"}) && !hasAny(ptx, modeled))
        continue;
      for (const auto &output : result.outputs)
        EXPECT_EQ(firstDifference(output.got, output.expected,
                                  elementBytes(output.dtype)),
                  "")
            << (*entry)["name"] << " " << output.name;
    }
  EXPECT_EQ(count, entriesOf("Silicon.ScalarKernels"));
}

/// x = shared address, mapa rank 0 and 1, getctarank of both, generic address
/// (2 words), mapa.u64 (2 + 2), its rank, cvta (2), own rank, a value of
/// rank 1.
TEST(Silicon, Mapa) {
  EXPECT_EQ(entriesOf("Silicon.Mapa"), 1u);
  const nlohmann::json &entry = recording().entry("sync", "cluster.mapa");
  ReplayResult result = recording().replay(entry, Options());
  EXPECT_EQ(result.launch.status, Status::Ok) << describe(result.launch);
  const auto &output = result.output("x");
  const std::set<size_t> kUpperHalves = {6, 8, 10, 13};
  for (size_t word = 0; word < output.got.size() / 4; ++word)
    if (!kUpperHalves.count(word % 16))
      EXPECT_EQ(
          std::memcmp(&output.got[word * 4], &output.expected[word * 4], 4), 0)
          << "word " << word % 16 << " of thread " << word / 16;
}
