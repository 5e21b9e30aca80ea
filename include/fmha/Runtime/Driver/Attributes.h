//===- Attributes.h - The attributes of a launch ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVER_ATTRIBUTES_H
#define FMHA_RUNTIME_DRIVER_ATTRIBUTES_H

#include "fmha/Runtime/Driver/Types.h"

#include <algorithm>
#include <array>
#include <span>

namespace fmha::runtime::driver {

/// The attributes of one launch. They must outlive the call that launches.
class LaunchAttributes {
public:
  /// Adds the extents of a cluster.
  void addCluster(std::span<const uint32_t, 3> extents) {
    LaunchAttribute &attribute = add(launchClusterDimension);
    std::ranges::copy(extents, attribute.value.cluster);
  }
  /// Lets the kernel start before the previous one of the stream has ended. The
  /// kernel must execute griddepcontrol.wait.
  void addProgrammatic() { add(launchProgrammatic).value.programmatic = 1; }

  void setOn(LaunchConfig &config) {
    config.attributes = count ? list.data() : nullptr;
    config.attributeCount = count;
  }

private:
  LaunchAttribute &add(int id) {
    list[count].id = id;
    return list[count++];
  }

  std::array<LaunchAttribute, 2> list = {};
  uint32_t count = 0;
};

/// Returns the attributes with which a kernel of a manifest is launched.
template <typename Kernel> LaunchAttributes attributesOf(const Kernel &kernel) {
  LaunchAttributes attributes;
  if (std::ranges::any_of(kernel.cluster, [](uint32_t n) { return n > 1; }))
    attributes.addCluster(kernel.cluster);
  if (kernel.programmatic)
    attributes.addProgrammatic();
  return attributes;
}

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVER_ATTRIBUTES_H
