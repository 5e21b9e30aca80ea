//===- WriteOwnership.h - Which cluster accessed which memory ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_MACHINE_WRITEOWNERSHIP_H
#define FMHA_LIB_PTX_SIM_CORE_MACHINE_WRITEOWNERSHIP_H

#include "DeviceImpl.h"

#include "fmha/PTX/Sim/Core/Program/Types.h"

#include <atomic>
#include <mutex>

namespace ptxsim {

/// Thrown out of a cluster's run by an access that conflicts with another
/// cluster.
struct ClusterConflict {};

/// Records which cluster accessed which granule of global memory during a
/// parallel attempt.
class WriteOwnership {
public:
  /// Output rows of adjacent CTAs begin at multiples of 16 bytes.
  static constexpr uint64_t kGranule = 16;

  /// Starts to track every allocation of the device.
  explicit WriteOwnership(Device::Impl &device);
  ~WriteOwnership();
  WriteOwnership(const WriteOwnership &) = delete;
  WriteOwnership &operator=(const WriteOwnership &) = delete;

  /// Claims the granules of an access for cluster `cluster`. Throws
  /// ClusterConflict if another cluster has a conflicting claim.
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
  /// Restores the memory that was written.
  void restore();
  /// Returns whether the owner of a granule writes it.
  static bool isWritten(uint32_t owner) {
    return owner != kReadByMany && (owner & 1);
  }

private:
  // States of a granule: untouched, read by several clusters, or (cluster + 1)
  // * 2 for its only reader and that plus one for its writer.
  static constexpr uint32_t kUntouched = 0, kReadByMany = 0xFFFFFFFE;

  void save(Allocation &allocation);
  void claimGranule(std::atomic<uint32_t> &owner, Allocation &allocation,
                    bool writes, uint32_t mine);
  Device::Impl &device;
  std::mutex mutex;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_MACHINE_WRITEOWNERSHIP_H
