//===- Module.h - A loaded kernel -------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_MODULE_H
#define FMHA_LIB_RUNTIME_CAPI_MODULE_H

#include "LaunchPlan.h"
#include "MapCache.h"
#include "fmha/Runtime/Launch/Values.h"

#include <deque>
#include <optional>

namespace fmha::capi {

/// An entry of the module, and its launch.
struct Entry {
  const launch::KernelLaunch *launch = nullptr;
  runtime::driver::Function function = nullptr;
  ArgumentLayout layout;
  /// Caches of the parameters that are tensor maps, in their order.
  std::deque<MapCache> maps;
};

} // namespace fmha::capi

/// Constant after loading, except for the caches.
struct FmhaModuleImpl {
  const fmha::runtime::driver::Calls *driver = nullptr;
  fmha::runtime::driver::Context context = nullptr;
  fmha::runtime::driver::DeviceId device = 0;
  fmha::runtime::driver::Module module = nullptr;

  /// Exactly one of them is set.
  std::optional<fmha::launch::Manifest> attention;
  std::optional<fmha::launch::MergeManifest> merge;
  std::optional<fmha::launch::AppendManifest> append;
  std::vector<fmha::capi::TensorRole> roles;
  /// Index of each tensor in `roles`, or -1.
  std::array<int, fmha::launch::tensorCount> places;

  fmha::capi::Entry first;
  std::optional<fmha::capi::Entry> combine;
  /// Maximum number of CTAs of a launch in x, or 0 for as many as there are
  /// tiles.
  uint32_t maxCtas = 0;
  fmha::capi::PlanCache plans;

  /// Returns the one that is set.
  const fmha::launch::KernelManifest &manifest() const {
    if (attention)
      return *attention;
    return merge ? static_cast<const fmha::launch::KernelManifest &>(*merge)
                 : *append;
  }
  size_t argumentBytes() const {
    return first.layout.bytes + (combine ? combine->layout.bytes : 0);
  }
  /// Returns the number of splits; 0 without a workspace.
  uint32_t splits() const { return combine ? attention->splits : 0; }
  /// Returns whether CTAs draw tiles from a counter in the workspace.
  bool countsTiles() const { return attention && attention->tileCounter; }
};

namespace fmha::capi {

/// Loads a module as fmhaModuleLoad() does.
FmhaStatus loadModule(const void *image, size_t bytes, const char *manifest,
                      FmhaModule *module);
FmhaStatus unloadModule(FmhaModule module);

/// Opens the driver once and returns it, or null with a sentence in `why`. It
/// is never closed: threads may still use it while the process ends.
const runtime::driver::Calls *openDriver(std::string &why);

/// Returns the error of a call of the driver, or success.
FmhaStatus check(const runtime::driver::Calls &driver,
                 runtime::driver::Result result, const char *what);

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_MODULE_H
