//===- Verify.cpp - Verify a memory map -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Footprint.h"

#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

using Violation = std::optional<std::string>;

static std::string str(uint64_t value) { return std::to_string(value); }

namespace {

/// One region of either memory. Units are columns or bytes.
struct Region {
  std::string name, aliases;
  uint64_t start, size, stages, alignment;
  unsigned lane = 0;
  /// The distance from one stage to the next; 0 if there is no gap.
  uint64_t pitch = 0;
  uint64_t end() const {
    return start + (stages - 1) * (pitch ? pitch : size) + size;
  }
};

/// A required region: exact stages and size, aligned start.
struct Wanted {
  std::string name, aliases;
  uint64_t size, stages, alignment;
  /// Offset inside the aliased region.
  uint64_t within = 0;
  /// As in Region.
  uint64_t pitch = 0;
};

/// One memory: its regions, the required regions, and its names in messages.
struct Memory {
  std::string name, unit;
  std::vector<Region> regions;
  std::vector<Wanted> wanted;
  uint64_t end;

  const Region *find(const std::string &regionName) const {
    for (const Region &region : regions)
      if (region.name == regionName)
        return &region;
    return nullptr;
  }
  std::string quote(const Region &region) const {
    return name + " region \"" + region.name + "\" [" + str(region.start) +
           ", " + str(region.end()) + ")";
  }
};

} // namespace

static Memory describeTmem(const Schedule &s, const Footprint &sizes,
                           const MemoryMap &map) {
  Memory memory{"tensor-memory", "columns", {}, {}, map.tmemColumns};
  for (const TmemRegion &r : map.tmem)
    memory.regions.push_back(
        {r.name, r.aliases, r.column, r.columns, r.stages, 1, r.lane, r.pitch});
  uint64_t pitch = s.sStages > 1 ? sizes.sColumns : 0;
  for (unsigned tile = 0; sizes.inTensorMemory && tile < s.qTiles; ++tile) {
    std::string i = str(tile);
    memory.wanted.push_back(
        {"S" + i, "", sizes.sColumns, s.sStages, 1, 0, pitch});
    memory.wanted.push_back({"O" + i, "", sizes.oColumns, 1, 1});
    if (sizes.pApart)
      memory.wanted.push_back({"P" + i, "", sizes.pColumns, 1, 1});
    else if (s.pPlacement == PPlacement::Tmem)
      memory.wanted.push_back({"P" + i, "S" + i, sizes.pColumns, s.sStages, 1,
                               sizes.pColumnInS, pitch});
  }
  return memory;
}

/// Requires the regions of tiles and rings.
static void wantTiles(const Schedule &s, const Footprint &sizes,
                      Memory &memory) {
  auto want = [&](std::string name, uint64_t bytes, uint64_t alignment,
                  uint64_t stages = 1, std::string aliases = "") {
    memory.wanted.push_back({name, aliases, bytes, stages, alignment});
  };
  for (unsigned tile = 0; tile < s.qTiles; ++tile) {
    std::string i = str(tile);
    want("Q" + i, sizes.queryBytes(), tileAlignment);
    if (s.pPlacement == PPlacement::Smem)
      want("P" + i, sizes.pBytes, tileAlignment);
    if (sizes.outBytes)
      want("out" + i, sizes.outBytes, tileAlignment, 1, sizes.outputOver(tile));
    if (sizes.statsInSmem)
      want("stats" + i, sizes.statsBytes, smallAlignment);
    if (sizes.halvesBytes)
      want("halves" + i, sizes.halvesBytes, smallAlignment);
  }
  want("KV", sizes.kvStageBytes, tileAlignment, s.kvStages);
  if (s.vStages)
    want("V", sizes.vStageBytes, tileAlignment, s.vStages);
  if (sizes.factorBytes)
    want("factors", sizes.factorBytes, smallAlignment, factorStages);
  want("barriers", barrierSlots * barrierBytes, smallAlignment);
  if (sizes.inTensorMemory)
    want("tmem_address", 4, smallAlignment);
  if (unsigned bytes = nextTileBytes(s))
    want("next_tile", bytes, smallAlignment);
}

static Memory describeSmem(const Problem &problem, const Schedule &s,
                           const Footprint &sizes, const MemoryMap &map) {
  Memory memory{"shared-memory", "bytes", {}, {}, map.smemBytes};
  for (const SmemRegion &r : map.smem)
    memory.regions.push_back(
        {r.name, r.aliases, r.offset, r.bytes, r.stages, r.alignment});
  if (auto regions = familyOf(s).kernel.regions)
    for (const SmemRegion &r : regions(problem, s))
      memory.wanted.push_back(
          {r.name, r.aliases, r.bytes, r.stages, r.alignment});
  else
    wantTiles(s, sizes, memory);
  return memory;
}

static Violation verifyNames(const Memory &memory) {
  auto isWanted = [&](const std::string &name) {
    return std::any_of(memory.wanted.begin(), memory.wanted.end(),
                       [&](const Wanted &w) { return w.name == name; });
  };
  for (const Wanted &wanted : memory.wanted)
    if (!memory.find(wanted.name))
      return "expected a " + memory.name + " region \"" + wanted.name +
             "\", got none";
  for (const Region &region : memory.regions) {
    if (!isWanted(region.name))
      return memory.quote(region) + " serves no tile of the schedule";
    if (memory.find(region.name) != &region)
      return "expected one " + memory.name + " region \"" + region.name +
             "\", got several";
  }
  return std::nullopt;
}

static Violation verifySizes(const Memory &memory) {
  for (const Wanted &wanted : memory.wanted) {
    const Region &region = *memory.find(wanted.name);
    if (region.size != wanted.size || region.stages != wanted.stages)
      return "expected " + memory.quote(region) + " to have " +
             str(wanted.stages) + " x " + str(wanted.size) + " " + memory.unit +
             ", got " + str(region.stages) + " x " + str(region.size);
    if (region.pitch != wanted.pitch)
      return "expected the stages of " + memory.quote(region) +
             " to have a pitch of " + str(wanted.pitch) + " " + memory.unit +
             ", got " + str(region.pitch);
  }
  return std::nullopt;
}

static Violation verifyAliases(const Memory &memory) {
  for (const Wanted &wanted : memory.wanted) {
    const Region &region = *memory.find(wanted.name);
    if (region.aliases != wanted.aliases)
      return "expected " + memory.quote(region) + " to alias \"" +
             wanted.aliases + "\", got \"" + region.aliases + '"';
    if (region.aliases.empty())
      continue;
    const Region &host = *memory.find(region.aliases);
    if (region.start != host.start + wanted.within || region.end() > host.end())
      return "expected " + memory.quote(region) + " to begin " +
             str(wanted.within) + " " + memory.unit + " into " +
             memory.quote(host) + " and to end inside it";
  }
  return std::nullopt;
}

static Violation verifyOverlaps(const Memory &memory) {
  std::vector<const Region *> own;
  for (const Region &region : memory.regions)
    if (region.aliases.empty())
      own.push_back(&region);
  std::sort(own.begin(), own.end(), [](const Region *a, const Region *b) {
    return std::pair(a->lane, a->start) < std::pair(b->lane, b->start);
  });
  for (size_t i = 1; i < own.size(); ++i)
    if (own[i]->lane == own[i - 1]->lane && own[i]->start < own[i - 1]->end())
      return memory.quote(*own[i - 1]) + " and " + memory.quote(*own[i]) +
             " overlap by " + str(own[i - 1]->end() - own[i]->start) + " " +
             memory.unit + ", and neither aliases the other";
  return std::nullopt;
}

static Violation verifyLanes(const Schedule &s, const MemoryMap &map) {
  bool halfLanes = s.qTileRows * 2 == layout::tmemLanes;
  for (const TmemRegion &region : map.tmem)
    if (region.lane && (!halfLanes || region.lane != layout::tmemHalfLanes))
      return "expected tensor-memory region \"" + region.name + "\" of " +
             str(s.qTileRows) + " rows to begin at lane 0" +
             (halfLanes ? " or 16" : "") + ", got " + str(region.lane);
  for (unsigned tile = 0; tile < s.qTiles; ++tile) {
    const TmemRegion *p = map.findTmem("P" + str(tile));
    if (!p)
      continue;
    for (const char *name : {"S", "O"})
      if (const TmemRegion &other = *map.findTmem(name + str(tile));
          other.lane != p->lane)
        return "expected tensor-memory region \"" + p->name +
               "\" in the lanes of \"" + other.name + "\", got lanes " +
               str(p->lane) + " and " + str(other.lane);
  }
  return std::nullopt;
}

static Violation verifyAlignment(const Memory &memory) {
  for (const Wanted &wanted : memory.wanted) {
    const Region &region = *memory.find(wanted.name);
    if (region.start % wanted.alignment)
      return "expected " + memory.quote(region) +
             " to begin at a multiple of " + str(wanted.alignment) + " " +
             memory.unit;
  }
  return std::nullopt;
}

static Violation verifyInside(const Memory &memory) {
  for (const Region &region : memory.regions)
    if (region.end() > memory.end)
      return memory.quote(region) + " ends beyond the " + str(memory.end) +
             " " + memory.unit + " that are requested";
  return std::nullopt;
}

static Violation verifyCapacities(const Schedule &schedule,
                                  const MemoryMap &map) {
  const target::Target *gpu = target::findTarget(schedule.target);
  if (!gpu)
    return "expected a known target, got \"" + schedule.target + '"';
  bool inTmem = familyOf(schedule).kernel.accumulatesInTensorMemory;
  if (!inTmem && map.tmemColumns)
    return "expected tmem_columns to be 0 on " + schedule.target + ", got " +
           str(map.tmemColumns);
  if (inTmem && (!std::has_single_bit(map.tmemColumns) ||
                 map.tmemColumns < gpu->tmemAllocationUnit ||
                 map.tmemColumns > gpu->tmemColumns))
    return "expected tmem_columns to be a power of two from " +
           str(gpu->tmemAllocationUnit) + " to " + str(gpu->tmemColumns) +
           ", got " + str(map.tmemColumns);
  uint64_t there = smemOfCta(*gpu, schedule);
  if (map.smemBytes > there)
    return str(map.smemBytes) + " bytes of shared memory are asked for, " +
           str(there) + " are available (" + str(map.smemBytes - there) +
           " too many)";
  return std::nullopt;
}

/// Rules of one memory. Names come first: the others look regions up by them.
static constexpr std::pair<unsigned, Violation (*)(const Memory &)>
    memoryRules[] = {{1, verifyNames},     {2, verifySizes},
                     {3, verifyAliases},   {4, verifyOverlaps},
                     {5, verifyAlignment}, {6, verifyInside}};

static std::string messageOf(unsigned rule, const std::string &text) {
  return "map.V" + str(rule) + ": " + text;
}

std::optional<std::string> fmha::schedule::verify(const Problem &problem,
                                                  const Schedule &schedule,
                                                  const MemoryMap &map) {
  Footprint sizes(problem, schedule);
  for (const Memory &memory : {describeTmem(schedule, sizes, map),
                               describeSmem(problem, schedule, sizes, map)})
    for (auto [number, rule] : memoryRules)
      if (Violation violation = rule(memory))
        return messageOf(number, *violation);
  if (Violation violation = verifyLanes(schedule, map))
    return messageOf(7, *violation);
  if (Violation violation = verifyCapacities(schedule, map))
    return messageOf(6, *violation);
  return std::nullopt;
}
