//===- MemoryPlan.cpp - Regions of a kernel's memory ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "fmha/Layout/Tmem.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace fmha;
using namespace fmha::tile;

void MemoryPlan::addSmem(std::string name, unsigned bytes, unsigned alignment,
                         bool isRing) {
  smem.push_back({std::move(name), 0, bytes, isRing ? 0u : 1u, alignment, ""});
}

void MemoryPlan::addTmem(std::string name, unsigned columns) {
  tmem.push_back({std::move(name), tmemColumns(), columns, "", 0});
}

unsigned MemoryPlan::tmemColumns() const {
  return tmem.empty() ? 0 : tmem.back().column + tmem.back().columns;
}

/// A region may pass tiles both ways, and each way has a barrier for what is
/// full and one for what is free.
unsigned MemoryPlan::barrierBytes(unsigned stages) const {
  constexpr unsigned barrier = 8, perStage = 4;
  unsigned count = tmem.size();
  for (const schedule::SmemRegion &region : smem)
    count += region.stages ? region.stages : stages;
  return barrier * perStage * count;
}

static constexpr unsigned smallAlignment = 16;

/// Regions follow each other as they are laid out, large alignments first.
unsigned MemoryPlan::smemBytes(unsigned stages) const {
  uint64_t next = 0;
  for (bool isLarge : {true, false})
    for (const schedule::SmemRegion &region : smem)
      if ((region.alignment > smallAlignment) == isLarge)
        next =
            llvm::alignTo(next, region.alignment) +
            uint64_t(region.bytes) * (region.stages ? region.stages : stages);
  return llvm::alignTo(next, smallAlignment) + barrierBytes(stages) +
         smallAlignment;
}

std::optional<std::string> MemoryPlan::check() const {
  if (smemBytes(1) > target.smemBytesPerCta)
    return llvm::formatv("needs {0} bytes of shared memory, but {1} has {2}; "
                         "expected smaller tiles, or fewer of them",
                         smemBytes(1), target.name, target.smemBytesPerCta)
        .str();
  if (tmemColumns() > target.tmemColumns)
    return llvm::formatv("needs {0} columns of tensor memory, but {1} has {2}; "
                         "expected fewer columns of products",
                         tmemColumns(), target.name, target.tmemColumns)
        .str();
  return std::nullopt;
}

schedule::MemoryMap MemoryPlan::layOut() const {
  unsigned stages = mostStages;
  while (stages > 1 && smemBytes(stages) > target.smemBytesPerCta)
    --stages;
  schedule::MemoryMap map;
  map.tmem = tmem;
  uint64_t next = 0;
  auto place = [&](schedule::SmemRegion region) {
    region.stages = region.stages ? region.stages : stages;
    region.offset = next = llvm::alignTo(next, region.alignment);
    next += uint64_t(region.bytes) * region.stages;
    map.smem.push_back(std::move(region));
  };
  for (bool isLarge : {true, false})
    for (const schedule::SmemRegion &region : smem)
      if ((region.alignment > smallAlignment) == isLarge)
        place(region);
  place({"barriers", 0, barrierBytes(stages), 1, smallAlignment, ""});
  if (!tmem.empty()) {
    place({"tmem_address", 0, 4, 1, smallAlignment, ""});
    map.tmemColumns = layout::tmemAllocation(tmemColumns());
  }
  map.smemBytes = llvm::alignTo(next, smallAlignment);
  return map;
}
