//===- RaceReport.cpp - Conflicts become findings ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceState.h"

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
      "a tcgen05.ld of ",
      "a tcgen05.st of "};
  return kNames[unsigned(kind)];
}

std::string Races::nameParty(const race::Stamp &stamp, bool writes) const {
  std::string text = writes ? "written by " : "read by ";
  text += nameOf(stamp.kind);
  text += "warp " + std::to_string(stamp.warp % ctaWarps);
  if (stamp.lane < 32)
    text += " lane " + std::to_string(stamp.lane);
  if (warps.size() > ctaWarps)
    text += " of the CTA of rank " + std::to_string(stamp.warp / ctaWarps);
  if (race::clusterOf(stamp.when) != number)
    text += " of cluster " + std::to_string(race::clusterOf(stamp.when) - 1);
  return text + " in line " + std::to_string(stamp.line);
}

std::string Races::placeOf(uint64_t address) const {
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
  if (space != Space::Global && cluster.ctas.size() > 1)
    where += " of the CTA of rank " + std::to_string(place->rank);
  return where;
}

void Races::report(const race::Access &access, const race::Conflict &conflict) {
  const Races &self = *static_cast<const Races *>(access.context);
  const_cast<Races &>(self).describe(access, conflict);
}

void Races::describe(const race::Access &access,
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
  Report &report = cluster.machine.report;
  if (!report.enabled(id))
    return;
  // A box of many bytes gives one text.
  if (!launch.reported.insert({uint16_t(id), access.stamp.line}).second)
    return;
  std::string text = conflict.fault == Fault::InitFence
                         ? "signals an mbarrier in "
                     : access.write ? "writes "
                                    : "reads ";
  report.add(id, site, text + placeOf(conflict.address) + ".",
             nameParty(conflict.other, conflict.otherWrites));
}
