//===- Warpgroup.cpp - The wgmma of four warps in flight ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warpgroup.h"

#include <algorithm>

namespace ptxsim {

std::shared_ptr<Wgmma> Warpgroup::find(uint64_t number) const {
  size_t at = size_t(number - issued);
  return at < open.size() ? open[at] : nullptr;
}

Warpgroup &warpgroupOf(const Warp &warp) {
  return warp.cta.states.get<Warpgroups>().groups[warp.index / warpgroupWarps];
}

RaceStream &streamOf(Races &races, const Warp &warp) {
  unsigned first = warp.index / warpgroupWarps * warpgroupWarps;
  return races.clocks.stream(*warp.cta.warps[first], race::Kind::Wgmma);
}

std::string missingWarps(const Warp &warp, const Wgmma &work) {
  unsigned first = warp.index / warpgroupWarps * warpgroupWarps;
  std::string text;
  unsigned count = 0;
  for (unsigned part = 0; part < warpgroupWarps; ++part)
    if (!(work.issued >> part & 1))
      text += (count++ ? ", " : "") + std::to_string(first + part);
  return (count == 1 ? "warp " : "warps ") + text +
         (count == 1 ? " has not issued it" : " have not issued it");
}

void Warpgroups::atCtaExit(Cta &cta) {
  for (const auto &[number, group] : groups)
    if (!group.open.empty()) {
      const Wgmma &work = *group.open.front();
      cta.machine.report.add(FindingId::WgmmaWarpgroup, work.first,
                             nameOf(work) + " never executes: " +
                                 missingWarps(*work.first.warp, work));
    }
}

void WarpWgmma::commit() {
  committed.push_back(std::move(open));
  open.clear();
  ++groups;
}

const Wgmma *WarpWgmma::unfinished(uint64_t pending) const {
  for (size_t i = 0; i + pending < committed.size(); ++i)
    for (const WgmmaInFlight &flight : committed[i])
      if (!flight.work->done)
        return flight.work.get();
  return nullptr;
}

std::shared_ptr<WgmmaAccumulator>
WarpWgmma::accumulatorIn(const std::vector<Row *> &rows,
                         const WgmmaForm &form) const {
  auto matches = [&](const WgmmaInFlight &flight) {
    return flight.rows == rows && flight.work->form.chainsWith(form);
  };
  auto found = std::find_if(open.rbegin(), open.rend(), matches);
  if (found != open.rend())
    return found->work->d;
  for (auto group = committed.rbegin(); group != committed.rend(); ++group) {
    found = std::find_if(group->rbegin(), group->rend(), matches);
    if (found != group->rend())
      return found->work->d;
  }
  return nullptr;
}

bool WarpWgmma::inUse(const WgmmaAccumulator *accumulator) const {
  auto uses = [&](const std::vector<WgmmaInFlight> &group) {
    return std::any_of(group.begin(), group.end(),
                       [&](const WgmmaInFlight &flight) {
                         return flight.work->d.get() == accumulator;
                       });
  };
  return uses(open) || std::any_of(committed.begin(), committed.end(), uses);
}

void WarpWgmma::retire(unsigned part, uint64_t pending) {
  while (committed.size() > pending) {
    std::vector<WgmmaInFlight> group = std::move(committed.front());
    committed.pop_front();
    for (size_t i = 0; i < group.size(); ++i) {
      const WgmmaInFlight &flight = group[i];
      registers.end(*flight.inst, flight.rowBase);
      auto later = [&](const WgmmaInFlight &other) {
        return other.work->d == flight.work->d;
      };
      bool last =
          std::none_of(group.begin() + ptrdiff_t(i) + 1, group.end(), later) &&
          !inUse(flight.work->d.get());
      if (last)
        flight.work->d->store(part, flight.rows);
    }
  }
}

void WarpWgmma::atCtaExit(Cta &cta) {
  if (!open.empty())
    committed.push_back(std::move(open));
  for (const std::vector<WgmmaInFlight> &group : committed)
    for (const WgmmaInFlight &flight : group) {
      cta.machine.report.add(FindingId::WgmmaNotWaited, flight.work->first,
                             "no thread has waited for " +
                                 nameOf(*flight.work) + " when the CTA ends");
      return;
    }
}

} // namespace ptxsim
