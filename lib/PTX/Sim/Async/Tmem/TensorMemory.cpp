//===- TensorMemory.cpp - Tensor memory of a CTA --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include <algorithm>

namespace ptxsim {

TensorMemory::TensorMemory() : cells(tmemLanes * tmemColumns, 0x7fbadbad) {}

std::string describeColumns(uint32_t column, uint32_t count) {
  return "columns " + std::to_string(column) + ".." +
         std::to_string(column + count - 1);
}

void TensorMemory::atCtaExit(Cta &cta) {
  for (const auto &[column, allocation] : allocations)
    cta.machine.report.add(FindingId::TmemLeak, allocation.site,
                           describeColumns(column, allocation.columns) +
                               " are still allocated when the CTA ends");
}

TensorMemory::LaneSet TensorMemory::laneRange(uint32_t first, uint32_t count) {
  LaneSet lanes{};
  for (uint32_t lane = first; lane < first + count; ++lane)
    lanes[lane / 64] |= uint64_t(1) << (lane % 64);
  return lanes;
}

std::optional<uint32_t> TensorMemory::firstUnwritten(const LaneSet &lanes,
                                                     uint32_t column,
                                                     uint32_t count) const {
  for (uint32_t c = column; c < column + count; ++c)
    if ((lanes[0] & ~written[c][0]) | (lanes[1] & ~written[c][1]))
      return c;
  return std::nullopt;
}

void TensorMemory::markWritten(const LaneSet &lanes, uint32_t column,
                               uint32_t count) {
  for (uint32_t c = column; c < column + count; ++c) {
    written[c][0] |= lanes[0];
    written[c][1] |= lanes[1];
  }
}

void TensorMemory::shiftDown(uint32_t lane, uint32_t column) {
  for (uint32_t row = lane; row + 1 < lane + warpLanes; ++row)
    for (uint32_t c = column; c < column + shiftColumns; ++c) {
      cell(row, c) = cell(row + 1, c);
      uint64_t bit = uint64_t(1) << (row % 64);
      written[c][row / 64] &= ~bit;
      if (isWritten(row + 1, c))
        written[c][row / 64] |= bit;
    }
}

std::optional<uint32_t>
TensorMemory::allocate(uint32_t columns, const Site &site, uint64_t random) {
  uint32_t need = columns / granule;
  std::vector<uint32_t> fits;
  for (uint32_t first = 0; first + need <= blocks; ++first)
    if (std::none_of(&taken[first], &taken[first] + need,
                     [](bool t) { return t; }))
      fits.push_back(first);
  if (fits.empty())
    return std::nullopt;
  uint32_t first = fits[random % fits.size()];
  std::fill_n(&taken[first], need, true);
  allocations[first * granule] = {columns, site};
  return first * granule;
}

void TensorMemory::release(uint32_t column) {
  uint32_t columns = allocations.at(column).columns;
  std::fill_n(&taken[column / granule], columns / granule, false);
  for (uint32_t c = column; c < column + columns; ++c)
    written[c] = {};
  allocations.erase(column);
}

bool TensorMemory::isAllocated(uint32_t column, uint32_t count) const {
  for (uint32_t b = column / granule; b <= (column + count - 1) / granule; ++b)
    if (!taken[b])
      return false;
  return true;
}

const TensorMemory::Allocation *TensorMemory::holder(uint32_t column) const {
  auto after = allocations.upper_bound(column);
  if (after == allocations.begin())
    return nullptr;
  const auto &[first, allocation] = *std::prev(after);
  return column - first < allocation.columns ? &allocation : nullptr;
}

void TensorMemory::begin(const TmemRange &range, Use use, const Site &site) {
  users.push_back({range, use, site});
}

void TensorMemory::end(const TmemRange &range, Use use, const Site &site) {
  auto found =
      std::find_if(users.begin(), users.end(), [&](const TmemUser &user) {
        return user.use == use && user.site.inst == site.inst &&
               user.site.warp == site.warp &&
               user.range.groups == range.groups &&
               user.range.column == range.column &&
               user.range.count == range.count;
      });
  if (found != users.end())
    users.erase(found);
}

const TmemUser *TensorMemory::user(const TmemRange &range,
                                   std::initializer_list<Use> kinds) const {
  for (const TmemUser &user : users)
    if ((user.range.groups & range.groups) &&
        overlap(user.range.column, user.range.count, range.column,
                range.count) &&
        std::find(kinds.begin(), kinds.end(), user.use) != kinds.end())
      return &user;
  return nullptr;
}

Other inFlightUse(const TmemUser &user) {
  std::string what(user.site.inst->opcode);
  return {what + " of " + whoseText(user.site) + " is in flight", user.site,
          what};
}

void TensorMemory::forgetDone(const Cluster &cluster) {
  std::erase_if(
      pipe, [&](const PipeEntry &entry) { return cluster.isDone(entry.id); });
}

std::vector<Cta *> participants(Warp &warp, const Site &site, unsigned group) {
  if (group == 1)
    return {&warp.cta};
  std::vector<std::unique_ptr<Cta>> &ctas = warp.cluster.ctas;
  uint32_t even = warp.cta.rank & ~1u;
  if (even + 1 < ctas.size())
    return {ctas[even].get(), ctas[even + 1].get()};
  warp.machine.fault(FindingId::ReducedCluster, site,
                     ".cta_group::2 without a second CTA in the pair");
  return {};
}

bool inIssueOrder(const Warp &warp) {
  return warp.machine.options.conformance == Conformance::Practice;
}

void issueInPipe(Warp &warp, unsigned lane, std::unique_ptr<AsyncOp> op,
                 uint64_t key, const std::function<bool(uint64_t)> &follows) {
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  memory.forgetDone(warp.cluster);
  for (const PipeEntry &entry : memory.pipe)
    if (inIssueOrder(warp) || follows(entry.key))
      op->after.push_back(entry.id);
  AsyncOpId id = warp.cluster.issue(std::move(op));
  memory.pipe.push_back({id, warp.index * 32 + lane, key});
}

void checkCtaGroup(TensorMemory &memory, const Site &site, unsigned group) {
  if (memory.ctaGroup == 0) {
    memory.ctaGroup = group;
    memory.groupAt = site;
  }
  if (memory.ctaGroup != group)
    site.warp->machine.report.add(
        FindingId::CtaGroupMixed, site,
        ".cta_group::" + std::to_string(group) +
            " after .cta_group::" + std::to_string(memory.ctaGroup),
        otherAt("the first tcgen05 instruction of the CTA is that of",
                memory.groupAt));
}

bool checkColumns(TensorMemory &memory, const Site &site, uint32_t column,
                  uint32_t count, const char *what) {
  Machine &machine = site.warp->machine;
  std::string text =
      std::string(what) + " uses " + describeColumns(column, count);
  if (column + count > tmemColumns) {
    machine.fault(FindingId::AccessOutOfPhysicalBounds, site,
                  text + ", expected columns below 512");
    return false;
  }
  if (!memory.isAllocated(column, count))
    machine.report.add(FindingId::UnallocatedColumnsAccess, site,
                       text + ", which the CTA has not allocated");
  return true;
}

} // namespace ptxsim
