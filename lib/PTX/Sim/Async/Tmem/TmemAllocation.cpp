//===- TmemAllocation.cpp - tcgen05.alloc, dealloc, relinquish ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "TensorMemory.h"

#include <cstring>

namespace ptxsim {
namespace {

unsigned groupOf(const Decoder &decoder) {
  return decoder.has("cta_group::2") ? 2 : 1;
}

std::string describeWait(const Warp &warp, const Wait &wait) {
  const auto &memory = *reinterpret_cast<const TensorMemory *>(wait.data[1]);
  std::string text = "tcgen05.alloc: waits for " +
                     std::to_string(wait.data[0]) + " free columns; held are";
  for (const auto &[column, allocation] : memory.allocations)
    text += " " + describeColumns(column, allocation.columns);
  return text;
}

bool isGranular(uint32_t columns) {
  return columns >= 32 && columns <= tmemColumns &&
         (columns & (columns - 1)) == 0;
}

/// Checks the number of columns. Returns false after a fault.
bool checkRequest(TensorMemory &memory, const Site &site, uint32_t columns) {
  Machine &machine = site.warp->machine;
  if (!isGranular(columns)) {
    machine.fault(FindingId::AllocationGranularityInvalid, site,
                  std::to_string(columns) +
                      " columns, expected a power of two in 32 .. 512");
    return false;
  }
  if (memory.relinquished)
    machine.report.add(FindingId::PhaseInvalidDuringAlloc, site,
                       "the CTA has relinquished its permit to allocate",
                       otherAt("relinquished by", memory.relinquishedAt));
  if (columns > memory.smallestAllocation)
    machine.report.add(
        FindingId::TmemAllocGrows, site,
        std::to_string(columns) + " columns after " +
            std::to_string(memory.smallestAllocation),
        otherAt("the smaller allocation is that of", memory.smallestAt));
  return true;
}

Outcome executeAlloc(Warp &warp, const Instruction &inst, LaneMask active) {
  Site site = warp.site(inst);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  uint32_t columns = uint32_t(warp.uniform(inst.src[0], active));
  unsigned group = inst.data<unsigned>();
  checkCtaGroup(memory, site, group);
  if (!checkRequest(memory, site, columns))
    return Outcome::Fault;
  bool anywhere = warp.machine.options.randomized() && group == 1;
  auto column = memory.allocate(
      columns, site, anywhere ? warp.cluster.random(TensorMemory::blocks) : 0);
  if (!column) {
    warp.wait = {};
    warp.wait.key = &memory;
    warp.wait.data[0] = columns;
    warp.wait.data[1] = reinterpret_cast<uint64_t>(&memory);
    warp.wait.describe = describeWait;
    warp.wait.explain = [](const Warp &, const Wait &, WaitObject &object) {
      object.kind = object.name = "tensor memory";
    };
    return Outcome::Retry;
  }
  if (columns <= memory.smallestAllocation)
    memory.smallestAt = site;
  memory.smallestAllocation = std::min(memory.smallestAllocation, columns);
  auto address = sharedAddress(warp, inst, inst.address,
                               unsigned(std::countr_zero(active)));
  if (!address)
    return Outcome::Fault;
  site.lane = std::countr_zero(active);
  uint8_t *target =
      warp.cluster.shared(site, *address, 4, 4, Access::Write, true);
  if (!target)
    return Outcome::Fault;
  std::memcpy(target, &*column, 4);
  if (Races *races = racesOf(warp)) {
    race::Access write =
        races->memory.laneAccess(warp, inst, active, Access::Write);
    // Kernels in practice load a tile over the address after all have read it,
    // without the proxy fence that a generic write would need.
    write.stamp.async =
        warp.machine.options.conformance == Conformance::Practice;
    races->memory.shared(write, race::kWholeWarp, *address, 4);
  }
  return Outcome::Next;
}

Outcome executeDealloc(Warp &warp, const Instruction &inst, LaneMask active) {
  Site site = warp.site(inst);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  uint32_t address = uint32_t(warp.uniform(inst.src[0], active));
  uint32_t columns = uint32_t(warp.uniform(inst.src[1], active));
  checkCtaGroup(memory, site, inst.data<unsigned>());
  Report &report = warp.machine.report;
  auto found = memory.allocations.find(address);
  if (found == memory.allocations.end()) {
    const TensorMemory::Allocation *held = memory.holder(address);
    report.add(held ? FindingId::ColBeingDeallocedNotReturnedByAlloc
                    : FindingId::UnallocatedColumnsBeingDealloced,
               site, "address " + std::to_string(address),
               held ? otherAt("allocated by", held->site) : Other());
    return Outcome::Next;
  }
  if (found->second.columns != columns)
    report.add(FindingId::ColBeingDeallocedNotReturnedByAlloc, site,
               std::to_string(columns) + " columns, expected the " +
                   std::to_string(found->second.columns) +
                   " that were allocated",
               otherAt("allocated by", found->second.site));
  TmemRange range{0xff, address, found->second.columns};
  const TmemUser *user = memory.user(range, TensorMemory::anyRead);
  if (!user)
    user = memory.user(range, TensorMemory::anyWrite);
  if (user)
    report.add(FindingId::TmemDeallocInFlight, site,
               describeColumns(range.column, range.count), inFlightUse(*user));
  if (Races *races = racesOf(warp))
    races->memory.tensorFreed(site, warp.cta, range.column, range.count);
  memory.release(address);
  warp.cluster.notify(&memory);
  return Outcome::Next;
}

Outcome executeRelinquish(Warp &warp, const Instruction &inst, LaneMask) {
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  checkCtaGroup(memory, warp.site(inst), inst.data<unsigned>());
  memory.relinquished = true;
  memory.relinquishedAt = warp.site(inst);
  return Outcome::Next;
}

const std::initializer_list<std::string_view> modifiers = {
    "alloc",        "dealloc",      "relinquish_alloc_permit",
    "cta_group::1", "cta_group::2", "sync",
    "aligned",      "shared::cta",  "b32"};

void decodeAlloc(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(2, 2);
  bool shared = decoder.has("shared::cta");
  inst.address = decoder.address(0, shared ? Space::Shared : Space::Generic);
  inst.src = decoder.sources(1, Type::U32);
  inst.payload = decoder.payload(groupOf(decoder));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeAlloc;
}

void decodeDealloc(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(2, 2);
  inst.src = decoder.keep(
      {decoder.source(0, Type::U32), decoder.source(1, Type::U32)});
  inst.payload = decoder.payload(groupOf(decoder));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeDealloc;
}

void decodeRelinquish(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(0, 0);
  inst.payload = decoder.payload(groupOf(decoder));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeRelinquish;
}

} // namespace

void registerTmemAllocation(Registry &registry) {
  registry.add("tcgen05.alloc", decodeAlloc);
  registry.add("tcgen05.dealloc", decodeDealloc);
  registry.add("tcgen05.relinquish_alloc_permit", decodeRelinquish);
}

} // namespace ptxsim
