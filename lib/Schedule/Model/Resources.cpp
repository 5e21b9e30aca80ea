//===- Resources.cpp - The resources of an SM that a schedule uses *- C++ -*-=//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/Resources.h"

#include "Footprint.h"

#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha;
using namespace fmha::schedule;

namespace {

using target::warpgroupWarps;
using target::warpThreads;

uint64_t alignTo(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Returns the sum of regions that a family lists.
uint64_t sumOf(const std::vector<SmemRegion> &regions) {
  uint64_t bytes = 0;
  for (const SmemRegion &region : regions)
    bytes = alignTo(bytes, region.alignment) +
            uint64_t(region.bytes) * region.stages;
  return alignTo(bytes, smallAlignment);
}

void countWarps(const Schedule &schedule, Resources &resources) {
  unsigned warps = 0;
  for (const Role &role : schedule.roles) {
    warps = std::max(warps, role.firstWarp + role.warps);
    resources.registers += uint64_t(role.registers) * role.warps * warpThreads;
  }
  resources.threads = unsigned(alignTo(warps, warpgroupWarps)) * warpThreads;
}

} // namespace

uint64_t Rings::bytes() const {
  uint64_t key = alignTo(keyBytes, tileAlignment);
  uint64_t value = alignTo(valueBytes, tileAlignment);
  if (valueStages)
    return stages * key + valueStages * value;
  return stages * std::max(key, value);
}

bool Rings::holdBlock() const {
  if (valueStages)
    return stages >= keyMessages && valueStages >= valueMessages;
  return stages >= keyMessages + valueMessages;
}

Rings fmha::schedule::ringsOf(const Problem &problem, const Schedule &s) {
  Rings rings;
  unsigned columns = problem.headDim;
  if (s.keyChunk) {
    columns = std::min(columns, s.keyChunk);
    rings.keyMessages = (problem.headDim - 1) / s.keyChunk + 1;
  }
  unsigned keys = s.valueChunk ? s.valueChunk : s.kvBlock;
  // A schedule that no rule has checked may have a block without keys.
  rings.valueMessages =
      s.shareKv ? 0 : std::max(1u, s.kvBlock / std::max(1u, keys));
  unsigned group = std::max(1u, s.ctaGroup);
  rings.keyBytes = panelTileBytes(s.kvBlock / group, columns);
  if (!s.shareKv)
    rings.valueBytes = panelTileBytes(keys, outputColumns(problem, s) / group);
  rings.stages = s.kvStages;
  rings.valueStages = s.vStages;
  return rings;
}

Resources fmha::schedule::resourcesOf(const Problem &problem,
                                      const Schedule &schedule) {
  Resources resources;
  const target::Target *gpu = target::findTarget(schedule.target);
  const KernelTraits &kernel = familyOf(schedule).kernel;
  Footprint sizes(problem, schedule);
  if (gpu && kernel.accumulatesInTensorMemory) {
    uint64_t columns = sizes.tmemColumns(schedule);
    resources.tmemColumns = columns;
    uint64_t asked =
        std::bit_ceil(std::max<uint64_t>(columns, gpu->tmemAllocationUnit));
    resources.tmemAllocated = asked <= gpu->tmemColumns ? asked : 0;
  }
  resources.namedBarriers += kernel.namedBarriers(schedule);
  resources.smemBytes = kernel.regions
                            ? sumOf(kernel.regions(problem, schedule))
                            : sizes.smemBytes(schedule);
  countWarps(schedule, resources);
  return resources;
}

std::optional<std::string> fmha::schedule::exceeded(const Resources &r,
                                                    std::string_view target) {
  const target::Target *gpu = target::findTarget(target);
  if (!gpu)
    return std::nullopt;
  struct {
    const char *what;
    uint64_t needed, there;
  } limits[] = {{"tensor memory: @ columns", r.tmemColumns, gpu->tmemColumns},
                {"shared memory: @ bytes", r.smemBytes, gpu->smemBytesPerCta},
                {"threads: @", r.threads, gpu->maxThreadsPerCta},
                {"registers: @", r.registers, gpu->registersPerSm},
                {"named barriers: @", r.namedBarriers, gpu->namedBarriers}};
  for (const auto &[what, needed, there] : limits) {
    if (needed <= there)
      continue;
    std::string text = what;
    text.replace(text.find('@'), 1, std::to_string(needed));
    return text + " needed, " + std::to_string(there) + " available";
  }
  return std::nullopt;
}
