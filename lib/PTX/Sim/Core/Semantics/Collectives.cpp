//===- Collectives.cpp - shfl, vote, match, redux, elect --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <cmath>

using namespace ptxsim;

namespace {

enum class ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

/// PTX ISA 9.7.9.6. A source lane outside the membermask gives 0, as on
/// hardware, and a finding.
Outcome executeShuffle(Warp &warp, const Instruction &inst, LaneMask active) {
  ShuffleMode mode = inst.data<ShuffleMode>();
  Row values = warp.row(inst.src[0]), by = warp.row(inst.src[1]),
      clamp = warp.row(inst.src[2]);
  LaneMask members = LaneMask(warp.uniform(inst.memberMask, active));
  LaneMask undefined = 0;
  eachLane(active, [&](unsigned lane) {
    unsigned b = by[lane] & 31, c = clamp[lane] & 31;
    unsigned segment = clamp[lane] >> 8 & 31;
    unsigned low = lane & segment, high = low | (c & ~segment);
    int from = int(lane);
    bool inside = true;
    switch (mode) {
    case ShuffleMode::Up:
      from -= int(b);
      inside = from >= int(high);
      break;
    case ShuffleMode::Down:
      from += int(b);
      inside = from <= int(high);
      break;
    case ShuffleMode::Butterfly:
      from ^= int(b);
      inside = from <= int(high);
      break;
    case ShuffleMode::Index:
      from = int(low | (b & ~segment));
      inside = from <= int(high);
      break;
    }
    if (!inside)
      from = int(lane);
    from &= 31;
    bool defined = (members >> from & 1) && (active >> from & 1);
    undefined |= LaneMask(!defined) << lane;
    warp.row(inst.dst[0])[lane] = defined ? values[from] : 0;
    if (inst.dst.size() > 1)
      warp.row(inst.dst[1])[lane] = inside;
  });
  if (undefined)
    warp.machine.report.add(
        FindingId::ShflUndefined, warp.site(inst, std::countr_zero(undefined)),
        "the source lane does not take part; 0 is returned.");
  return Outcome::Next;
}

void decodeShuffle(Decoder &decoder, Instruction &inst) {
  static const std::pair<std::string_view, ShuffleMode> kModes[] = {
      {"up", ShuffleMode::Up},
      {"down", ShuffleMode::Down},
      {"bfly", ShuffleMode::Butterfly},
      {"idx", ShuffleMode::Index}};
  decoder.expectModifiers({"sync", "up", "down", "bfly", "idx", "b32"});
  decoder.expectOperands(5, 5);
  if (!decoder.has("sync"))
    decoder.unsupported("expected .sync, as sm_70 and later demand");
  for (const auto &[name, mode] : kModes)
    if (decoder.has(name))
      inst.payload = decoder.payload(mode);
  inst.dst = decoder.destinations(0, Type::B32);
  inst.src =
      decoder.keep({decoder.source(1, Type::B32), decoder.source(2, Type::B32),
                    decoder.source(3, Type::B32)});
  inst.memberMask = decoder.source(4, Type::U32);
  inst.convergence = Convergence::Members;
  inst.handler = executeShuffle;
}

void broadcast(Warp &warp, Operand to, LaneMask active, uint64_t value) {
  Row &row = warp.row(to);
  eachLane(active, [&](unsigned lane) { row[lane] = value; });
}

enum class VoteMode : uint8_t { All, Any, Uniform, Ballot };

Outcome executeVote(Warp &warp, const Instruction &inst, LaneMask active) {
  LaneMask set = lanesSet(warp.row(inst.src[0])) & active;
  uint64_t result = 0;
  switch (inst.data<VoteMode>()) {
  case VoteMode::All:
    result = set == active;
    break;
  case VoteMode::Any:
    result = set != 0;
    break;
  case VoteMode::Uniform:
    result = set == active || set == 0;
    break;
  case VoteMode::Ballot:
    result = set;
    break;
  }
  broadcast(warp, inst.dst[0], active, result);
  return Outcome::Next;
}

void decodeVote(Decoder &decoder, Instruction &inst) {
  static const std::pair<std::string_view, VoteMode> kModes[] = {
      {"all", VoteMode::All},
      {"any", VoteMode::Any},
      {"uni", VoteMode::Uniform},
      {"ballot", VoteMode::Ballot}};
  decoder.expectModifiers(
      {"sync", "all", "any", "uni", "ballot", "pred", "b32"});
  decoder.expectOperands(3, 3);
  for (const auto &[name, mode] : kModes)
    if (decoder.has(name))
      inst.payload = decoder.payload(mode);
  inst.dst =
      decoder.destinations(0, decoder.has("b32") ? Type::B32 : Type::Pred);
  inst.src = decoder.keep({decoder.source(1, Type::Pred)});
  inst.memberMask = decoder.source(2, Type::U32);
  inst.convergence = Convergence::Members;
  inst.handler = executeVote;
}

Outcome executeActiveMask(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  broadcast(warp, inst.dst[0], active, active);
  return Outcome::Next;
}

void decodeActiveMask(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"b32"});
  decoder.expectOperands(1, 1);
  inst.dst = decoder.destinations(0, Type::B32);
  inst.handler = executeActiveMask;
}

Outcome executeMatch(Warp &warp, const Instruction &inst, LaneMask active) {
  bool all = inst.data<bool>();
  Row values = warp.row(inst.src[0]);
  LaneMask first = 0;
  eachLane(active, [&](unsigned lane) {
    LaneMask same = 0;
    eachLane(active, [&](unsigned other) {
      same |= LaneMask(values[other] == values[lane]) << other;
    });
    first = same;
    if (!all)
      warp.row(inst.dst[0])[lane] = same;
  });
  if (all) {
    broadcast(warp, inst.dst[0], active, first == active ? active : 0);
    if (inst.dst.size() > 1)
      broadcast(warp, inst.dst[1], active, first == active);
  }
  return Outcome::Next;
}

void decodeMatch(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"sync", "any", "all", "b32", "b64"});
  decoder.expectOperands(3, 3);
  inst.payload = decoder.payload(decoder.has("all"));
  inst.dst = decoder.destinations(0, Type::U32);
  inst.src = decoder.keep(
      {decoder.source(1, decoder.has("b64") ? Type::B64 : Type::B32)});
  inst.memberMask = decoder.source(2, Type::U32);
  inst.convergence = Convergence::Members;
  inst.handler = executeMatch;
}

using Reduce = uint32_t (*)(uint32_t, uint32_t);

uint32_t reduceAdd(uint32_t a, uint32_t b) { return a + b; }
uint32_t reduceAnd(uint32_t a, uint32_t b) { return a & b; }
uint32_t reduceOr(uint32_t a, uint32_t b) { return a | b; }
uint32_t reduceXor(uint32_t a, uint32_t b) { return a ^ b; }
template <typename T> uint32_t reduceMin(uint32_t a, uint32_t b) {
  return T(b) < T(a) ? b : a;
}
template <typename T> uint32_t reduceMax(uint32_t a, uint32_t b) {
  return T(a) < T(b) ? b : a;
}

/// f32 min and max: -0 < +0. A NaN is dropped, or propagates with .NaN.
template <bool Max, bool Abs, bool NaN>
uint32_t reduceFloat(uint32_t a, uint32_t b) {
  if (Abs) {
    a &= 0x7FFFFFFF;
    b &= 0x7FFFFFFF;
  }
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (std::isnan(x) || std::isnan(y)) {
    bool keep = !NaN && !(std::isnan(x) && std::isnan(y));
    return keep ? (std::isnan(x) ? b : a) : 0x7FFFFFFF;
  }
  bool less = x < y || (x == y && (a >> 31) > (b >> 31));
  return less == Max ? b : a;
}

struct ReduxForm {
  std::string_view opcode;
  Reduce reduce;
};

constexpr ReduxForm kRedux[] = {
    {"redux.sync.add.u32", reduceAdd},
    {"redux.sync.add.s32", reduceAdd},
    {"redux.sync.min.u32", reduceMin<uint32_t>},
    {"redux.sync.min.s32", reduceMin<int32_t>},
    {"redux.sync.max.u32", reduceMax<uint32_t>},
    {"redux.sync.max.s32", reduceMax<int32_t>},
    {"redux.sync.and.b32", reduceAnd},
    {"redux.sync.or.b32", reduceOr},
    {"redux.sync.xor.b32", reduceXor},
    {"redux.sync.min.f32", reduceFloat<false, false, false>},
    {"redux.sync.min.NaN.f32", reduceFloat<false, false, true>},
    {"redux.sync.min.abs.f32", reduceFloat<false, true, false>},
    {"redux.sync.min.abs.NaN.f32", reduceFloat<false, true, true>},
    {"redux.sync.max.f32", reduceFloat<true, false, false>},
    {"redux.sync.max.NaN.f32", reduceFloat<true, false, true>},
    {"redux.sync.max.abs.f32", reduceFloat<true, true, false>},
    {"redux.sync.max.abs.NaN.f32", reduceFloat<true, true, true>},
};

Outcome executeRedux(Warp &warp, const Instruction &inst, LaneMask active) {
  Reduce reduce = inst.data<Reduce>();
  const Row &values = warp.row(inst.src[0]);
  unsigned first = unsigned(std::countr_zero(active));
  // Reducing the first value with itself applies abs to it.
  uint32_t result = uint32_t(values[first]);
  bool alone = (active & (active - 1)) == 0;
  if (alone && reduce != reduceAdd && reduce != reduceXor)
    result = reduce(result, result);
  for (LaneMask rest = active & (active - 1); rest; rest &= rest - 1)
    result = reduce(result, uint32_t(values[std::countr_zero(rest)]));
  broadcast(warp, inst.dst[0], active, result);
  return Outcome::Next;
}

void decodeRedux(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(3, 3);
  for (const ReduxForm &form : kRedux) {
    if (form.opcode != decoder.text().opcode)
      continue;
    inst.payload = decoder.payload(form.reduce);
    Type type = decoder.has("f32") ? Type::F32 : Type::U32;
    inst.dst = decoder.destinations(0, type);
    inst.src = decoder.keep({decoder.source(1, type)});
    inst.memberMask = decoder.source(2, Type::U32);
    inst.convergence = Convergence::Members;
    inst.handler = executeRedux;
    return;
  }
  decoder.unsupported("no such reduction");
}

/// The leader is the lowest lane, as on hardware (the ISA leaves it open).
Outcome executeElect(Warp &warp, const Instruction &inst, LaneMask active) {
  LaneMask members = LaneMask(warp.uniform(inst.memberMask, active)) & active;
  unsigned leader = unsigned(std::countr_zero(members ? members : active));
  eachLane(active, [&](unsigned lane) {
    warp.row(inst.dst[0])[lane] = leader;
    warp.row(inst.dst[1])[lane] = lane == leader;
  });
  return Outcome::Next;
}

void decodeElect(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"sync"});
  decoder.expectOperands(2, 2);
  inst.dst = decoder.destinations(0, Type::U32);
  if (inst.dst.size() != 2)
    decoder.unsupported("expected a destination d|p");
  inst.memberMask = decoder.source(1, Type::U32);
  inst.convergence = Convergence::Members;
  inst.handler = executeElect;
}

Outcome executeWarpSync(Warp &warp, const Instruction &, LaneMask active) {
  if (Races *races = racesOf(warp))
    races->edges.lanesMeet(warp, active);
  return Outcome::Next;
}

void decodeWarpSync(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"warp", "sync"});
  decoder.expectOperands(1, 1);
  inst.memberMask = decoder.source(0, Type::U32);
  inst.convergence = Convergence::Members;
  inst.handler = executeWarpSync;
}

} // namespace

void ptxsim::registerCollectives(Registry &registry) {
  registry.add("shfl", decodeShuffle);
  registry.add("vote", decodeVote);
  registry.add("activemask", decodeActiveMask);
  registry.add("match", decodeMatch);
  registry.add("redux", decodeRedux);
  registry.add("elect", decodeElect);
  registry.add("bar.warp", decodeWarpSync);
}
