//===- Claims.h - Which cluster touched what --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_MACHINE_CLAIMS_H
#define FMHA_LIB_PTX_SIM_CORE_MACHINE_CLAIMS_H

#include "DeviceImpl.h"

#include "fmha/PTX/Sim/Core/Program/Types.h"

#include <atomic>
#include <mutex>

namespace ptxsim {

/// Thrown through a cluster's run by an access that two clusters conflict over.
struct ClusterConflict {};

/// Who touched which granule of global memory during a parallel attempt.
class Claims {
public:
  /// Output rows of neighbouring CTAs begin at multiples of 16 bytes.
  static constexpr uint64_t kGranule = 16;

  /// Starts to watch every allocation of the device.
  explicit Claims(Device::Impl &device);
  ~Claims();
  Claims(const Claims &) = delete;
  Claims &operator=(const Claims &) = delete;

  /// Claims the granules of an access for cluster `cluster`, throws
  /// ClusterConflict if another one has a claim that excludes it.
  void claim(Allocation &allocation, uint64_t offset, uint64_t bytes,
             Access access, uint32_t cluster) {
    if (!bytes)
      return;
    bool writes = access != Access::Read;
    uint32_t mine = (cluster + 1) * 2;
    for (uint64_t granule = offset / kGranule;
         granule <= (offset + bytes - 1) / kGranule; ++granule) {
      std::atomic<uint32_t> &owner = allocation.owners.get()[granule];
      uint32_t state = owner.load(std::memory_order_relaxed);
      if (state == mine + 1 ||
          (!writes && (state == mine || state == kReadByMany)))
        continue;
      claimGranule(owner, allocation, writes, mine);
    }
  }
  /// Puts back what was written.
  void restore();
  /// Returns whether the owner of a granule writes it.
  static bool isWritten(uint32_t owner) {
    return owner != kReadByMany && (owner & 1);
  }

private:
  // States of a granule: untouched, read by several clusters, or
  // (cluster + 1) * 2 for its only reader and one more for its writer.
  static constexpr uint32_t kUntouched = 0, kReadByMany = 0xFFFFFFFE;

  void save(Allocation &allocation);
  void claimGranule(std::atomic<uint32_t> &owner, Allocation &allocation,
                    bool writes, uint32_t mine);
  Device::Impl &device;
  std::mutex mutex;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_MACHINE_CLAIMS_H
