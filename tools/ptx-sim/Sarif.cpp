//===- Sarif.cpp - Findings for code review tools -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sarif.h"

#include "fmha/PTX/Host/Report.h"
#include "fmha/PTX/Sim/Core/Machine/Report.h"

#include <algorithm>

namespace ptxsim::tool {
namespace {

using Json = nlohmann::ordered_json;

Json textOf(std::string_view text) { return {{"text", std::string(text)}}; }

/// Returns a path as a URI reference (RFC 3986), with all other characters
/// escaped.
std::string uriOf(const std::string &path) {
  static const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
                                   "RSTUVWXYZ0123456789-._~/!$&'()*+,;=@";
  std::string uri = path.starts_with("/") ? "file://" : "";
  for (char c : path) {
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", unsigned(uint8_t(c)));
    uri +=
        plain.find(c) == plain.npos ? std::string(escaped) : std::string(1, c);
  }
  return uri;
}

Json rules() {
  Json list = Json::array();
  for (const FindingInfo &info : allFindings())
    list.push_back(
        {{"id", std::string(info.id)},
         {"shortDescription", textOf(info.text)},
         {"help", textOf(info.fix)},
         {"defaultConfiguration", {{"level", nameOf(info.severity)}}}});
  return list;
}

size_t ruleIndex(const std::string &id) {
  const FindingInfo *info = findFinding(id);
  return info ? size_t(info - allFindings().data()) : 0;
}

/// Returns the PTX region: line, columns if known, and the line as a snippet.
Json regionOf(const Party &party, const std::string &text) {
  Json region = {{"startLine", party.ptxLine}};
  if (party.ptxColumn) {
    region["startColumn"] = party.ptxColumn;
    region["endColumn"] = party.ptxColumn + party.ptxWidth;
  }
  region["snippet"] = textOf(lineOf(text, party.ptxLine));
  return region;
}

/// Returns "kernel/cta(0,0,0)/warp3/lane5", as far as known.
std::string whereOf(const Party &party, const std::string &entry) {
  const Dim3 &cta = party.cta;
  std::string where = entry;
  if (party.warp < 0)
    return where;
  where += "/cta(" + std::to_string(cta.x) + "," + std::to_string(cta.y) + "," +
           std::to_string(cta.z) + ")/warp" + std::to_string(party.warp);
  if (party.lane >= 0)
    where += "/lane" + std::to_string(party.lane);
  return where;
}

/// Returns the kernel. Standard input has no path, but consumers require a URI,
/// and "-" would name a file.
Json artifactOf(const std::string &kernel) {
  if (kernel == "-")
    return {{"uri", "stdin"},
            {"description", textOf("PTX from standard input")}};
  return {{"uri", uriOf(kernel)}};
}

Json locationOf(const Party &party, const Summary &summary) {
  Json place = {{"artifactLocation", artifactOf(summary.line.kernel)}};
  if (party.ptxLine)
    place["region"] = regionOf(party, summary.text);
  Json logical = {{"name", summary.config.entry},
                  {"fullyQualifiedName", whereOf(party, summary.config.entry)},
                  {"kind", "function"}};
  return {{"physicalLocation", place},
          {"logicalLocations", Json::array({logical})}};
}

/// Returns the source line that .loc names, and the other party.
Json relatedTo(const Finding &finding, const Summary &summary) {
  Json list = Json::array();
  size_t colon = finding.source.rfind(':');
  if (colon != std::string::npos) {
    Json place = {
        {"artifactLocation", {{"uri", uriOf(finding.source.substr(0, colon))}}},
        {"region",
         {{"startLine", std::stoul(finding.source.substr(colon + 1))}}}};
    list.push_back({{"id", 0},
                    {"message", textOf("compiled from here")},
                    {"physicalLocation", place}});
  }
  if (!finding.other.empty()) {
    Json other = finding.otherParty ? locationOf(*finding.otherParty, summary)
                                    : Json::object();
    other["id"] = list.size();
    other["message"] = textOf("other: " + finding.other);
    list.push_back(other);
  }
  return list;
}

/// Returns the command that reproduces the finding, if it differs from the
/// command that was run: for findings of only another schedule, or of the
/// comparison.
std::string replayOf(const Finding &finding, const Summary &summary) {
  const Comparison &comparison = summary.comparison;
  bool inFirst = std::ranges::any_of(
      comparison.first.result.findings, [&](const Finding &known) {
        return known.id == finding.id && known.ptxLine == finding.ptxLine;
      });
  return inFirst || !comparison.divergence ? "" : comparison.divergence->replay;
}

Json resultOf(const Finding &finding, const Summary &summary) {
  Json result;
  result["ruleId"] = finding.id;
  result["ruleIndex"] = ruleIndex(finding.id);
  result["level"] = nameOf(finding.severity);
  result["message"] = textOf(finding.message + " " + finding.fix);
  result["locations"] = Json::array({locationOf(finding, summary)});
  if (Json related = relatedTo(finding, summary); !related.empty())
    result["relatedLocations"] = related;
  result["partialFingerprints"] = {
      {"findingAndLine/v1",
       finding.id + ":" + std::string(lineOf(summary.text, finding.ptxLine))}};
  result["properties"] = {{"policy", nameOf(finding.policy)},
                          {"scheduleSeed", finding.scheduleSeed}};
  if (std::string replay = replayOf(finding, summary); !replay.empty())
    result["properties"]["replay"] = replay;
  return result;
}

/// Returns a log of one run of the tool.
std::string logOf(const Json &invocation, const Json &results) {
  Json driver = {{"name", "ptx-sim"},
                 {"semanticVersion", FMHA_VERSION},
                 {"rules", rules()}};
  Json run;
  run["tool"] = {{"driver", driver}};
  run["invocations"] = Json::array({invocation});
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = results;
  Json log;
  log["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  log["version"] = "2.1.0";
  log["runs"] = Json::array({run});
  return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json notification(const char *level, const std::string &message) {
  return {{"level", level}, {"message", textOf(message)}};
}

} // namespace

std::string sarifLog(const Summary &summary) {
  const Comparison &comparison = summary.comparison;
  Json results = Json::array();
  for (const Finding &finding : comparison.findings)
    results.push_back(resultOf(finding, summary));
  Json invocation = {{"executionSuccessful", true},
                     {"commandLine", commandText(summary.line)}};
  // In that case the absence of results does not mean a clean kernel.
  bool cut = comparison.first.result.status == Status::StepLimit ||
             !comparison.cut.empty();
  if (cut)
    invocation["toolExecutionNotifications"] = Json::array({notification(
        "warning", "a limit of steps stopped a launch before its end")});
  return logOf(invocation, results);
}

std::string sarifFailure(const Failure &failure, const std::string &command) {
  Json note = notification("error", failure.message);
  if (!failure.kernel.empty()) {
    Json place = {{"artifactLocation", artifactOf(failure.kernel)}};
    if (failure.ptxLine)
      place["region"] = {{"startLine", failure.ptxLine}};
    note["locations"] = Json::array({{{"physicalLocation", place}}});
  }
  Json invocation = {{"executionSuccessful", false},
                     {"commandLine", command},
                     {"toolExecutionNotifications", Json::array({note})}};
  return logOf(invocation, Json::array());
}

} // namespace ptxsim::tool
