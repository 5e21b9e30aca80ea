//===- Output.cpp - The output of ptx-sim ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Output.h"

#include "fmha/PTX/Host/Report.h"
#include "fmha/PTX/Sim/Core/Machine/Report.h"
#include "fmha/PTX/Sim/Exploration.h"
#include "fmha/PTX/Time/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ptxsim::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schemaVersion = 1;

std::string dump(const Json &json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool stored(const Summary &summary) {
  Status status = summary.comparison.first.result.status;
  return status == Status::Ok || status == Status::Findings;
}

Json outputs(const Summary &summary) {
  Json list = Json::array();
  for (size_t i = 0; i < summary.arguments.list.size(); ++i) {
    const Argument &argument = summary.arguments.list[i];
    if (!argument.isOutput() || !stored(summary))
      continue;
    Json json;
    json["arg"] = i;
    json["path"] = argument.outputPath;
    json["dtype"] = argument.array.dtype;
    json["shape"] = argument.array.shape;
    list.push_back(json);
  }
  return list;
}

bool repeats(const Summary &summary) {
  return summary.line.schedules || summary.line.compare ||
         summary.line.options.policy == Policy::Exhaustive;
}

/// Returns true if schedules were compared, or if only one exists.
bool compares(const Summary &summary) {
  return summary.comparison.schedules || summary.comparison.exhausted;
}

uint64_t requested(const Summary &summary) {
  if (summary.comparison.exhausted)
    return summary.line.maxSchedules;
  return std::max<uint64_t>(summary.line.schedules,
                            summary.comparison.schedules);
}

Json schedules(const Summary &summary) {
  if (!repeats(summary))
    return nullptr;
  const Comparison &comparison = summary.comparison;
  Json json;
  json["requested"] = requested(summary);
  json["exhausted"] =
      comparison.exhausted ? Json(*comparison.exhausted) : Json(nullptr);
  json["first_difference"] = nullptr;
  if (const auto &divergence = comparison.divergence) {
    json["first_difference"] = {
        {"seed", divergence->seed ? Json(*divergence->seed) : Json(nullptr)},
        {"schedule", divergence->schedule},
        {"what", divergence->difference.what},
        {"replay", divergence->replay}};
    json["first_difference"]["findings"] =
        toJson(divergence->outcome.result.findings);
  }
  return json;
}

std::string text(const Dim3 &d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," +
         std::to_string(d.z);
}

template <typename... Values>
std::string format(const char *pattern, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

/// Returns "1 finding", "2 findings".
std::string counted(uint64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Returns what agreeing runs have in common; bytes only if any were requested.
std::string agreement(const Summary &summary) {
  return summary.comparison.first.outputs.empty()
             ? "gave the same findings; no bytes were compared, since no "
               "--arg is out: or inout:"
             : "gave the same bytes and findings";
}

/// Returns how much of the space of schedules an exploration covered.
std::string exploredText(const Summary &summary) {
  const Comparison &comparison = summary.comparison;
  std::string count = std::to_string(comparison.schedules + 1);
  if (*comparison.exhausted)
    return "schedules: all " + count + " that are not equivalent " +
           agreement(summary) +
           "\nexplored: the order of the steps of warps and asynchronous "
           "units; not the order in which a warp that diverged takes its "
           "paths\n";
  return "schedules: the " + count + " that ran " + agreement(summary) +
         "; NOT exhausted, raise --max-schedules=" +
         std::to_string(summary.line.maxSchedules) +
         format(" or shrink the kernel (longest schedule %zu steps)\n",
                comparison.longest);
}

/// Returns the limit that stopped a launch before its end.
std::string limitText(const Summary &summary) {
  bool tooLong = summary.line.options.policy == Policy::Exhaustive &&
                 !summary.line.options.maxSteps;
  if (!tooLong)
    return "--max-steps";
  return "--policy=exhaustive after " + std::to_string(Exploration::kMaxSteps) +
         " steps";
}

/// Returns the summary of schedules that did not differ.
std::string sameText(const Summary &summary) {
  const Comparison &comparison = summary.comparison;
  if (!repeats(summary))
    return "";
  if (comparison.first.result.status == Status::StepLimit)
    return "schedules: the first was cut by " + limitText(summary) +
           ", which says nothing of how any ends\n";
  if (!comparison.cut.empty())
    return "schedules: that of " + comparison.cut + " was cut by " +
           limitText(summary) + "; those before it " + agreement(summary) +
           "\n";
  if (comparison.exhausted)
    return exploredText(summary);
  if (!summary.line.schedulePath.empty())
    return "schedules: both " + agreement(summary) + "\n";
  const char *policy =
      nameOf(summary.line.compare ? summary.line.compare->policy
             : summary.line.options.policy == Policy::Pct ? Policy::Pct
                                                          : Policy::Random);
  return "schedules: " + std::to_string(comparison.schedules) + " " + policy +
         (comparison.schedules == 1 ? " one " : " ones ") + agreement(summary) +
         "\n";
}

std::string scheduleText(const Summary &summary) {
  if (!summary.comparison.divergence)
    return sameText(summary);
  const Divergence &d = *summary.comparison.divergence;
  bool one = summary.line.compare || !summary.line.schedulePath.empty();
  return "schedules: " + d.schedule +
         (one ? " differs: " : " is the first that differs: ") +
         d.difference.what + "\nreplay: " + d.replay + "\n";
}

/// Returns the number of findings that the options enable. A schedule-dependent
/// result can be found only with several schedules.
size_t checksOn(const Summary &summary) {
  size_t count = 0;
  for (const FindingInfo &info : allFindings())
    if (&info == &infoOf(FindingId::ScheduleDependent))
      count += compares(summary);
    else
      count += summary.line.options.enabled(std::string(info.id));
  return count;
}

/// Returns the policies that ran, the first run's first.
std::vector<std::string> policiesRun(const Summary &summary) {
  std::vector<std::string> policies = {nameOf(summary.line.options.policy)};
  const auto &other = summary.line.compare;
  if (!compares(summary))
    return policies;
  if (other && other->policy != summary.line.options.policy)
    policies.push_back(nameOf(other->policy));
  if (summary.line.schedules && !summary.line.options.randomized())
    policies.push_back("random");
  return policies;
}

/// Returns the basis of a clean result: as JSON, and as one line of text.
Json checked(const Summary &summary) {
  Json json;
  json["checks"] = checksOn(summary);
  json["checks_known"] = allFindings().size();
  json["conformance"] =
      summary.line.options.conformance == Conformance::Isa ? "isa" : "practice";
  json["policies"] = policiesRun(summary);
  json["schedules"] = 1 + summary.comparison.schedules;
  json["warp_instructions"] = summary.comparison.instructions;
  return json;
}

std::string checkedText(const Summary &summary) {
  Json json = checked(summary);
  std::string text = format(
      "checked %zu of %zu findings (conformance %s%s) ", checksOn(summary),
      allFindings().size(), json["conformance"].get<std::string>().c_str(),
      compares(summary) ? "" : "; --schedules=N compares outputs, too");
  std::string policies;
  for (const std::string &policy : policiesRun(summary))
    policies += (policies.empty() ? "" : " and ") + policy;
  uint64_t schedules = 1 + summary.comparison.schedules;
  return text + "under policy " + policies + ", " +
         counted(schedules, "schedule") + ", " +
         counted(summary.comparison.instructions, "warp instruction") +
         " in all\n";
}

} // namespace

std::string jsonReport(const Summary &summary) {
  const LaunchResult &result = summary.comparison.first.result;
  Json json;
  json["schema_version"] = schemaVersion;
  json["status"] = nameOf(summary.comparison.status);
  json["error"] = nullptr;
  json["entry"] = summary.config.entry;
  json["grid"] = toJson(summary.config.grid);
  json["block"] = toJson(summary.config.block);
  json["cluster"] =
      summary.config.cluster ? toJson(*summary.config.cluster) : Json(nullptr);
  json["findings"] = toJson(summary.comparison.findings);
  json["findings_dropped"] = result.findingsDropped;
  const DeadlockReport *deadlock = summary.comparison.deadlock();
  json["deadlock"] = deadlock ? toJson(*deadlock) : Json(nullptr);
  json["warp_instructions"] = result.warpInstructions;
  json["seconds_run"] = summary.comparison.first.seconds;
  json["outputs"] = outputs(summary);
  json["schedules"] = schedules(summary);
  json["checked"] = checked(summary);
  const auto &time = summary.comparison.first.time;
  json.update(timing::toJson(time ? &*time : nullptr));
  return dump(json);
}

std::string jsonError(const std::string &message, unsigned ptxLine) {
  Json json;
  json["schema_version"] = schemaVersion;
  json["status"] = "error";
  json["error"] = {{"message", message},
                   {"ptx_line", ptxLine ? Json(ptxLine) : Json(nullptr)}};
  for (const char *absent : {"entry", "grid", "block", "cluster"})
    json[absent] = nullptr;
  json["findings"] = Json::array();
  json["findings_dropped"] = 0;
  json["deadlock"] = nullptr;
  json["warp_instructions"] = nullptr;
  json["seconds_run"] = nullptr;
  json["outputs"] = Json::array();
  json["schedules"] = nullptr;
  json["checked"] = nullptr;
  json.update(timing::toJson(nullptr));
  return dump(json);
}

std::string textReport(const Summary &summary, Color color) {
  const LaunchResult &result = summary.comparison.first.result;
  const std::vector<Finding> &findings = summary.comparison.findings;
  std::string report;
  const DeadlockReport *deadlock = summary.comparison.deadlock();
  for (const Finding &finding : findings)
    report += describe(deadlock ? withoutWaitList(finding) : finding,
                       summary.line.kernel, summary.text, color);
  if (deadlock)
    report += describe(*deadlock);
  // Below the limit, only findings with the same id and line are dropped.
  bool repeated = result.findings.size() < summary.line.options.maxFindings;
  if (result.findingsDropped)
    report += counted(result.findingsDropped, "more finding") +
              (repeated ? ", each like one above at the same line\n" : "\n");
  report += scheduleText(summary);
  for (const Json &output : outputs(summary))
    report +=
        "wrote " + output["path"].get<std::string>() +
        (result.faulted ? ", incomplete: a fault ended the launch\n" : "\n");
  if (summary.comparison.first.time && !summary.line.timeline.empty())
    report += "wrote " + summary.line.timeline + "\n";
  report += summary.config.entry + " grid " + text(summary.config.grid) +
            " block " + text(summary.config.block) + ": " +
            nameOf(summary.comparison.status);
  if (!findings.empty())
    report += ", " + counted(findings.size(), "finding");
  return report + ", " + counted(result.warpInstructions, "warp instruction") +
         format(" in %.3f s\n", summary.comparison.first.seconds) +
         checkedText(summary) +
         (summary.comparison.first.time
              ? timing::describe(*summary.comparison.first.time)
              : "");
}

std::string listEntries(const Module &module, bool json) {
  Json entries = Json::array();
  std::string report = module.target() + ", PTX " + module.version() + "\n";
  for (const Module::Entry &entry : module.entries()) {
    Json item;
    item["name"] = entry.name;
    item["static_smem_bytes"] = entry.staticSharedBytes;
    item["parameters"] = Json::array();
    report += entry.name + format(" (%u bytes of static shared memory)\n",
                                  entry.staticSharedBytes);
    for (const Module::Parameter &parameter : entry.parameters) {
      item["parameters"].push_back({{"name", parameter.name},
                                    {"size", parameter.size},
                                    {"align", parameter.align}});
      report += "  " + parameter.name +
                format(": %u bytes, aligned to %u\n", parameter.size,
                       parameter.align);
    }
    entries.push_back(item);
  }
  Json whole;
  whole["schema_version"] = schemaVersion;
  whole["target"] = module.target();
  whole["version"] = module.version();
  whole["entries"] = entries;
  return json ? dump(whole) : report;
}

} // namespace ptxsim::tool
