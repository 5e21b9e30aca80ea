//===- Report.h - Collecting findings ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_REPORT_H
#define FMHA_PTX_SIM_CORE_MACHINE_REPORT_H

#include "fmha/PTX/Sim/Core/Program/Instruction.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ptxsim {

enum class FindingId : uint16_t {
#define FINDING(NAME, ID, SEVERITY, ...) NAME,
#include "fmha/PTX/Sim/Findings.def"
#undef FINDING
  Count
};

struct FindingInfo {
  std::string_view id;
  Severity severity;
  /// What went wrong in general, and how to mend it.
  std::string_view text, fix;
};
const FindingInfo &infoOf(FindingId id);
/// All of them, in the order of FindingId.
std::span<const FindingInfo> allFindings();
/// The finding with this id, or null.
const FindingInfo *findFinding(std::string_view id);

/// Who did something: an instruction of a lane of a warp. Lane -1 is the whole
/// warp. Warps outlive the agents that they issue, so agents may keep a Site.
struct Site {
  const Warp *warp = nullptr;
  const Instruction *inst = nullptr;
  int lane = -1;
};

/// The other side of a finding: what there is to say of it, and who it is.
struct Other {
  Other() = default;
  /// Nobody in particular.
  Other(std::string text) : text(std::move(text)) {}
  /// `agent` is what the site has issued, if that is what acts.
  Other(std::string text, const Site &site, std::string agent = "")
      : text(std::move(text)), site(site), agent(std::move(agent)) {}
  Other(std::string text, Party party)
      : text(std::move(text)), party(std::move(party)) {}
  std::string text;
  Site site;
  std::string agent;
  /// In place of the site, whose warp may be gone.
  std::optional<Party> party;
};

/// "warp 3 lane 0 in line 27", with the rank of the CTA where there are
/// several.
std::string whoseText(const Site &site);
/// Where an instruction is in the text of a launch.
void locate(const Machine &machine, const Instruction &inst, Party &party);

class Report {
public:
  explicit Report(const Options &options);
  bool enabled(FindingId id) const { return on[size_t(id)]; }
  /// True if any finding that needs memory shadows is enabled.
  bool shadows() const { return anyShadow; }
  /// True if a finding is enabled that the race detector raises; those of
  /// conformance only if `isa`.
  bool findsRaces(bool isa) const;
  /// Adds a finding unless its id is switched off. One finding is kept per id
  /// and PTX line, the rest are counted. `detail` says expected and got; what
  /// Findings.def says went wrong is appended to it.
  /// True if it is kept.
  bool add(FindingId id, const Site &site, const std::string &detail,
           const Other &other = {});
  /// As add, even if the id is switched off: for what ends the launch.
  void addFault(FindingId id, const Site &site, const std::string &detail,
                const Other &other = {});
  /// Gives a finding that was added another advice than Findings.def has for
  /// all of its id; an empty one changes nothing.
  void advise(FindingId id, const Site &site, std::string_view fix);
  void moveTo(LaunchResult &result);
  bool empty() const { return findings.empty() && !dropped; }
  /// Takes over the findings of a report whose cluster comes after those of
  /// this one, as if they had been added here.
  void absorb(Report &&later);

private:
  bool append(FindingId id, const Site &site, const std::string &detail,
              const Other &other);
  std::array<bool, size_t(FindingId::Count)> on{};
  bool anyShadow = false;
  unsigned maxFindings;
  Policy policy;
  uint64_t scheduleSeed;
  uint64_t dropped = 0;
  std::map<std::pair<uint16_t, uint32_t>, unsigned> seen;
  std::vector<Finding> findings;
  std::vector<FindingId> ids;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_REPORT_H
