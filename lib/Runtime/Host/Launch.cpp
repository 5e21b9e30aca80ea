//===- Launch.cpp - Launches one kernel and waits for it ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "LaunchOutcome.h"
#include "fmha/Runtime/Driver/Attributes.h"

#include <chrono>

namespace fmha::runtime {

llvm::Error applyOptions(Device &device, const RunOptions &options) {
  if (!device.isSimulator())
    return llvm::Error::success();
  if (device.api().reset)
    device.api().reset();
  // The report is read back as JSON and printed by the caller.
  return device.setOptions(
      {{"on-finding", "report"},
       {"messages", "off"},
       {"policy", options.policy},
       {"seed", std::to_string(options.scheduleSeed)},
       {"checks", options.checks},
       {"conformance", options.conformance},
       {"mma", options.mma},
       {"time", !options.time  ? "off"
                : options.sass ? "sass"
                               : "on"},
       {"timeline", options.timeline.empty() ? "none" : options.timeline},
       {"approx", options.approx}});
}

/// Launches the kernel and reads the outcome. A simulator has it before the
/// stream is synchronized, which happens here if `wait` is set or the outcome
/// is bad.
static llvm::Error launchKernel(const KernelLaunch &kernel, Device &device,
                                const LoadedKernel &loaded,
                                KernelArguments &arguments, bool wait,
                                LaunchReport &report) {
  driver::LaunchAttributes attributes = driver::attributesOf(kernel);
  driver::LaunchConfig config = {};
  std::ranges::copy(report.grid, config.grid);
  std::ranges::copy(kernel.block, config.block);
  config.dynamicSmemBytes = kernel.smemBytes;
  attributes.setOn(config);
  auto begin = std::chrono::steady_clock::now();
  driver::Result result = device.api().launchKernel(
      &config, loaded.get(), arguments.pointers(), nullptr);
  if (result == 0 && wait)
    result = device.api().synchronize();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  report.launched = true;
  if (llvm::Error error = readOutcome(device, result, report))
    return error;
  if (!wait && result == 0 && report.status != LaunchReport::Status::Ok)
    if (driver::Result fault = device.api().synchronize())
      report.driverError = device.api().describe(fault);
  return llvm::Error::success();
}

/// Merges two reports: the worse status, and the sum of the counts. The grid is
/// that of the first launch.
static void add(LaunchReport from, LaunchReport &to) {
  if (!to.launched)
    to.grid = from.grid;
  to.launched |= from.launched;
  to.status = std::max(to.status, from.status);
  to.seconds += from.seconds;
  for (llvm::json::Value &finding : from.findings)
    to.findings.push_back(std::move(finding));
  for (llvm::json::Value &time : from.times)
    to.times.push_back(std::move(time));
  if (to.driverError.empty())
    to.driverError = std::move(from.driverError);
  if (from.warpInstructions)
    to.warpInstructions =
        to.warpInstructions.value_or(0) + *from.warpInstructions;
}

llvm::Error launch(const KernelLaunch &kernel,
                   const std::array<uint32_t, 3> &grid, const std::string &ptx,
                   Device &device, const RunValues &values,
                   const DeviceCaptures &captures, KernelArguments::Find find,
                   bool wait, LaunchReport &report) {
  auto loaded = device.loadKernel(ptx, kernel.kernel, kernel.smemBytes);
  if (!loaded)
    return loaded.takeError();
  LaunchReport own;
  own.grid = grid;
  if (!llvm::is_contained(grid, 0u)) {
    auto arguments =
        KernelArguments::build(kernel, device, values, captures, find);
    if (!arguments)
      return arguments.takeError();
    if (llvm::Error error =
            launchKernel(kernel, device, **loaded, *arguments, wait, own))
      return error;
  }
  add(std::move(own), report);
  return llvm::Error::success();
}

} // namespace fmha::runtime
