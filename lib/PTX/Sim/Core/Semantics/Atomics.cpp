//===- Atomics.cpp - atom and red -------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes execute in ascending order; PTX leaves the order open.
//
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

using namespace ptxsim;

namespace {

/// old, operand -> new, both in the low bits.
using Combine = uint64_t (*)(uint64_t old, uint64_t value);

uint64_t exchange(uint64_t, uint64_t value) { return value; }
uint64_t bitAnd(uint64_t old, uint64_t value) { return old & value; }
uint64_t bitOr(uint64_t old, uint64_t value) { return old | value; }
uint64_t bitXor(uint64_t old, uint64_t value) { return old ^ value; }

/// Wraps a function on a C++ type as a Combine.
template <typename T, T (*F)(T, T)>
uint64_t onType(uint64_t old, uint64_t value) {
  T a, b;
  std::memcpy(&a, &old, sizeof(T));
  std::memcpy(&b, &value, sizeof(T));
  T result = F(a, b);
  uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof(T));
  return bits;
}

template <typename T> T addInt(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return T(U(a) + U(b));
}
template <typename T> T minInt(T a, T b) { return std::min(a, b); }
template <typename T> T maxInt(T a, T b) { return std::max(a, b); }
/// PTX ISA 9.7.13.5: inc wraps to 0 past the bound, dec wraps to the bound.
uint32_t increment(uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }
uint32_t decrement(uint32_t a, uint32_t b) {
  return a == 0 || a > b ? b : a - 1;
}
template <typename T> T addFloat(T a, T b) { return a + b; }

/// bf16 as a type with the operators that the wrappers use. Sums of 8-bit
/// significands in float round twice without error (24 >= 2 * 8 + 2).
struct BFloat {
  uint16_t bits;
};
float widen(BFloat a) { return std::bit_cast<float>(uint32_t(a.bits) << 16); }
BFloat narrow(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return {0x7FFF};
  return {uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}
BFloat addBFloat(BFloat a, BFloat b) { return narrow(widen(a) + widen(b)); }
BFloat minBFloat(BFloat a, BFloat b) {
  return narrow(std::fmin(widen(a), widen(b)));
}
BFloat maxBFloat(BFloat a, BFloat b) {
  return narrow(std::fmax(widen(a), widen(b)));
}
using Half = _Float16;
Half addHalf(Half a, Half b) { return Half(float(a) + float(b)); }
Half minHalf(Half a, Half b) { return Half(std::fmin(float(a), float(b))); }
Half maxHalf(Half a, Half b) { return Half(std::fmax(float(a), float(b))); }

template <typename T, T (*F)(T, T)>
uint64_t onPair(uint64_t old, uint64_t value) {
  uint64_t low = onType<T, F>(old & 0xFFFF, value & 0xFFFF);
  uint64_t high = onType<T, F>(old >> 16 & 0xFFFF, value >> 16 & 0xFFFF);
  return low | high << 16;
}

struct AtomicForm {
  std::string_view op, type;
  Combine combine;
};

constexpr AtomicForm kForms[] = {
    {"add", "u32", onType<uint32_t, addInt<uint32_t>>},
    {"add", "s32", onType<uint32_t, addInt<uint32_t>>},
    {"add", "u64", onType<uint64_t, addInt<uint64_t>>},
    {"add", "f32", onType<float, addFloat<float>>},
    {"add", "f64", onType<double, addFloat<double>>},
    {"add", "f16", onType<Half, addHalf>},
    {"add", "bf16", onType<BFloat, addBFloat>},
    {"add", "f16x2", onPair<Half, addHalf>},
    {"add", "bf16x2", onPair<BFloat, addBFloat>},
    {"min", "u32", onType<uint32_t, minInt<uint32_t>>},
    {"min", "s32", onType<int32_t, minInt<int32_t>>},
    {"min", "u64", onType<uint64_t, minInt<uint64_t>>},
    {"min", "s64", onType<int64_t, minInt<int64_t>>},
    {"min", "f16", onType<Half, minHalf>},
    {"min", "bf16", onType<BFloat, minBFloat>},
    {"min", "f16x2", onPair<Half, minHalf>},
    {"min", "bf16x2", onPair<BFloat, minBFloat>},
    {"max", "u32", onType<uint32_t, maxInt<uint32_t>>},
    {"max", "s32", onType<int32_t, maxInt<int32_t>>},
    {"max", "u64", onType<uint64_t, maxInt<uint64_t>>},
    {"max", "s64", onType<int64_t, maxInt<int64_t>>},
    {"max", "f16", onType<Half, maxHalf>},
    {"max", "bf16", onType<BFloat, maxBFloat>},
    {"max", "f16x2", onPair<Half, maxHalf>},
    {"max", "bf16x2", onPair<BFloat, maxBFloat>},
    {"inc", "u32", onType<uint32_t, increment>},
    {"dec", "u32", onType<uint32_t, decrement>},
    {"and", "b32", bitAnd},
    {"and", "b64", bitAnd},
    {"or", "b32", bitOr},
    {"or", "b64", bitOr},
    {"xor", "b32", bitXor},
    {"xor", "b64", bitXor},
    {"exch", "b32", exchange},
    {"exch", "b64", exchange},
    {"exch", "b128", exchange},
};

struct AtomicData {
  Combine combine = nullptr; // null: compare and swap
  uint8_t bytes = 4, rows = 1;
  bool returns = false;
};

/// Sources: `count` rows of the operand, and for cas as many rows of the new
/// value.
Outcome executeAtomic(Warp &warp, const Instruction &inst, LaneMask active) {
  const AtomicData &data = inst.data<AtomicData>();
  size_t count = data.rows;
  uint32_t total = uint32_t(data.bytes * count);
  // The address register may also be a destination.
  std::array<uint64_t, 32> addresses;
  eachLane(active, [&](unsigned lane) {
    addresses[lane] = warp.addressOf(inst.address, lane);
  });
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint8_t *at = laneBytes(warp, inst, lane, inst.address.space,
                            addresses[lane], total, total, Access::Atomic);
    if (!at)
      return Outcome::Fault;
    std::array<uint64_t, 8> old{}, next{};
    bool equal = true;
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&old[i], at + i * data.bytes, data.bytes);
      uint64_t value = warp.row(inst.src[i])[lane] & lowBits(data.bytes * 8);
      next[i] = data.combine ? data.combine(old[i], value) : value;
      equal = equal && old[i] == value;
    }
    if (!data.combine)
      for (size_t i = 0; i < count; ++i)
        next[i] = equal ? warp.row(inst.src[count + i])[lane] : old[i];
    for (size_t i = 0; i < count; ++i)
      std::memcpy(at + i * data.bytes, &next[i], data.bytes);
    if (old != next)
      warp.cluster.changed();
    if (data.returns)
      for (size_t i = 0; i < count; ++i)
        warp.row(inst.dst[i])[lane] = old[i];
  }
  noteLanes(
      warp, inst, active, Access::Atomic,
      [&](unsigned lane) { return addresses[lane]; },
      [&](unsigned) { return total; });
  return Outcome::Next;
}

struct AtomicText {
  Space space = Space::Generic;
  std::string_view op, type;
  unsigned vector = 1;
};

AtomicText readText(Decoder &decoder) {
  static const std::unordered_set<std::string_view> kOps = {
      "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"};
  static const std::unordered_set<std::string_view> kHints = {
      "relaxed", "acquire", "release", "acq_rel", "cta",
      "cluster", "gpu",     "sys",     "noftz",   "L2::cache_hint"};
  AtomicText text;
  for (size_t i = 1; i < decoder.text().parts.size(); ++i) {
    std::string_view part = decoder.text().parts[i];
    if (kOps.count(part))
      text.op = part;
    else if (part == "global")
      text.space = Space::Global;
    else if (part.substr(0, 6) == "shared")
      text.space = Space::Shared;
    else if (part == "v2" || part == "v4" || part == "v8")
      text.vector = unsigned(part[1] - '0');
    else if (typeOf(part) != Type::None)
      text.type = part;
    else if (!kHints.count(part))
      decoder.unsupported("unknown modifier ." + std::string(part));
  }
  return text;
}

void decodeAtomic(Decoder &decoder, Instruction &inst) {
  AtomicText text = readText(decoder);
  AtomicData data;
  unsigned bits = syntax::typeBits(text.type);
  data.rows = uint8_t(text.vector * (bits == 128 ? 2 : 1));
  data.bytes = uint8_t(bits == 128 ? 8 : bits / 8);
  data.returns = decoder.text().parts[0] == "atom";
  bool swaps = text.op == "cas" && (bits >= 16) && text.type[0] == 'b';
  for (const AtomicForm &form : kForms)
    if (form.op == text.op && form.type == text.type)
      data.combine = form.combine;
  bool isHalf = text.type.find("f16") != text.type.npos;
  if (isHalf && text.vector == 1 && (text.op == "min" || text.op == "max"))
    decoder.unsupported("expected .v2, .v4 or .v8 with ." +
                        std::string(text.op) + " of ." +
                        std::string(text.type));
  if (!swaps && !data.combine)
    decoder.unsupported("no such operation on that type");
  size_t at = data.returns ? 1 : 0;
  size_t operands = at + (swaps ? 3 : 2);
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(operands + hint, operands + hint);
  decoder.expectCacheHint(operands);
  Type type = typeOf(text.type);
  Fit fit{false, text.vector};
  if (data.returns)
    inst.dst = decoder.destinations(0, type, fit);
  if (data.returns && decoder.isSink(0))
    data.returns = false;
  // Without a scope an atomic is relaxed at device scope.
  inst.order = decoder.ordering({race::Scope::Gpu});
  inst.address = decoder.address(at, text.space);
  std::span<const Operand> value = decoder.sources(at + 1, type, fit);
  std::vector<Operand> rows(value.begin(), value.end());
  if (swaps) {
    std::span<const Operand> next = decoder.sources(at + 2, type);
    rows.insert(rows.end(), next.begin(), next.end());
  }
  if (rows.size() != data.rows * (swaps ? 2u : 1u) || data.rows > 8 ||
      (data.returns && inst.dst.size() != data.rows))
    decoder.unsupported("the operands do not have the width of the type");
  inst.src = decoder.keep(rows);
  inst.payload = decoder.payload(data);
  inst.handler = executeAtomic;
}

} // namespace

void ptxsim::registerAtomics(Registry &registry) {
  registry.add("atom", decodeAtomic);
  registry.add("red", decodeAtomic);
}
