//===- Family.cpp - Kernels that multiply by wgmma --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaRules.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

/// Returns one barrier for the turns of each of several consumers, and one for
/// each consumer whose warps share P.
static unsigned namedBarriers(const Schedule &schedule) {
  unsigned turns = schedule.qTiles > 1 ? schedule.qTiles : 0;
  bool shares = schedule.pPlacement == PPlacement::Smem;
  return turns + (shares ? schedule.qTiles : 0);
}

namespace {
/// Registers per thread of a consumer, and of the producer warpgroup.
struct Share {
  unsigned consumer, producer;
};
} // namespace

/// Returns the shares of the 65536 registers of an SM. With three consumers 160
/// each leave 32 for the producer warpgroup (FlashAttention-3's counts). With
/// two, 240 would leave 24, where ptxas 13.0 spills the varlen metadata of the
/// producer (4 to 12 bytes); 232 cost 0.2 % of the time on an H200. With one
/// consumer the registers suffice for all, unless the SM has other CTAs.
static Share shareOf(const Schedule &s) {
  unsigned consumers = consumersOf(s), ctasPerSm = s.ctasPerSm;
  // The converting warpgroup gets the remaining registers.
  if (s.kvCopy == KvCopy::Convert)
    return consumers == 1 ? Share{248, 40} : Share{184, 32};
  constexpr Share shares[] = {{248, 248}, {232, 40}, {160, 32}};
  // check() rejects other counts.
  if (ctasPerSm <= 1)
    return shares[std::clamp(consumers, 1u, 3u) - 1];
  constexpr unsigned groups = 2;
  unsigned producer = ctasPerSm == 2 ? 40 : 24;
  return {groups * registersAtLaunch(groups * 128, ctasPerSm) - producer,
          producer};
}

unsigned fmha::schedule::consumersOf(const Schedule &s) {
  return s.qTiles * outputConsumers(s);
}

unsigned fmha::schedule::consumerRegisters(const Schedule &s) {
  return shareOf(s).consumer;
}

static std::vector<Role> rolesOf(const Schedule &s) {
  unsigned consumers = consumersOf(s), first = 4;
  auto [consumer, producer] = shareOf(s);
  bool gathers = s.kvCopy == KvCopy::CpAsync;
  std::vector<Role> roles = {{"load", 0, 1, producer},
                             {"store", 1, 1, producer},
                             {gathers ? "gather" : "spare", 2, 2, producer}};
  if (s.kvCopy == KvCopy::Convert) {
    unsigned groups = 2 + consumers;
    unsigned all = groups * registersAtLaunch(groups * 128);
    unsigned rest = all - producer - consumers * consumer;
    roles.push_back({"convert", first, 4, std::min(rest, 248u)});
    first += 4;
  }
  for (unsigned n = 0; n < consumers; ++n)
    roles.push_back({"consumer" + str(n), first + 4 * n, 4, consumer});
  return roles;
}

/// An H100 or H200 has 50 MB of L2 in two halves, and data that both halves
/// read is in both. Measured on an H100: with the 32 MB that FlashAttention-3
/// uses, launches of 512 keys take up to 1.35 times as long, because the keys
/// are evicted before later row blocks read them. With 8 MB, sections of head
/// dim 256 have too few tiles.
static uint64_t sectionBytesOf(const Problem &, const Schedule &s) {
  return drawsTiles(s) ? 16 << 20 : 0;
}

/// The role that takes the queries writes the output, perhaps over them.
static bool runsAheadOf(const Problem &, const Schedule &s) {
  return s.scheduler != Scheduler::Single;
}

/// Returns a stage for each consumer, since all of them end at once.
static unsigned outputStagesOf(const Schedule &s) {
  return s.scheduler == Scheduler::Single ? 0 : s.qTiles;
}

constinit const Family fmha::schedule::wgmmaFamily = {
    .name = "wgmma",
    .kind = FamilyKind::Mma,
    .serves = [](const target::Target &gpu) { return gpu.hasWgmma; },
    .takes =
        [](const Problem &problem) {
          bool isOut = problem.outF32 || problem.outDtype() == problem.dtype;
          return bytesOf(problem.dtype) == 2 && isOut && !problem.keyVectors;
        },
    .kernel = {.accumulatesInTensorMemory = false,
               .announcesNextTile = false,
               .drawsTiles = true,
               .sectionBytes = sectionBytesOf,
               .runsAhead = runsAheadOf,
               .outputStages = outputStagesOf,
               .skipsEmptyTiles = false,
               .pairsTiles = true,
               .sortsTiles = nullptr,
               .columnsOfConsumer = 256,
               .usesAddresses = false,
               .readsNewKeys = false,
               .regions = nullptr,
               .namedBarriers = namedBarriers,
               .roles = rolesOf},
    .rules = wgmmaRules,
    .cost = wgmmaCost,
    .candidates = wgmmaCandidates};
