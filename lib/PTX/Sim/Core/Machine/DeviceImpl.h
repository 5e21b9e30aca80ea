//===- DeviceImpl.h - Allocations of global memory --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_MACHINE_DEVICEIMPL_H
#define FMHA_LIB_PTX_SIM_CORE_MACHINE_DEVICEIMPL_H

#include "fmha/PTX/Sim/Core/Program/Program.h"
#include "fmha/PTX/Sim/Race/EarlierGrids.h"

#include <atomic>
#include <cstdlib>
#include <map>

namespace ptxsim {

/// Returns the bytes of an allocation to their origin: the heap, the system, or
/// their owner.
struct Release {
  enum class From { Heap, System, Owner };
  From from = From::Heap;
  uint64_t size = 0;
  void operator()(uint8_t *bytes) const;
};

struct Allocation {
  struct Free {
    void operator()(uint8_t *bytes) const { std::free(bytes); }
  };
  uint64_t base = 0, size = 0;
  bool holds(uint64_t address, uint64_t count) const {
    return address - base < size && count <= size - (address - base);
  }
  std::unique_ptr<uint8_t, Release> bytes;
  /// 1 per byte that host or kernel wrote.
  std::unique_ptr<uint8_t, Free> written;
  /// All bytes count as written: a launch without marks wrote here.
  bool untracked = false;
  /// Returns true if the host also reads and writes the bytes, even while a
  /// launch runs.
  bool isShared() const {
    return bytes.get_deleter().from != Release::From::Heap;
  }

  /// While clusters run in parallel (WriteOwnership.h): which cluster accessed
  /// which granule, and the contents of the memory before the first write.
  struct Saved {
    std::vector<uint8_t> bytes, written;
    bool untracked = false;
    std::atomic<bool> done = false;
  };
  struct FreeOwners {
    void operator()(std::atomic<uint32_t> *owners) const { std::free(owners); }
  };
  std::unique_ptr<std::atomic<uint32_t>, FreeOwners> owners;
  std::unique_ptr<Saved> saved;
};

struct Device::Impl {
  /// Returns the allocation that holds [address, address + bytes), or null.
  Allocation *find(uint64_t address, uint64_t bytes) {
    if (last && last->holds(address, bytes))
      return last;
    Allocation *found = findSlow(address, bytes);
    if (found)
      last = found;
    return found;
  }
  /// Same as find, without the cache of the last result.
  Allocation *findSlow(uint64_t address, uint64_t bytes);
  Allocation &require(uint64_t address, uint64_t bytes, const char *verb);
  uint64_t allocate(uint64_t bytes, uint8_t poison, uint64_t align = 1);
  uint64_t allocateManaged(uint64_t bytes, uint8_t poison);
  /// Returns a free address for `bytes` that is a multiple of `align`.
  uint64_t place(uint64_t bytes, uint64_t align);
  /// Adds an allocation of `bytes`, which are at the same address in this
  /// process.
  void share(uint64_t base, uint64_t bytes, Release release);
  bool overlaps(uint64_t base, uint64_t bytes) const;
  uint64_t addressOf(const syntax::Module &module, std::string_view variable);
  void placeVariables(const syntax::Module &module);

  std::map<uint64_t, Allocation> allocations;
  Allocation *last = nullptr;
  uint64_t next = 0x0000700000000000ull;
  std::map<std::pair<uint64_t, std::string>, uint64_t, std::less<>> placed;
  std::map<uint64_t, bool> modules;
  race::EarlierGrids grids;
  uint64_t launches = 0;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_MACHINE_DEVICEIMPL_H
