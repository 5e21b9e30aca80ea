//===- Mma.cpp - One tensor core instruction in flight --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mma.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptxsim {
namespace {

TensorMemory &memoryOf(Cta &cta) { return cta.states.get<TensorMemory>(); }

/// Returns rectangles of D whose rows are consecutive lanes and whose columns
/// are consecutive columns.
std::vector<Patch> patchesOf(TmemLayout layout, uint32_t n) {
  uint32_t rows = rowsPerCta(layout);
  bool half = layout == TmemLayout::F || layout == TmemLayout::C;
  uint32_t rowStep = half ? 16 : rows;
  uint32_t columns = accumulatorColumns(layout, n);
  std::vector<Patch> patches;
  for (uint32_t m = 0; m < rows; m += rowStep)
    for (uint32_t at = 0; at < n; at += columns)
      patches.push_back({m, rowStep, at, columns});
  return patches;
}

/// Converts an f16 accumulator, which occupies the low half of its column, to
/// f32.
uint32_t widen(uint32_t cell) {
  return std::bit_cast<uint32_t>(
      decodeElement(ElementType::F16, cell & 0xffff));
}

uint32_t narrow(uint32_t bits) { return encodeF16(std::bit_cast<float>(bits)); }

uint32_t scaled(uint32_t bits, uint32_t scale) {
  float value = std::bit_cast<float>(bits);
  return std::bit_cast<uint32_t>(std::ldexp(value, -int(scale)));
}

void reportUnwritten(const Site &site, TensorMemory &memory, const Patch &patch,
                     TmemCell first) {
  auto lanes = TensorMemory::laneRange(first.lane, patch.rows);
  if (auto column = memory.firstUnwritten(lanes, first.column, patch.columns))
    site.warp->machine.report.add(
        FindingId::TmemUninit, site,
        "the MMA adds to column " + std::to_string(*column) + " of lanes " +
            std::to_string(first.lane) + ".." +
            std::to_string(first.lane + patch.rows - 1) +
            ", not all of which were written");
}

/// Loads D of one patch into rows of patch.columns, converted for the sum.
void loadPatch(TensorMemory &memory, const MmaWork &work, const Patch &patch,
               TmemCell first, std::vector<uint32_t> &d) {
  d.resize(size_t(patch.rows) * patch.columns);
  if (!work.accumulate)
    return;
  for (uint32_t i = 0; i < patch.rows; ++i)
    std::memcpy(&d[size_t(i) * patch.columns],
                &memory.cell(first.lane + i, first.column),
                patch.columns * sizeof(uint32_t));
  if (work.instr.d == ElementType::F16)
    std::transform(d.begin(), d.end(), d.begin(), widen);
  if (work.scale)
    for (uint32_t &bits : d)
      bits = scaled(bits, work.scale);
}

void storePatch(TensorMemory &memory, const MmaWork &work, unsigned part,
                const Patch &patch, TmemCell first, std::vector<uint32_t> &d) {
  if (work.instr.d == ElementType::F16)
    std::transform(d.begin(), d.end(), d.begin(), narrow);
  auto lanes = TensorMemory::laneRange(first.lane, patch.rows);
  for (uint32_t i = 0; i < patch.rows; ++i) {
    uint32_t lane = first.lane + i;
    if (work.disabledLanes[part * 4 + lane / 32] >> (lane % 32) & 1) {
      lanes[lane / 64] &= ~(uint64_t(1) << (lane % 64));
      continue;
    }
    std::memcpy(&memory.cell(lane, first.column), &d[size_t(i) * patch.columns],
                patch.columns * sizeof(uint32_t));
  }
  memory.markWritten(lanes, first.column, patch.columns);
}

/// Returns true if tensor memory holds D in the format of the sum, and all of D
/// is written.
bool isPlain(const MmaWork &work) {
  return work.instr.d != ElementType::F16 && !work.scale &&
         work.disabledLanes == std::array<uint32_t, 8>{};
}

} // namespace

/// Returns the groups of D in which the mask leaves a lane to write.
static uint8_t writtenGroups(const MmaWork &work, unsigned part) {
  uint8_t groups = work.accumulator().groups;
  for (unsigned g = 0; g < TensorMemory::groups; ++g) {
    uint32_t mask = work.disabledLanes[part * 4 + g / 2] >> (g % 2 * 16);
    if ((mask & 0xffff) == 0xffff)
      groups &= uint8_t(~(1u << g));
  }
  return groups;
}

/// Reports all operands to the race detector.
static void noteMma(Races &races, const Site &site, const MmaWork &work) {
  RaceStream &stream = races.clocks.stream(*site.warp, race::Kind::Mma);
  Piped mma{race::Kind::Mma, work.key()};
  for (unsigned part = 0; part < work.ctas.size(); ++part) {
    Cta *cta = work.ctas[part];
    TmemRange d = work.accumulator();
    races.memory.tensor(&stream, site, *cta, writtenGroups(work, part),
                        d.column, d.count, Access::Write, mma);
    for (const auto &[name, from] : work.sources())
      races.memory.tensor(&stream, site, *cta, from.groups, from.column,
                          from.count, Access::Read, mma);
    TmemRange a = work.aTmem.range();
    if (work.form.shiftsA)
      races.memory.tensor(&stream, site, *cta, a.groups, a.column, a.count,
                          Access::Write, mma);
    if (!work.form.aInTmem)
      noteRead(races, stream, site, *cta, work.a);
    noteRead(races, stream, site, *cta, work.b);
  }
}

/// Returns the operand in shared memory that the collector buffer may keep: of
/// B the columns that any permitted shift reads, so that a use may shift.
static SmemOperand keptOf(const MmaWork &work) {
  if (!work.form.weightStationary)
    return work.a;
  SmemOperand b = work.b;
  b.mn = work.instr.n + work.instr.maxShift;
  return b;
}

static bool keepsTmem(const MmaWork &work) {
  return !work.form.weightStationary && work.form.aInTmem;
}

static uint64_t hashOfKept(Cta &cta, const MmaWork &work) {
  return keepsTmem(work) ? hashOf(memoryOf(cta), work.aTmem)
                         : hashOf(cta, keptOf(work));
}

/// Describes the matrix that the collector buffer may keep.
static std::string collectedOf(const MmaWork &work) {
  const SmemOperand shared = keptOf(work);
  if (keepsTmem(work))
    return std::string(nameOf(work.aTmem.type)) + " of " +
           std::to_string(work.aTmem.rows) + " rows in tensor memory, lane " +
           std::to_string(work.aTmem.base.lane) + " column " +
           std::to_string(work.aTmem.base.column);
  const SmemDescriptor &d = shared.descriptor;
  return std::string(nameOf(shared.type)) + " of " + std::to_string(shared.mn) +
         (shared.major == Major::K ? " rows" : " transposed rows") +
         " at shared " + std::to_string(d.start - kSharedBase) + " (offsets " +
         std::to_string(d.leadingOffset) + ", " +
         std::to_string(d.strideOffset) + ", swizzle of " +
         std::to_string(d.rowBytes()) + " bytes)";
}

MmaOp::MmaOp(const Site &site, MmaWork given)
    : AsyncOp(site), work(std::move(given)) {
  if (Races *races = racesOf(site))
    noteMma(*races, site, work);
  fill = work.ctas[0]->states.get<Collectors>().issue(site, work.collector,
                                                      collectedOf(work));
  for (Cta *cta : work.ctas) {
    memoryOf(*cta).begin(work.accumulator(), TensorMemory::MmaWrites, site);
    if (work.form.shiftsA)
      memoryOf(*cta).begin(work.aTmem.range(), TensorMemory::CopyWrites, site);
    for (const TmemSource &source : work.sources())
      memoryOf(*cta).begin(source.range, TensorMemory::MmaReads, site);
    if (!work.form.aInTmem)
      beginRead(*cta, work.a);
    beginRead(*cta, work.b);
  }
}

void MmaOp::run(Cta &cta, unsigned part, MmaInputs &inputs) {
  static thread_local std::vector<uint32_t> d;
  TensorMemory &memory = memoryOf(cta);
  MmaMode mode = site.warp->machine.options.mma;
  gatherOwn(site, cta, work, inputs);
  if (fill)
    checkCollected(site, *fill, work.collector.use, part,
                   hashOfKept(cta, work));
  for (const Patch &patch : patchesOf(work.layout, work.instr.n)) {
    TmemCell first =
        accumulatorCell(work.layout, patch.m, patch.n, work.instr.n);
    first.lane += work.d.lane;
    first.column += work.d.column;
    if (work.accumulate)
      reportUnwritten(site, memory, patch, first);
    if (isPlain(work)) {
      multiply(work, mode, inputs, patch,
               &memory.cell(first.lane, first.column), tmemColumns);
      memory.markWritten(TensorMemory::laneRange(first.lane, patch.rows),
                         first.column, patch.columns);
      continue;
    }
    loadPatch(memory, work, patch, first, d);
    multiply(work, mode, inputs, patch, d.data(), patch.columns);
    storePatch(memory, work, part, patch, first, d);
  }
  // The product has read A before it moves.
  if (work.form.shiftsA)
    for (uint32_t lane = 0; lane < tmemLanes; lane += TensorMemory::warpLanes)
      memory.shiftDown(lane, work.aTmem.base.column);
}

void MmaOp::complete(Cluster &cluster) {
  static thread_local MmaInputs inputs;
  gatherB(work, inputs);
  for (unsigned part = 0; part < work.ctas.size(); ++part) {
    Cta &cta = *work.ctas[part];
    run(cta, part, inputs);
    memoryOf(cta).end(work.accumulator(), TensorMemory::MmaWrites, site);
    if (work.form.shiftsA)
      memoryOf(cta).end(work.aTmem.range(), TensorMemory::CopyWrites, site);
    for (const TmemSource &source : work.sources())
      memoryOf(cta).end(source.range, TensorMemory::MmaReads, site);
    if (!work.form.aInTmem)
      endRead(cta, work.a);
    endRead(cta, work.b);
  }
  cluster.changed();
}

bool MmaOp::touches(const Cta &cta, uint32_t offset, uint32_t bytes,
                    Access access) const {
  auto mine = std::find(work.ctas.begin(), work.ctas.end(), &cta);
  if (access != Access::Read || mine == work.ctas.end())
    return false;
  return hasByte(work.b, offset, bytes) ||
         (!work.form.aInTmem && hasByte(work.a, offset, bytes));
}

std::string MmaOp::describe() const {
  return std::string("tcgen05.mma ") + nameOf(work.form.kind) + " m" +
         std::to_string(work.instr.m) + " n" + std::to_string(work.instr.n) +
         " into " + describeColumns(work.d.column, work.accumulator().count);
}

} // namespace ptxsim
