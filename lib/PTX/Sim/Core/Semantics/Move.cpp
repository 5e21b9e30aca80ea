//===- Move.cpp - mov, cvta, isspacep, mapa, and what operands need -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

using namespace ptxsim;

namespace {

Outcome executeCopy(Warp &warp, const Instruction &inst, LaneMask active) {
  for (size_t i = 0; i < inst.dst.size(); ++i) {
    Row &to = warp.row(inst.dst[i]);
    const Row &from = warp.row(inst.src[i]);
    if (active == kFullMask)
      to = from;
    else
      eachLane(active, [&](unsigned lane) { to[lane] = from[lane]; });
  }
  return Outcome::Next;
}

/// Bits of each part of one side of a mov with vectors.
struct MoveData {
  unsigned srcBits, dstBits;
};

Outcome executePackPair(Warp &warp, const Instruction &inst, LaneMask active) {
  Row &to = warp.row(inst.dst[0]);
  const Row &low = warp.row(inst.src[0]), &high = warp.row(inst.src[1]);
  unsigned bits = inst.data<MoveData>().srcBits;
  uint64_t keep = lowBits(bits);
  eachLane(active, [&](unsigned lane) {
    to[lane] = (low[lane] & keep) | (high[lane] & keep) << bits;
  });
  return Outcome::Next;
}

Outcome executeUnpackPair(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  Row &low = warp.row(inst.dst[0]), &high = warp.row(inst.dst[1]);
  const Row &from = warp.row(inst.src[0]);
  unsigned bits = inst.data<MoveData>().dstBits;
  uint64_t keep = lowBits(bits);
  eachLane(active, [&](unsigned lane) {
    uint64_t value = from[lane];
    low[lane] = value & keep;
    high[lane] = value >> bits & keep;
  });
  return Outcome::Next;
}

/// Moves any shape up to 128 bits, through the whole value.
Outcome executeRepack(Warp &warp, const Instruction &inst, LaneMask active) {
  const MoveData &data = inst.data<MoveData>();
  eachLane(active, [&](unsigned lane) {
    unsigned __int128 value = 0;
    for (size_t i = 0; i < inst.src.size(); ++i)
      value |= static_cast<unsigned __int128>(warp.row(inst.src[i])[lane] &
                                              lowBits(data.srcBits))
               << (i * data.srcBits);
    for (size_t i = 0; i < inst.dst.size(); ++i)
      warp.row(inst.dst[i])[lane] =
          uint64_t(value >> (i * data.dstBits)) & lowBits(data.dstBits);
  });
  return Outcome::Next;
}

/// Returns the type of one element if an operand is written {a, b, ...}.
Type elementType(const Decoder &decoder, size_t index, Type whole) {
  const syntax::Operand &operand = decoder.operand(index);
  if (operand.kind != syntax::Operand::Kind::Vector)
    return whole;
  unsigned bits = scalar::bitWidth(whole);
  for (Type part : {Type::B64, Type::B32, Type::B16, Type::B8})
    if (scalar::bitWidth(part) * operand.elements.size() == bits)
      return part;
  decoder.unsupported("the vector does not divide " + std::to_string(bits) +
                      " bits");
}

/// Returns true if %tid is read as .u16, as in PTX 1: the upper bits are
/// dropped.
bool isCut(const Decoder &decoder, unsigned bits) {
  const syntax::Operand &source = decoder.operand(1);
  return source.kind == syntax::Operand::Kind::Name && bits == 16 &&
         !decoder.registerBits(source);
}

void decodeMove(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(2, 2);
  if (decoder.text().parts.size() != 2)
    decoder.unsupported("expected mov and one type");
  Type type = typeOf(decoder.text().parts[1]);
  unsigned bits = scalar::bitWidth(type);
  if (type == Type::None)
    decoder.unsupported("unknown type");
  inst.dst = decoder.destinations(0, elementType(decoder, 0, type));
  inst.src = decoder.sources(1, elementType(decoder, 1, type));
  size_t from = inst.src.size(), to = inst.dst.size();
  if (from == to && !isCut(decoder, bits)) {
    inst.handler = executeCopy;
    return;
  }
  if (!from || !to || bits % from || bits % to)
    decoder.unsupported("the vector does not divide " + std::to_string(bits) +
                        " bits");
  inst.payload =
      decoder.payload(MoveData{unsigned(bits / from), unsigned(bits / to)});
  inst.handler = from == 2 && to == 1   ? executePackPair
                 : from == 1 && to == 2 ? executeUnpackPair
                                        : executeRepack;
}

struct SpaceEntry {
  std::string_view name;
  uint64_t window;
};
constexpr SpaceEntry kWindows[] = {{"shared", kSharedWindow},
                                   {"shared::cta", kSharedWindow},
                                   {"shared::cluster", kSharedWindow},
                                   {"local", kLocalWindow},
                                   {"param", kParamWindow},
                                   {"param::entry", kParamWindow},
                                   {"global", 0},
                                   {"const", 0}};

const SpaceEntry &spaceEntry(Decoder &decoder) {
  for (const SpaceEntry &entry : kWindows)
    if (decoder.has(entry.name))
      return entry;
  decoder.unsupported("expected a state space");
}

Outcome executeToGeneric(Warp &warp, const Instruction &inst, LaneMask active) {
  uint64_t window = inst.data<uint64_t>();
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  eachLane(active, [&](unsigned lane) {
    to[lane] = window ? window | (from[lane] & 0xFFFFFFFFu) : from[lane];
  });
  return Outcome::Next;
}

Outcome executeFromGeneric(Warp &warp, const Instruction &inst,
                           LaneMask active) {
  uint64_t window = inst.data<uint64_t>();
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  eachLane(active, [&](unsigned lane) {
    to[lane] = window ? from[lane] & 0xFFFFFFFFu : from[lane];
  });
  return Outcome::Next;
}

void decodeCvta(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(2, 2);
  Type type = decoder.has("u32") ? Type::U32 : Type::U64;
  inst.dst = decoder.destinations(0, type);
  inst.src = decoder.sources(1, type);
  inst.payload = decoder.payload(uint64_t(spaceEntry(decoder).window));
  inst.handler = decoder.has("to") ? executeFromGeneric : executeToGeneric;
}

struct IsSpaceData {
  uint64_t window;
  bool ownOnly;
};

Outcome executeIsSpace(Warp &warp, const Instruction &inst, LaneMask active) {
  const IsSpaceData &data = inst.data<IsSpaceData>();
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  eachLane(active, [&](unsigned lane) {
    uint64_t window = from[lane] & kWindowMask;
    bool windowed = window == kSharedWindow || window == kLocalWindow ||
                    window == kParamWindow;
    bool is = data.window ? window == data.window : !windowed;
    if (data.ownOnly)
      is = is && (from[lane] >> 24 & 0xFF) == warp.cta.rank;
    to[lane] = is;
  });
  return Outcome::Next;
}

void decodeIsSpace(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(2, 2);
  bool isNarrow = decoder.registerBits(decoder.operand(1)) == 32;
  inst.dst = decoder.destinations(0, Type::Pred);
  inst.src = decoder.sources(1, isNarrow ? Type::U32 : Type::U64);
  // shared without a suffix is shared::cta here (PTX ISA 9.7.9.20).
  bool own = decoder.has("shared") || decoder.has("shared::cta");
  inst.payload = decoder.payload(IsSpaceData{spaceEntry(decoder).window, own});
  inst.handler = executeIsSpace;
}

Outcome executeMapa(Warp &warp, const Instruction &inst, LaneMask active) {
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]), &rank = warp.row(inst.src[1]);
  LaneMask bad = 0;
  eachLane(active, [&](unsigned lane) {
    bad |= LaneMask(rank[lane] >= warp.cluster.ctas.size()) << lane;
    to[lane] = (from[lane] & ~uint64_t(0xFF000000)) | (rank[lane] & 0xFF) << 24;
  });
  if (bad) {
    unsigned lane = unsigned(std::countr_zero(bad));
    warp.machine.report.add(
        FindingId::ReducedCluster, warp.site(inst, int(lane)),
        "expected a rank below " + std::to_string(warp.cluster.ctas.size()) +
            ", got " + std::to_string(rank[lane]) + ".");
  }
  return Outcome::Next;
}

void decodeMapa(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"shared::cluster", "u32", "u64"});
  decoder.expectOperands(3, 3);
  Type type = decoder.has("u32") ? Type::U32 : Type::U64;
  inst.dst = decoder.destinations(0, type);
  inst.src =
      decoder.keep({decoder.source(1, type), decoder.source(2, Type::U32)});
  inst.handler = executeMapa;
}

Outcome executeCtaRank(Warp &warp, const Instruction &inst, LaneMask active) {
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  eachLane(active, [&](unsigned lane) { to[lane] = from[lane] >> 24 & 0xFF; });
  return Outcome::Next;
}

void decodeCtaRank(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"shared::cluster", "u32", "u64"});
  decoder.expectOperands(2, 2);
  inst.dst = decoder.destinations(0, Type::U32);
  inst.src = decoder.sources(1, decoder.has("u32") ? Type::U32 : Type::U64);
  inst.handler = executeCtaRank;
}

} // namespace

Outcome ptxsim::executeNot(Warp &warp, const Instruction &inst,
                           LaneMask active) {
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  bool isPredicate = inst.data<Type>() == Type::Pred;
  uint64_t keep = lowBits(scalar::bitWidth(inst.data<Type>()));
  eachLane(active, [&](unsigned lane) {
    to[lane] = isPredicate ? !from[lane] : ~from[lane] & keep;
  });
  return Outcome::Next;
}

Outcome ptxsim::executeNegate(Warp &warp, const Instruction &inst,
                              LaneMask active) {
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  Type type = inst.data<Type>();
  unsigned bits = scalar::bitWidth(type);
  bool isFloat = type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
                 type == Type::F64;
  eachLane(active, [&](unsigned lane) {
    to[lane] = isFloat ? from[lane] ^ uint64_t(1) << (bits - 1)
                       : (0 - from[lane]) & lowBits(bits);
  });
  return Outcome::Next;
}

Outcome ptxsim::executeAddConstant(Warp &warp, const Instruction &inst,
                                   LaneMask active) {
  const auto &[constant, bits] = inst.data<AddedConstant>();
  Row &to = warp.row(inst.dst[0]);
  const Row &from = warp.row(inst.src[0]);
  eachLane(active, [&](unsigned lane) {
    to[lane] = (from[lane] + constant) & lowBits(bits);
  });
  return Outcome::Next;
}

Outcome ptxsim::executeLocalAddress(Warp &warp, const Instruction &inst,
                                    LaneMask active) {
  uint64_t address = warp.frame().localBase + inst.data<uint64_t>();
  Row &to = warp.row(inst.dst[0]);
  eachLane(active, [&](unsigned lane) { to[lane] = address; });
  return Outcome::Next;
}

void ptxsim::registerMove(Registry &registry) {
  registry.add("mov", decodeMove);
  registry.add("cvta", decodeCvta);
  registry.add("isspacep", decodeIsSpace);
  registry.add("mapa", decodeMapa);
  registry.add("getctarank", decodeCtaRank);
}
