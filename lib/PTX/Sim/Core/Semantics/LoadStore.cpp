//===- LoadStore.cpp - ld, ldu, st, st.bulk ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

#include "fmha/PTX/Syntax/Parser.h"

#include <unordered_set>

using namespace ptxsim;

namespace {

struct MemoryData {
  /// Bytes of an element in memory, and rows of an element in registers.
  uint8_t bytes = 4, rows = 1;
  bool extends = false;
  uint8_t registerBits = 32;
};

uint64_t extend(uint64_t value, unsigned bytes, unsigned registerBits) {
  unsigned shift = 64 - 8 * bytes;
  return uint64_t(int64_t(value << shift) >> shift) & lowBits(registerBits);
}

template <unsigned Bytes> uint64_t readWord(const uint8_t *from) {
  uint64_t value = 0;
  std::memcpy(&value, from, Bytes);
  return value;
}

/// Loads without a base register read one address for all lanes.
template <unsigned Bytes>
Outcome loadUniform(Warp &warp, const Instruction &inst, LaneMask active) {
  const MemoryData &data = inst.data<MemoryData>();
  unsigned first = unsigned(std::countr_zero(active));
  uint32_t total = uint32_t(Bytes * inst.dst.size());
  uint8_t *from =
      laneBytes(warp, inst, first, inst.address.space,
                uint64_t(inst.address.offset), total, total, Access::Read);
  if (!from)
    return Outcome::Fault;
  noteLanes(warp, inst, LaneMask(1) << first, Access::Read, total);
  for (size_t i = 0; i < inst.dst.size(); ++i) {
    uint64_t value = readWord<Bytes>(from + i * Bytes);
    if (data.extends)
      value = extend(value, Bytes, data.registerBits);
    Row &to = warp.row(inst.dst[i]);
    eachLane(active, [&](unsigned lane) { to[lane] = value; });
  }
  return Outcome::Next;
}

template <unsigned Bytes>
Outcome executeLoad(Warp &warp, const Instruction &inst, LaneMask active) {
  const MemoryData &data = inst.data<MemoryData>();
  size_t count = inst.dst.size();
  uint32_t total = uint32_t(Bytes * count);
  // The address register may also be a destination.
  Row base = warp.row(inst.address.base);
  Row *to[16];
  for (size_t i = 0; i < count; ++i)
    to[i] = &warp.row(inst.dst[i]);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint8_t *from = laneBytes(warp, inst, lane, inst.address.space,
                              base[lane] + uint64_t(inst.address.offset), total,
                              total, Access::Read);
    if (!from)
      return Outcome::Fault;
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = readWord<Bytes>(from + i * Bytes);
      (*to[i])[lane] =
          data.extends ? extend(value, Bytes, data.registerBits) : value;
    }
  }
  noteLanes(
      warp, inst, active, Access::Read,
      [&](unsigned lane) { return base[lane] + uint64_t(inst.address.offset); },
      [&](unsigned) { return total; });
  return Outcome::Next;
}

/// Returns true if the bytes equal those that the lane is about to store.
template <unsigned Bytes>
bool holds(const uint8_t *at, const Row *const *from, size_t count,
           unsigned lane) {
  for (size_t i = 0; i < count; ++i)
    if (std::memcmp(at + i * Bytes, &(*from[i])[lane], Bytes) != 0)
      return false;
  return true;
}

template <unsigned Bytes>
Outcome executeStore(Warp &warp, const Instruction &inst, LaneMask active) {
  size_t count = inst.src.size();
  uint32_t total = uint32_t(Bytes * count);
  const Row *from[16];
  for (size_t i = 0; i < count; ++i)
    from[i] = &warp.row(inst.src[i]);
  // In practice warps set a flag together, each by a store of the same value.
  bool watches = racesOf(warp) &&
                 warp.machine.options.conformance == Conformance::Practice;
  LaneMask repeats = 0;
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint8_t *to = laneBytes(warp, inst, lane, inst.address.space,
                            warp.addressOf(inst.address, lane), total, total,
                            Access::Write);
    if (!to)
      return Outcome::Fault;
    if (watches && holds<Bytes>(to, from, count, lane))
      repeats |= LaneMask(1) << lane;
    for (size_t i = 0; i < count; ++i)
      std::memcpy(to + i * Bytes, &(*from[i])[lane], Bytes);
  }
  noteLanes(warp, inst, active, Access::Write, total, repeats);
  warp.cluster.changed();
  return Outcome::Next;
}

template <template <unsigned> class Pick> Handler byBytes(unsigned bytes) {
  switch (bytes) {
  case 1:
    return Pick<1>::handler;
  case 2:
    return Pick<2>::handler;
  case 4:
    return Pick<4>::handler;
  default:
    return Pick<8>::handler;
  }
}
template <unsigned Bytes> struct PickLoad {
  static constexpr Handler handler = executeLoad<Bytes>;
};
template <unsigned Bytes> struct PickUniform {
  static constexpr Handler handler = loadUniform<Bytes>;
};
template <unsigned Bytes> struct PickStore {
  static constexpr Handler handler = executeStore<Bytes>;
};

const std::unordered_map<std::string_view, Space> kSpaces = {
    {"global", Space::Global},      {"shared", Space::Shared},
    {"shared::cta", Space::Shared}, {"shared::cluster", Space::Shared},
    {"local", Space::Local},        {"param", Space::Param},
    {"param::entry", Space::Param}, {"param::func", Space::Param},
    {"const", Space::Const}};

/// Returns true for modifiers that affect ordering or caching only, or nothing
/// here.
bool isHint(std::string_view part) {
  static const std::unordered_set<std::string_view> kHints = {
      "volatile", "relaxed", "acquire", "release", "weak",   "mmio", "cta",
      "cluster",  "gpu",     "sys",     "nc",      "ca",     "cg",   "cs",
      "lu",       "cv",      "wb",      "wt",      "unified"};
  return kHints.count(part) || part.substr(0, 4) == "L1::" ||
         part.substr(0, 4) == "L2::" || part.substr(0, 7) == "level::";
}

struct Form {
  Space space = Space::Generic;
  unsigned vector = 1;
  std::string_view type;
};

Form readForm(Decoder &decoder) {
  Form form;
  const auto &parts = decoder.text().parts;
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (auto space = kSpaces.find(part); space != kSpaces.end())
      form.space = space->second;
    else if (part == "v2" || part == "v4" || part == "v8")
      form.vector = unsigned(part[1] - '0');
    else if (typeOf(part) != Type::None && i + 1 == parts.size())
      form.type = part;
    else if (!isHint(part))
      decoder.unsupported("unknown modifier ." + std::string(part));
  }
  if (form.type.empty() || form.type == "pred")
    decoder.unsupported("expected a type at the end");
  return form;
}

MemoryData shapeOf(Decoder &decoder, const Form &form, size_t rows) {
  MemoryData data;
  unsigned bits = syntax::typeBits(form.type);
  data.rows = bits == 128 ? 2 : 1;
  data.bytes = uint8_t(bits / 8 / data.rows);
  if (rows != form.vector * data.rows || rows > 16)
    decoder.unsupported("expected " + std::to_string(form.vector) +
                        " elements, got " + std::to_string(rows / data.rows));
  return data;
}

/// Checks that 256 bits are in global memory, and that no access is larger.
void checkVector(const Decoder &decoder, const Form &form) {
  unsigned element = syntax::typeBits(form.type);
  unsigned bits = element * form.vector;
  bool isVector = form.vector > 1;
  if (isVector && (bits > 256 || element == 128))
    decoder.unsupported("expected a vector of at most 256 bits, got " +
                        std::to_string(bits));
  if (isVector && bits == 256 && form.space != Space::Global &&
      form.space != Space::Generic)
    decoder.unsupported("expected .global for a vector of 256 bits; in other "
                        "state spaces 128 bits are the most");
  if (decoder.has("nc") && form.space != Space::Global)
    decoder.unsupported("expected .global with .nc");
}

void expectHint(const Decoder &decoder) {
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(2 + hint, 2 + hint);
  decoder.expectCacheHint(2);
}

void decodeLoad(Decoder &decoder, Instruction &inst) {
  Form form = readForm(decoder);
  expectHint(decoder);
  checkVector(decoder, form);
  inst.order = decoder.ordering({});
  inst.dst = decoder.destinations(0, typeOf(form.type), {true, form.vector});
  MemoryData data = shapeOf(decoder, form, inst.dst.size());
  inst.address = decoder.address(1, form.space);
  const syntax::Operand *first = &decoder.operand(0);
  if (first->kind == syntax::Operand::Kind::Vector)
    first = &first->elements[0];
  unsigned registerBits = decoder.registerBits(*first);
  if (form.type[0] == 's' && registerBits > data.bytes * 8u) {
    data.extends = true;
    data.registerBits = uint8_t(registerBits);
  }
  inst.payload = decoder.payload(data);
  inst.handler = inst.address.base.valid() ? byBytes<PickLoad>(data.bytes)
                                           : byBytes<PickUniform>(data.bytes);
}

void decodeStore(Decoder &decoder, Instruction &inst) {
  Form form = readForm(decoder);
  expectHint(decoder);
  checkVector(decoder, form);
  inst.order = decoder.ordering({});
  inst.address = decoder.address(0, form.space);
  inst.src = decoder.sources(1, typeOf(form.type), {true, form.vector});
  MemoryData data = shapeOf(decoder, form, inst.src.size());
  inst.payload = decoder.payload(data);
  inst.handler = byBytes<PickStore>(data.bytes);
}

/// st.bulk [a], size, 0: zeros, size a multiple of 8 (PTX ISA 9.7.9.13).
Outcome executeStoreBulk(Warp &warp, const Instruction &inst, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t size = warp.row(inst.src[0])[lane];
    uint64_t address = warp.addressOf(inst.address, lane);
    if (size % 8 || size > kSharedLimit) {
      warp.machine.fault(FindingId::IllegalInstruction,
                         warp.site(inst, int(lane)),
                         "expected a size that is a multiple of 8, got " +
                             std::to_string(size) + ".");
      return Outcome::Fault;
    }
    if (size == 0)
      continue;
    uint8_t *to = laneBytes(warp, inst, lane, inst.address.space, address,
                            uint32_t(size), 8, Access::Write);
    if (!to)
      return Outcome::Fault;
    std::memset(to, 0, size);
  }
  noteLanes(
      warp, inst, active, Access::Write,
      [&](unsigned lane) { return warp.addressOf(inst.address, lane); },
      [&](unsigned lane) { return uint32_t(warp.row(inst.src[0])[lane]); });
  warp.cluster.changed();
  return Outcome::Next;
}

void decodeStoreBulk(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"bulk", "weak", "shared::cta"});
  decoder.expectOperands(3, 3);
  if (decoder.immediate(2) != 0)
    decoder.unsupported("expected the initial value 0");
  inst.address = decoder.address(
      0, decoder.has("shared::cta") ? Space::Shared : Space::Generic);
  bool isNarrow = decoder.registerBits(decoder.operand(1)) == 32;
  inst.src =
      decoder.keep({decoder.source(1, isNarrow ? Type::U32 : Type::U64)});
  inst.handler = executeStoreBulk;
}

} // namespace

void ptxsim::registerLoadStore(Registry &registry) {
  registry.add("ld", decodeLoad);
  registry.add("ldu", decodeLoad);
  registry.add("st", decodeStore);
  registry.add("st.bulk", decodeStoreBulk);
}
