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

/// A rectangle of D whose rows are consecutive lanes and whose columns are
/// consecutive columns.
struct Patch {
  uint32_t m = 0, rows = 0, n = 0, columns = 0;
};

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

SumRules rulesOf(const InstrDescriptor &instr) {
  SumRules rules;
  rules.minExponentA = minExponent(instr.a);
  rules.minExponentB = minExponent(instr.b);
  rules.halfResult = instr.d == ElementType::F16;
  return rules;
}

/// Returns true if tensor memory holds D in the format of the sum, and all of D
/// is written.
bool isPlain(const MmaWork &work) {
  return work.instr.d == ElementType::F32 && !work.scale &&
         work.disabledLanes == std::array<uint32_t, 8>{};
}

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

/// Returns true if one MMA is no hazard for another. The manual orders few
/// pairs of MMAs; kernels in practice rely on issue order.
bool inIssueOrder(const Site &site) {
  return site.warp->machine.options.conformance == Conformance::Practice;
}

bool checkAInTmem(const Site &site, MmaWork &work) {
  if (!checkLane(site, work.layout, work.aTmem.base.lane, "A"))
    return false;
  Report &report = site.warp->machine.report;
  TmemRange range = work.aTmem.range();
  for (Cta *cta : work.ctas) {
    TensorMemory &memory = memoryOf(*cta);
    if (!checkColumns(memory, site, range.column, range.count, "A of the MMA"))
      return false;
    const TmemUser *writer = memory.user(range, {TensorMemory::StoreWrites});
    if (!writer && !inIssueOrder(site))
      writer = memory.user(range, {TensorMemory::MmaWrites});
    if (writer)
      report.add(FindingId::TmemInFlight, site,
                 "A of the MMA, " + describeColumns(range.column, range.count),
                 inFlightUse(*writer));
  }
  if (work.aTmem.base.lane != work.d.lane)
    report.add(FindingId::InvalidDatapathAlignment, site,
               "A and D start at different lanes");
  return true;
}

bool checkAccumulator(const Site &site, MmaWork &work) {
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
    if (!reader && !inIssueOrder(site))
      reader = memory.user(range, {TensorMemory::MmaReads});
    if (reader)
      report.add(FindingId::TmemWriteUnderRead, site, text,
                 inFlightUse(*reader));
  }
  return true;
}

bool checkSmem(const Site &site, MmaWork &work, const SmemOperand &operand) {
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

bool checkIssue(const Site &site, MmaWork &work) {
  if (!checkAccumulator(site, work))
    return false;
  bool a = work.form.aInTmem ? checkAInTmem(site, work)
                             : checkSmem(site, work, work.a);
  return a && checkSmem(site, work, work.b);
}

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
  // Key 0 is tcgen05.cp.
  uint64_t key = work.key() + 1;
  for (unsigned part = 0; part < work.ctas.size(); ++part) {
    Cta *cta = work.ctas[part];
    TmemRange d = work.accumulator(), a = work.aTmem.range();
    races.memory.tensor(&stream, site, *cta, writtenGroups(work, part),
                        d.column, d.count, Access::Write, key);
    if (work.form.aInTmem)
      races.memory.tensor(&stream, site, *cta, a.groups, a.column, a.count,
                          Access::Read, key);
    else
      noteRead(races, stream, site, *cta, work.a);
    noteRead(races, stream, site, *cta, work.b);
  }
}

MmaOp::MmaOp(const Site &site, MmaWork given)
    : AsyncOp(site), work(std::move(given)) {
  if (Races *races = racesOf(site))
    noteMma(*races, site, work);
  for (Cta *cta : work.ctas) {
    memoryOf(*cta).begin(work.accumulator(), TensorMemory::MmaWrites, site);
    if (work.form.aInTmem)
      memoryOf(*cta).begin(work.aTmem.range(), TensorMemory::MmaReads, site);
    else
      beginRead(*cta, work.a);
    beginRead(*cta, work.b);
  }
}

void MmaOp::gatherB(std::vector<float> &b) const {
  // Each CTA of a pair holds its part of the columns of B.
  uint32_t n = work.instr.n;
  b.resize(size_t(work.instr.k) * n);
  for (unsigned part = 0; part < work.ctas.size(); ++part)
    gather(*work.ctas[part], work.b, b.data() + part * work.b.mn, 1, n);
}

void MmaOp::run(Cta &cta, unsigned part, const std::vector<float> &b) {
  static thread_local std::vector<float> a;
  static thread_local std::vector<uint32_t> d;
  TensorMemory &memory = memoryOf(cta);
  uint32_t k = work.instr.k, n = work.instr.n;
  a.resize(size_t(rowsPerCta(work.layout)) * k);
  if (work.form.aInTmem)
    gather(site, memory, work.aTmem, a.data());
  else
    gather(cta, work.a, a.data(), k, 1);
  for (const Patch &patch : patchesOf(work.layout, n)) {
    TmemCell first = accumulatorCell(work.layout, patch.m, patch.n, n);
    first.lane += work.d.lane;
    first.column += work.d.column;
    if (work.accumulate)
      reportUnwritten(site, memory, patch, first);
    const float *left = a.data() + size_t(patch.m) * k;
    MmaBlock block{patch.rows, patch.columns, k,
                   n,          tmemColumns,   work.accumulate};
    if (isPlain(work)) {
      multiply(left, b.data() + patch.n, &memory.cell(first.lane, first.column),
               block);
      memory.markWritten(TensorMemory::laneRange(first.lane, patch.rows),
                         first.column, patch.columns);
      continue;
    }
    block.strideD = patch.columns;
    loadPatch(memory, work, patch, first, d);
    multiply(left, b.data() + patch.n, d.data(), block);
    storePatch(memory, work, part, patch, first, d);
  }
}

void MmaOp::multiply(const float *a, const float *b, uint32_t *d,
                     const MmaBlock &block) const {
  if (site.warp->machine.options.mma == MmaMode::Exact)
    exactMma(a, b, d, block, rulesOf(work.instr));
  else
    fastMma(a, b, d, block);
}

void MmaOp::complete(Cluster &cluster) {
  static thread_local std::vector<float> b;
  gatherB(b);
  for (unsigned part = 0; part < work.ctas.size(); ++part) {
    Cta &cta = *work.ctas[part];
    run(cta, part, b);
    memoryOf(cta).end(work.accumulator(), TensorMemory::MmaWrites, site);
    if (work.form.aInTmem)
      memoryOf(cta).end(work.aTmem.range(), TensorMemory::MmaReads, site);
    else
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
