//===- Capacities.cpp - Check the resources of a kernel ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Rules/Capacities.h"

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule;
using namespace fmha::schedule::capacities;

static std::string str(uint64_t value) { return std::to_string(value); }

namespace {

/// Counts that setmaxnreg takes (PTX ISA 9.7.19.5).
constexpr unsigned leastRegisters = 24, mostRegisters = 256, registerStep = 8;
/// Hardware barriers of barrier.sync, 0 to 15 (PTX ISA 9.7.13.1).
constexpr unsigned namedBarrierCount = 16;
using fmha::target::warpThreads;

class Checker {
public:
  Checker(const Demand &demand, const fmha::target::Target &gpu)
      : demand(demand), gpu(gpu) {}

  std::vector<Violation> run() {
    checkAllocations();
    checkPlaces();
    checkBarriers();
    checkThreads();
    checkRegisters();
    checkNamedBarriers();
    checkClobbers();
    return std::move(violations);
  }

private:
  void report(uint32_t source, unsigned rule, const std::string &text,
              std::optional<uint32_t> other = std::nullopt) {
    violations.push_back(
        {source, other, "resources.R" + str(rule) + ": " + text});
  }
  /// " (3 too many)".
  static std::string excess(uint64_t needed, uint64_t there) {
    return " (" + str(needed - there) + " too many)";
  }
  void checkAllocations();
  void checkPlaces();
  void checkPlace(const Place &place);
  void checkBarriers();
  void checkThreads();
  void checkRegisters();
  void checkNamedBarriers();
  void checkClobbers();

  const Demand &demand;
  const fmha::target::Target &gpu;
  std::vector<Violation> violations;
};

} // namespace

static std::string quote(const Place &place) {
  return place.name + " [" + str(place.begin) + ", " + str(place.end) + ")";
}

void Checker::checkAllocations() {
  for (const Columns &made : demand.allocations)
    if (!std::has_single_bit(made.count) ||
        made.count < gpu.tmemAllocationUnit || made.count > gpu.tmemColumns)
      report(made.source, 1,
             "expected an allocation of a power of two from " +
                 str(gpu.tmemAllocationUnit) + " to " + str(gpu.tmemColumns) +
                 " columns, got " + str(made.count));
  if (demand.allocations.size() > 1)
    report(demand.allocations[1].source, 1,
           "expected one allocation of tensor memory, got " +
               str(demand.allocations.size()),
           demand.allocations[0].source);
  if (demand.allocations.empty())
    return;
  const Columns &made = demand.allocations.front();
  if (demand.deallocations.empty())
    report(made.source, 1,
           "expected tmem_dealloc of these columns before the CTA exits, got "
           "none");
  for (const Columns &freed : demand.deallocations)
    if (freed.count != made.count)
      report(freed.source, 1,
             "expected to free the " + str(made.count) +
                 " columns that are allocated, got " + str(freed.count),
             made.source);
}

void Checker::checkPlace(const Place &place) {
  bool shared = place.memory == Memory::Shared;
  uint64_t there = shared                       ? gpu.smemBytesPerCta
                   : demand.allocations.empty() ? gpu.tmemColumns
                                                : demand.allocations[0].count;
  if (place.end > there)
    report(
        place.source, 2,
        "expected " + quote(place) + " inside the " + str(there) +
            (shared ? " bytes of shared memory" : " columns of tensor memory") +
            excess(place.end, there) + ": take " +
            (shared ? "fewer KV stages" : "one query tile") +
            " or another P placement");
  if (place.begin % place.alignment)
    report(place.source, 3,
           "expected " + quote(place) + " to begin at a multiple of " +
               str(place.alignment) +
               (place.alignment >= 1024 ? ", the pattern of the swizzle" : ""));
}

void Checker::checkPlaces() {
  for (const Place &place : demand.tiles)
    checkPlace(place);
  for (const Place &place : demand.barriers)
    checkPlace(place);
}

void Checker::checkBarriers() {
  std::vector<const Place *> all;
  for (const auto *places : {&demand.tiles, &demand.barriers})
    for (const Place &place : *places)
      if (place.memory == Memory::Shared)
        all.push_back(&place);
  auto isBarrier = [&](const Place *place) {
    return place >= demand.barriers.data() &&
           place < demand.barriers.data() + demand.barriers.size();
  };
  for (const Place &barrier : demand.barriers)
    for (const Place *other : all)
      if (other != &barrier && other->begin < barrier.end &&
          barrier.begin < other->end &&
          (!isBarrier(other) || other < &barrier)) {
        report(barrier.source, 4,
               "mbarriers " + quote(barrier) + " overlap " + quote(*other) +
                   " by " +
                   str(std::min(barrier.end, other->end) -
                       std::max(barrier.begin, other->begin)) +
                   " bytes; the memory map keeps a region for them",
               other->source);
        break;
      }
}

void Checker::checkThreads() {
  if (demand.threads > gpu.maxThreadsPerCta)
    report(demand.launch, 6,
           "expected at most " + str(gpu.maxThreadsPerCta) +
               " threads per CTA, got " + str(demand.threads) +
               excess(demand.threads, gpu.maxThreadsPerCta));
  for (const WarpRegisters &role : demand.warps)
    if (demand.threads && role.lastWarp * warpThreads > demand.threads)
      report(role.source, 6,
             "expected " + role.name + " on warps below " +
                 str(demand.threads / warpThreads) +
                 ", those that are launched, got warps " + str(role.firstWarp) +
                 " to " + str(role.lastWarp));
}

void Checker::checkRegisters() {
  if (!demand.threads || demand.warps.empty())
    return;
  unsigned atLaunch = registersAtLaunch(demand.threads, demand.ctasPerSm);
  uint64_t pool = uint64_t(atLaunch) * demand.threads, needed = 0;
  unsigned warps = 0;
  for (const WarpRegisters &role : demand.warps) {
    if (role.registers % registerStep || role.registers < leastRegisters ||
        role.registers > mostRegisters)
      report(role.source, 5,
             "expected registers to be a multiple of 8 from 24 to 256, got " +
                 str(role.registers) + " in " + role.name);
    if (role.before && role.before != atLaunch)
      report(role.source, 5,
             "expected " + role.name + " to start from " + str(atLaunch) +
                 " registers, as the launch gives them, got " +
                 str(role.before));
    unsigned count = role.lastWarp - role.firstWarp;
    needed += uint64_t(role.registers) * count * warpThreads;
    warps += count;
  }
  // Warps without setmaxnreg keep the registers of the launch.
  if (unsigned launched = demand.threads / warpThreads; warps < launched)
    needed += uint64_t(atLaunch) * (launched - warps) * warpThreads;
  if (needed > pool)
    report(demand.warps.front().source, 5,
           "the roles need " + str(needed) + " registers, " + str(pool) +
               " are available" + excess(needed, pool) + ": a CTA of " +
               str(demand.threads) + " threads starts with " + str(atLaunch) +
               " each; give a role fewer");
}

void Checker::checkNamedBarriers() {
  for (const Columns &named : demand.namedBarriers)
    if (named.count >= namedBarrierCount)
      report(named.source, 7,
             "expected a named barrier from 0 to " +
                 str(namedBarrierCount - 1) + ", got " + str(named.count));
}

void Checker::checkClobbers() {
  for (const Clobber &clobber : demand.clobbers)
    report(clobber.source, 8,
           "overwrites " +
               std::string(clobber.memory == Memory::Shared ? "bytes ["
                                                            : "columns [") +
               str(clobber.begin) + ", " + str(clobber.end) + ") of " +
               clobber.name +
               ", which is read later: move that read ahead, or give the two "
               "places of their own",
           clobber.other);
}

std::vector<Violation> fmha::schedule::capacities::check(const Demand &demand) {
  const fmha::target::Target *gpu = fmha::target::findTarget(demand.target);
  if (!gpu)
    return {{demand.launch, std::nullopt,
             "resources.R1: expected a known target (" +
                 target::supportedNames() + "), got \"" + demand.target + '"'}};
  return Checker(demand, *gpu).run();
}
