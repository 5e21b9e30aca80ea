//===- CheckRoles.cpp - Rules of roles and their registers ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckRules.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <array>
#include <string_view>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// Counts that setmaxnreg takes (PTX ISA 9.7.19.5).
constexpr unsigned leastRegisters = 24, mostRegisters = 256, registerStep = 8;

/// Idle warps; there may be any number of them.
constexpr std::string_view spareRole = "spare";

const KnownRole *findKnown(const Case &c, std::string_view name) {
  for (const KnownRole &role : c.family.rules.roles)
    if (role.name == name)
      return &role;
  return nullptr;
}

bool isRequired(const KnownRole &role, const Schedule &schedule) {
  return role.tile < schedule.qTiles &&
         (!role.isNeeded || role.isNeeded(schedule));
}

/// Returns "softmax0, softmax1, correction, load, mma, store, spare".
std::string namesOfRoles(const Case &c) {
  std::string names;
  for (const KnownRole &role : c.family.rules.roles)
    names += std::string(role.name) + ", ";
  return names + std::string(spareRole);
}

} // namespace

/// Checks the warps of one role.
static Violation checkRole(const Case &c, const Role &role) {
  const KnownRole *known = findKnown(c, role.name);
  if (!known && role.name != spareRole)
    return "expected a role that passes know (" + namesOfRoles(c) +
           "), got \"" + role.name + '"';
  if (known && role.warps != known->warps)
    return "expected role \"" + role.name + "\" to have " + str(known->warps) +
           (known->warps == 1 ? " warp" : " warps") + ", got " +
           str(role.warps);
  if (known && known->warps == target::warpgroupWarps &&
      role.firstWarp % target::warpgroupWarps != 0)
    return "expected role \"" + role.name +
           "\" to begin at a multiple of 4 warps, so that its warps " +
           std::string(c.family.rules.whyAligned) + "; got warp " +
           str(role.firstWarp);
  return std::nullopt;
}

Violation fmha::schedule::checkRoles(const Case &c) {
  for (const Role &role : c.schedule.roles) {
    if (Violation violation = checkRole(c, role))
      return violation;
    if (c.schedule.findRole(role.name) != &role)
      return "expected each role once, got \"" + role.name + "\" twice";
  }
  for (const KnownRole &known : c.family.rules.roles)
    if (isRequired(known, c.schedule) && !c.schedule.findRole(known.name))
      return "expected a role \"" + std::string(known.name) + "\" for " +
             tiles(c.schedule) + ", got none";
  return std::nullopt;
}

/// The role of each warp of the largest CTA.
using Owners = std::array<const Role *, 32>;

static Violation assignWarps(const Case &c, Owners &owners, unsigned &warps) {
  unsigned most = c.gpu->maxThreadsPerCta / 32;
  warps = 0;
  for (const Role &role : c.schedule.roles) {
    uint64_t end = uint64_t(role.firstWarp) + role.warps;
    if (end > most)
      return "role \"" + role.name + "\" ends at warp " + str(end) +
             ", a CTA has at most " + str(most) + " warps";
    for (unsigned warp = role.firstWarp; warp < end; ++warp) {
      if (owners[warp])
        return "expected one role per warp, got \"" + owners[warp]->name +
               "\" and \"" + role.name + "\" on warp " + str(warp);
      owners[warp] = &role;
    }
    warps = std::max<unsigned>(warps, end);
  }
  warps = (warps + target::warpgroupWarps - 1) / target::warpgroupWarps *
          target::warpgroupWarps;
  for (unsigned warp = 0; warp < warps; ++warp)
    if (!owners[warp])
      return "warp " + str(warp) +
             " has no role, but setmaxnreg needs all warps of its warpgroup; "
             "give it to a role \"spare\"";
  return std::nullopt;
}

static Violation checkCounts(const Case &c, const Owners &owners,
                             unsigned warps) {
  uint64_t total = 0;
  for (unsigned warp = 0; warp < warps; ++warp) {
    const Role &role = *owners[warp];
    const Role &first =
        *owners[warp / target::warpgroupWarps * target::warpgroupWarps];
    if (role.registers % registerStep || role.registers < leastRegisters ||
        role.registers > mostRegisters)
      return "expected registers to be a multiple of 8 from 24 to 256, got " +
             str(role.registers) + " in role \"" + role.name + '"';
    if (role.registers != first.registers)
      return "expected the same registers for all roles of warpgroup " +
             str(warp / target::warpgroupWarps) + ", got " +
             str(first.registers) + " for \"" + first.name + "\" and " +
             str(role.registers) + " for \"" + role.name + '"';
    total +=
        role.registers * (target::warpgroupThreads / target::warpgroupWarps);
  }
  unsigned threads =
      warps * (target::warpgroupThreads / target::warpgroupWarps);
  unsigned atLaunch = registersAtLaunch(threads, c.schedule.ctasPerSm);
  unsigned pool = atLaunch * threads;
  if (total <= pool)
    return std::nullopt;
  return "the roles need " + str(total) + " registers, " + str(pool) +
         " are available (" + str(total - pool) + " too many): a CTA of " +
         str(threads) + " threads starts with " + str(atLaunch) + " each";
}

/// Checks that no role has fewer registers than the planner gives it: ptxas
/// spills or fails with too few, and only these counts were tested.
static Violation checkLeastRegisters(const Case &c) {
  Schedule planned = c.schedule;
  planned.roles.clear();
  planned = withRoles(std::move(planned));
  for (const Role &role : c.schedule.roles) {
    const Role *known = planned.findRole(role.name);
    if (known && role.registers < known->registers)
      return "expected at least " + str(known->registers) +
             " registers of role \"" + role.name +
             "\", with which no kernel spills, got " + str(role.registers) +
             "; take no roles for the planner's counts";
  }
  return std::nullopt;
}

unsigned fmha::schedule::registersAtLaunch(unsigned threads,
                                           unsigned ctasPerSm) {
  // Code generation is limited to 255, and ptxas ignores setmaxnreg above 248.
  constexpr unsigned mostOfThread = 248;
  unsigned share =
      target::Target::registersPerSm / (threads * std::max(ctasPerSm, 1u));
  return std::min(share / registerStep * registerStep, mostOfThread);
}

Violation fmha::schedule::checkWarps(const Case &c) {
  Owners owners{};
  unsigned warps = 0;
  return assignWarps(c, owners, warps);
}

Violation fmha::schedule::checkRegisters(const Case &c) {
  Owners owners{};
  unsigned warps = 0;
  if (assignWarps(c, owners, warps))
    return std::nullopt;
  if (Violation violation = checkCounts(c, owners, warps))
    return violation;
  return checkLeastRegisters(c);
}
