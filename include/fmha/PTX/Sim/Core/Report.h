//===- Report.h - Collecting findings ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_REPORT_H
#define FMHA_PTX_SIM_CORE_REPORT_H

#include "fmha/PTX/Sim/Core/Instruction.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace ptxsim {

enum class FindingId : uint16_t {
#define FINDING(NAME, ID, SEVERITY, TEXT) NAME,
#include "fmha/PTX/Sim/Findings.def"
#undef FINDING
  Count
};

struct FindingInfo {
  std::string_view id;
  Severity severity;
  /// What went wrong in general and how to mend it.
  std::string_view text;
};
const FindingInfo &infoOf(FindingId id);
/// The finding with this id, or null.
const FindingInfo *findFinding(std::string_view id);

/// Who did something: an instruction of a lane of a warp. Lane -1 is the whole
/// warp. Warps outlive the agents that they issue, so agents may keep a Site.
struct Site {
  const Warp *warp = nullptr;
  const Instruction *inst = nullptr;
  int lane = -1;
};

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
  /// and PTX line, the rest are counted. `detail` says expected and got; the
  /// text of Findings.def is appended to it.
  void add(FindingId id, const Site &site, const std::string &detail,
           const std::string &other = "");
  /// As add, even if the id is switched off: for what ends the launch.
  void addFault(FindingId id, const Site &site, const std::string &detail,
                const std::string &other = "");
  void moveTo(LaunchResult &result);

private:
  void append(FindingId id, const Site &site, const std::string &detail,
              const std::string &other);
  std::array<bool, size_t(FindingId::Count)> on{};
  bool anyShadow = false;
  unsigned maxFindings;
  uint64_t dropped = 0;
  std::map<std::pair<uint16_t, uint32_t>, unsigned> seen;
  std::vector<Finding> findings;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_REPORT_H
