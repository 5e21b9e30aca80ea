//===- ReplayTest.cpp - Launches recorded on silicon, run again -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Core/SiliconCoverage.h"
#include "../Units/TruthData.h"
#include "Kernel.h"

#include <fstream>
#include <functional>
#include <sstream>

using namespace ptxsim;
using namespace ptxsim::test;
using nlohmann::json;

namespace {

const Module &moduleOf(const std::string &name) {
  static std::map<std::string, Module> modules;
  auto found = modules.find(name);
  if (found == modules.end()) {
    std::ifstream in(dataPath("async/ptx/" + name));
    std::stringstream text;
    text << in.rdbuf();
    found = modules.emplace(name, Module::parse(text.str(), name)).first;
  }
  return found->second;
}

std::vector<uint8_t> mapBytes(const json &p, uint64_t address) {
  std::array<uint8_t, 128> bytes{};
  auto why = p["kind"] == "im2col"
                 ? encodeIm2col(im2colParams(p, address), bytes)
                 : encodeTiled(tiledParams(p, address), bytes);
  EXPECT_FALSE(why) << *why;
  return {bytes.begin(), bytes.end()};
}

Dim3 dimOf(const json &value) {
  if (value.is_number())
    return {value.get<uint32_t>(), 1, 1};
  Dim3 dim;
  dim.x = value[0];
  dim.y = value.size() > 1 ? value[1].get<uint32_t>() : 1;
  dim.z = value.size() > 2 ? value[2].get<uint32_t>() : 1;
  return dim;
}

struct Replay {
  LaunchResult result;
  std::map<std::string, std::vector<uint8_t>> outputs;
};

std::string tensorName(const json &map) {
  std::string name = map["tensor"];
  return name.substr(0, name.find('/'));
}

Replay replay(const json &entry, Policy policy) {
  const Recordings &recordings = Recordings::get();
  Device device;
  std::map<std::string, uint64_t> addresses;
  auto place = [&](const json &array, const char *key) {
    uint64_t size = Recordings::sizeOf(array);
    uint64_t address = device.allocate(std::max<uint64_t>(size, 1));
    if (array.contains(key)) {
      std::vector<uint8_t> bytes = recordings.data(array, key);
      device.write(address, std::as_bytes(std::span(bytes)));
    } else {
      device.fill(address, std::byte{0xCD}, size);
    }
    addresses[array["name"]] = address;
  };
  for (const json &input : entry["inputs"])
    place(input, "offset");
  for (const json &output : entry["outputs"])
    place(output, "init_offset");
  const json &how = entry["launch"];
  LaunchConfig config;
  config.entry = how["entry"];
  config.grid = dimOf(how["grid"]);
  config.block = dimOf(how["block"]);
  config.dynamicSharedBytes = how["smem"];
  for (const json &name : how["args"])
    config.parameters.push_back(bytesOf(addresses.at(name)));
  for (const json &scalar : how["scalars"])
    config.parameters.push_back(bytesOf(uint32_t(scalar.get<int64_t>())));
  if (entry.contains("tensormap")) {
    const json &map = entry["tensormap"];
    config.parameters.push_back(mapBytes(map, addresses.at(tensorName(map))));
  }
  Replay run;
  run.result =
      launch(device, moduleOf(how["module"]), config, optionsOf(policy));
  for (const json &output : entry["outputs"]) {
    std::vector<uint8_t> &bytes = run.outputs[output["name"]];
    bytes.resize(Recordings::sizeOf(output));
    device.read(addresses.at(output["name"]),
                std::as_writable_bytes(std::span(bytes)));
  }
  return run;
}

/// Which bytes of an output are defined.
using Mask = std::function<bool(const std::string &output, size_t at)>;

using Policies = std::vector<Policy>;

/// False where there is nothing to replay.
bool replayEntry(const json &entry, const Mask &defined,
                 const std::set<std::string> &expectedFindings,
                 const Policies &policies) {
  std::string name = entry["name"];
  if (!entry.contains("launch") || entry.contains("error") ||
      name.find("interleave") != std::string::npos)
    return false;
  SCOPED_TRACE(name);
  for (Policy policy : policies) {
    Replay run = replay(entry, policy);
    for (const Finding &finding : run.result.findings)
      EXPECT_TRUE(expectedFindings.count(finding.id))
          << finding.id << ": " << finding.message;
    for (const json &output : entry["outputs"]) {
      std::vector<uint8_t> expected = Recordings::get().data(output);
      const std::vector<uint8_t> &got = run.outputs.at(output["name"]);
      size_t wrong = 0, first = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        if (got[i] != expected[i] && defined(output["name"], i))
          first = wrong++ ? first : i;
      EXPECT_EQ(wrong, 0u) << output["name"] << " differs, first at byte "
                           << first;
    }
  }
  return true;
}

unsigned replayAll(const std::string &prefix, const Mask &defined,
                   const std::set<std::string> &expectedFindings,
                   const Policies &policies = {Policy::Eager, Policy::Late}) {
  unsigned replayed = 0;
  for (const json *entry : Recordings::get().named(prefix))
    replayed += replayEntry(*entry, defined, expectedFindings, policies);
  return replayed;
}

/// The recorder of loads polls its barrier a bounded number of times, so a copy
/// that completes late may never be seen.
const Policies atOnce = {Policy::Eager};

/// Of a load's status only "completed" and the tx-count are defined.
bool loadDefined(const std::string &output, size_t at) {
  return output != "status" || at / 8 == 0 || at / 8 == 3;
}

bool everything(const std::string &, size_t) { return true; }

TEST(Replay, TensorLoads) {
  // The recorder read the barrier's word and every byte of the image, also
  // what no copy had written.
  EXPECT_EQ(replayAll("load.", loadDefined,
                      {"mbarrier-live-access", "uninit-shared"}, atOnce),
            entriesOf("Replay.TensorLoads"));
}

TEST(Replay, Im2colLoads) {
  EXPECT_EQ(replayAll("im2col.", loadDefined,
                      {"mbarrier-live-access", "uninit-shared"}, atOnce),
            entriesOf("Replay.Im2colLoads"));
}

TEST(Replay, TensorStoresAndReductions) {
  EXPECT_EQ(replayAll("store.", everything, {"missing-proxy-fence"}) +
                replayAll("reduce.", everything, {"missing-proxy-fence"}),
            entriesOf("Replay.TensorStoresAndReductions"));
}

TEST(Replay, BulkCopies) {
  EXPECT_EQ(replayAll("bulk.", loadDefined,
                      {"mbarrier-live-access", "uninit-shared",
                       "missing-proxy-fence"},
                      atOnce),
            entriesOf("Replay.BulkCopies"));
}

bool refusedAtEncode(const json &entry) {
  return entry["error"].get<std::string>().find("cuTensorMapEncode") !=
         std::string::npos;
}

/// Launches that silicon refused are stopped here, too.
TEST(Replay, Faults) {
  unsigned checked = 0;
  for (const json &entry : Recordings::get().entries) {
    if (!entry.contains("launch") || !entry.contains("error") ||
        refusedAtEncode(entry))
      continue;
    Replay run = replay(entry, Policy::Eager);
    EXPECT_EQ(run.result.status, Status::Findings) << entry["name"];
    ++checked;
  }
  EXPECT_EQ(checked, entriesOf("Replay.Faults"));
}

/// True where the simulator says that it can not run an entry.
bool isRefused(const json &entry) {
  try {
    return replay(entry, Policy::Eager).result.status == Status::Findings;
  } catch (const Error &error) {
    return error.kind == Error::Kind::Unsupported;
  }
}

/// Whoever teaches the simulator one of these must replay it.
TEST(Replay, WhatIsNotExecutedIsRefused) {
  unsigned checked = 0;
  for (const json &entry : Recordings::get().entries) {
    std::string name = entry["name"];
    bool interleaved = name.find("interleave") != std::string::npos;
    bool remote = name.find("cluster.st.async") == 0 ||
                  name.find("cluster.red.async") == 0;
    if ((!interleaved && !remote) || entry.contains("error"))
      continue;
    EXPECT_TRUE(isRefused(entry)) << name;
    ++checked;
  }
  EXPECT_EQ(checked, entriesOf("Replay.WhatIsNotExecutedIsRefused"));
}

/// Results of the barrier scripts, per step: the low half of a state is not
/// defined, and neither is the raw word.
TEST(Replay, MbarrierScripts) {
  const Recordings &recordings = Recordings::get();
  unsigned replayed = 0;
  for (const json *entry : recordings.named("mbarrier.")) {
    const json *script = Recordings::find((*entry)["inputs"], "script");
    if (!script || entry->contains("error"))
      continue;
    std::vector<uint32_t> rows = recordings.values<uint32_t>(*script);
    auto defined = [&](const std::string &output, size_t at) {
      uint32_t op = rows[at / 8 * 4];
      bool state = (op >= 1 && op <= 6) || op == 9 || op == 10;
      return output == "value" && (!state || at % 8 >= 4);
    };
    replayed += replayEntry(*entry, defined,
                            {"mbarrier-live-access", "mbarrier-reinit",
                             "mbarrier-tx-left", "mbarrier-arrivals-left"},
                            {Policy::Eager, Policy::Late});
  }
  EXPECT_EQ(replayed, entriesOf("Replay.MbarrierScripts"));
}

/// Lanes of one warp arrive together; the high half of a state is defined.
TEST(Replay, ArrivalsOfOneWarp) {
  auto defined = [](const std::string &output, size_t at) {
    return output == "s" && at % 8 >= 4;
  };
  EXPECT_EQ(replayAll("mbarrier.warp_arrive", defined,
                      {"mbarrier-live-access", "mbarrier-arrivals-left"}),
            entriesOf("Replay.ArrivalsOfOneWarp"));
}

TEST(Replay, AsynchronousCopies) {
  EXPECT_EQ(replayAll("cp.async", everything, {"uninit-shared"}),
            entriesOf("Replay.AsynchronousCopies"));
}

} // namespace
