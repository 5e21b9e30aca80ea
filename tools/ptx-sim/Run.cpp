//===- Run.cpp - One simulated launch and its outputs ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "fmha/PTX/Host/Target.h"

#include <algorithm>
#include <chrono>

namespace ptxsim::tool {
namespace {

using Kind = Argument::Kind;

std::vector<uint8_t> bytesOf(uint64_t value) {
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(uint8_t(value >> (8 * i)));
  return bytes;
}

/// Allocates a buffer; an empty array also gets an address.
uint64_t allocate(Device &device, const Argument &argument) {
  uint64_t address = device.allocate(std::max<uint64_t>(argument.bytes, 1));
  if (argument.kind == Kind::Zero && argument.bytes)
    device.fill(address, std::byte(0), argument.bytes);
  if (!argument.array.bytes.empty())
    device.write(address, std::as_bytes(std::span(argument.array.bytes)));
  return address;
}

/// Addresses of the buffers, in order, and the bytes of the parameters.
struct Placed {
  std::vector<uint64_t> addresses;
  std::vector<std::vector<uint8_t>> parameters;
};

Placed place(Device &device, const Arguments &arguments, unsigned cc) {
  Placed placed;
  for (size_t i = 0; i < arguments.list.size(); ++i) {
    const Argument &argument = arguments.list[i];
    std::vector<uint8_t> value = argument.value;
    if (argument.isBuffer()) {
      placed.addresses.push_back(allocate(device, argument));
      value = bytesOf(placed.addresses.back());
    } else if (argument.kind == Kind::Map) {
      value = encode(*argument.map, placed.addresses[argument.map->tensor], cc,
                     argument.mapPath);
    }
    if (arguments.parameter[i] >= 0)
      placed.parameters.push_back(std::move(value));
  }
  return placed;
}

std::vector<std::vector<uint8_t>> readOutputs(const Device &device,
                                              const Arguments &arguments,
                                              const Placed &placed) {
  std::vector<std::vector<uint8_t>> outputs;
  size_t buffer = 0;
  for (const Argument &argument : arguments.list) {
    if (!argument.isBuffer())
      continue;
    uint64_t address = placed.addresses[buffer++];
    if (!argument.isOutput())
      continue;
    std::vector<uint8_t> bytes(argument.bytes);
    if (!bytes.empty())
      device.read(address, std::as_writable_bytes(std::span(bytes)));
    outputs.push_back(std::move(bytes));
  }
  return outputs;
}

} // namespace

Outcome run(const Module &module, LaunchConfig config,
            const Arguments &arguments, const Options &options,
            std::optional<timing::TimeOptions> timed, bool drawn) {
  Device device;
  auto target = TargetName::parse(module.target());
  Placed placed = place(device, arguments, target ? target->cc : 100);
  config.parameters = placed.parameters;
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  if (timed) {
    timed->timeline = drawn ? &outcome.timeline : nullptr;
    outcome.result = timing::launchTimed(device, module, config, options,
                                         module.target(), outcome.time, *timed);
  } else {
    outcome.result = launch(device, module, config, options);
  }
  std::chrono::duration<double> span = std::chrono::steady_clock::now() - start;
  outcome.seconds = span.count();
  outcome.outputs = readOutputs(device, arguments, placed);
  return outcome;
}

} // namespace ptxsim::tool
