//===- Replay.h - Launch what silicon was seen to do ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recording is a folder with index.json (entries with inputs, outputs and
// launch), .bin files and ptx/ modules. Replaying an entry launches its kernel
// in the simulator and returns the bytes of every output beside the recorded
// ones; what to compare, and how, is the caller's.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_CORE_REPLAY_H
#define FMHA_TEST_PTX_SIM_CORE_REPLAY_H

#include "fmha/PTX/Sim/Simulator.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ptxsim::test {

using Bytes = std::vector<uint8_t>;

/// Encodes the 128 bytes of a tensor map from the recording's `tensormap`
/// object for a tensor at `address`.
using EncodeMap =
    std::function<Bytes(const nlohmann::json &map, uint64_t address)>;

struct ReplayResult {
  LaunchResult launch;
  struct Output {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    Bytes got, expected;
  };
  std::vector<Output> outputs;
  const Output &output(const std::string &name) const;
};

class Recording {
public:
  /// Reads folder/index.json; throws std::runtime_error if that fails.
  explicit Recording(const std::string &folder);
  /// Entries of a family that were recorded (no error, with a launch).
  std::vector<const nlohmann::json *> family(const std::string &name) const;
  const nlohmann::json &entry(const std::string &family,
                              const std::string &name) const;
  ReplayResult replay(const nlohmann::json &entry, const Options &options,
                      const EncodeMap &encode = nullptr);

private:
  using Addresses = std::map<std::string, uint64_t>;
  /// Allocates an array and fills it: inputs (`offset` null) with their bytes,
  /// outputs with what they held before, or 0xCD.
  uint64_t place(Device &device, const nlohmann::json &entry,
                 const nlohmann::json &array, const char *offset);
  LaunchConfig configure(const nlohmann::json &launch,
                         const Addresses &addresses);
  const Bytes &file(const std::string &name);
  const Module &module(const std::string &name);
  Bytes slice(const nlohmann::json &entry, const nlohmann::json &array,
              const char *offset);
  std::string folder;
  nlohmann::json index;
  std::map<std::string, Bytes> files;
  std::map<std::string, Module> modules;
};

/// Bytes of one element of a recorded dtype.
unsigned elementBytes(const std::string &dtype);

/// First difference of two byte strings as text, empty if equal. `element`
/// bytes are shown per position.
std::string firstDifference(const Bytes &got, const Bytes &expected,
                            unsigned element);

/// The whole content of a file; throws std::runtime_error if it cannot be read.
std::string readFile(const std::string &path);

/// What a result's findings say, for failure messages.
std::string describe(const LaunchResult &result);

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_CORE_REPLAY_H
