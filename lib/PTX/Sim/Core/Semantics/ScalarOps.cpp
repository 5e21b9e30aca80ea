//===- ScalarOps.cpp - Register-to-register instructions --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <algorithm>

using namespace ptxsim;

namespace {

struct ScalarData {
  scalar::Function function;
  /// Result of type S8..S32 in a wider register: width of the result, and of
  /// the register; 0 if nothing is extended.
  unsigned resultBits = 0, registerBits = 0;
};

void signExtend(Row &row, LaneMask active, unsigned from, unsigned to) {
  uint64_t keep = lowBits(to);
  unsigned shift = 64 - from;
  eachLane(active, [&](unsigned lane) {
    row[lane] = uint64_t(int64_t(row[lane] << shift) >> shift) & keep;
  });
}

/// Executes a form with fixed operand counts, so that the loops over them
/// unroll.
template <unsigned Dst, unsigned Src>
Outcome executeScalar(Warp &warp, const Instruction &inst, LaneMask active) {
  Row *dst[2];
  const Row *src[6];
  for (unsigned i = 0; i < Dst; ++i)
    dst[i] = &warp.row(inst.dst[i]);
  for (unsigned i = 0; i < Src; ++i)
    src[i] = &warp.row(inst.src[i]);
  inst.data<ScalarData>().function(warp.scalarContext, active, dst, src);
  return Outcome::Next;
}

/// Executes any form: any operand counts, absent operands, sign extension.
Outcome executeScalarAny(Warp &warp, const Instruction &inst, LaneMask active) {
  const ScalarData &data = inst.data<ScalarData>();
  Row *dst[2] = {};
  const Row *src[6] = {};
  for (size_t i = 0; i < inst.dst.size(); ++i)
    dst[i] = inst.dst[i].valid() ? &warp.row(inst.dst[i]) : nullptr;
  for (size_t i = 0; i < inst.src.size(); ++i)
    src[i] = inst.src[i].valid() ? &warp.row(inst.src[i]) : nullptr;
  data.function(warp.scalarContext, active, dst, src);
  if (data.resultBits)
    signExtend(*dst[0], active, data.resultBits, data.registerBits);
  return Outcome::Next;
}

Handler handlerFor(size_t dst, size_t src) {
  if (dst == 1) {
    constexpr Handler kHandlers[] = {executeScalarAny, executeScalar<1, 1>,
                                     executeScalar<1, 2>, executeScalar<1, 3>};
    return src < 4 ? kHandlers[src] : executeScalarAny;
  }
  return executeScalarAny;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32;
}

/// Returns true if registers of cvt may be wider than their types: unless any
/// of these is among the types (as in ptxas; the manual speaks of cvt as a
/// whole).
bool mayBeWider(const Decoder &decoder, const scalar::Form &form) {
  static constexpr Type kStrict[] = {Type::BF16,   Type::BF16x2, Type::TF32,
                                     Type::E4M3x2, Type::E5M2x2, Type::E2M3x2,
                                     Type::E3M2x2, Type::E2M1x2, Type::UE8M0x2};
  auto isStrict = [](Type type) {
    return std::ranges::find(kStrict, type) != std::end(kStrict);
  };
  return decoder.text().parts[0] == "cvt" &&
         std::ranges::none_of(form.dst, isStrict) &&
         std::ranges::none_of(form.src, isStrict);
}

/// Returns the operand type. Instructions on parts of 32 bits take an integer.
Type operandType(const Decoder &decoder, Type type) {
  std::string_view root = decoder.text().parts[0];
  bool isInteger = root[0] == 'v' || root == "dp2a" || root == "dp4a" ||
                   root == "bmsk" || decoder.has("pack") ||
                   decoder.has("s16x2") || decoder.has("u16x2");
  return isInteger && type == Type::B32 ? Type::U32 : type;
}

/// Returns a copy of the rows that can be extended by absent operands.
std::vector<Operand> spread(std::span<const Operand> rows) {
  return {rows.begin(), rows.end()};
}

} // namespace

void ptxsim::decodeScalar(Decoder &decoder, Instruction &inst,
                          const scalar::Form &form) {
  Fit fit{mayBeWider(decoder, form)};
  std::vector<Operand> dst =
      spread(decoder.destinations(0, operandType(decoder, form.dst[0]), fit));
  std::vector<Operand> src;
  for (size_t i = 1; i < decoder.size(); ++i) {
    if (src.size() >= form.numSrc)
      decoder.unsupported("expected " + std::to_string(form.numSrc) +
                          " sources, got more");
    Type type = operandType(decoder, form.src[src.size()]);
    for (Operand row : decoder.sources(i, type, fit))
      src.push_back(row);
  }
  // The first row of a 128-bit register stands for both.
  if (form.dst[0] == Type::B128 && dst.size() == 2)
    dst.pop_back();
  if (src.size() > form.numSrc || src.size() + form.optionalSrc < form.numSrc ||
      dst.size() > form.numDst || dst.size() + form.optionalDst < form.numDst)
    decoder.unsupported("expected " + std::to_string(form.numDst) +
                        " destinations and " + std::to_string(form.numSrc) +
                        " sources, got " + std::to_string(dst.size()) +
                        " and " + std::to_string(src.size()));
  bool whole = dst.size() == form.numDst && src.size() == form.numSrc;
  dst.resize(form.numDst);
  src.resize(form.numSrc);
  ScalarData data{form.function};
  unsigned bits = decoder.registerBits(decoder.operand(0));
  if (isSigned(form.dst[0]) && bits > scalar::bitWidth(form.dst[0])) {
    data.resultBits = scalar::bitWidth(form.dst[0]);
    data.registerBits = bits;
  }
  inst.handler = whole && !data.resultBits ? handlerFor(dst.size(), src.size())
                                           : executeScalarAny;
  inst.dst = decoder.keep(dst);
  inst.src = decoder.keep(src);
  inst.payload = decoder.payload(data);
}
