//===- WriteOwnership.cpp - Which cluster accessed which memory -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteOwnership.h"

#include <algorithm>
#include <cstring>

using namespace ptxsim;

WriteOwnership::WriteOwnership(Device::Impl &device) : device(device) {
  for (auto &[base, allocation] : device.allocations) {
    uint64_t granules = (allocation.size + kGranule - 1) / kGranule;
    // Pages of memory that are never accessed cost nothing.
    allocation.owners.reset(static_cast<std::atomic<uint32_t> *>(
        std::calloc(granules, sizeof(std::atomic<uint32_t>))));
    if (!allocation.owners)
      throw std::bad_alloc();
    allocation.saved = std::make_unique<Allocation::Saved>();
  }
}

WriteOwnership::~WriteOwnership() {
  for (auto &[base, allocation] : device.allocations) {
    allocation.owners.reset();
    allocation.saved.reset();
  }
}

/// Copies an allocation before its first byte is written. Until then others
/// only read it.
void WriteOwnership::save(Allocation &allocation) {
  Allocation::Saved &saved = *allocation.saved;
  if (saved.done.load(std::memory_order_acquire))
    return;
  std::lock_guard lock(mutex);
  if (saved.done.load(std::memory_order_relaxed))
    return;
  const uint8_t *bytes = allocation.bytes.get();
  const uint8_t *written = allocation.written.get();
  saved.bytes.assign(bytes, bytes + allocation.size);
  saved.written.assign(written, written + allocation.size);
  saved.untracked = allocation.untracked;
  saved.done.store(true, std::memory_order_release);
}

/// Restores the granules that clusters wrote. The host may have written other
/// granules since.
static void restoreWritten(Allocation &allocation) {
  constexpr uint64_t granule = WriteOwnership::kGranule;
  for (uint64_t at = 0; at < allocation.size; at += granule)
    if (WriteOwnership::isWritten(allocation.owners.get()[at / granule]))
      std::memcpy(allocation.bytes.get() + at,
                  allocation.saved->bytes.data() + at,
                  std::min(granule, allocation.size - at));
}

void WriteOwnership::restore() {
  for (auto &[base, allocation] : device.allocations) {
    if (!allocation.saved->done)
      continue;
    const Allocation::Saved &saved = *allocation.saved;
    if (allocation.isShared())
      restoreWritten(allocation);
    else
      std::memcpy(allocation.bytes.get(), saved.bytes.data(), allocation.size);
    std::memcpy(allocation.written.get(), saved.written.data(),
                allocation.size);
    allocation.untracked = saved.untracked;
  }
}

void WriteOwnership::claimGranule(std::atomic<uint32_t> &owner,
                                  Allocation &allocation, bool writes,
                                  uint32_t mine) {
  uint32_t wanted = mine + writes;
  uint32_t state = owner.load(std::memory_order_relaxed);
  while (true) {
    bool ownedByMe = state == mine || state == mine + 1;
    uint32_t next = ownedByMe ? std::max(state, wanted) : wanted;
    if (!ownedByMe && state != kUntouched) {
      bool writtenByOther = isWritten(state);
      if (writes || writtenByOther)
        throw ClusterConflict();
      next = kReadByMany;
    }
    if (next == state)
      return;
    if (writes)
      save(allocation);
    if (owner.compare_exchange_weak(state, next, std::memory_order_relaxed))
      return;
  }
}
