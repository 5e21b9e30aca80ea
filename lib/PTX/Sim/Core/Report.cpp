//===- Report.cpp - Collecting findings -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Report.h"

#include "fmha/PTX/Sim/Core/Machine.h"
#include "fmha/PTX/Sim/Core/Program.h"

using namespace ptxsim;

static const FindingInfo kFindings[] = {
#define FINDING(NAME, ID, SEVERITY, TEXT) {ID, Severity::SEVERITY, TEXT},
#include "fmha/PTX/Sim/Findings.def"
#undef FINDING
};

const FindingInfo &ptxsim::infoOf(FindingId id) {
  return kFindings[size_t(id)];
}

const FindingInfo *ptxsim::findFinding(std::string_view id) {
  for (const FindingInfo &info : kFindings)
    if (info.id == id)
      return &info;
  return nullptr;
}

Report::Report(const Options &options) : maxFindings(options.maxFindings) {
  for (size_t i = 0; i < on.size(); ++i) {
    on[i] = options.enabled(std::string(kFindings[i].id));
    // Anything but progress and faults may look at shadows.
    anyShadow |= on[i];
  }
}

bool Report::findsRaces(bool isa) const {
  for (FindingId id :
       {FindingId::RaceShared, FindingId::RaceGlobal, FindingId::RaceTmem,
        FindingId::MissingProxyFence, FindingId::SmemInUseAtExit})
    if (enabled(id))
      return true;
  return isa && enabled(FindingId::TcgenMissingFence);
}

/// "file:line" of the instruction's .loc.
static std::string sourceOf(const Warp *warp, const Instruction *inst) {
  if (!warp || !inst || !inst->sourceLine)
    return "";
  for (const auto &[index, name] : warp->machine.program.module->files)
    if (index == inst->sourceFile)
      return name + ":" + std::to_string(inst->sourceLine);
  return "";
}

void Report::append(FindingId id, const Site &site, const std::string &detail,
                    const std::string &other) {
  uint32_t line = site.inst ? site.inst->line : 0;
  if (seen[{uint16_t(id), line}]++ || findings.size() >= maxFindings) {
    ++dropped;
    return;
  }
  const FindingInfo &info = infoOf(id);
  Finding finding;
  finding.id = info.id;
  finding.severity = info.severity;
  finding.message = detail + " " + std::string(info.text);
  if (site.inst)
    finding.message = std::string(site.inst->opcode) + ": " + finding.message;
  finding.ptxLine = line;
  finding.source = sourceOf(site.warp, site.inst);
  finding.lane = site.lane;
  finding.other = other;
  if (site.warp) {
    finding.warp = int(site.warp->index);
    finding.cta = site.warp->cta.id;
  }
  findings.push_back(std::move(finding));
}

void Report::add(FindingId id, const Site &site, const std::string &detail,
                 const std::string &other) {
  if (enabled(id))
    append(id, site, detail, other);
}

void Report::addFault(FindingId id, const Site &site, const std::string &detail,
                      const std::string &other) {
  append(id, site, detail, other);
}

void Report::moveTo(LaunchResult &result) {
  result.findings = std::move(findings);
  result.findingsDropped = dropped;
}
