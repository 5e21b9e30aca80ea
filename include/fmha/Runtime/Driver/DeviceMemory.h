//===- DeviceMemory.h - Memory of results on devices ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVER_DEVICEMEMORY_H
#define FMHA_RUNTIME_DRIVER_DEVICEMEMORY_H

#include "fmha/Runtime/Driver/Calls.h"

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace fmha::runtime::driver {

/// Device memory that is kept when it is given back, since freeing it would
/// wait for the device. Memory taken for a stream is reused for that stream
/// only, whose work executes in order; before a stream is destroyed, its work
/// must have finished. Nothing is kept in the simulator, so that reads of
/// uninitialized memory are found, and nothing for CU_STREAM_PER_THREAD, which
/// is a different stream in each thread.
class DeviceMemory {
public:
  using Address = DevicePointer;

  explicit DeviceMemory(const Calls &calls) : calls(calls) {}

  /// Takes at least `bytes` bytes on `device`, the current one. Returns the
  /// driver's error, or 0.
  Result take(uint64_t bytes, int device, uint64_t stream, Address &address);
  /// Keeps a block for later calls of take(), and frees the blocks that were
  /// kept first if there are too many.
  void giveBack(Address address);

private:
  /// Device, stream and bytes of a block.
  using Kind = std::tuple<int, uint64_t, uint64_t>;
  /// Frees the blocks that were kept first, until at most `most` bytes are
  /// left.
  void freeKept(uint64_t most);

  /// The most bytes that are kept.
  static constexpr uint64_t mostKeptBytes = uint64_t(1) << 30;
  const Calls &calls;
  std::mutex mutex;
  std::map<Address, Kind> taken;
  /// From the block that was kept first to the last one.
  std::list<std::pair<Kind, Address>> kept;
  uint64_t keptBytes = 0;
};

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVER_DEVICEMEMORY_H
