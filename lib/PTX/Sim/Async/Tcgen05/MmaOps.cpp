//===- MmaOps.cpp - tcgen05.mma and tcgen05.commit ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.mma and tcgen05.commit.
//
//===----------------------------------------------------------------------===//

#include "Copy/CopyTargets.h"
#include "Families.h"
#include "Mma.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"

namespace ptxsim {
namespace {

struct Payload {
  MmaForm form;
  AddressOperand d, aTmem;
  Operand a, b, instr, enable;
  std::vector<Operand> laneMask;
  uint32_t scale = 0;
};

uint32_t threadOf(const Warp &warp, unsigned lane) {
  return warp.index * 32 + lane;
}

/// Decodes the descriptor of one operand. Returns false after a fault.
bool decodeOperand(const Site &site, uint64_t raw, const char *name,
                   SmemOperand &operand) {
  DecodedDescriptor decoded =
      decodeSmemDescriptor(raw, DescriptorArch::Tcgen05);
  operand.descriptor = decoded.descriptor;
  std::optional<std::string> error = decoded.error;
  if (!error)
    error = checkOperandSwizzle(operand.descriptor, operand.major,
                                operand.elementBytes());
  if (!error)
    return true;
  site.warp->machine.fault(FindingId::MmaSmemDescriptor, site,
                           std::string("operand ") + name + ": " + *error);
  return false;
}

bool decodeInstr(const Site &site, uint32_t word, MmaWork &work) {
  Machine &machine = site.warp->machine;
  DecodedInstr decoded = decodeInstrDescriptor(word, work.form);
  work.instr = decoded.descriptor;
  if (decoded.error) {
    machine.fault(FindingId::MmaInstrDescriptor, site, *decoded.error);
    return false;
  }
  if (decoded.warning)
    machine.report.add(FindingId::MmaShapeUnusual, site, *decoded.warning);
  if (!work.instr.sparse)
    return true;
  machine.fault(FindingId::SparseMismatchBetweenIdescMod, site,
                "the sparse bit of the instruction descriptor is set on a "
                "dense tcgen05.mma");
  return false;
}

bool resolve(Warp &warp, const Instruction &inst, unsigned lane,
             MmaWork &work) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  work.form = p.form;
  work.ctas = participants(warp, site, p.form.ctaGroup);
  if (work.ctas.empty() ||
      !decodeInstr(site, uint32_t(warp.row(p.instr)[lane]), work))
    return false;
  const InstrDescriptor &d = work.instr;
  uint32_t share = uint32_t(work.ctas.size());
  work.layout =
      layoutOf(p.form.ctaGroup, d.m, p.form.weightStationary, d.sparse);
  work.d = cellOf(uint32_t(warp.addressOf(p.d, lane)));
  work.accumulate = warp.row(p.enable)[lane] & 1;
  work.scale = p.scale;
  for (size_t i = 0; i < p.laneMask.size(); ++i)
    work.disabledLanes[i] = uint32_t(warp.row(p.laneMask[i])[lane]);
  work.b = {{}, d.majorB, d.b, d.n / share, d.k, d.negateB};
  if (!decodeOperand(site, warp.row(p.b)[lane], "B", work.b))
    return false;
  uint32_t rows = rowsPerCta(work.layout);
  if (p.form.aInTmem) {
    TmemCell base = cellOf(uint32_t(warp.addressOf(p.aTmem, lane)));
    work.aTmem = {work.layout, base, d.a, rows, d.k, d.negateA};
    return true;
  }
  work.a = {{}, d.majorA, d.a, rows, d.k, d.negateA};
  return decodeOperand(site, warp.row(p.a)[lane], "A", work.a);
}

ProductShape shapeOf(const MmaWork &work) {
  return {work.instr.m, work.instr.n, uint32_t(work.ctas.size()),
          work.form.aInTmem};
}

void issueMma(Warp &warp, const Instruction &inst, unsigned lane) {
  Site site = warp.site(inst, int(lane));
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  MmaWork work;
  checkCtaGroup(memory, site, inst.data<Payload>().form.ctaGroup);
  if (!resolve(warp, inst, lane, work) || !checkIssue(site, work))
    return;
  memory.forgetDone(warp.cluster);
  if (warp.observer)
    warp.observer->multiplies(warp, shapeOf(work));
  uint64_t key = work.key();
  auto op = std::make_unique<MmaOp>(site, std::move(work));
  // The manual orders two MMAs only if they share accumulator, shape and kind;
  // kernels in practice rely on issue order.
  bool inOrder = warp.machine.options.conformance == Conformance::Practice;
  for (const PipeEntry &entry : memory.pipe)
    if (inOrder || entry.key == key || entry.key == PipeEntry::copyKey)
      op->after.push_back(entry.id);
  AsyncOpId id = warp.cluster.issue(std::move(op));
  memory.pipe.push_back({id, threadOf(warp, lane), key});
}

Outcome executeMma(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    if (!warp.machine.stopped)
      issueMma(warp, inst, lane);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

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
      if (entry.thread == threadOf(warp, lane))
        op->after.push_back(entry.id);
    warp.cluster.issue(std::move(op));
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

std::optional<MmaKind> kindOf(const Decoder &decoder) {
  constexpr std::array<MmaKind, 3> kinds = {MmaKind::F16, MmaKind::TF32,
                                            MmaKind::F8F6F4};
  for (MmaKind kind : kinds)
    if (decoder.has(nameOf(kind)))
      return kind;
  return std::nullopt;
}

/// Decodes the operands after the instruction descriptor: a vector that
/// disables lanes, the predicate or constant that enables D, and the scale of
/// D.
void decodeTail(Decoder &decoder, Payload &payload) {
  size_t at = 4;
  if (decoder.operand(at).kind == syntax::Operand::Kind::Vector) {
    auto mask = decoder.sources(at++, Type::B32);
    payload.laneMask.assign(mask.begin(), mask.end());
    if (payload.laneMask.size() != 4 * payload.form.ctaGroup)
      decoder.unsupported("expected " +
                          std::to_string(4 * payload.form.ctaGroup) +
                          " registers that disable lanes");
  }
  payload.enable = decoder.source(at++, Type::Pred);
  if (at == decoder.size())
    return;
  if (payload.form.weightStationary) {
    if (!decoder.isImmediate(at) || decoder.immediate(at))
      decoder.unsupported("zero-column masks are not executed");
  } else {
    if (payload.form.kind == MmaKind::F8F6F4)
      decoder.unsupported("scale-input-d is for kind::f16 and kind::tf32");
    payload.scale = uint32_t(decoder.immediate(at));
    if (payload.scale > 15)
      decoder.unsupported("scale-input-d must be 0 .. 15");
  }
  decoder.expectOperands(at + 1, at + 1);
}

void decodeMma(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"mma",
                           "ws",
                           "cta_group::1",
                           "cta_group::2",
                           "kind::f16",
                           "kind::tf32",
                           "kind::f8f6f4",
                           "collector::a::fill",
                           "collector::a::use",
                           "collector::a::lastuse",
                           "collector::a::discard",
                           "collector::b0::fill",
                           "collector::b0::use",
                           "collector::b0::lastuse",
                           "collector::b0::discard",
                           "collector::b1::fill",
                           "collector::b1::use",
                           "collector::b1::lastuse",
                           "collector::b1::discard",
                           "collector::b2::fill",
                           "collector::b2::use",
                           "collector::b2::lastuse",
                           "collector::b2::discard",
                           "collector::b3::fill",
                           "collector::b3::use",
                           "collector::b3::lastuse",
                           "collector::b3::discard"});
  decoder.expectOperands(5, 7);
  Payload payload;
  std::optional<MmaKind> kind = kindOf(decoder);
  if (!kind)
    decoder.unsupported("expected kind::f16, kind::tf32 or kind::f8f6f4");
  payload.form.kind = *kind;
  payload.form.ctaGroup = decoder.has("cta_group::2") ? 2 : 1;
  payload.form.weightStationary = decoder.has("ws");
  payload.form.aInTmem =
      decoder.operand(1).kind == syntax::Operand::Kind::Address;
  if (payload.form.weightStationary && payload.form.aInTmem)
    decoder.unsupported("A of mma.ws in tensor memory is not executed");
  decoder.expectTmemAddress(0);
  decoder.expectTmemAddress(1);
  payload.d = decoder.address(0, Space::Generic);
  if (payload.form.aInTmem)
    payload.aTmem = decoder.address(1, Space::Generic);
  else
    payload.a = decoder.source(1, Type::U64);
  payload.b = decoder.source(2, Type::U64);
  payload.instr = decoder.source(3, Type::U32);
  decodeTail(decoder, payload);
  inst.payload = decoder.payload(std::move(payload));
  inst.handler = executeMma;
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

void registerMma(Registry &registry) {
  registry.add("tcgen05.mma", decodeMma);
  registry.add("tcgen05.commit", decodeCommit);
}

} // namespace ptxsim
