//===- Target.h - The devices that the driver API reports -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .target name, and the facts that a host queries for a device. The list
// belongs to the simulator: it is independent of the compiler's target table.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_HOST_TARGET_H
#define FMHA_PTX_HOST_TARGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptxsim {

/// sm_<cc><suffix>: compute capability times ten, and 'a' (only this
/// architecture), 'f' (this family) or nothing (this and every later one).
struct TargetName {
  unsigned cc = 0;
  char suffix = 0;

  /// Parses "sm_100a", also as the first word of a .target list.
  static std::optional<TargetName> parse(std::string_view text);
  std::string text() const;
  /// Returns true if PTX for this target runs on a device of capability
  /// `device` (PTX manual, .target).
  bool runsOn(unsigned device) const;
};

/// Properties of one kind of device. Sizes are in bytes.
struct DeviceFacts {
  unsigned cc;
  unsigned multiprocessors;
  unsigned sharedPerBlockOptin, sharedPerMultiprocessor;
  unsigned threadsPerMultiprocessor, blocksPerMultiprocessor;
  uint64_t memory;
  unsigned l2Bytes;
  unsigned clockKHz, memoryClockKHz, busBits;
};

/// Returns the facts for the capability, or those of the nearest earlier
/// device.
const DeviceFacts &factsOf(unsigned cc);

} // namespace ptxsim

#endif // FMHA_PTX_HOST_TARGET_H
