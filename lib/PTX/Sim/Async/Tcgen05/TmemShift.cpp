//===- TmemShift.cpp - tcgen05.shift --------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.shift: 31 lanes of 256 bits move to the lane before. The
// manual says "down" without a figure; that row r receives row r + 1 is what
// the vendor's CuTe DSL documents for .ashift.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Tmem/TensorMemory.h"

namespace ptxsim {
namespace {

class TmemShiftOp : public AsyncOp {
public:
  TmemShiftOp(const Site &site, std::vector<Cta *> ctas, TmemCell at)
      : AsyncOp(site), ctas(std::move(ctas)), at(at) {
    for (Cta *cta : this->ctas) {
      memoryOf(*cta).begin(range(), TensorMemory::CopyWrites, site);
      if (Races *races = racesOf(site))
        note(*races, *cta);
    }
  }
  void complete(Cluster &cluster) override {
    for (Cta *cta : ctas) {
      memoryOf(*cta).shiftDown(at.lane, at.column);
      memoryOf(*cta).end(range(), TensorMemory::CopyWrites, site);
    }
    cluster.changed();
  }
  std::string describe() const override {
    return "tcgen05.shift of " +
           describeColumns(at.column, TensorMemory::shiftColumns);
  }

private:
  static TensorMemory &memoryOf(Cta &cta) {
    return cta.states.get<TensorMemory>();
  }
  TmemRange range() const {
    uint32_t group = at.lane / TensorMemory::groupLanes;
    return {uint8_t(3u << group), at.column, TensorMemory::shiftColumns};
  }
  void note(Races &races, Cta &cta) const {
    RaceStream &stream = races.clocks.stream(*site.warp, race::Kind::Mma);
    TmemRange to = range();
    races.memory.tensor(&stream, site, cta, to.groups, to.column, to.count,
                        Access::Write, {race::Kind::TmemShift});
  }
  std::vector<Cta *> ctas;
  TmemCell at;
};

/// Checks the place, and what is in flight there. An MMA before the shift is in
/// order.
bool checkShift(const Site &site, const std::vector<Cta *> &ctas, TmemCell at) {
  Machine &machine = site.warp->machine;
  if (at.lane % TensorMemory::warpLanes || at.lane >= tmemLanes) {
    machine.fault(FindingId::InvalidDatapathAlignment, site,
                  "tcgen05.shift from lane " + std::to_string(at.lane) +
                      ", expected lane 0, 32, 64 or 96");
    return false;
  }
  bool practice = inIssueOrder(*site.warp);
  TmemRange range{uint8_t(3u << at.lane / TensorMemory::groupLanes), at.column,
                  TensorMemory::shiftColumns};
  std::string text =
      "tcgen05.shift of " + describeColumns(range.column, range.count);
  for (Cta *cta : ctas) {
    TensorMemory &memory = cta->states.get<TensorMemory>();
    if (!checkColumns(memory, site, at.column, range.count, "tcgen05.shift"))
      return false;
    const TmemUser *writer = memory.user(range, {TensorMemory::StoreWrites});
    if (!writer && !practice)
      writer = memory.user(range, {TensorMemory::CopyWrites});
    if (writer)
      machine.report.add(FindingId::TmemInFlight, site, text,
                         inFlightUse(*writer));
    if (auto *reader = memory.user(range, {TensorMemory::LoadReads}))
      machine.report.add(FindingId::TmemWriteUnderRead, site, text,
                         inFlightUse(*reader));
  }
  return true;
}

void issueShift(Warp &warp, const Instruction &inst, unsigned lane) {
  Site site = warp.site(inst, int(lane));
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  unsigned group = inst.data<unsigned>();
  checkCtaGroup(memory, site, group);
  std::vector<Cta *> ctas = participants(warp, site, group);
  TmemCell at = cellOf(uint32_t(warp.addressOf(inst.address, lane)));
  if (ctas.empty() || !checkShift(site, ctas, at))
    return;
  issueInPipe(warp, lane,
              std::make_unique<TmemShiftOp>(site, std::move(ctas), at),
              PipeEntry::shiftKey,
              [](uint64_t earlier) { return earlier < PipeEntry::shiftKey; });
}

Outcome executeShift(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    if (!warp.machine.stopped)
      issueShift(warp, inst, lane);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

void decodeShift(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"shift", "cta_group::1", "cta_group::2", "down"});
  decoder.expectOperands(1, 1);
  if (!decoder.has("down"))
    decoder.unsupported("expected .down");
  decoder.expectTmemAddress(0);
  inst.address = decoder.address(0, Space::Generic);
  inst.payload = decoder.payload(decoder.has("cta_group::2") ? 2u : 1u);
  inst.handler = executeShift;
}

} // namespace

void registerTmemShift(Registry &registry) {
  registry.add("tcgen05.shift", decodeShift);
}

} // namespace ptxsim
