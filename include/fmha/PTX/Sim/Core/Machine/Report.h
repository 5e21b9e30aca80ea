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
  /// The general description of the error, and how to repair it.
  std::string_view text, fix;
};
const FindingInfo &infoOf(FindingId id);
/// Returns all findings, in the order of FindingId.
std::span<const FindingInfo> allFindings();
/// Returns the finding with this id, or null.
const FindingInfo *findFinding(std::string_view id);

/// The place of an action: an instruction of a lane of a warp. Lane -1 is the
/// whole warp. Warps outlive the operations that they issue, so operations may
/// keep a Site.
struct Site {
  const Warp *warp = nullptr;
  const Instruction *inst = nullptr;
  int lane = -1;
};

/// The other party of a finding: its description and its site.
struct Other {
  Other() = default;
  /// A party without a site.
  Other(std::string text) : text(std::move(text)) {}
  /// `operation` describes the operation that the site issued, if the operation
  /// acts.
  Other(std::string text, const Site &site, std::string operation = "")
      : text(std::move(text)), site(site), operation(std::move(operation)) {}
  Other(std::string text, Party party)
      : text(std::move(text)), party(std::move(party)) {}
  std::string text;
  Site site;
  std::string operation;
  /// Replaces the site, whose warp may no longer exist.
  std::optional<Party> party;
};

/// Returns "warp 3 lane 0 in line 27", with the rank of the CTA if the cluster
/// has several.
std::string whoseText(const Site &site);
/// Sets the location of an instruction in the text of a launch.
void locate(const Machine &machine, const Instruction &inst, Party &party);

class Report {
public:
  explicit Report(const Options &options);
  bool enabled(FindingId id) const { return on[size_t(id)]; }
  /// Returns true if any finding that needs marks of memory is enabled.
  bool marksMemory() const { return anyMarks; }
  /// Returns true if any finding of the race detector is enabled. Findings of
  /// conformance count only with `isa`.
  bool findsRaces(bool isa) const;
  /// Adds a finding unless its id is disabled, and returns true if it is kept.
  /// One finding is kept per id and PTX line; the others are counted. `detail`
  /// states expected and got; the description in Findings.def is appended to
  /// it.
  bool add(FindingId id, const Site &site, const std::string &detail,
           const Other &other = {});
  /// Same as add, but ignores whether the id is disabled: for errors that end
  /// the launch.
  void addFault(FindingId id, const Site &site, const std::string &detail,
                const Other &other = {});
  /// Replaces the advice of Findings.def for a finding that was added. An empty
  /// advice changes nothing.
  void advise(FindingId id, const Site &site, std::string_view fix);
  void moveTo(LaunchResult &result);
  bool empty() const { return findings.empty() && !dropped; }
  /// Appends the findings of a report of a later cluster, as if they had been
  /// added here.
  void absorb(Report &&later);

private:
  bool append(FindingId id, const Site &site, const std::string &detail,
              const Other &other);
  std::array<bool, size_t(FindingId::Count)> on{};
  bool anyMarks = false;
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
