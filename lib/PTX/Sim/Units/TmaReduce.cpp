//===- TmaReduce.cpp - Reductions of bulk copies --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/TmaReduce.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace ptxsim {
namespace {

template <typename T> T reduceInteger(ReduceOp op, T old, T operand) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case ReduceOp::Add:
    return T(U(old) + U(operand));
  case ReduceOp::Min:
    return std::min(old, operand);
  case ReduceOp::Max:
    return std::max(old, operand);
  case ReduceOp::Inc:
    return old >= operand ? T(0) : T(old + 1);
  case ReduceOp::Dec:
    return old == 0 || old > operand ? operand : T(old - 1);
  case ReduceOp::And:
    return old & operand;
  case ReduceOp::Or:
    return old | operand;
  case ReduceOp::Xor:
    return old ^ operand;
  }
  return old;
}

/// Reduces two numbers: -0 is smaller than +0; one NaN is dropped.
double reduceReal(ReduceOp op, double old, double operand) {
  if (op == ReduceOp::Add)
    return old + operand;
  if (std::isnan(old) || std::isnan(operand))
    return std::isnan(old) ? operand : old;
  if (old == operand)
    return std::signbit(old) == (op == ReduceOp::Min) ? old : operand;
  return (old < operand) == (op == ReduceOp::Min) ? old : operand;
}

/// Reads and writes a float element.
struct F16Codec {
  using Bits = uint16_t;
  static double read(Bits b) { return decodeElement(ElementType::F16, b); }
  static Bits write(double v) { return encodeF16(v); }
};
struct BF16Codec {
  using Bits = uint16_t;
  static double read(Bits b) { return decodeElement(ElementType::BF16, b); }
  static Bits write(double v) { return encodeBF16(v); }
};
struct F32Codec {
  using Bits = uint32_t;
  static double read(Bits b) { return std::bit_cast<float>(b); }
  static Bits write(double v) {
    return std::isnan(v) ? 0x7fffffffu : std::bit_cast<uint32_t>(float(v));
  }
};

template <typename Codec>
typename Codec::Bits reduceFloat(ReduceOp op, typename Codec::Bits old,
                                 typename Codec::Bits operand) {
  // The sum in f64 has more than twice the digits of the result, so rounding
  // it again gives the correctly rounded sum.
  return Codec::write(reduceReal(op, Codec::read(old), Codec::read(operand)));
}

uint64_t reduceF64(ReduceOp op, uint64_t old, uint64_t operand) {
  auto isNan = [](uint64_t b) { return (b << 1) > 0xffe0000000000000u; };
  if (isNan(operand))
    return operand;
  if (isNan(old))
    return old;
  double sum = std::bit_cast<double>(old) + std::bit_cast<double>(operand);
  return std::isnan(sum) ? 0xfff8000000000000u : std::bit_cast<uint64_t>(sum);
}

template <typename T, T (*Function)(ReduceOp, T, T)>
void reduceAll(ReduceOp op, std::span<uint8_t> memory,
               std::span<const uint8_t> operand) {
  for (size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, &memory[at], sizeof(T));
    std::memcpy(&value, &operand[at], sizeof(T));
    old = Function(op, old, value);
    std::memcpy(&memory[at], &old, sizeof(T));
  }
}

using Reducer = void (*)(ReduceOp, std::span<uint8_t>,
                         std::span<const uint8_t>);

constexpr unsigned bitOf(ReduceOp op) { return 1u << unsigned(op); }
constexpr unsigned addOp = bitOf(ReduceOp::Add),
                   minMax = bitOf(ReduceOp::Min) | bitOf(ReduceOp::Max),
                   incDec = bitOf(ReduceOp::Inc) | bitOf(ReduceOp::Dec),
                   logic = bitOf(ReduceOp::And) | bitOf(ReduceOp::Or) |
                           bitOf(ReduceOp::Xor);

struct TypeInfo {
  std::string_view name;
  unsigned bytes, ops;
  Reducer reduce;
};

// Tensor reductions take their type from the map; and, or and xor accept its
// signed and unsigned types.
constexpr std::array<TypeInfo, 10> types = {{
    {"u32", 4, addOp | minMax | incDec | logic,
     reduceAll<uint32_t, reduceInteger<uint32_t>>},
    {"s32", 4, addOp | minMax | logic,
     reduceAll<int32_t, reduceInteger<int32_t>>},
    {"u64", 8, addOp | minMax | logic,
     reduceAll<uint64_t, reduceInteger<uint64_t>>},
    {"s64", 8, addOp | minMax | logic,
     reduceAll<int64_t, reduceInteger<int64_t>>},
    {"f16", 2, addOp | minMax, reduceAll<uint16_t, reduceFloat<F16Codec>>},
    {"bf16", 2, addOp | minMax, reduceAll<uint16_t, reduceFloat<BF16Codec>>},
    {"f32", 4, addOp, reduceAll<uint32_t, reduceFloat<F32Codec>>},
    {"f64", 8, addOp, reduceAll<uint64_t, reduceF64>},
    {"b32", 4, logic, reduceAll<uint32_t, reduceInteger<uint32_t>>},
    {"b64", 8, logic, reduceAll<uint64_t, reduceInteger<uint64_t>>},
}};

constexpr std::array<std::string_view, 8> opNames = {
    "add", "min", "max", "inc", "dec", "and", "or", "xor"};

} // namespace

std::optional<ReduceOp> parseReduceOp(std::string_view name) {
  auto at = std::find(opNames.begin(), opNames.end(), name);
  if (at == opNames.end())
    return std::nullopt;
  return ReduceOp(at - opNames.begin());
}

std::optional<ReduceType> parseReduceType(std::string_view name) {
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i].name == name)
      return ReduceType(i);
  return std::nullopt;
}

unsigned bytesOf(ReduceType type) { return types[unsigned(type)].bytes; }

bool isReduction(ReduceOp op, ReduceType type) {
  return types[unsigned(type)].ops & bitOf(op);
}

void reduceInto(ReduceOp op, ReduceType type, std::span<uint8_t> memory,
                std::span<const uint8_t> operand) {
  types[unsigned(type)].reduce(op, memory, operand);
}

} // namespace ptxsim
