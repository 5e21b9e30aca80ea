//===- LaunchProbe.h - One launch, on two drivers ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_BENCHMARK_LAUNCHPROBE_H
#define FMHA_BENCHMARK_LAUNCHPROBE_H

#include "Module.h"
#include "fmha-c/Runtime.h"

#include <string>
#include <vector>

namespace fmha::benchmark {

/// Prints `why` and ends the program with status 2.
[[noreturn]] void die(const std::string &why);

/// A kernel that is loaded once, and launched through this module's calls of
/// the driver, through those of a driver that does nothing, or without
/// fmhaLaunch().
class LaunchProbe {
public:
  /// `stub` names the driver that does nothing; empty for the one next to the
  /// program, or of the build. `files` are pairs of PTX and manifest, of which
  /// the first that is for the device is loaded; without any the stub has a
  /// kernel of its own.
  LaunchProbe(const std::string &stub, const std::vector<std::string> &files);

  bool hasDriver() const { return real.launchKernel != nullptr; }
  bool isSimulator() const { return hasDriver() && real.isSimulator(); }
  std::string device() const;
  std::string library() const {
    return hasDriver() ? real.library : "none but the stub";
  }
  const std::string &kernel() const { return name; }

  void useStub();
  void useDriver();
  void wait() { active->synchronize(); }

  void launch();
  /// Launches on tensors of number `n`: 25000 in a row share no map.
  void launchElsewhere(int n);
  /// What the last launch() on the driver did, by one call of it.
  void launchBare();

private:
  void launchAt(uint64_t offset);
  void choose(const std::vector<std::string> &files);
  void load(const std::string &image, const std::string &manifest);
  void addTensors();
  void record();
  void keep(const runtime::driver::LaunchConfig &config,
            runtime::driver::Function function, void **places);

  runtime::driver::Calls stubCalls, real;
  /// The calls that the module makes.
  runtime::driver::Calls *active = nullptr;
  FmhaModule module = nullptr;
  std::string name;
  CUstream stream = nullptr;

  struct Tensor {
    std::vector<int64_t> shape;
    DLTensor dl = {};
  };
  std::vector<Tensor> tensors;
  std::vector<const DLTensor *> pointers;

  /// What the driver was given.
  struct Recorded {
    runtime::driver::LaunchConfig config;
    std::vector<runtime::driver::LaunchAttribute> attributes;
    runtime::driver::Function function;
    std::vector<runtime::driver::TensorMap> arguments;
    std::vector<void *> places;
  } recorded = {};
};

} // namespace fmha::benchmark

#endif // FMHA_BENCHMARK_LAUNCHPROBE_H
