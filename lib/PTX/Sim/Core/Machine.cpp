//===- Machine.cpp - A launch -----------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Machine.h"

#include "DeviceImpl.h"
#include "Handlers.h"

#include "fmha/PTX/Sim/Core/Races.h"

#include <algorithm>

using namespace ptxsim;

Machine::Machine(Device &device, const Program &program,
                 const LaunchConfig &config, const Options &options)
    : device(device), program(program), config(config), options(options),
      report(options),
      // Splitmix64 of the seed, so that seeds 0 and 1 have nothing in common.
      randomState(options.scheduleSeed + 0x9E3779B97F4A7C15ull) {
  bool isa = options.conformance == Conformance::Isa;
  if (report.findsRaces(isa)) {
    races = std::make_unique<LaunchRaces>();
    races->isa = isa;
  }
  checkLaunch();
  layOutShared();
  fillConstants();
  for (size_t i = 0; i < config.parameters.size(); ++i) {
    size_t offset = program.entry->parameters[i].offset;
    parameters.resize(std::max(parameters.size(),
                               offset + program.entry->parameters[i].bytes));
    std::copy(config.parameters[i].begin(), config.parameters[i].end(),
              parameters.begin() + ptrdiff_t(offset));
  }
}

Machine::~Machine() = default;

[[noreturn]] static void refuse(const std::string &message) {
  throw Error(Error::Kind::Launch, message);
}

static std::string spell(Dim3 d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" +
         std::to_string(d.z);
}

void Machine::checkLaunch() const {
  const Code &entry = *program.entry;
  if (config.parameters.size() != entry.parameters.size())
    refuse("expected " + std::to_string(entry.parameters.size()) +
           " parameters, got " + std::to_string(config.parameters.size()));
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    if (config.parameters[i].size() != entry.parameters[i].bytes)
      refuse("expected " + std::to_string(entry.parameters[i].bytes) +
             " bytes for parameter " + std::to_string(i) + ", got " +
             std::to_string(config.parameters[i].size()));
  if (!config.grid.count())
    refuse("expected a grid of at least one CTA, got " + spell(config.grid));
  const Dim3 &block = config.block;
  if (!block.count() || block.count() > 1024 || block.x > 1024 ||
      block.y > 1024 || block.z > 64)
    refuse("expected a block of 1 to 1024 threads, got " + spell(block));
  for (const auto &directive : entry.function->directives) {
    Dim3 limit;
    if (directive.values.size() > 0)
      limit.x = uint32_t(directive.values[0]);
    if (directive.values.size() > 1)
      limit.y = uint32_t(directive.values[1]);
    if (directive.values.size() > 2)
      limit.z = uint32_t(directive.values[2]);
    if (directive.name == "reqntid" &&
        (limit.x != block.x || limit.y != block.y || limit.z != block.z))
      refuse("expected the block of .reqntid " + spell(limit) + ", got " +
             spell(block));
    if (directive.name == "maxntid" && block.count() > limit.count())
      refuse("expected at most the " + std::to_string(limit.count()) +
             " threads of .maxntid, got " + std::to_string(block.count()));
  }
}

void Machine::layOutShared() {
  explicitCluster = config.cluster.has_value();
  if (explicitCluster)
    clusterShape = *config.cluster;
  for (const auto &directive : program.entry->function->directives) {
    if (directive.name != "reqnctapercluster" || directive.values.empty())
      continue;
    Dim3 required;
    required.x = uint32_t(directive.values[0]);
    if (directive.values.size() > 1)
      required.y = uint32_t(directive.values[1]);
    if (directive.values.size() > 2)
      required.z = uint32_t(directive.values[2]);
    if (explicitCluster && spell(required) != spell(clusterShape))
      refuse("expected the cluster of .reqnctapercluster " + spell(required) +
             ", got " + spell(clusterShape));
    clusterShape = required;
    explicitCluster = true;
  }
  if (!clusterShape.count() || clusterShape.count() > 16)
    refuse("expected a cluster of 1 to 16 CTAs, got " + spell(clusterShape));
  if (config.grid.x % clusterShape.x || config.grid.y % clusterShape.y ||
      config.grid.z % clusterShape.z)
    refuse("expected a grid that is a multiple of the cluster " +
           spell(clusterShape) + ", got " + spell(config.grid));
  staticEnd = kSharedBase + program.staticSharedBytes;
  uint32_t align = program.dynamicAlign;
  dynamicBegin = (staticEnd + align - 1) / align * align;
  uint64_t end = uint64_t(dynamicBegin) + config.dynamicSharedBytes;
  if (end - kSharedBase > kSharedLimit)
    refuse("expected at most " + std::to_string(kSharedLimit) +
           " bytes of shared memory, got " +
           std::to_string(program.staticSharedBytes) + " static and " +
           std::to_string(config.dynamicSharedBytes) + " dynamic");
  sharedEnd = uint32_t(end);
}

void Machine::fillConstants() {
  size_t ranks = clusterShape.count();
  constantRows.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::vector<Row> &table = constantRows[rank];
    table.resize(program.constants.size() + 1);
    for (size_t i = 0; i < program.constants.size(); ++i)
      table[i].fill(program.constants[i]);
    for (const Relocation &relocation : program.relocations) {
      uint64_t value = relocation.offset;
      switch (relocation.kind) {
      case Relocation::Kind::Global:
        value += device.impl().addressOf(*program.module, relocation.variable);
        break;
      case Relocation::Kind::DynamicShared:
        value += dynamicBegin;
        [[fallthrough]];
      case Relocation::Kind::Shared:
        value += uint64_t(rank) << 24;
      }
      table[relocation.constant].fill(value);
    }
  }
}

void Machine::fault(FindingId id, const Site &site, const std::string &detail,
                    const std::string &other) {
  report.addFault(id, site, detail, other);
  stopped = true;
  status = Status::Findings;
}

uint64_t Machine::random(uint64_t bound) {
  randomState += 0x9E3779B97F4A7C15ull;
  uint64_t z = randomState;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return uint64_t((static_cast<unsigned __int128>(z) * bound) >> 64);
}

LaunchResult Machine::run() {
  const Dim3 &grid = config.grid, &step = clusterShape;
  for (uint32_t z = 0; z < grid.z && !stopped; z += step.z)
    for (uint32_t y = 0; y < grid.y && !stopped; y += step.y)
      for (uint32_t x = 0; x < grid.x && !stopped; x += step.x)
        Cluster(*this, {x, y, z}, step).run();
  LaunchResult result;
  report.moveTo(result);
  result.warpInstructions = steps;
  result.status = status;
  if (status == Status::Ok && !result.findings.empty())
    result.status = Status::Findings;
  return result;
}
