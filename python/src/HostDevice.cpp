//===- HostDevice.cpp - Devices of launches on host arrays ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"

#include <map>
#include <memory>
#include <set>
#include <tuple>

using namespace fmha;
using namespace fmha::runtime;

/// Returns the device for `kind` and `target`, opened once. It lives as long as
/// the process: closing a driver from a destructor at exit would be too late.
static Device &openDevice(const std::string &kind, const std::string &library,
                          const std::string &target) {
  static auto &open =
      *new std::map<std::tuple<std::string, std::string, std::string>,
                    std::unique_ptr<Device>>();
  std::unique_ptr<Device> &device = open[{kind, library, target}];
  if (!device) {
    DeviceOptions options;
    options.kind = kind == "cuda" ? DeviceKind::Cuda : DeviceKind::Simulator;
    options.target = target;
    options.library = library;
    device = python::take(Device::open(options));
  }
  // The simulator is one GPU for the whole process, and another device may have
  // made it a GPU of its own since.
  if (device->isSimulator())
    if (llvm::Error error = device->setOptions({{"target", target}}))
      throw std::runtime_error(llvm::toString(std::move(error)));
  return *device;
}

/// Makes the device's context current in this thread: calls come from any
/// thread, and opening a device enters it in one only.
static void enterContext(Device &device) {
  thread_local std::set<const Device *> entered;
  if (!entered.insert(&device).second)
    return;
  const driver::Api &api = device.api();
  driver::Context context = nullptr;
  llvm::Error error =
      api.check(api.retainContext(&context, 0), "creating a context");
  if (!error)
    error = api.check(api.setContext(context), "entering the context");
  if (error)
    throw std::runtime_error(llvm::toString(std::move(error)));
}

std::mutex &python::hostTurn() {
  static auto &one = *new std::mutex;
  return one;
}

Device &python::enterHostDevice(const std::string &kind,
                                const std::string &library,
                                const std::string &target) {
  Device &device = openDevice(kind, library, target);
  enterContext(device);
  return device;
}
