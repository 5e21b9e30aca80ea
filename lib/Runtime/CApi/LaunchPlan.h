//===- LaunchPlan.h - Launches with checked tensors -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of the kernels of a launch depend only on the module, on the
// tensors as DLPack describes them, on the workspace and on max_q_len. So a
// launch with the same description as an earlier one reuses its arguments,
// without any checks or computation.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_LAUNCHPLAN_H
#define FMHA_LIB_RUNTIME_CAPI_LAUNCHPLAN_H

#include "TensorRole.h"
#include "fmha/Runtime/Launch/Grid.h"

#include <mutex>
#include <vector>

namespace fmha::capi {

constexpr size_t mostParameters = 1024, mostMaps = 16, mostKernels = 2;

/// The location of one kernel's arguments in a block of memory: tensor maps
/// first, which the driver requires at multiples of 64 bytes, then numbers.
struct ArgumentLayout {
  explicit ArgumentLayout(const launch::KernelLaunch &kernel);
  ArgumentLayout() = default;

  /// Offset of each parameter, in bytes.
  std::vector<uint32_t> offsets;
  /// A multiple of 64.
  size_t bytes = 0;
};

/// The grids of a launch, and the consecutive arguments of its kernels. An
/// empty grid is not launched.
struct LaunchPlan {
  static constexpr size_t mostBytes =
      mostKernels * (mostMaps * 128 + mostParameters * 8);

  std::array<launch::Grid, mostKernels> grids = {};
  /// The address of the tile counter, which must be 0 when a launch begins; 0
  /// if the kernel has none.
  uint64_t counter = 0;
  /// Not initialized: a launch writes the bytes that its kernels use.
  alignas(64) unsigned char arguments[mostBytes];

  // Leaves the arguments uninitialized.
  LaunchPlan() {}
};

/// The description of a launch, as words.
class LaunchKey {
public:
  static constexpr size_t mostWords = 512;

  /// Describes a launch. `isValid` is false for tensors that do not have the
  /// form of their roles, which a launch rejects, and for keys that do not fit.
  LaunchKey(std::span<const TensorRole> roles, const DLTensor *const *tensors,
            size_t n, const FmhaLaunchOptions &options);

  bool isValid() const { return valid; }
  std::span<const uint64_t> words() const { return {text, count}; }
  /// Returns the maximum number of words for tensors of these roles.
  static size_t wordsOf(std::span<const TensorRole> roles);
  uint64_t hash() const;

private:
  void add(const DLTensor &tensor);

  uint64_t text[mostWords];
  size_t count = 0;
  bool valid = false;
};

/// The most recently used plans of one module. Thread-safe.
class PlanCache {
public:
  /// Reserves memory for keys of at most `words` and arguments of `bytes`.
  void reserve(size_t words, size_t bytes);
  /// Copies the plan of `key` to `plan`; returns false if there is none.
  bool find(const LaunchKey &key, LaunchPlan &plan);
  /// Stores `plan` in place of the least recently used one.
  void keep(const LaunchKey &key, const LaunchPlan &plan);

private:
  // Enough for the layers of a model that run in turn, each with its own KV
  // cache.
  static constexpr size_t sets = 16, ways = 16;
  struct Slot {
    /// Number of the plan's last use; 0 for never.
    uint64_t used = 0;
    uint64_t hash = 0;
    size_t words = 0;
    std::array<launch::Grid, mostKernels> grids = {};
    uint64_t counter = 0;
  };
  uint64_t *keyOf(size_t slot) { return &keys[slot * mostWords]; }
  unsigned char *argumentsOf(size_t slot) { return &arguments[slot * bytes]; }

  std::mutex turn;
  uint64_t uses = 0;
  size_t mostWords = 0, bytes = 0;
  std::vector<Slot> slots;
  std::vector<uint64_t> keys;
  std::vector<unsigned char> arguments;
};

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_LAUNCHPLAN_H
