//===- MemoryPlan.h - Regions of a kernel's memory --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays out the memory of a program from the requests of its ops. Regions do not
// overlap.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_MEMORYPLAN_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_MEMORYPLAN_H

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha::tile {

class MemoryPlan {
public:
  explicit MemoryPlan(const target::Target &target) : target(target) {}

  /// Adds a region of shared memory of `bytes` at a multiple of `alignment`. A
  /// ring gets as many stages as fit, up to `mostStages`.
  void addSmem(std::string name, uint64_t bytes, unsigned alignment,
               bool isRing);
  /// Adds `columns` 32-bit columns of tensor memory.
  void addTmem(std::string name, uint64_t columns);

  /// Returns a sentence with the capacity that the regions exceed, and how much
  /// they need, or nothing.
  std::optional<std::string> check() const;
  /// Returns the regions with their addresses, and "barriers" and
  /// "tmem_address". check() holds.
  schedule::MemoryMap layOut() const;

  static constexpr unsigned mostStages = 4;

private:
  struct Region {
    std::string name;
    uint64_t size;
    unsigned alignment = 1;
    bool isRing = false;
  };
  unsigned stagesOf(const Region &region, unsigned stages) const {
    return region.isRing ? stages : 1;
  }
  uint64_t barrierBytes(unsigned stages) const;
  uint64_t smemBytes(unsigned stages) const;
  uint64_t tmemColumns() const;
  /// Returns the regions with large alignments first, so that there is no
  /// padding.
  std::vector<Region> inOrder() const;

  const target::Target &target;
  std::vector<Region> smem, tmem;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_MEMORY_MEMORYPLAN_H
