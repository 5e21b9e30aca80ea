//===- MmaOps.cpp - Issuing tcgen05.mma -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.mma.
//
//===----------------------------------------------------------------------===//

#include "Mma.h"
#include "MmaForms.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"

namespace ptxsim {
namespace {

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

/// Returns the cell of a scale factor's address, whose two top bits may repeat
/// the ID in the instruction descriptor, as the vendor's library has it.
TmemCell scaleCellOf(uint32_t address) { return cellOf(address & 0x3fffffff); }

void resolveScales(Warp &warp, const MmaText &p, unsigned lane, MmaWork &work) {
  const InstrDescriptor &d = work.instr;
  uint32_t vector = p.form.scaleVector;
  ScaleMap mapB{work.layout == TmemLayout::B ? d.n / 2 : 0};
  work.scaleA = {{},      scaleCellOf(uint32_t(warp.addressOf(p.scaleA, lane))),
                 d.scale, rowsPerCta(work.layout),
                 vector,  d.scaleIdA};
  work.scaleB = {mapB,    scaleCellOf(uint32_t(warp.addressOf(p.scaleB, lane))),
                 d.scale, d.n,
                 vector,  d.scaleIdB};
}

/// Resolves A and B. Returns false after a fault.
bool resolveFactors(Warp &warp, const Site &site, const MmaText &p,
                    unsigned lane, MmaWork &work) {
  const InstrDescriptor &d = work.instr;
  uint32_t share = uint32_t(work.ctas.size());
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

bool resolve(Warp &warp, const Instruction &inst, unsigned lane,
             MmaWork &work) {
  const MmaText &p = inst.data<MmaText>();
  Site site = warp.site(inst, int(lane));
  work.form = p.form;
  work.ctas = participants(warp, site, p.form.ctaGroup);
  if (work.ctas.empty() ||
      !decodeInstr(site, uint32_t(warp.row(p.instr)[lane]), work))
    return false;
  const InstrDescriptor &d = work.instr;
  work.layout =
      layoutOf(p.form.ctaGroup, d.m, p.form.weightStationary, d.sparse);
  work.d = cellOf(uint32_t(warp.addressOf(p.d, lane)));
  work.accumulate = warp.row(p.enable)[lane] & 1;
  work.scale = p.scale;
  for (size_t i = 0; i < p.laneMask.size(); ++i)
    work.disabledLanes[i] = uint32_t(warp.row(p.laneMask[i])[lane]);
  if (isBlockScaled(p.form.kind))
    resolveScales(warp, p, lane, work);
  return resolveFactors(warp, site, p, lane, work);
}

ProductShape shapeOf(const MmaWork &work) {
  return {work.instr.m, work.instr.n, uint32_t(work.ctas.size()),
          work.form.aInTmem};
}

void issueMma(Warp &warp, const Instruction &inst, unsigned lane) {
  Site site = warp.site(inst, int(lane));
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  MmaWork work;
  checkCtaGroup(memory, site, inst.data<MmaText>().form.ctaGroup);
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
    if (inOrder || entry.key == key || entry.key >= PipeEntry::shiftKey)
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

void decodeMma(Decoder &decoder, Instruction &inst) {
  inst.payload = decoder.payload(decodeMmaText(decoder));
  inst.handler = executeMma;
}

} // namespace

void registerMma(Registry &registry) { registry.add("tcgen05.mma", decodeMma); }

} // namespace ptxsim
