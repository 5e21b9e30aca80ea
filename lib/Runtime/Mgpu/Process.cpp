//===- Process.cpp - Driver, contexts and failure -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <unistd.h>

namespace fmha::runtime::mgpu {
namespace {

/// Never destroyed: destructors of other libraries may still unload modules.
struct Process {
  std::once_flag opened;
  driver::Calls calls;
  std::atomic<int> defaultDevice = 0;
  std::mutex mutex;
  /// The primary contexts retained here, by device.
  std::map<int, driver::Context> contexts;
};
Process &process() {
  static Process *const instance = new Process;
  return *instance;
}

void open() {
  std::string why;
  std::optional<driver::Calls> opened = driver::openDefault(why);
  if (!opened)
    fail(why);
  process().calls = std::move(*opened);
  const driver::Calls &calls = process().calls;
  check("cuInit", calls.init(0), "of '" + calls.library + "'");
}

/// Returns the primary context of `device`.
driver::Context primaryContext(int device) {
  const driver::Calls &calls = mgpu::calls();
  std::lock_guard lock(process().mutex);
  driver::Context &context = process().contexts[device];
  if (context)
    return context;
  int count = 0;
  check("cuDeviceGetCount", calls.deviceGetCount(&count));
  if (device < 0 || device >= count)
    fail("there is no device " + std::to_string(device) + ": '" +
         calls.library + "' has " + std::to_string(count) +
         "; choose another with mgpuSetDefaultDevice, or a driver library with "
         "FMHA_DRIVER");
  driver::DeviceId id = 0;
  check("cuDeviceGet", calls.deviceGet(&id, device));
  check("cuDevicePrimaryCtxRetain", calls.retainContext(&context, id));
  return context;
}

/// Returns advice on `result`, or an empty string.
std::string wayOut(driver::Result result) {
  bool simulator = process().calls.isSimulator();
  switch (result) {
  case driver::errorIllegalAddress:
  case driver::errorLaunchFailed:
  case driver::errorLaunchTimeout:
  case driver::errorMisalignedAddress:
    return simulator ? "an earlier kernel did this: the simulator's findings "
                       "above say where, PTXSIM_REPORT=FILE writes them as JSON"
                     : "an earlier kernel did this: run with "
                       "FMHA_DRIVER=libptxsim.so to see where";
  case driver::errorNoBinaryForGpu:
  case driver::errorInvalidPtx:
    // The simulator gives this advice itself.
    return simulator ? ""
                     : "compile for this GPU, or run with "
                       "FMHA_DRIVER=libptxsim.so";
  case driver::errorUnsupportedPtxVersion:
    return "update NVIDIA's driver, or compile to a cubin";
  case driver::errorNoDevice:
    return "run on the simulator with FMHA_DRIVER=libptxsim.so";
  default:
    return "";
  }
}

/// Ends the process from a signal handler, without flushing the streams,
/// because another thread may hold one.
void endNow(int) { _exit(1); }

} // namespace

const driver::Calls &calls() {
  std::call_once(process().opened, open);
  return process().calls;
}

const driver::Calls &enter() {
  const driver::Calls &calls = mgpu::calls();
  driver::Context current = nullptr;
  if (calls.getContext(&current) != driver::success || !current)
    check("cuCtxSetCurrent",
          calls.setContext(primaryContext(process().defaultDevice)));
  return calls;
}

ContextKey currentContext() {
  const driver::Calls &calls = enter();
  ContextKey key;
  calls.getContext(&key.context);
  calls.contextGetId(key.context, &key.id);
  return key;
}

void fail(const std::string &message) {
  constexpr unsigned secondsToFlush = 2;
  std::string line = "libfmha_mgpu: " + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::signal(SIGALRM, endNow);
  alarm(secondsToFlush);
  std::cout.flush();
  std::fflush(nullptr);
  std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  _exit(1);
}

void check(const char *call, driver::Result result, const std::string &details,
           const char *log) {
  if (result == driver::success)
    return;
  std::string message = std::string(call) + " failed with " +
                        process().calls.describe(result, log);
  if (!details.empty())
    message += ", " + details;
  if (std::string way = wayOut(result); !way.empty())
    message += "; " + way;
  fail(message);
}

} // namespace fmha::runtime::mgpu

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

void mgpuSetDefaultDevice(int32_t device) {
  const driver::Calls &calls = mgpu::calls();
  driver::Context chosen = primaryContext(device), current = nullptr;
  process().defaultDevice = device;
  bool ours = calls.getContext(&current) != driver::success || !current;
  {
    std::lock_guard lock(process().mutex);
    for (const auto &[id, context] : process().contexts)
      ours |= context == current;
  }
  if (ours)
    check("cuCtxSetCurrent", calls.setContext(chosen));
}

static int32_t deviceAttribute(int attribute) {
  const driver::Calls &calls = enter();
  driver::DeviceId device = 0;
  int value = 0;
  check("cuCtxGetDevice", calls.contextGetDevice(&device));
  check("cuDeviceGetAttribute",
        calls.deviceGetAttribute(&value, attribute, device));
  return value;
}

int32_t mgpuFmhaMultiprocessorCount() {
  return deviceAttribute(driver::attributeMultiprocessorCount);
}

int32_t mgpuFmhaComputeCapability() {
  return deviceAttribute(driver::attributeComputeCapabilityMajor) * 10 +
         deviceAttribute(driver::attributeComputeCapabilityMinor);
}

void mgpuFmhaFail(const char *message) { fail(message); }
