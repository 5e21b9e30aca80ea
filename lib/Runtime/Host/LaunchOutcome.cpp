//===- LaunchOutcome.cpp - The outcome of a launch ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchOutcome.h"
#include "fmha/Runtime/Files.h"

namespace fmha::runtime {
namespace {

constexpr driver::Result launchTimeout = 702;

/// Returns a finding of the host, in the simulator's format.
llvm::json::Object hostFinding(llvm::StringRef id, const std::string &message) {
  return llvm::json::Object{{"id", id},           {"severity", "error"},
                            {"message", message}, {"ptx_line", nullptr},
                            {"source", nullptr},  {"warp", nullptr},
                            {"lane", nullptr},    {"cta", nullptr},
                            {"other", nullptr}};
}

/// Copies the simulator's findings; absent members become null.
void copyFindings(const llvm::json::Array &from, LaunchReport &report) {
  for (const llvm::json::Value &value : from) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object)
      continue;
    llvm::json::Object finding;
    for (llvm::StringRef name : {"id", "severity", "message", "ptx_line",
                                 "source", "warp", "lane", "cta", "other"}) {
      const llvm::json::Value *member = object->get(name);
      finding[name] = member ? *member : llvm::json::Value(nullptr);
    }
    report.findings.push_back(std::move(finding));
  }
}

llvm::Error readSimulatorReport(Device &device, driver::Result result,
                                LaunchReport &report) {
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(device.api().lastReport());
  if (!parsed)
    return failure("the simulator's report is no JSON: " +
                   llvm::toString(parsed.takeError()));
  const llvm::json::Object *object = parsed->getAsObject();
  std::optional<llvm::StringRef> status =
      object ? object->getString("status") : std::nullopt;
  if (!status || *status == "error")
    return device.api().check(result ? result : -1, "launching the kernel");
  if (*status == "step_limit")
    return failure("the simulator stopped at its step limit");
  if (*status == "findings")
    report.status = LaunchReport::Status::Findings;
  if (*status == "deadlock")
    report.status = LaunchReport::Status::Deadlock;
  if (std::optional<int64_t> count = object->getInteger("warp_instructions"))
    report.warpInstructions = uint64_t(*count);
  if (const llvm::json::Array *findings = object->getArray("findings"))
    copyFindings(*findings, report);
  if (const llvm::json::Object *clocks = object->getObject("clocks"))
    report.times.push_back(llvm::json::Object{
        {"clocks", llvm::json::Object(*clocks)},
        {"front_end", object->getString("front_end").value_or("").str()},
        {"bound", object->getString("bound").value_or("").str()},
        {"mma_utilisation", object->getNumber("mma_utilisation").value_or(0)}});
  if (const llvm::json::Array *drawn = object->getArray("drawn_clocks");
      drawn && !report.times.empty())
    (*report.times.back().getAsObject())["drawn_clocks"] =
        llvm::json::Array(*drawn);
  return llvm::Error::success();
}

} // namespace

llvm::Error readOutcome(Device &device, driver::Result result,
                        LaunchReport &report) {
  if (result)
    report.driverError = device.api().describe(result);
  if (device.isSimulator())
    return readSimulatorReport(device, result, report);
  if (!result)
    return llvm::Error::success();
  report.status = result == launchTimeout ? LaunchReport::Status::Deadlock
                                          : LaunchReport::Status::Findings;
  report.findings.push_back(
      hostFinding("driver.launch", "the kernel failed: " + report.driverError));
  return llvm::Error::success();
}

void addStrayFinding(llvm::StringRef name, size_t strayBytes,
                     LaunchReport &report) {
  if (strayBytes == 0)
    return;
  report.findings.push_back(
      hostFinding("host.write-outside-tensor",
                  "the kernel wrote " + std::to_string(strayBytes) +
                      " bytes before, between or after the elements of '" +
                      name.str() + "'; expected it to leave them alone"));
  if (report.status == LaunchReport::Status::Ok)
    report.status = LaunchReport::Status::Findings;
}

void addCounterFinding(uint32_t left, LaunchReport &report) {
  if (left == 0)
    return;
  report.findings.push_back(hostFinding(
      "host.tile-counter",
      "the kernel left " + std::to_string(left) +
          " in 'tile_counter'; expected 0, with which the next launch begins"));
  if (report.status == LaunchReport::Status::Ok)
    report.status = LaunchReport::Status::Findings;
}

} // namespace fmha::runtime
