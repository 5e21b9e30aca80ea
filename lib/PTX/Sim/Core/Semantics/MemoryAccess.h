//===- MemoryAccess.h - Addresses of lanes to host bytes, quickly ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fast paths handle an access that is in bounds, aligned and raises no
// finding; all others go to the slow functions of Cluster, which report.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_SEMANTICS_MEMORYACCESS_H
#define FMHA_LIB_PTX_SIM_CORE_SEMANTICS_MEMORYACCESS_H

#include "Machine/DeviceImpl.h"
#include "Machine/Handlers.h"
#include "Machine/WriteOwnership.h"

#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <cstring>

namespace ptxsim {

/// Returns true if (marks[i] & mask) == wanted for all `bytes`.
inline bool marksAre(const uint8_t *marks, uint64_t bytes, uint8_t mask,
                     uint8_t wanted) {
  constexpr uint64_t kOnes = 0x0101010101010101ull;
  uint64_t bad = 0;
  for (; bytes >= 8; bytes -= 8, marks += 8) {
    uint64_t word;
    std::memcpy(&word, marks, 8);
    bad |= (word & (kOnes * mask)) ^ (kOnes * wanted);
  }
  for (; bytes; --bytes, ++marks)
    bad |= uint64_t((*marks & mask) ^ wanted);
  return bad == 0;
}

/// A generic read requires written bytes that no operation in flight will
/// write; a generic write requires bytes that no operation in flight accesses.
constexpr uint8_t kReadMask = kWritten | kAsyncWrite | kBarrier;
constexpr uint8_t kWriteMask = kAsyncWrite | kAsyncRead | kBarrier;

inline uint8_t *fastShared(Warp &warp, uint64_t address, uint32_t bytes,
                           uint32_t align, Access access) {
  Cta &cta = warp.cta;
  uint64_t offset = address - (uint64_t(cta.rank) << 24);
  if (offset < kSharedBase || offset + bytes > cta.unnotedEnd ||
      offset > cta.unnotedEnd || (offset & (align - 1)))
    return nullptr;
  if (!cta.sharedMarks.empty()) {
    uint8_t *marks = cta.sharedMarks.data() + offset;
    if (access != Access::Write && !marksAre(marks, bytes, kReadMask, kWritten))
      return nullptr;
    if (access != Access::Read) {
      if (!marksAre(marks, bytes, kWriteMask, 0))
        return nullptr;
      std::memset(marks, kWritten, bytes);
    }
  }
  return cta.shared.data() + offset;
}

/// Returns the allocation that holds the bytes, or null. The last result is
/// cached per machine: allocations do not move while a launch runs.
inline Allocation *findGlobal(Machine &machine, uint64_t address,
                              uint64_t bytes) {
  Allocation *last = machine.lastAllocation;
  if (last && last->holds(address, bytes))
    return last;
  Allocation *found = machine.device.impl().findSlow(address, bytes);
  if (found)
    machine.lastAllocation = found;
  return found;
}

/// Records that a launch without marks wrote to the allocation. Several
/// clusters may do so concurrently.
inline void markUntracked(Allocation &allocation) {
  std::atomic_ref<bool>(allocation.untracked)
      .store(true, std::memory_order_relaxed);
}

inline uint8_t *fastGlobal(Warp &warp, uint64_t address, uint64_t bytes,
                           uint32_t align, Access access) {
  Allocation *found = findGlobal(warp.machine, address, bytes);
  if (!found || (address & (align - 1)))
    return nullptr;
  if (warp.machine.stepAccesses) [[unlikely]]
    return nullptr;
  uint64_t offset = address - found->base;
  if (warp.machine.ownership) [[unlikely]]
    warp.machine.ownership->claim(*found, offset, bytes, access,
                                  uint32_t(warp.cluster.number));
  if (!warp.machine.report.marksMemory()) {
    if (access != Access::Read)
      markUntracked(*found);
  } else {
    uint8_t *written = found->written.get() + offset;
    if (access != Access::Write && !found->untracked &&
        !marksAre(written, bytes, 1, 1))
      return nullptr;
    if (access != Access::Read)
      std::memset(written, 1, bytes);
  }
  return found->bytes.get() + offset;
}

/// Returns the host bytes of a lane's access in `space`; null after a fault.
inline uint8_t *laneBytes(Warp &warp, const Instruction &inst, unsigned lane,
                          Space space, uint64_t address, uint32_t bytes,
                          uint32_t align, Access access) {
  uint8_t *found = nullptr;
  Site site = warp.site(inst, int(lane));
  switch (space) {
  case Space::Shared:
    found = fastShared(warp, address, bytes, align, access);
    return found ? found
                 : warp.cluster.shared(site, uint32_t(address), bytes, align,
                                       access, true);
  case Space::Global:
  case Space::Const:
    found = fastGlobal(warp, address, bytes, align, access);
    if (found)
      return found;
    // cvta.to.global of a pointer outside global memory keeps the window: the
    // hardware resolves it as a generic address.
    return warp.cluster.generic(site, address, bytes, align, access);
  case Space::Local:
    if (address < kLocalWindow)
      address += kLocalWindow;
    return warp.cluster.generic(site, address, bytes, align, access);
  case Space::Param:
    if (address < kParamWindow)
      address += kParamWindow;
    return warp.cluster.generic(site, address, bytes, align, access);
  case Space::Generic:
    break;
  }
  if ((address & kWindowMask) == kSharedWindow) {
    found = fastShared(warp, address & 0xFFFFFFFFu, bytes, align, access);
    if (found)
      return found;
  } else if (address < kSharedWindow) {
    found = fastGlobal(warp, address, bytes, align, access);
    if (found)
      return found;
  }
  return warp.cluster.generic(site, address, bytes, align, access);
}

/// Reports accesses of lanes that were all in bounds to the race detector;
/// `addressOf(lane)` and `bytesOf(lane)` give address and size. Lanes of
/// `repeats` write the value that is already stored.
template <typename AddressOf, typename BytesOf>
void noteLanes(Warp &warp, const Instruction &inst, LaneMask lanes,
               Access access, AddressOf addressOf, BytesOf bytesOf,
               LaneMask repeats = 0) {
  Races *races = racesOf(warp);
  Space space = inst.address.space;
  if (!races || space == Space::Local || space == Space::Param ||
      space == Space::Const)
    return;
  race::Access checked = races->memory.laneAccess(warp, inst, lanes, access);
  eachLane(lanes, [&](unsigned lane) {
    uint64_t address = addressOf(lane), window = address & kWindowMask;
    checked.repeats = repeats >> lane & 1;
    if (space == Space::Shared || window == kSharedWindow)
      races->memory.shared(checked, lane, uint32_t(address), bytesOf(lane));
    else if (window != kLocalWindow && window != kParamWindow)
      races->memory.global(checked, lane, address, bytesOf(lane));
  });
}

/// Same, for `bytes` at the memory operand of each lane.
inline void noteLanes(Warp &warp, const Instruction &inst, LaneMask lanes,
                      Access access, uint32_t bytes, LaneMask repeats = 0) {
  noteLanes(
      warp, inst, lanes, access,
      [&](unsigned lane) { return warp.addressOf(inst.address, lane); },
      [&](unsigned) { return bytes; }, repeats);
}

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_SEMANTICS_MEMORYACCESS_H
