//===- Report.cpp - Collecting findings -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Machine/Report.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <algorithm>

using namespace ptxsim;

static const FindingInfo kFindings[] = {
#define FINDING(NAME, ID, SEVERITY, ...) {ID, Severity::SEVERITY, __VA_ARGS__},
#include "fmha/PTX/Sim/Findings.def"
#undef FINDING
};

const FindingInfo &ptxsim::infoOf(FindingId id) {
  return kFindings[size_t(id)];
}

std::span<const FindingInfo> ptxsim::allFindings() { return kFindings; }

const FindingInfo *ptxsim::findFinding(std::string_view id) {
  for (const FindingInfo &info : kFindings)
    if (info.id == id)
      return &info;
  return nullptr;
}

Report::Report(const Options &options)
    : maxFindings(options.maxFindings), policy(options.policy),
      scheduleSeed(options.scheduleSeed) {
  for (size_t i = 0; i < on.size(); ++i) {
    on[i] = options.enabled(std::string(kFindings[i].id));
    // All findings except progress and faults may use marks.
    anyMarks |= on[i];
  }
}

bool Report::findsRaces(bool isa) const {
  for (FindingId id :
       {FindingId::RaceShared, FindingId::RaceGlobal, FindingId::RaceTmem,
        FindingId::MissingProxyFence, FindingId::SmemInUseAtExit,
        FindingId::DsmemAfterExit, FindingId::MbarrierPhaseOverrun})
    if (enabled(id))
      return true;
  return isa && (enabled(FindingId::TcgenMissingFence) ||
                 enabled(FindingId::MbarrierInitFence));
}

/// Returns "file:line" of the instruction's .loc.
static std::string sourceOf(const syntax::Module &module,
                            const Instruction &inst) {
  if (inst.sourceLine)
    for (const auto &[index, name] : module.files)
      if (index == inst.sourceFile)
        return name + ":" + std::to_string(inst.sourceLine);
  return "";
}

/// Relies on the opcode being a view into the module's text.
void ptxsim::locate(const Machine &machine, const Instruction &inst,
                    Party &party) {
  const syntax::Module &module = *machine.program.module;
  party.ptxLine = inst.line;
  party.source = sourceOf(module, inst);
  std::string_view text = module.text;
  if (inst.opcode.empty() || inst.opcode.data() < text.data() ||
      inst.opcode.data() >= text.data() + text.size())
    return;
  size_t at = size_t(inst.opcode.data() - text.data());
  size_t begin = at ? text.rfind('\n', at - 1) + 1 : 0;
  // A statement ends at its semicolon, or continues on the next line.
  size_t end = text.find_first_of(";\r\n", at);
  party.ptxColumn = unsigned(at - begin + 1);
  party.ptxWidth = unsigned(std::min(end, text.size()) - at);
}

static void fill(Party &party, const Site &site) {
  if (!site.warp)
    return;
  party.warp = int(site.warp->index);
  party.lane = site.lane;
  party.cta = site.warp->cta.id;
  if (site.inst)
    locate(site.warp->machine, *site.inst, party);
}

std::string ptxsim::whoseText(const Site &site) {
  std::string text = "warp " + std::to_string(site.warp->index);
  if (site.lane >= 0)
    text += " lane " + std::to_string(site.lane);
  if (site.warp->cluster.ctas.size() > 1)
    text += " of the CTA of rank " + std::to_string(site.warp->cta.rank);
  if (site.inst)
    text += " in line " + std::to_string(site.inst->line);
  return text;
}

/// Returns the observation as a complete sentence; the description follows it.
static std::string sentence(const std::string &detail) {
  static constexpr std::string_view ends = ".:;!?\n";
  bool ended = detail.empty() || ends.find(detail.back()) != ends.npos;
  return ended ? detail : detail + ".";
}

bool Report::append(FindingId id, const Site &site, const std::string &detail,
                    const Other &other) {
  uint32_t line = site.inst ? site.inst->line : 0;
  if (seen[{uint16_t(id), line}]++ || findings.size() >= maxFindings) {
    ++dropped;
    return false;
  }
  const FindingInfo &info = infoOf(id);
  Finding finding;
  finding.id = info.id;
  finding.severity = info.severity;
  finding.message = sentence(detail) + " " + std::string(info.text);
  if (site.inst)
    finding.message = std::string(site.inst->opcode) + ": " + finding.message;
  finding.fix = info.fix;
  finding.policy = policy;
  finding.scheduleSeed = scheduleSeed;
  fill(finding, site);
  finding.other = other.text;
  finding.otherParty = other.party;
  if (other.site.warp) {
    finding.otherParty.emplace().operation = other.operation;
    fill(*finding.otherParty, other.site);
  }
  findings.push_back(std::move(finding));
  ids.push_back(id);
  return true;
}

bool Report::add(FindingId id, const Site &site, const std::string &detail,
                 const Other &other) {
  return enabled(id) && append(id, site, detail, other);
}

void Report::addFault(FindingId id, const Site &site, const std::string &detail,
                      const Other &other) {
  append(id, site, detail, other);
}

void Report::absorb(Report &&later) {
  for (size_t i = 0; i < later.findings.size(); ++i) {
    Finding &finding = later.findings[i];
    FindingId id = later.ids[i];
    if (seen[{uint16_t(id), finding.ptxLine}]++ ||
        findings.size() >= maxFindings) {
      ++dropped;
      continue;
    }
    findings.push_back(std::move(finding));
    ids.push_back(id);
  }
  dropped += later.dropped;
}

void Report::advise(FindingId id, const Site &site, std::string_view fix) {
  uint32_t line = site.inst ? site.inst->line : 0;
  for (size_t i = fix.empty() ? 0 : findings.size(); i-- > 0;)
    if (ids[i] == id && findings[i].ptxLine == line) {
      findings[i].fix = fix;
      return;
    }
}

void Report::moveTo(LaunchResult &result) {
  result.findings = std::move(findings);
  result.findingsDropped = dropped;
}
