//===- TmemMovement.cpp - tcgen05.ld, tcgen05.st and their waits ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.ld, tcgen05.st, tcgen05.wait, tcgen05.fence.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "TensorMemory.h"

#include <algorithm>
#include <charconv>

namespace ptxsim {
namespace {

/// The reduction of tcgen05.ld.red over the columns that a thread loads.
struct Reduction {
  enum class Type : uint8_t { F32, U32, S32 };
  Type type = Type::F32;
  bool max = false, absolute = false, keepsNan = false;
};

struct Form {
  TmemAccess access;
  /// The last destination receives the result.
  std::optional<Reduction> reduction;
  /// Offset of register r of thread t from the address: lane * 512 + column.
  std::vector<uint32_t> offsets;
  uint32_t columns = 0;
};

/// A load or store between issue and wait. The policy decides whether it
/// executes at issue or at the wait; either way it is in flight until the wait.
struct Pending {
  const Instruction *inst = nullptr;
  uint32_t lane = 0, column = 0;
  uint32_t rowBase = 0;
  std::vector<TmemRange> ranges;
  std::vector<uint32_t> values; // of a store, in thread order
  bool done = false;
};

struct TmemQueues : UnitState {
  std::vector<Pending> loads, stores;
  /// Register rows that a load in flight will write, by absolute row.
  std::vector<bool> rows;
};

const Form &formOf(const Pending &pending) {
  return pending.inst->data<Form>();
}

/// Returns a register row by its number in the warp, whatever frame is current.
Row &absoluteRow(Warp &warp, uint32_t row) {
  return (
      &warp.row(Operand{0}))[ptrdiff_t(row) - ptrdiff_t(warp.frame().rowBase)];
}

/// Returns the ranges of columns and lanes that one access covers.
std::vector<TmemRange> rangesOf(const Form &form, uint32_t lane,
                                uint32_t column) {
  uint8_t first = uint8_t(1u << (lane / TensorMemory::groupLanes));
  const TmemAccess &access = form.access;
  if (access.lanes() == 32)
    return {{uint8_t(first | first << 1), column, form.columns}};
  if (access.shape != TmemShape::L16x32bx2)
    return {{first, column, form.columns}};
  uint32_t second =
      (lane + (access.halfSplit >> 16)) / TensorMemory::groupLanes;
  return {{first, column, form.columns},
          {uint8_t(1u << second), column + (access.halfSplit & 0xffff),
           form.columns}};
}

/// Sets the start of the warp's access; the lane must be in the warp's own
/// quarter.
bool resolveStart(Warp &warp, const Instruction &inst, const Form &form,
                  uint32_t address, Pending &pending) {
  TmemCell cell = cellOf(address);
  Site site = warp.site(inst);
  uint32_t own = 32 * (warp.index % 4);
  Report &report = warp.machine.report;
  bool strict = warp.machine.options.conformance == Conformance::Isa;
  if (strict && cell.lane / 32 * 32 != own)
    report.add(FindingId::CurrentWarpOwnerInvalid, site,
               "lane " + std::to_string(cell.lane) + " by warp " +
                   std::to_string(warp.index) + ", expected lanes " +
                   std::to_string(own) + ".." + std::to_string(own + 31));
  if (cell.lane % form.access.lanes())
    report.add(FindingId::InvalidDatapathAlignment, site,
               "lane " + std::to_string(cell.lane) +
                   ", expected a multiple of " +
                   std::to_string(form.access.lanes()));
  // Hardware takes the quarter from the warp and the other bits from the
  // address.
  pending.inst = &inst;
  pending.lane =
      own + cell.lane % 32 / form.access.lanes() * form.access.lanes();
  pending.column = cell.column;
  pending.rowBase = warp.frame().rowBase;
  pending.ranges = rangesOf(form, pending.lane, pending.column);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  for (const TmemRange &range : pending.ranges)
    if (!checkColumns(memory, site, range.column, range.count, "the access"))
      return false;
  return true;
}

/// Returns the bits of |x| if the reduction has .abs, else x.
uint32_t prepared(const Reduction &reduction, uint32_t x) {
  return reduction.absolute ? x & 0x7fffffff : x;
}

bool isNanBits(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }

/// Returns a number that orders values of the type; -0 is below +0.
int64_t orderOf(Reduction::Type type, uint32_t x) {
  if (type == Reduction::Type::U32)
    return x;
  bool flips = type == Reduction::Type::F32 && x >> 31;
  return int32_t(flips ? ~(x & 0x7fffffff) : x);
}

/// Returns the reduction of two values, as min or max of the type have it.
uint32_t reduced(const Reduction &reduction, uint32_t x, uint32_t y) {
  constexpr uint32_t canonicalNan = 0x7fffffff;
  bool floats = reduction.type == Reduction::Type::F32;
  bool nanX = floats && isNanBits(x), nanY = floats && isNanBits(y);
  if (nanX || nanY) {
    bool both = nanX && nanY;
    return reduction.keepsNan || both ? canonicalNan : nanX ? y : x;
  }
  bool less = orderOf(reduction.type, x) < orderOf(reduction.type, y);
  return less == reduction.max ? y : x;
}

/// Writes the reduction of what each thread has loaded.
void performReduction(Warp &warp, const Pending &pending,
                      const Reduction &reduction) {
  std::span<const Operand> dst = pending.inst->dst;
  uint32_t registers = formOf(pending).access.registers();
  Row &result = absoluteRow(warp, pending.rowBase + dst.back().index());
  Row values = absoluteRow(warp, pending.rowBase + dst[0].index());
  for (uint32_t t = 0; t < 32; ++t)
    result[t] = prepared(reduction, uint32_t(values[t]));
  for (uint32_t r = 1; r < registers; ++r) {
    const Row &row = absoluteRow(warp, pending.rowBase + dst[r].index());
    for (uint32_t t = 0; t < 32; ++t)
      result[t] = reduced(reduction, uint32_t(result[t]),
                          prepared(reduction, uint32_t(row[t])));
  }
}

void performLoad(Warp &warp, Pending &pending) {
  if (pending.done)
    return;
  pending.done = true;
  const Form &form = formOf(pending);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  uint32_t registers = form.access.registers();
  uint32_t missing = UINT32_MAX;
  for (uint32_t r = 0; r < registers; ++r) {
    Row &row =
        absoluteRow(warp, pending.rowBase + pending.inst->dst[r].index());
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t offset = form.offsets[t * registers + r];
      uint32_t lane = pending.lane + offset / tmemColumns;
      uint32_t column = pending.column + offset % tmemColumns;
      uint32_t value = memory.cell(lane, column);
      bool known = memory.isWritten(lane, column);
      if (form.access.packed) {
        value = (value & 0xffff) | memory.cell(lane, column + 1) << 16;
        known &= memory.isWritten(lane, column + 1);
      }
      row[t] = value;
      if (!known)
        missing = lane << 16 | column;
    }
  }
  if (form.reduction)
    performReduction(warp, pending, *form.reduction);
  if (missing != UINT32_MAX)
    warp.machine.report.add(
        FindingId::TmemUninit, warp.site(*pending.inst),
        "tcgen05.ld reads lane " + std::to_string(missing >> 16) + " column " +
            std::to_string(missing & 0xffff) + ", which was never written");
}

void performStore(Warp &warp, Pending &pending) {
  if (pending.done)
    return;
  pending.done = true;
  const Form &form = formOf(pending);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  for (size_t i = 0; i < pending.values.size(); ++i) {
    uint32_t lane = pending.lane + form.offsets[i] / tmemColumns;
    uint32_t column = pending.column + form.offsets[i] % tmemColumns;
    uint32_t value = pending.values[i];
    memory.setWritten(lane, column);
    if (form.access.packed) {
      memory.cell(lane, column + 1) = value >> 16;
      memory.setWritten(lane, column + 1);
      value &= 0xffff;
    }
    memory.cell(lane, column) = value;
  }
}

bool performsNow(Warp &warp) {
  const Options &options = warp.machine.options;
  return options.policy == Policy::Eager ||
         (options.randomized() && warp.cluster.random(2));
}

/// Returns the load in flight that will write the register, or null.
const Pending *loadOf(const TmemQueues &queues, uint32_t base,
                      Operand operand) {
  if (!operand.valid() || operand.isConstant())
    return nullptr;
  size_t row = base + operand.index();
  if (row >= queues.rows.size() || !queues.rows[row])
    return nullptr;
  for (const Pending &pending : queues.loads)
    for (Operand written : pending.inst->dst)
      if (pending.rowBase + written.index() == row)
        return &pending;
  return nullptr;
}

void finishLoads(Warp &warp, TmemQueues &queues) {
  for (Pending &pending : queues.loads)
    performLoad(warp, pending);
  queues.rows.clear();
  warp.watch = nullptr;
}

Outcome executeWaitLoads(Warp &warp, const Instruction &inst, LaneMask);

/// Runs before every instruction while loads are in flight.
void watchRegisters(Warp &warp, const Instruction &inst, LaneMask) {
  if (inst.handler == executeWaitLoads)
    return;
  TmemQueues &queues = warp.states.get<TmemQueues>();
  uint32_t base = warp.frame().rowBase;
  const Pending *load = nullptr;
  auto look = [&](Operand operand) {
    if (!load)
      load = loadOf(queues, base, operand);
  };
  look(inst.guard);
  look(inst.address.base);
  std::for_each(inst.src.begin(), inst.src.end(), look);
  std::for_each(inst.dst.begin(), inst.dst.end(), look);
  if (!load)
    return;
  Site from = warp.site(*load->inst);
  warp.machine.report.add(FindingId::TcgenLdRegister, warp.site(inst),
                          "the register belongs to tcgen05.ld of line " +
                              std::to_string(load->inst->line) +
                              ", expected tcgen05.wait::ld in between",
                          otherAt("loaded by", from));
  finishLoads(warp, queues);
}

void poisonRegisters(Warp &warp, const Pending &pending, TmemQueues &queues) {
  for (Operand operand : pending.inst->dst) {
    size_t row = pending.rowBase + operand.index();
    if (row >= queues.rows.size())
      queues.rows.resize(row + 1);
    queues.rows[row] = true;
    if (!pending.done)
      warp.row(operand).fill(0x7fbadbad);
  }
  warp.watch = watchRegisters;
}

/// Reports the access to the race detector. `done` means that it completes at
/// once.
void note(Warp &warp, const Instruction &inst, const Pending &pending,
          race::Kind kind, bool done) {
  Races *races = racesOf(warp);
  if (!races)
    return;
  RaceStream *stream = done ? nullptr : &races->clocks.stream(warp, kind);
  Access access = kind == race::Kind::TmemLoad ? Access::Read : Access::Write;
  for (const TmemRange &range : pending.ranges)
    races->memory.tensor(stream, warp.site(inst), warp.cta, range.groups,
                         range.column, range.count, access);
}

Outcome executeLoad(Warp &warp, const Instruction &inst, LaneMask active) {
  const Form &form = inst.data<Form>();
  Pending pending;
  unsigned lane = unsigned(std::countr_zero(active));
  if (!resolveStart(warp, inst, form,
                    uint32_t(warp.addressOf(inst.address, lane)), pending))
    return Outcome::Fault;
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  for (const TmemRange &range : pending.ranges)
    if (auto *writer = memory.user(range, TensorMemory::anyWrite))
      warp.machine.report.add(FindingId::TmemInFlight, warp.site(inst),
                              "tcgen05.ld reads " +
                                  describeColumns(range.column, range.count),
                              inFlightUse(*writer));
  bool practice = warp.machine.options.conformance == Conformance::Practice;
  note(warp, inst, pending, race::Kind::TmemLoad, practice);
  // ptxas waits where a register is used, so in practice a load is complete
  // when its value matters.
  if (practice) {
    performLoad(warp, pending);
    return Outcome::Next;
  }
  if (performsNow(warp))
    performLoad(warp, pending);
  for (const TmemRange &range : pending.ranges)
    memory.begin(range, TensorMemory::LoadReads, warp.site(inst));
  TmemQueues &queues = warp.states.get<TmemQueues>();
  poisonRegisters(warp, pending, queues);
  queues.loads.push_back(std::move(pending));
  return Outcome::Next;
}

void checkStoreTarget(Warp &warp, const Instruction &inst,
                      const Pending &pending) {
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  Report &report = warp.machine.report;
  for (const TmemRange &range : pending.ranges) {
    std::string text =
        "tcgen05.st writes " + describeColumns(range.column, range.count);
    if (auto *writer = memory.user(range, TensorMemory::anyWrite))
      report.add(FindingId::TmemInFlight, warp.site(inst), text,
                 inFlightUse(*writer));
    if (auto *reader = memory.user(range, TensorMemory::anyRead))
      report.add(FindingId::TmemWriteUnderRead, warp.site(inst), text,
                 inFlightUse(*reader));
  }
}

Outcome executeStore(Warp &warp, const Instruction &inst, LaneMask active) {
  const Form &form = inst.data<Form>();
  Pending pending;
  unsigned lane = unsigned(std::countr_zero(active));
  if (!resolveStart(warp, inst, form,
                    uint32_t(warp.addressOf(inst.address, lane)), pending))
    return Outcome::Fault;
  checkStoreTarget(warp, inst, pending);
  note(warp, inst, pending, race::Kind::TmemStore, false);
  uint32_t registers = form.access.registers();
  pending.values.resize(32 * registers);
  for (uint32_t r = 0; r < registers; ++r) {
    const Row &row = warp.row(inst.src[r]);
    for (uint32_t t = 0; t < 32; ++t)
      pending.values[t * registers + r] = uint32_t(row[t]);
  }
  if (performsNow(warp))
    performStore(warp, pending);
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  for (const TmemRange &range : pending.ranges)
    memory.begin(range, TensorMemory::StoreWrites, warp.site(inst));
  warp.states.get<TmemQueues>().stores.push_back(std::move(pending));
  return Outcome::Next;
}

void release(Warp &warp, std::vector<Pending> &queue, TensorMemory::Use use) {
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  for (const Pending &pending : queue)
    for (const TmemRange &range : pending.ranges)
      memory.end(range, use, warp.site(*pending.inst));
  queue.clear();
}

Outcome executeWaitLoads(Warp &warp, const Instruction &inst, LaneMask) {
  TmemQueues &queues = warp.states.get<TmemQueues>();
  finishLoads(warp, queues);
  release(warp, queues.loads, TensorMemory::LoadReads);
  if (Races *races = racesOf(warp))
    races->edges.finishedAll(warp,
                             races->clocks.stream(warp, race::Kind::TmemLoad));
  return Outcome::Next;
}

Outcome executeWaitStores(Warp &warp, const Instruction &inst, LaneMask) {
  TmemQueues &queues = warp.states.get<TmemQueues>();
  for (Pending &pending : queues.stores)
    performStore(warp, pending);
  release(warp, queues.stores, TensorMemory::StoreWrites);
  if (Races *races = racesOf(warp))
    races->edges.finishedAll(warp,
                             races->clocks.stream(warp, race::Kind::TmemStore));
  return Outcome::Next;
}

/// Informs only the race detector: the interpreter keeps this order anyway.
Outcome executeFenceBefore(Warp &warp, const Instruction &, LaneMask) {
  if (Races *races = racesOf(warp))
    races->edges.tensorFenceBefore(warp);
  return Outcome::Next;
}

Outcome executeFenceAfter(Warp &warp, const Instruction &, LaneMask) {
  if (Races *races = racesOf(warp))
    races->edges.tensorFenceAfter(warp);
  return Outcome::Next;
}

/// Decodes ".32x32b", ".x16", ".pack::16b" of the opcode.
TmemAccess accessOf(const Decoder &decoder) {
  TmemAccess access;
  bool shape = false, num = false;
  for (std::string_view part : decoder.text().parts) {
    if (auto parsed = parseTmemShape(part)) {
      access.shape = *parsed;
      shape = true;
    } else if (part[0] == 'x') {
      auto [end, error] = std::from_chars(
          part.data() + 1, part.data() + part.size(), access.num);
      num = error == std::errc() && end == part.data() + part.size() &&
            access.num <= 128;
      if (!num)
        break;
    }
  }
  access.packed = decoder.has("pack::16b") || decoder.has("unpack::16b");
  bool power = access.num && !(access.num & (access.num - 1));
  if (!shape || !num || !power || access.registers() > 128)
    decoder.unsupported("no such shape and repetition");
  return access;
}

Form makeForm(Decoder &decoder, size_t splitOperand) {
  Form form;
  form.access = accessOf(decoder);
  if (form.access.shape == TmemShape::L16x32bx2)
    form.access.halfSplit = uint32_t(decoder.immediate(splitOperand));
  uint32_t registers = form.access.registers();
  form.offsets.resize(32 * registers);
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < registers; ++r) {
      TmemCell cell = form.access.cell(t, r);
      form.offsets[t * registers + r] = cell.lane * tmemColumns + cell.column;
      if (t < 16)
        form.columns =
            std::max(form.columns, cell.column + 1 + form.access.packed);
    }
  return form;
}

void checkRegisters(const Decoder &decoder, const Form &form, size_t got) {
  if (got != form.access.registers())
    decoder.unsupported("expected " + std::to_string(form.access.registers()) +
                        " registers, got " + std::to_string(got));
}

bool hasSplit(const Decoder &decoder) { return decoder.has("16x32bx2"); }

void decodeLoad(Decoder &decoder, Instruction &inst) {
  size_t operands = 2 + hasSplit(decoder);
  decoder.expectOperands(operands, operands);
  Form form = makeForm(decoder, 2);
  inst.dst = decoder.destinations(0, Type::B32);
  checkRegisters(decoder, form, inst.dst.size());
  decoder.expectTmemAddress(1);
  inst.address = decoder.address(1, Space::Generic);
  inst.payload = decoder.payload(std::move(form));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeLoad;
}

/// Decodes ".min.abs.NaN.f32", ".max.u32".
Reduction reductionOf(const Decoder &decoder) {
  using Type = Reduction::Type;
  Reduction reduction;
  reduction.type = decoder.has("u32")   ? Type::U32
                   : decoder.has("s32") ? Type::S32
                                        : Type::F32;
  reduction.max = decoder.has("max");
  reduction.absolute = decoder.has("abs");
  reduction.keepsNan = decoder.has("NaN");
  if (reduction.type != Type::F32 && (reduction.absolute || reduction.keepsNan))
    decoder.unsupported(".abs and .NaN are for .f32");
  return reduction;
}

/// Checks that the opcode has each part that it needs once, and no unknown one;
/// ptxas does without .aligned.
void checkReducingText(const Decoder &decoder) {
  decoder.expectModifiers({"ld",       "red", "sync", "aligned", "32x32b",
                           "16x32bx2", "x2",  "x4",   "x8",      "x16",
                           "x32",      "x64", "x128", "min",     "max",
                           "abs",      "NaN", "f32",  "u32",     "s32"});
  static const std::vector<std::vector<std::string_view>> needed = {
      {"sync"},
      {"32x32b", "16x32bx2"},
      {"x2", "x4", "x8", "x16", "x32", "x64", "x128"},
      {"min", "max"},
      {"f32", "u32", "s32"}};
  for (const auto &names : needed) {
    size_t count = 0;
    std::string text;
    for (std::string_view name : names) {
      count += std::ranges::count(decoder.text().parts, name);
      text += " ." + std::string(name);
    }
    if (count != 1)
      decoder.unsupported("expected one of" + text);
  }
}

void decodeReducingLoad(Decoder &decoder, Instruction &inst) {
  size_t operands = 3 + hasSplit(decoder);
  decoder.expectOperands(operands, operands);
  Form form = makeForm(decoder, 3);
  bool shape = form.access.shape == TmemShape::L32x32b || hasSplit(decoder);
  if (!shape || form.access.num < 2 || form.access.packed)
    decoder.unsupported("tcgen05.ld.red has .32x32b and .16x32bx2, at least "
                        ".x2, and no .pack");
  checkReducingText(decoder);
  form.reduction = reductionOf(decoder);
  auto loaded = decoder.destinations(0, Type::B32);
  checkRegisters(decoder, form, loaded.size());
  std::vector<Operand> all(loaded.begin(), loaded.end());
  auto result = decoder.destinations(1, Type::B32);
  if (result.size() != 1)
    decoder.unsupported("expected one register for the reduction");
  all.insert(all.end(), result.begin(), result.end());
  inst.dst = decoder.keep(all);
  decoder.expectTmemAddress(2);
  inst.address = decoder.address(2, Space::Generic);
  inst.payload = decoder.payload(std::move(form));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeLoad;
}

void decodeStore(Decoder &decoder, Instruction &inst) {
  size_t operands = 2 + hasSplit(decoder);
  decoder.expectOperands(operands, operands);
  Form form = makeForm(decoder, 1);
  inst.src = decoder.sources(operands - 1, Type::B32);
  checkRegisters(decoder, form, inst.src.size());
  decoder.expectTmemAddress(0);
  inst.address = decoder.address(0, Space::Generic);
  inst.payload = decoder.payload(std::move(form));
  inst.convergence = Convergence::Aligned;
  inst.handler = executeStore;
}

void decodeWait(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"wait::ld", "wait::st", "sync", "aligned"});
  decoder.expectOperands(0, 0);
  inst.convergence = Convergence::Aligned;
  inst.handler = decoder.has("wait::ld") ? executeWaitLoads : executeWaitStores;
}

void decodeFence(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 0);
  inst.handler = decoder.has("fence::before_thread_sync") ? executeFenceBefore
                                                          : executeFenceAfter;
}

} // namespace

void registerTmemMovement(Registry &registry) {
  registry.add("tcgen05.ld", decodeLoad);
  registry.add("tcgen05.ld.red", decodeReducingLoad);
  registry.add("tcgen05.st", decodeStore);
  registry.add("tcgen05.wait::ld", decodeWait);
  registry.add("tcgen05.wait::st", decodeWait);
  registry.add("tcgen05.fence::before_thread_sync", decodeFence);
  registry.add("tcgen05.fence::after_thread_sync", decodeFence);
}

} // namespace ptxsim
