//===- Family.cpp - Kernels that multiply by wgmma --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families/Family.h"

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

using namespace fmha;
using namespace fmha::schedule;

/// Returns one barrier for the turns of each of several consumers, and one for
/// each consumer whose warps share P.
static unsigned namedBarriers(const Schedule &schedule) {
  unsigned turns = schedule.qTiles > 1 ? schedule.qTiles : 0;
  bool shares = schedule.pPlacement == PPlacement::Smem;
  return turns + (shares ? schedule.qTiles : 0);
}

static std::vector<Role> rolesOf(const Schedule &schedule) {
  return consumerRoles(schedule.qTiles, schedule.ctasPerSm);
}

constinit const Family fmha::schedule::wgmmaFamily = {
    .name = "wgmma",
    .serves = [](const target::Target &gpu) { return gpu.hasWgmma; },
    .kernel = {.accumulatesInTensorMemory = false,
               .announcesNextTile = false,
               .stagesOutputApart = true,
               .skipsEmptyTiles = false,
               .pairsTiles = true,
               .namedBarriers = namedBarriers,
               .roles = rolesOf},
    .rules = wgmmaRules,
    .cost = wgmmaCost,
    .candidates = wgmmaCandidates};
