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
#include <map>
#include <mutex>
#include <tuple>

namespace fmha::runtime::driver {

/// Device memory that is kept when it is given back, since freeing it would
/// wait for the device. Memory taken for a stream is only taken again for that
/// stream, after whose earlier work later work executes. In the simulator
/// nothing is kept, so that memory that nothing was written to is found.
class DeviceMemory {
public:
  using Address = DevicePointer;

  explicit DeviceMemory(const Calls &calls) : calls(calls) {}

  /// Takes at least `bytes` bytes on `device`, the current one. Returns the
  /// driver's error, or 0.
  Result take(uint64_t bytes, int device, uint64_t stream, Address &address);
  void giveBack(Address address);

private:
  /// Device, stream and bytes of a block.
  using Kind = std::tuple<int, uint64_t, uint64_t>;
  void freeKept();

  /// More than this is freed.
  static constexpr uint64_t mostKeptBytes = uint64_t(1) << 30;
  const Calls &calls;
  std::mutex mutex;
  std::map<Address, Kind> taken;
  std::multimap<Kind, Address> kept;
  uint64_t keptBytes = 0;
};

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVER_DEVICEMEMORY_H
