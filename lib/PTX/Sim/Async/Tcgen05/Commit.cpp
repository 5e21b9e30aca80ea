//===- Commit.cpp - tcgen05.commit ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copy/CopyTargets.h"
#include "Families.h"
#include "Tmem/TensorMemory.h"

namespace ptxsim {
namespace {

/// The arrival of tcgen05.commit, after everything that the thread issued
/// before.
class CommitOp : public AsyncOp {
public:
  CommitOp(const Site &site, std::vector<uint32_t> barriers)
      : AsyncOp(site), barriers(std::move(barriers)) {
    if (Races *races = racesOf(site))
      ticket =
          ticketFor(site, races->clocks.stream(*site.warp, race::Kind::Mma),
                    this->barriers);
  }
  void complete(Cluster &cluster) override {
    for (uint32_t barrier : barriers)
      if (!arriveOnce(cluster, site, barrier, ticket))
        return;
  }
  bool notesAccesses() const override { return true; }
  std::string describe() const override {
    return "tcgen05.commit to the mbarrier at shared " +
           std::to_string(barriers.front() & 0xffffff);
  }

private:
  std::vector<uint32_t> barriers;
  RaceTicket ticket;
};

struct CommitForm {
  unsigned group = 1;
  Operand mask;
};

Outcome executeCommit(Warp &warp, const Instruction &inst, LaneMask active) {
  const CommitForm &form = inst.data<CommitForm>();
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  forLanes(active, [&](unsigned lane) {
    auto address = sharedAddress(warp, inst, inst.address, lane);
    if (!address || warp.machine.stopped)
      return;
    Site site = warp.site(inst, int(lane));
    checkCtaGroup(memory, site, form.group);
    std::vector<uint32_t> barriers;
    uint32_t mask =
        form.mask.valid() ? uint32_t(warp.row(form.mask)[lane]) & 0xffff : 0;
    for (uint32_t rank = 0; rank < 16; ++rank)
      if (mask >> rank & 1)
        barriers.push_back(inCta(*address, rank));
    if (!form.mask.valid())
      barriers.push_back(*address);
    if (barriers.empty())
      return;
    memory.forgetDone(warp.cluster);
    auto op = std::make_unique<CommitOp>(site, std::move(barriers));
    for (const PipeEntry &entry : memory.pipe)
      if (entry.thread == warp.index * 32 + lane)
        op->after.push_back(entry.id);
    warp.cluster.issue(std::move(op));
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

void decodeCommit(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"commit", "cta_group::1", "cta_group::2",
                           "mbarrier::arrive::one", "shared::cluster",
                           "multicast::cluster", "b64"});
  bool multicast = decoder.has("multicast::cluster");
  decoder.expectOperands(1 + multicast, 1 + multicast);
  CommitForm form;
  form.group = decoder.has("cta_group::2") ? 2 : 1;
  if (multicast && decoder.isImmediate(1))
    decoder.unsupported("expected a register of 16 bits as the mask of CTAs, "
                        "got a constant; mov.b16 it into one");
  if (multicast)
    form.mask = decoder.source(1, Type::U16);
  bool shared = decoder.has("shared::cluster");
  inst.address = decoder.address(0, shared ? Space::Shared : Space::Generic);
  inst.payload = decoder.payload(form);
  inst.handler = executeCommit;
}

} // namespace

void registerCommit(Registry &registry) {
  registry.add("tcgen05.commit", decodeCommit);
}

} // namespace ptxsim
