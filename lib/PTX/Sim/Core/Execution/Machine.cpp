//===- Machine.cpp - A launch -----------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

#include "Machine/DeviceImpl.h"
#include "Machine/Handlers.h"
#include "RunClusters.h"
#include "Trace.h"

#include "fmha/PTX/Sim/Core/Execution/LaunchQueue.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <algorithm>

using namespace ptxsim;

Machine::Machine(Device &device, const Program &program,
                 const LaunchConfig &config, const Options &options)
    : device(device), program(program), config(config), options(options),
      report(options) {
  bool isa = options.conformance == Conformance::Isa;
  if (report.findsRaces(isa)) {
    races = std::make_unique<LaunchRaces>();
    races->isa = isa;
    races->valuesFlow = report.enabled(FindingId::MbarrierPhaseOverrun) &&
                        readsStrongly(program);
    findOverlapped();
  }
  checkLaunch();
  layOutShared();
  if (options.trace)
    tracer = std::make_unique<Tracer>(program, *options.trace);
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

[[noreturn]] static void reject(const std::string &message) {
  throw Error(Error::Kind::Launch, message);
}

static std::string spell(Dim3 d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" +
         std::to_string(d.z);
}

/// CUDA programming guide, technical specifications per compute capability.
static constexpr Dim3 kMostCtas{2147483647, 65535, 65535};

void Machine::checkLaunch() const {
  const Code &entry = *program.entry;
  if (config.parameters.size() != entry.parameters.size())
    reject("expected " + std::to_string(entry.parameters.size()) +
           " parameters, got " + std::to_string(config.parameters.size()));
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    if (config.parameters[i].size() != entry.parameters[i].bytes)
      reject("expected " + std::to_string(entry.parameters[i].bytes) +
             " bytes for parameter " + std::to_string(i) + ", got " +
             std::to_string(config.parameters[i].size()));
  const Dim3 &grid = config.grid;
  if (!grid.x || !grid.y || !grid.z || grid.x > kMostCtas.x ||
      grid.y > kMostCtas.y || grid.z > kMostCtas.z)
    reject("expected a grid of 1 to " + spell(kMostCtas) + " CTAs, got " +
           spell(grid));
  const Dim3 &block = config.block;
  if (!block.count() || block.count() > 1024 || block.x > 1024 ||
      block.y > 1024 || block.z > 64)
    reject("expected a block of 1 to 1024 threads, got " + spell(block));
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
      reject("expected the block of .reqntid " + spell(limit) + ", got " +
             spell(block));
    if (directive.name == "maxntid" && block.count() > limit.count())
      reject("expected at most the " + std::to_string(limit.count()) +
             " threads of .maxntid, got " + std::to_string(block.count()));
  }
}

void Machine::checkExploration() const {
  if (options.policy != Policy::Exhaustive)
    return;
  if (!options.exploration)
    reject("policy exhaustive wants an exploration that chooses");
  if (clusterShape.count() != config.grid.count())
    reject("policy exhaustive explores one cluster: expected a grid of " +
           spell(clusterShape) + ", got " + spell(config.grid) +
           "; the order of clusters is for policies random and pct");
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
    if (!required.count())
      continue; // Zeros: the launch gives the cluster.
    if (explicitCluster && spell(required) != spell(clusterShape))
      reject("expected the cluster of .reqnctapercluster " + spell(required) +
             ", got " + spell(clusterShape));
    clusterShape = required;
    explicitCluster = true;
  }
  if (!clusterShape.count() || clusterShape.count() > 16)
    reject("expected a cluster of 1 to 16 CTAs, got " + spell(clusterShape));
  if (config.grid.x % clusterShape.x || config.grid.y % clusterShape.y ||
      config.grid.z % clusterShape.z)
    reject("expected a grid that is a multiple of the cluster " +
           spell(clusterShape) + ", got " + spell(config.grid));
  staticEnd = kSharedBase + program.staticSharedBytes;
  uint32_t align = program.dynamicAlign;
  dynamicBegin = (staticEnd + align - 1) / align * align;
  uint64_t end = uint64_t(dynamicBegin) + config.dynamicSharedBytes;
  if (end - kSharedBase > kSharedLimit)
    reject("expected at most " + std::to_string(kSharedLimit) +
           " bytes of shared memory, got " +
           std::to_string(program.staticSharedBytes) + " static and " +
           std::to_string(config.dynamicSharedBytes) + " dynamic");
  sharedEnd = uint32_t(end);
  checkExploration();
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
                    const Other &other) {
  report.addFault(id, site, detail, other);
  stopped = true;
  status = Status::Findings;
}

/// Looks up the grids that this one may overlap.
void Machine::findOverlapped() {
  if (!config.programmatic || !report.enabled(FindingId::RaceGlobal))
    return;
  races->earlier = device.impl().grids.of(config.stream);
  races->afterWait = race::endsOfAwaited(races->earlier);
}

/// Leaves the accesses of this grid for those that may overlap it.
void Machine::keepForLaterGrids() {
  race::EarlierGrids &grids = device.impl().grids;
  race::EarlierGrid grid{config.entry, ++device.impl().launches, {}};
  if (!report.enabled(FindingId::RaceGlobal))
    return grids.finish(config.stream);
  if (racesOfCores.empty())
    racesOfCores.push_back(std::move(races));
  bool waited = false;
  for (const std::unique_ptr<LaunchRaces> &core : racesOfCores) {
    grid.memory.push_back(std::move(core->global));
    waited |= core->waited;
  }
  grids.add(config.stream, std::move(grid), racesOfCores.front()->earlier,
            waited);
}

LaunchResult Machine::run() {
  // Frees memory: what is not needed any more may be large.
  if (!config.programmatic)
    device.finish(config.stream);
  LaunchResult result = runClusters(*this);
  keepForLaterGrids();
  return result;
}
