//===- Schedule.cpp - Names and look-ups of a schedule ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Schedule/Model/TileOrder.h"

#include "Families/Family.h"

#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

/// Returns the element of `list` of that name, or null.
template <typename T>
static const T *findNamed(const std::vector<T> &list, std::string_view name) {
  for (const T &entry : list)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Problem fmha::schedule::withHints(Problem problem, const Hints &given) {
  for (const Hint &hint : hints)
    if (!(problem.*hint.ofProblem))
      problem.*hint.ofProblem = given.*hint.there;
  if (!problem.batchHint && given.qLen && given.qHeads)
    problem.batchHint = 1;
  return problem;
}

Problem fmha::schedule::partOf(Problem problem) {
  problem.lse = problem.sink = false;
  problem.rowMax = problem.rowSum = true;
  problem.unnormalised = problem.isPart = true;
  problem.setOutDtype(DataType::F32);
  return problem;
}

Problem fmha::schedule::kernelProblem(const Problem &problem,
                                      const Schedule &schedule) {
  return schedule.splits > 1 ? partOf(problem) : problem;
}

Problem fmha::schedule::withoutHints(Problem problem) {
  for (const Hint &hint : hints)
    problem.*hint.ofProblem = 0;
  return problem;
}

const Role *Schedule::findRole(std::string_view name) const {
  return findNamed(roles, name);
}
const TmemRegion *MemoryMap::findTmem(std::string_view name) const {
  return findNamed(tmem, name);
}
const SmemRegion *MemoryMap::findSmem(std::string_view name) const {
  return findNamed(smem, name);
}

const Family &fmha::schedule::familyOf(const Schedule &schedule) {
  return familyServing(target::findTarget(schedule.target), schedule.family);
}

bool fmha::schedule::runsAhead(const Problem &problem,
                               const Schedule &schedule) {
  auto runs = familyOf(schedule).kernel.runsAhead;
  return runs && runs(problem, schedule);
}

bool fmha::schedule::skipsEmptyTiles(const Problem &problem,
                                     const Schedule &schedule) {
  return schedule.qTiles > 1 && familyOf(schedule).kernel.skipsEmptyTiles &&
         !runsAhead(problem, schedule);
}

bool fmha::schedule::pairsTiles(const Problem &problem,
                                const Schedule &schedule) {
  return schedule.scheduler == Scheduler::Static && schedule.ctaGroup == 1 &&
         familyOf(schedule).kernel.pairsTiles && runsAhead(problem, schedule) &&
         !sortsTiles(problem, schedule);
}

bool fmha::schedule::sortsTiles(const Problem &problem,
                                const Schedule &schedule) {
  auto sorts = familyOf(schedule).kernel.sortsTiles;
  return sorts && sorts(problem, schedule);
}

bool fmha::schedule::drawsTiles(const Schedule &schedule) {
  return schedule.scheduler == Scheduler::Dynamic &&
         familyOf(schedule).kernel.drawsTiles;
}

unsigned fmha::schedule::lanesOfHalves(const Schedule &schedule) {
  if (!familyOf(schedule).kernel.accumulatesInTensorMemory ||
      schedule.qTileRows * 2 != layout::tmemLanes)
    return 0;
  return schedule.ctaGroup > 1 ? layout::tmemPairLanes : layout::tmemHalfLanes;
}

uint64_t fmha::schedule::sectionBytes(const Problem &problem,
                                      const Schedule &schedule) {
  auto bytesOf = familyOf(schedule).kernel.sectionBytes;
  return bytesOf ? bytesOf(problem, schedule) : 0;
}

bool fmha::schedule::boundsCtas(const Schedule &schedule) {
  return schedule.scheduler == Scheduler::Static || drawsTiles(schedule);
}

bool fmha::schedule::usesAddresses(const Schedule &schedule) {
  return familyOf(schedule).kernel.usesAddresses;
}

bool fmha::schedule::splitsByLength(const Schedule &schedule) {
  return schedule.splitBy == SplitBy::Length && schedule.splits > 1;
}

bool fmha::schedule::copiesKeysByThreads(const Schedule &schedule) {
  return schedule.kvCopy == KvCopy::CpAsync ||
         schedule.kvCopy == KvCopy::Convert;
}

bool fmha::schedule::gathersRows(const Schedule &schedule) {
  return schedule.kvCopy == KvCopy::Gather4;
}

Schedule fmha::schedule::withRoles(Schedule schedule) {
  if (schedule.roles.empty())
    schedule.roles = familyOf(schedule).kernel.roles(schedule);
  return schedule;
}

unsigned fmha::schedule::paddedColumns(unsigned dim) {
  constexpr unsigned step = 16;
  return (dim + step - 1) / step * step;
}

unsigned fmha::schedule::outputColumns(const Problem &problem,
                                       const Schedule &schedule) {
  unsigned all = paddedColumns(problem.headDimV);
  return schedule.oColumns ? std::min(schedule.oColumns, all) : all;
}

unsigned fmha::schedule::outputPasses(const Problem &problem,
                                      const Schedule &schedule) {
  unsigned columns = outputColumns(problem, schedule);
  return columns ? (problem.headDimV + columns - 1) / columns : 1;
}

unsigned fmha::schedule::outputConsumers(const Schedule &schedule) {
  unsigned most = familyOf(schedule).kernel.columnsOfConsumer;
  return most ? std::max(1u, (schedule.oColumns + most - 1) / most) : 1;
}

unsigned fmha::schedule::consumerColumns(const Problem &problem,
                                         const Schedule &schedule) {
  constexpr unsigned panel = 64;
  unsigned all = outputColumns(problem, schedule);
  unsigned consumers = outputConsumers(schedule);
  return consumers == 1
             ? all
             : (all + consumers * panel - 1) / (consumers * panel) * panel;
}

unsigned fmha::schedule::boxRows(const Problem &problem,
                                 const Schedule &schedule, Operand operand) {
  if (operand == Operand::Query || operand == Operand::Output)
    return schedule.qTileRows;
  if (gathersRows(schedule))
    return gatheredRows;
  bool inChunks = operand == Operand::Value && schedule.valueChunk;
  unsigned rows = inChunks ? schedule.valueChunk : schedule.kvBlock;
  // Each CTA of a pair loads a part of the keys of K, and columns of V.
  if (operand == Operand::Key)
    rows /= std::max(1u, schedule.ctaGroup);
  if (problem.topk)
    return 1;
  return problem.pageSize ? std::gcd(rows, problem.pageSize) : rows;
}

unsigned fmha::schedule::groupHint(const Problem &problem) {
  return problem.kvHeadsHint ? problem.qHeadsHint / problem.kvHeadsHint : 0;
}

unsigned fmha::schedule::queriesOfTile(const Schedule &schedule) {
  return std::max(1u, schedule.qTileRows / std::max(1u, schedule.packHeads));
}

std::string_view fmha::schedule::stringify(DataType type) {
  return dataTypeNames[unsigned(type)];
}
std::string_view fmha::schedule::elementName(DataType type) {
  return type == DataType::E4M3 ? "f8E4M3FN" : stringify(type);
}
unsigned fmha::schedule::bytesOf(DataType type) {
  constexpr unsigned bytes[] = {2, 2, 4, 1};
  return bytes[unsigned(type)];
}
std::string_view fmha::schedule::stringify(FamilyKind kind) {
  return familyKindNames[unsigned(kind)];
}
std::string_view fmha::schedule::stringify(Scheduler scheduler) {
  return schedulerNames[unsigned(scheduler)];
}
std::string_view fmha::schedule::stringify(KvCopy copy) {
  // check() reports invalid values.
  return unsigned(copy) < std::size(kvCopyNames) ? kvCopyNames[unsigned(copy)]
                                                 : "unknown";
}
std::string_view fmha::schedule::stringify(SplitBy what) {
  return unsigned(what) < std::size(splitByNames) ? splitByNames[unsigned(what)]
                                                  : "unknown";
}
std::string_view fmha::schedule::stringify(MmaOrder order) {
  return unsigned(order) < std::size(mmaOrderNames)
             ? mmaOrderNames[unsigned(order)]
             : "unknown";
}
std::string_view fmha::schedule::stringify(PPlacement placement) {
  return placementNames[unsigned(placement)];
}
