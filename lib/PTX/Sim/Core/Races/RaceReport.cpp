//===- RaceReport.cpp - Conflicts become findings ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceState.h"

#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <cstdio>

using namespace ptxsim;
using Fault = race::Conflict::Fault;

static const char *nameOf(race::Kind kind) {
  static constexpr const char *kNames[] = {
      "",
      "a bulk load issued by ",
      "a bulk store or copy, reading, issued by ",
      "a bulk store, writing, issued by ",
      "a cp.async of ",
      "a tcgen05.mma issued by ",
      "a tcgen05.cp issued by ",
      "a tcgen05.cp issued by ",
      "a tcgen05.shift issued by ",
      "a tcgen05.ld of ",
      "a tcgen05.st of ",
      "the response to a try_cancel of ",
      "a wgmma of "};
  return kNames[unsigned(kind)];
}

/// Returns advice on how to order an access after an earlier one. It depends on
/// the unit that performed the earlier access: a barrier of threads does not
/// wait for an asynchronous unit. Empty between two threads, where the advice
/// of Findings.def applies.
static std::string_view adviceFor(const race::Access &access,
                                  const race::Stamp &earlier) {
  switch (earlier.kind) {
  case race::Kind::BulkLoad:
    return "Wait for the mbarrier phase that the earlier copy completes; a "
           "thread that does not wait itself needs a barrier after one that "
           "does.";
  case race::Kind::TryCancel:
    return "Wait for the mbarrier phase that the response completes; a thread "
           "that does not wait itself needs a barrier after one that does.";
  case race::Kind::BulkRead:
    return "Let the thread that issued the earlier copy execute "
           "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read, and "
           "put a barrier after it if another thread continues.";
  case race::Kind::BulkWrite:
    return "Let the thread that issued the earlier copy execute "
           "cp.async.bulk.commit_group and cp.async.bulk.wait_group (not "
           ".read, which waits for its source alone), and put a barrier after "
           "it if another thread continues.";
  case race::Kind::CpAsync:
    return "Let the threads that issued cp.async execute cp.async.wait_group "
           "or cp.async.wait_all, and put a barrier after it if another "
           "thread continues.";
  case race::Kind::Mma:
  case race::Kind::TmemCopy:
  case race::Kind::TmemRefresh:
  case race::Kind::TmemShift:
    return "Wait for the mbarrier that a tcgen05.commit after the earlier "
           "operation arrives at.";
  case race::Kind::Wgmma:
    return "Let a warp of the warpgroup execute wgmma.commit_group and "
           "wgmma.wait_group after the earlier wgmma, and arrive at a barrier "
           "or mbarrier that the later thread waits for.";
  case race::Kind::Thread:
  case race::Kind::TmemLoad:
  case race::Kind::TmemStore:
    break;
  }
  if (!access.stamp.async)
    return "";
  return "Let the earlier thread arrive, after its access, at a barrier or "
         "mbarrier that the thread which issues this operation waits for; if "
         "it wrote, let it execute fence.proxy.async before it arrives.";
}

/// For global memory; Findings.def has the fence of shared memory.
static constexpr std::string_view kGlobalFence =
    "Let the writing threads execute fence.proxy.async.global after their "
    "stores and before they hand the data on.";

std::string RaceReporter::nameParty(const race::Stamp &stamp,
                                    bool writes) const {
  std::string text = writes ? "written by " : "read by ";
  text += nameOf(stamp.kind);
  text += "warp " + std::to_string(stamp.warp % clocks.ctaWarps);
  if (stamp.lane < 32)
    text += " lane " + std::to_string(stamp.lane);
  if (clocks.warps.size() > clocks.ctaWarps)
    text +=
        " of the CTA of rank " + std::to_string(stamp.warp / clocks.ctaWarps);
  if (race::clusterOf(stamp.when) != clocks.number)
    text += " of cluster " + std::to_string(race::clusterOf(stamp.when) - 1);
  return text + " in line " + std::to_string(stamp.line);
}

/// Returns the first instruction of a line: a stamp keeps no more.
static const Instruction *instructionAt(const Program &program, uint32_t line) {
  for (const auto &[function, code] : program.codes)
    for (const Instruction &inst : code->instructions)
      if (inst.line == line)
        return &inst;
  return nullptr;
}

/// Returns the party of a stamp. Its warp may belong to a cluster that has
/// ended.
Party RaceReporter::partyOf(const race::Stamp &stamp) const {
  const Machine &machine = clocks.cluster.machine;
  uint32_t owner = race::clusterOf(stamp.when),
           rank = stamp.warp / clocks.ctaWarps;
  Party party;
  Dim3 first = owner == clocks.number ? clocks.cluster.first
                                      : firstCta(machine, uint64_t(owner) - 1);
  const Dim3 &shape = clocks.cluster.shape;
  party.cta = {first.x + rank % shape.x, first.y + rank / shape.x % shape.y,
               first.z + rank / (shape.x * shape.y)};
  party.warp = int(stamp.warp % clocks.ctaWarps);
  if (stamp.lane < 32)
    party.lane = stamp.lane;
  if (const Instruction *inst = instructionAt(machine.program, stamp.line)) {
    locate(machine, *inst, party);
    if (stamp.kind != race::Kind::Thread)
      party.operation = inst->opcode;
  }
  return party;
}

std::string RaceReporter::placeOf(uint64_t address) const {
  char text[64];
  if (space == Space::Local)
    std::snprintf(text, sizeof text, "tensor memory lanes %u..%u column %u",
                  unsigned(address >> 20) * 16,
                  unsigned(address >> 20) * 16 + 15,
                  unsigned(address & 0xFFFFF));
  else
    std::snprintf(text, sizeof text, "%s memory at 0x%llx",
                  space == Space::Shared ? "shared" : "global",
                  static_cast<unsigned long long>(address));
  std::string where = text;
  if (space != Space::Global && clocks.cluster.ctas.size() > 1)
    where += " of the CTA of rank " + std::to_string(place->rank);
  return where;
}

void RaceReporter::report(const race::Access &access,
                          const race::Conflict &conflict) {
  const auto &self = *static_cast<const RaceReporter *>(access.context);
  const_cast<RaceReporter &>(self).describe(access, conflict);
}

/// Returns whether the same thread issued both accesses as tensor core
/// products, which the manual orders only if they have the same accumulator and
/// shape.
static bool areProductsOfOneThread(const race::Stamp &a, const race::Stamp &b) {
  return a.kind == race::Kind::Mma && b.kind == race::Kind::Mma &&
         a.warp == b.warp && a.lane == b.lane;
}

static constexpr std::string_view kOrderOfIssue =
    "Wait for the mbarrier of a tcgen05.commit after the first product before "
    "the second one is issued (mma_order = commit), or use "
    "--conformance=practice, which lets products run in the order of issue "
    "(mma_order = issue).";

void RaceReporter::describe(const race::Access &access,
                            const race::Conflict &conflict) {
  FindingId id = FindingId::RaceGlobal;
  if (conflict.fault == Fault::ProxyFence)
    id = FindingId::MissingProxyFence;
  else if (conflict.fault == Fault::TensorFence)
    id = FindingId::TcgenMissingFence;
  else if (conflict.fault == Fault::InitFence)
    id = FindingId::MbarrierInitFence;
  else if (space == Space::Shared)
    id = FindingId::RaceShared;
  else if (space == Space::Local)
    id = FindingId::RaceTmem;
  Report &report = clocks.cluster.machine.report;
  if (!report.enabled(id))
    return;
  // A box of many bytes is reported once.
  if (!reported.insert({uint16_t(id), access.stamp.line}).second)
    return;
  std::string text = conflict.fault == Fault::InitFence
                         ? "signals an mbarrier in "
                     : access.write ? "writes "
                                    : "reads ";
  bool kept = report.add(id, site, text + placeOf(conflict.address) + ".",
                         {nameParty(conflict.other, conflict.otherWrites),
                          partyOf(conflict.other)});
  // In tensor memory one advice fits all but products, and the finding names a
  // missing fence. A repetition in a later cluster gets no advice.
  if (kept && (id == FindingId::RaceShared || id == FindingId::RaceGlobal))
    report.advise(id, site, adviceFor(access, conflict.other));
  bool isa = clocks.cluster.machine.options.conformance == Conformance::Isa;
  if (kept && id == FindingId::RaceTmem && isa &&
      areProductsOfOneThread(access.stamp, conflict.other))
    report.advise(id, site, kOrderOfIssue);
  if (kept && id == FindingId::MissingProxyFence && space == Space::Global)
    report.advise(id, site, kGlobalFence);
}

static constexpr std::string_view kWaitForGrids =
    "Execute griddepcontrol.wait before the access, in the thread or before a "
    "barrier that it passes, or launch without the programmatic attribute.";

void RaceReporter::checkOverlap(const race::EarlierGrid &grid,
                                const race::Access &access, uint64_t address,
                                uint64_t bytes) {
  race::Access late = access;
  late.overlaps = true;
  late.report = noteOverlap;
  overlap = Overlap();
  for (const race::Shadow &memory : grid.memory)
    memory.check(address, bytes, late);
  if (overlap.address != UINT64_MAX)
    describeOverlap(grid, access);
}

/// A cell reports its write before its reads.
void RaceReporter::noteOverlap(const race::Access &access,
                               const race::Conflict &conflict) {
  const auto &self = *static_cast<const RaceReporter *>(access.context);
  Overlap &first = const_cast<RaceReporter &>(self).overlap;
  if (conflict.address < first.address)
    first = {conflict.address,
             conflict.otherWrites ? uint32_t(conflict.other.line) : 0};
}

void RaceReporter::describeOverlap(const race::EarlierGrid &grid,
                                   const race::Access &access) {
  constexpr FindingId id = FindingId::RaceGlobal;
  if (!reported.insert({uint16_t(id), access.stamp.line}).second)
    return;
  std::string text = access.write ? "writes " : "reads ";
  text += placeOf(overlap.address) + " that an earlier grid, `" + grid.entry;
  text += overlap.line ? "`, may still write (line " +
                             std::to_string(overlap.line) + " of its PTX)."
                       : "`, may still read.";
  Report &report = clocks.cluster.machine.report;
  if (report.add(id, site, text))
    report.advise(id, site, kWaitForGrids);
}
