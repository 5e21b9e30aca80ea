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
  if (auto found = kept.find(kind); found != kept.end()) {
    address = found->second;
    kept.erase(found);
    keptBytes -= std::get<2>(kind);
  } else if (Result result = calls.memAlloc(&address, std::get<2>(kind))) {
    if (kept.empty())
      return result;
    freeKept();
    if (Result again = calls.memAlloc(&address, std::get<2>(kind)))
      return again;
  }
  taken[address] = kind;
  return Result(0);
}

void DeviceMemory::giveBack(Address address) {
  std::lock_guard lock(mutex);
  auto found = taken.find(address);
  Kind kind = found->second;
  taken.erase(found);
  uint64_t bytes = std::get<2>(kind);
  if (calls.isSimulator() || keptBytes + bytes > mostKeptBytes) {
    calls.memFree(address);
    return;
  }
  kept.emplace(kind, address);
  keptBytes += bytes;
}

void DeviceMemory::freeKept() {
  for (const auto &[kind, address] : kept)
    calls.memFree(address);
  kept.clear();
  keptBytes = 0;
}
