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

#include <algorithm>

using namespace fmha;
using namespace fmha::tile;

static constexpr unsigned smallAlignment = 16;

void MemoryPlan::addSmem(std::string name, uint64_t bytes, unsigned alignment,
                         bool isRing) {
  smem.push_back({std::move(name), bytes, alignment, isRing});
}

void MemoryPlan::addTmem(std::string name, uint64_t columns) {
  tmem.push_back({std::move(name), columns});
}

uint64_t MemoryPlan::tmemColumns() const {
  uint64_t columns = 0;
  for (const Region &region : tmem)
    columns += region.size;
  return columns;
}

/// Two channels, one in each direction, may use a region, and each has a
/// barrier for full slots and one for free slots.
uint64_t MemoryPlan::barrierBytes(unsigned stages) const {
  constexpr uint64_t barrier = 8, perStage = 4;
  uint64_t count = tmem.size();
  for (const Region &region : smem)
    count += stagesOf(region, stages);
  // The region of barriers must not be empty.
  return std::max(barrier, barrier * perStage * count);
}

std::vector<MemoryPlan::Region> MemoryPlan::inOrder() const {
  std::vector<Region> ordered = smem;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Region &a, const Region &b) {
                     return a.alignment > b.alignment;
                   });
  return ordered;
}

uint64_t MemoryPlan::smemBytes(unsigned stages) const {
  uint64_t next = 0;
  for (const Region &region : inOrder())
    next = llvm::alignTo(next, region.alignment) +
           region.size * stagesOf(region, stages);
  // The address that the allocation of tensor memory returns comes last.
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
  uint64_t next = 0;
  auto place = [&](const Region &region) {
    next = llvm::alignTo(next, region.alignment);
    map.smem.push_back({region.name, unsigned(next), unsigned(region.size),
                        stagesOf(region, stages), region.alignment, ""});
    next += region.size * stagesOf(region, stages);
  };
  for (const Region &region : inOrder())
    place(region);
  place({"barriers", barrierBytes(stages), smallAlignment});
  unsigned column = 0;
  for (const Region &region : tmem) {
    map.tmem.push_back({region.name, column, unsigned(region.size), "", 0});
    column += region.size;
  }
  if (!tmem.empty()) {
    place({"tmem_address", 4, smallAlignment});
    map.tmemColumns = layout::tmemAllocation(column);
  }
  map.smemBytes = llvm::alignTo(next, smallAlignment);
  return map;
}
