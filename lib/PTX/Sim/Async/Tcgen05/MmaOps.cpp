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

/// Checks that K fits in the rows of the swizzle: sparse A makes K of B wider.
std::optional<std::string> checkRow(const SmemOperand &operand) {
  const SmemDescriptor &d = operand.descriptor;
  uint32_t bytes = operand.k * containerBits(operand.type) / 8;
  if (operand.major == Major::MN || d.swizzle == SmemSwizzle::None ||
      bytes <= d.rowBytes())
    return std::nullopt;
  return "a row of the swizzle has " + std::to_string(d.rowBytes()) +
         " bytes, expected the " + std::to_string(bytes) +
         " bytes of K; use a wider swizzle, or none";
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
    error = checkRow(operand);
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
  if (work.instr.sparse == work.form.sparse)
    return true;
  machine.fault(FindingId::SparseMismatchBetweenIdescMod, site,
                work.form.sparse
                    ? "the sparse bit of the instruction descriptor is clear "
                      "on tcgen05.mma.sp"
                    : "the sparse bit of the instruction descriptor is set on "
                      "a dense tcgen05.mma");
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

void resolveMetadata(Warp &warp, const MmaText &p, unsigned lane,
                     MmaWork &work) {
  static const std::map<MmaKind, uint32_t> widths = {
      {MmaKind::TF32, 2}, {MmaKind::MXF4, 8}, {MmaKind::MXF4NVF4, 8}};
  auto width = widths.find(p.form.kind);
  MetadataOperand &metadata = work.metadata;
  metadata.width = width == widths.end() ? 4 : width->second;
  metadata.map.layout = work.layout;
  metadata.map.paired =
      p.form.kind == MmaKind::F16 || p.form.kind == MmaKind::TF32;
  metadata.rows = operandRows(work.layout);
  metadata.base = cellOf(uint32_t(warp.addressOf(p.metadata, lane)));
  metadata.base.column += work.instr.selector;
}

/// Decodes the mask of .ws. Returns false after a fault.
bool resolveZeroColumns(Warp &warp, const Site &site, const MmaText &p,
                        unsigned lane, MmaWork &work) {
  if (!p.zeroColumns.valid())
    return true;
  std::optional<std::string> error;
  const InstrDescriptor &d = work.instr;
  work.zeroColumns = decodeZeroColumns(warp.row(p.zeroColumns)[lane], d.m, d.n,
                                       d.maxShift, error);
  if (error)
    warp.machine.fault(FindingId::MmaInstrDescriptor, site, *error);
  return !error;
}

/// Resolves A and B. Returns false after a fault.
bool resolveFactors(Warp &warp, const Site &site, const MmaText &p,
                    unsigned lane, MmaWork &work) {
  const InstrDescriptor &d = work.instr;
  uint32_t share = uint32_t(work.ctas.size());
  // A shift of .ws reads columns beyond N.
  uint32_t columns = d.n / share + work.zeroColumns.shift;
  work.b = {{}, d.majorB, d.b, columns, d.k, d.negateB};
  if (!decodeOperand(site, warp.row(p.b)[lane], "B", work.b))
    return false;
  uint32_t rows = rowsPerCta(work.layout), k = work.storedK();
  if (p.form.aInTmem) {
    TmemCell base = cellOf(uint32_t(warp.addressOf(p.aTmem, lane)));
    work.aTmem = {work.layout, base,     d.a, operandRows(work.layout),
                  k,           d.negateA};
    return true;
  }
  work.a = {{}, d.majorA, d.a, rows, k, d.negateA};
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
  work.collector = p.collector;
  if (isBlockScaled(p.form.kind))
    resolveScales(warp, p, lane, work);
  if (p.form.sparse)
    resolveMetadata(warp, p, lane, work);
  if (!resolveZeroColumns(warp, site, p, lane, work))
    return false;
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
  if (warp.observer)
    warp.observer->multiplies(warp, shapeOf(work));
  uint64_t key = work.key();
  auto op = std::make_unique<MmaOp>(site, std::move(work));
  // Two MMAs are in order if they share accumulator, shape and kind.
  issueInPipe(warp, lane, std::move(op), key, [key](uint64_t earlier) {
    return earlier == key || earlier >= PipeEntry::shiftKey;
  });
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
