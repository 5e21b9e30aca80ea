//===- History.cpp - The reports over all launches ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "fmha/PTX/Host/Report.h"

#include <algorithm>
#include <cstdio>

namespace ptxsim::driver {

using Json = nlohmann::ordered_json;

namespace {

constexpr size_t keptReports = 1000;

const char *statusOf(const History &history) {
  return history.anyError && history.worst == Status::Ok
             ? "error"
             : ptxsim::nameOf(history.worst);
}

void writeReport(const State &state) {
  if (state.settings.reportFile.empty())
    return;
  std::string text =
      wholeReport(state).dump(2, ' ', false, Json::error_handler_t::replace);
  if (auto wrong = writeWhole(state.settings.reportFile, text + "\n"))
    std::fprintf(stderr, "ptxsim: %s\n", wrong->c_str());
}

} // namespace

void record(State &state, Json report, Status status, bool rejected) {
  History &history = state.history;
  ++history.launches;
  history.lastWarpInstructions = report["warp_instructions"];
  history.warpInstructions += history.lastWarpInstructions;
  history.seconds += report["seconds_run"].get<double>();
  history.worst = std::max(history.worst, status);
  history.anyError |= rejected;
  history.last = std::move(report);
  bool notOk = rejected || status != Status::Ok;
  if (notOk && history.notOk.size() < keptReports)
    history.notOk.push_back(history.last);
  writeReport(state);
}

Json wholeReport(const State &state) {
  const History &history = state.history;
  Json json;
  json["schema_version"] = 1;
  json["target"] = state.target().text();
  json["status"] = statusOf(history);
  json["launches"] = history.launches;
  json["warp_instructions"] = history.warpInstructions;
  json["seconds_run"] = history.seconds;
  json["reports"] = history.notOk;
  bool lastIsKept =
      !history.notOk.empty() && history.notOk.back() == history.last;
  if (!history.last.is_null() && !lastIsKept)
    json["reports"].push_back(history.last);
  return json;
}

} // namespace ptxsim::driver
