//===- WgmmaOps.cpp - wgmma.mma_async, its fence, groups and waits --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Warpgroup.h"

#include <algorithm>
#include <charconv>

namespace ptxsim {
namespace {

unsigned partOf(const Warp &warp) { return warp.index % warpgroupWarps; }

bool reject(const Site &site, const std::string &why, const Other &other = {}) {
  site.warp->machine.fault(FindingId::WgmmaWarpgroup, site, why, other);
  return false;
}

/// Checks that all four warps of the group exist.
bool checkWarps(const Site &site) {
  const Warp &warp = *site.warp;
  unsigned first = warp.index / warpgroupWarps * warpgroupWarps;
  if (first + warpgroupWarps > warp.cta.warps.size())
    return reject(site, "the CTA has " + std::to_string(warp.cta.warps.size()) +
                            " warps, expected warps " + std::to_string(first) +
                            ".." + std::to_string(first + 3) +
                            " to make up a warpgroup");
  return true;
}

/// Checks the operands that must be equal in all lanes.
bool checkUniform(const Site &site, LaneMask active) {
  const Warp &warp = *site.warp;
  const WgmmaOperands &operands = site.inst->data<WgmmaOperands>();
  auto differs = [&](Operand operand, uint64_t mask) {
    if (!operand.valid())
      return false;
    const Row &row = warp.row(operand);
    uint64_t first = row[unsigned(std::countr_zero(active))] & mask;
    bool any = false;
    forLanes(active,
             [&](unsigned lane) { any |= (row[lane] & mask) != first; });
    return any;
  };
  if (differs(operands.a, UINT64_MAX) || differs(operands.b, UINT64_MAX))
    return reject(site, "lanes have different descriptors, expected one");
  if (differs(operands.enable, 1))
    return reject(site, "lanes have different scale-d, expected one");
  return true;
}

/// Decodes the descriptor of one operand. Returns false after a fault.
bool decodeOperand(const Site &site, uint64_t raw, const char *name,
                   SmemOperand &operand) {
  DecodedDescriptor decoded = decodeSmemDescriptor(raw, DescriptorArch::Wgmma);
  operand.descriptor = decoded.descriptor;
  if (!decoded.error)
    return true;
  site.warp->machine.fault(FindingId::MmaSmemDescriptor, site,
                           std::string("operand ") + name + ": " +
                               *decoded.error);
  return false;
}

/// Returns the wgmma as the first warp issues it; null after a fault.
std::shared_ptr<Wgmma> makeWgmma(const Site &site, uint64_t rawA, uint64_t rawB,
                                 bool accumulate) {
  const WgmmaForm &form = site.inst->data<WgmmaOperands>().form;
  auto work = std::make_shared<Wgmma>(site, form);
  work->rawA = rawA;
  work->rawB = rawB;
  work->accumulate = accumulate;
  work->a = {{}, form.majorA, form.a, warpgroupRows, form.k, form.negateA};
  work->b = {{}, form.majorB, form.b, form.n, form.k, form.negateB};
  if (!form.aInRegisters && !decodeOperand(site, rawA, "A", work->a))
    return nullptr;
  if (!decodeOperand(site, rawB, "B", work->b))
    return nullptr;
  return work;
}

/// Checks that the warp executes what the first warp of the group has issued.
bool checkSame(const Site &site, const Wgmma &work, uint64_t rawA,
               uint64_t rawB, bool accumulate) {
  Other other = otherAt("issued by", work.first);
  if (site.inst != work.first.inst)
    return reject(site,
                  "the warpgroup is at the wgmma of line " +
                      std::to_string(work.first.inst->line) +
                      ", expected its four warps to execute the same ones",
                  other);
  if (rawA != work.rawA || rawB != work.rawB)
    return reject(site,
                  "descriptors differ from those of another warp, "
                  "expected the same in the warpgroup",
                  other);
  if (accumulate != work.accumulate)
    return reject(site,
                  "scale-d differs from that of another warp, expected "
                  "the same in the warpgroup",
                  other);
  return true;
}

/// Returns the wgmma in which the warp participates; null after a fault.
std::shared_ptr<Wgmma> join(const Site &site, LaneMask active,
                            uint64_t number) {
  const Warp &warp = *site.warp;
  const WgmmaOperands &operands = site.inst->data<WgmmaOperands>();
  if (!checkWarps(site) || !checkUniform(site, active))
    return nullptr;
  Warpgroup &group = warpgroupOf(warp);
  uint64_t rawA = operands.a.valid() ? warp.uniform(operands.a, active) : 0;
  uint64_t rawB = warp.uniform(operands.b, active);
  bool accumulate = warp.uniform(operands.enable, active) & 1;
  std::shared_ptr<Wgmma> work = group.find(number);
  if (work)
    return checkSame(site, *work, rawA, rawB, accumulate) ? work : nullptr;
  work = makeWgmma(site, rawA, rawB, accumulate);
  if (work)
    group.open.push_back(work);
  return work;
}

/// Reports the issue to the race detector, and what the warp's part reads. By
/// the manual each warp of the group executes the whole; in practice it needs
/// its own rows of A.
void noteIssue(const Site &site, Wgmma &work, race::Time time) {
  Races *races = racesOf(site);
  if (!races)
    return;
  Warp &warp = const_cast<Warp &>(*site.warp);
  races->edges.precede(warp, warp.live, work.issues);
  RaceStream stream = streamOf(*races, warp);
  stream.time = time;
  if (!work.form.aInRegisters) {
    bool practice = warp.machine.options.conformance == Conformance::Practice;
    noteRead(*races, stream, site, warp.cta,
             practice ? rowsOf(work.a, partOf(warp) * rowsPerWarp, rowsPerWarp)
                      : work.a);
  }
  noteRead(*races, stream, site, warp.cta, work.b);
}

/// Loads the warp's part of D from its registers, unless a chain already holds
/// it.
void takeAccumulator(WarpWgmma &own, unsigned part, WgmmaInFlight &flight) {
  Wgmma &work = *flight.work;
  std::shared_ptr<WgmmaAccumulator> chain =
      own.accumulatorIn(flight.rows, work.form);
  if (!work.d)
    work.d = chain;
  if (!work.d) {
    work.d = std::make_shared<WgmmaAccumulator>();
    work.d->type = work.form.d;
    work.d->n = work.form.n;
    work.d->cells.resize(size_t(warpgroupRows) * work.form.n);
  }
  if (work.d != chain)
    work.d->load(part, flight.rows);
}

/// Starts a wgmma that all four warps have issued.
void start(const Site &site, Warpgroup &group, std::shared_ptr<Wgmma> work) {
  Cta &cta = site.warp->cta;
  bool inA = !work->form.aInRegisters;
  if ((inA && !checkBounds(site, cta, work->a)) ||
      !checkBounds(site, cta, work->b))
    return;
  if (inA)
    checkReady(site, cta, work->a);
  checkReady(site, cta, work->b);
  Cluster &cluster = site.warp->cluster;
  auto op = std::make_unique<WgmmaOp>(site, work, &group);
  // The manual orders two wgmma only if they add to one accumulator; hardware
  // executes them in issue order.
  bool inOrder =
      site.warp->machine.options.conformance == Conformance::Practice;
  std::erase_if(group.pipe, [](const auto &other) { return other->done; });
  for (const std::shared_ptr<Wgmma> &earlier : group.pipe)
    if (inOrder || earlier->d == work->d)
      op->after.push_back(earlier->id);
  group.pipe.push_back(work);
  group.open.pop_front();
  ++group.issued;
  work->id = cluster.issue(std::move(op));
}

WgmmaInFlight flightOf(Warp &warp, const Instruction &inst,
                       std::shared_ptr<Wgmma> work) {
  WgmmaInFlight flight{std::move(work), &inst, warp.frame().rowBase, {}};
  for (Operand operand : inst.dst)
    flight.rows.push_back(&warp.row(operand));
  return flight;
}

Outcome executeMma(Warp &warp, const Instruction &inst, LaneMask active) {
  Site site = warp.site(inst);
  WarpWgmma &own = warp.states.get<WarpWgmma>();
  std::shared_ptr<Wgmma> work = join(site, active, own.next);
  if (!work)
    return Outcome::Fault;
  ++own.next;
  own.registers.begin(warp, inst);
  WgmmaInFlight flight = flightOf(warp, inst, work);
  takeAccumulator(own, partOf(warp), flight);
  for (size_t r = 0; r < inst.src.size(); ++r)
    work->registersA[partOf(warp)][r] = &warp.row(inst.src[r]);
  noteIssue(site, *work, own.groups + 1);
  own.open.push_back(std::move(flight));
  work->issued |= 1u << partOf(warp);
  if (work->issued == (1u << warpgroupWarps) - 1)
    start(site, warpgroupOf(warp), std::move(work));
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

void watchRegisters(Warp &warp, const Instruction &inst, LaneMask) {
  warp.states.get<WarpWgmma>().registers.watch(warp, inst);
}

Outcome executeFence(Warp &warp, const Instruction &, LaneMask) {
  warp.states.get<WarpWgmma>().registers.fence();
  warp.watch = watchRegisters;
  return Outcome::Next;
}

Outcome executeCommit(Warp &warp, const Instruction &, LaneMask) {
  warp.states.get<WarpWgmma>().commit();
  return Outcome::Next;
}

std::string describeWait(const Warp &warp, const Wait &wait) {
  const Wgmma &work = *reinterpret_cast<const Wgmma *>(wait.data[0]);
  bool complete = work.issued == (1u << warpgroupWarps) - 1;
  return "wgmma.wait_group: waits for " + nameOf(work) +
         (complete ? ", which is in flight" : ": " + missingWarps(warp, work));
}

/// Records a wait. Groups belong to the warpgroup: a warp that waits knows that
/// all parts are done, and is ordered after what each warp did before its part.
void noteWait(Warp &warp, const WarpWgmma &own, uint64_t pending) {
  Races *races = racesOf(warp);
  if (!races || own.groups <= pending)
    return;
  for (size_t i = 0; i + pending < own.committed.size(); ++i)
    for (const WgmmaInFlight &flight : own.committed[i])
      races->edges.follow(warp, flight.work->issues);
  races->edges.finished(warp, streamOf(*races, warp),
                        own.groups - race::Time(pending));
}

Outcome executeWait(Warp &warp, const Instruction &inst, LaneMask) {
  uint64_t pending = inst.data<uint64_t>();
  WarpWgmma &own = warp.states.get<WarpWgmma>();
  if (const Wgmma *work = own.unfinished(pending)) {
    warp.wait = {};
    warp.wait.key = &warpgroupOf(warp);
    warp.wait.data[0] = reinterpret_cast<uint64_t>(work);
    warp.wait.describe = describeWait;
    return Outcome::Retry;
  }
  noteWait(warp, own, pending);
  own.retire(partOf(warp), pending);
  return Outcome::Next;
}

/// D, A, B and the number of terms; whether A and B may be transposed or
/// negated, and whether the sum may saturate.
struct TypeRow {
  ElementType d, a, b;
  uint32_t k;
  bool transposes, negates;
};
using enum ElementType;
constexpr TypeRow typeRows[] = {
    {F16, F16, F16, 16, true, true},    {F32, F16, F16, 16, true, true},
    {F32, BF16, BF16, 16, true, true},  {F32, TF32, TF32, 8, false, true},
    {F32, E4M3, E4M3, 32, false, true}, {F32, E4M3, E5M2, 32, false, true},
    {F32, E5M2, E4M3, 32, false, true}, {F32, E5M2, E5M2, 32, false, true},
    {F16, E4M3, E4M3, 32, false, true}, {F16, E4M3, E5M2, 32, false, true},
    {F16, E5M2, E4M3, 32, false, true}, {F16, E5M2, E5M2, 32, false, true},
    {S32, S8, S8, 32, false, false},    {S32, S8, U8, 32, false, false},
    {S32, U8, S8, 32, false, false},    {S32, U8, U8, 32, false, false}};

/// Returns the row of the opcode's three types, in their order.
const TypeRow *findTypes(const Decoder &decoder) {
  std::vector<std::string_view> names;
  for (std::string_view part : decoder.text().parts)
    if (std::any_of(std::begin(typeRows), std::end(typeRows),
                    [&](const TypeRow &row) {
                      return part == nameOf(row.d) || part == nameOf(row.a);
                    }))
      names.push_back(part);
  for (const TypeRow &row : typeRows)
    if (names.size() == 3 && names[0] == nameOf(row.d) &&
        names[1] == nameOf(row.a) && names[2] == nameOf(row.b))
      return &row;
  return nullptr;
}

/// Returns N of "m64n128k16", or 0 if there is no such shape.
uint32_t columnsOf(const Decoder &decoder, const TypeRow &row) {
  std::string tail = "k" + std::to_string(row.k);
  for (std::string_view part : decoder.text().parts) {
    if (!part.starts_with("m64n") || !part.ends_with(tail))
      continue;
    part = part.substr(4, part.size() - 4 - tail.size());
    uint32_t n = 0;
    auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), n);
    bool number = error == std::errc() && end == part.data() + part.size();
    bool step = n % 8 == 0 && (row.d != S32 || n % 16 == 0 || n <= 24);
    return number && step && n <= 256 ? n : 0;
  }
  return 0;
}

bool immediateBit(const Decoder &decoder, size_t at, std::string_view name) {
  uint64_t value = decoder.immediate(at);
  if (value > 1)
    decoder.unsupported("expected " + std::string(name) + " of 0 or 1, got " +
                        std::to_string(value));
  return value;
}

bool isNegated(const Decoder &decoder, size_t at) {
  int32_t value = int32_t(decoder.immediate(at));
  if (value != 1 && value != -1)
    decoder.unsupported("expected imm-scale of 1 or -1, got " +
                        std::to_string(value));
  return value < 0;
}

/// Decodes the immediates after scale-d.
void decodeImmediates(const Decoder &decoder, const TypeRow &row,
                      WgmmaForm &form) {
  size_t transposes = !row.transposes ? 0 : form.aInRegisters ? 1 : 2;
  size_t count = 4 + 2 * size_t(row.negates) + transposes;
  decoder.expectOperands(count, count);
  if (row.negates) {
    form.negateA = isNegated(decoder, 4);
    form.negateB = isNegated(decoder, 5);
  }
  if (transposes == 2 && immediateBit(decoder, 6, "imm-trans-a"))
    form.majorA = Major::MN;
  if (transposes && immediateBit(decoder, count - 1, "imm-trans-b"))
    form.majorB = Major::MN;
}

/// Requires .sync. ptxas accepts the opcode without .aligned, which the manual
/// makes mandatory.
void expectSync(const Decoder &decoder) {
  if (!decoder.has("sync"))
    decoder.unsupported("expected .sync.aligned");
}

void checkModifiers(const Decoder &decoder, const TypeRow &row) {
  expectSync(decoder);
  if (decoder.has("satfinite") && row.d != S32)
    decoder.unsupported(".satfinite is for .s32");
  for (std::string_view part : decoder.text().parts)
    if (part == "sp")
      decoder.unsupported("sparse A is not executed");
}

void decodeRegisters(Decoder &decoder, Instruction &inst,
                     WgmmaOperands &operands) {
  const WgmmaForm &form = operands.form;
  // f16 is packed in pairs, and such registers are bits.
  Type type = form.d == S32   ? Type::S32
              : form.d == F32 ? Type::F32
                              : Type::F16x2;
  inst.dst = decoder.destinations(0, type);
  if (form.d == F32)
    decoder.expectEach(0, type);
  if (inst.dst.size() != form.registers())
    decoder.unsupported("expected " + std::to_string(form.registers()) +
                        " registers of D, got " +
                        std::to_string(inst.dst.size()));
  if (!form.aInRegisters) {
    operands.a = decoder.source(1, Type::U64);
    return;
  }
  inst.src = decoder.sources(1, Type::B32);
  if (inst.src.size() != 4)
    decoder.unsupported("expected 4 registers of A, got " +
                        std::to_string(inst.src.size()));
}

void decodeMma(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(4, 8);
  const TypeRow *row = findTypes(decoder);
  if (!row)
    decoder.unsupported("expected types such as .f32.bf16.bf16");
  checkModifiers(decoder, *row);
  WgmmaOperands operands;
  WgmmaForm &form = operands.form;
  form.d = row->d;
  form.a = row->a;
  form.b = row->b;
  form.k = row->k;
  form.n = columnsOf(decoder, *row);
  if (!form.n)
    decoder.unsupported("expected a shape m64nNk" + std::to_string(row->k) +
                        " with N one of 8, 16, ..., 256" +
                        (row->d == S32 ? ", a multiple of 16 above 24" : ""));
  form.saturate = decoder.has("satfinite");
  form.aInRegisters = decoder.operand(1).kind == syntax::Operand::Kind::Vector;
  decodeImmediates(decoder, *row, form);
  decodeRegisters(decoder, inst, operands);
  operands.b = decoder.source(2, Type::U64);
  if (decoder.isImmediate(3))
    immediateBit(decoder, 3, "scale-d");
  operands.enable = decoder.source(3, Type::Pred);
  inst.payload = decoder.payload(operands);
  inst.convergence = Convergence::Aligned;
  inst.handler = executeMma;
}

template <Handler Execute>
void decodeBare(Decoder &decoder, Instruction &inst) {
  expectSync(decoder);
  decoder.expectModifiers({"fence", "commit_group", "sync", "aligned"});
  decoder.expectOperands(0, 0);
  inst.convergence = Convergence::Aligned;
  inst.handler = Execute;
}

void decodeWait(Decoder &decoder, Instruction &inst) {
  expectSync(decoder);
  decoder.expectModifiers({"wait_group", "sync", "aligned"});
  decoder.expectOperands(1, 1);
  inst.payload = decoder.payload<uint64_t>(decoder.immediate(0));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeWait;
}

} // namespace

bool isWgmma(const Instruction &inst) { return inst.handler == executeMma; }

void registerWgmma(Registry &registry) {
  registry.add("wgmma.mma_async", decodeMma);
  registry.add("wgmma.fence", decodeBare<executeFence>);
  registry.add("wgmma.commit_group", decodeBare<executeCommit>);
  registry.add("wgmma.wait_group", decodeWait);
}

} // namespace ptxsim
