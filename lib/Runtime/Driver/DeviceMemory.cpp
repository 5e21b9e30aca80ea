//===- DeviceMemory.cpp - Memory of results on devices --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/DeviceMemory.h"

#include <algorithm>
#include <bit>

using namespace fmha::runtime::driver;

/// Returns `bytes`, rounded up to one of eight sizes per power of two, so that
/// similar results share blocks.
static uint64_t roundUp(uint64_t bytes) {
  constexpr uint64_t least = 512;
  uint64_t step = std::max(std::bit_floor(bytes) / 8, least);
  return std::max((bytes + step - 1) / step * step, least);
}

Result DeviceMemory::take(uint64_t bytes, int device, uint64_t stream,
                          Address &address) {
  Kind kind{device, stream, roundUp(bytes)};
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(kept, kind, &std::pair<Kind, Address>::first);
  if (found != kept.end()) {
    address = found->second;
    kept.erase(found);
    keptBytes -= std::get<2>(kind);
  } else if (Result result = calls.memAlloc(&address, std::get<2>(kind))) {
    if (kept.empty())
      return result;
    freeKept(0);
    if (Result again = calls.memAlloc(&address, std::get<2>(kind)))
      return again;
  }
  taken[address] = kind;
  return Result(0);
}

void DeviceMemory::giveBack(Address address) {
  constexpr uint64_t streamPerThread = 2;
  std::lock_guard lock(mutex);
  auto found = taken.find(address);
  Kind kind = found->second;
  taken.erase(found);
  if (calls.isSimulator() || std::get<1>(kind) == streamPerThread) {
    calls.memFree(address);
    return;
  }
  kept.emplace_back(kind, address);
  keptBytes += std::get<2>(kind);
  freeKept(mostKeptBytes);
}

void DeviceMemory::freeKept(uint64_t most) {
  for (; keptBytes > most; kept.pop_front()) {
    auto [kind, address] = kept.front();
    calls.memFree(address);
    keptBytes -= std::get<2>(kind);
  }
}
