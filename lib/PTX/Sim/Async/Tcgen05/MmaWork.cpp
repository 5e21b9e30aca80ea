//===- MmaWork.cpp - What holds when an MMA is issued ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaWork.h"

namespace ptxsim {
namespace {

TensorMemory &memoryOf(Cta &cta) { return cta.states.get<TensorMemory>(); }

/// Checks the first lane. Layouts F and C use half the lanes of each quarter,
/// from lane 0 or 16.
bool checkLane(const Site &site, TmemLayout layout, uint32_t lane,
               const char *what) {
  bool half = layout == TmemLayout::F || layout == TmemLayout::C;
  if (lane == 0 || (half && lane == 16))
    return true;
  site.warp->machine.fault(FindingId::InvalidDatapathAlignment, site,
                           std::string(what) + " starts at lane " +
                               std::to_string(lane) + ", expected lane 0" +
                               (half ? " or 16" : ""));
  return false;
}

/// Checks the columns of a source, and that nothing in flight writes them.
/// What tcgen05.cp copies is in order.
bool checkSource(const Site &site, const MmaWork &work,
                 const TmemSource &source) {
  std::string name = std::string(source.name) + " of the MMA";
  const TmemRange &range = source.range;
  for (Cta *cta : work.ctas) {
    TensorMemory &memory = memoryOf(*cta);
    if (!checkColumns(memory, site, range.column, range.count, name.c_str()))
      return false;
    const TmemUser *writer = memory.user(range, {TensorMemory::StoreWrites});
    if (!writer && !inIssueOrder(*site.warp))
      writer = memory.user(range, {TensorMemory::MmaWrites});
    if (writer)
      site.warp->machine.report.add(
          FindingId::TmemInFlight, site,
          name + ", " + describeColumns(range.column, range.count),
          inFlightUse(*writer));
  }
  return true;
}

bool checkAInTmem(const Site &site, const MmaWork &work) {
  if (!checkLane(site, work.layout, work.aTmem.base.lane, "A"))
    return false;
  if (work.aTmem.base.lane != work.d.lane)
    site.warp->machine.report.add(FindingId::InvalidDatapathAlignment, site,
                                  "A and D start at different lanes");
  return true;
}

bool checkMetadata(const Site &site, const MmaWork &work) {
  const MetadataOperand &metadata = work.metadata;
  if (!checkLane(site, work.layout, metadata.base.lane, "the metadata"))
    return false;
  Report &report = site.warp->machine.report;
  if (metadata.base.lane != work.d.lane)
    report.add(FindingId::InvalidDatapathAlignment, site,
               "the metadata and D start at different lanes");
  // The sparsity selector has been added to the address.
  uint32_t column = metadata.base.column - work.instr.selector;
  if (metadata.map.paired && column % 2)
    report.add(FindingId::InvalidDatapathAlignment, site,
               "the metadata starts at column " + std::to_string(column) +
                   ", expected an even one: the sparsity selector of the "
                   "instruction descriptor chooses a column of a pair");
  return true;
}

bool checkScales(const Site &site, const MmaWork &work) {
  for (auto [operand, name] :
       {std::pair{&work.scaleA, "scale A"}, {&work.scaleB, "scale B"}})
    if (!checkLane(site, TmemLayout::D, operand->base.lane, name))
      return false;
  return true;
}

bool checkAccumulator(const Site &site, const MmaWork &work) {
  if (!checkLane(site, work.layout, work.d.lane, "D"))
    return false;
  TmemRange range = work.accumulator();
  for (Cta *cta : work.ctas) {
    TensorMemory &memory = memoryOf(*cta);
    if (!checkColumns(memory, site, range.column, range.count, "D of the MMA"))
      return false;
    Report &report = site.warp->machine.report;
    std::string text =
        "D of the MMA, " + describeColumns(range.column, range.count);
    if (auto *writer = memory.user(range, {TensorMemory::StoreWrites}))
      report.add(FindingId::TmemInFlight, site, text, inFlightUse(*writer));
    const TmemUser *reader = memory.user(range, {TensorMemory::LoadReads});
    if (!reader && !inIssueOrder(*site.warp))
      reader = memory.user(range, {TensorMemory::MmaReads});
    if (reader)
      report.add(FindingId::TmemWriteUnderRead, site, text,
                 inFlightUse(*reader));
  }
  return true;
}

bool checkSmem(const Site &site, const MmaWork &work,
               const SmemOperand &operand) {
  for (Cta *cta : work.ctas) {
    if (!checkBounds(site, *cta, operand))
      return false;
    checkReady(site, *cta, operand);
  }
  return true;
}

} // namespace

uint64_t MmaWork::key() const {
  uint64_t types = uint64_t(form.kind) << 8 | uint64_t(instr.d);
  return types << 48 | uint64_t(instr.m) << 39 | uint64_t(instr.n) << 30 |
         uint64_t(d.lane) << 16 | d.column;
}

TmemRange MmaWork::accumulator() const {
  return {layoutGroups(layout, d.lane), d.column,
          accumulatorColumns(layout, instr.n)};
}

std::vector<TmemSource> MmaWork::sources() const {
  std::vector<TmemSource> list;
  if (form.aInTmem)
    list.push_back({"A", aTmem.range()});
  if (isBlockScaled(form.kind)) {
    list.push_back({"scale A", scaleA.range()});
    list.push_back({"scale B", scaleB.range()});
  }
  if (form.sparse)
    list.push_back({"metadata", metadata.range()});
  return list;
}

bool checkIssue(const Site &site, const MmaWork &work) {
  if (!checkAccumulator(site, work))
    return false;
  if (work.form.aInTmem ? !checkAInTmem(site, work)
                        : !checkSmem(site, work, work.a))
    return false;
  if (isBlockScaled(work.form.kind) && !checkScales(site, work))
    return false;
  if (work.form.sparse && !checkMetadata(site, work))
    return false;
  for (const TmemSource &source : work.sources())
    if (!checkSource(site, work, source))
      return false;
  return checkSmem(site, work, work.b);
}

} // namespace ptxsim
