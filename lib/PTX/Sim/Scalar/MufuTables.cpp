//===- MufuTables.cpp - The special-function unit of sm_90, bit by bit ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MufuTables.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include <zlib.h>

// Embeds the zlib streams of Tables/ in the library's read-only data.
#define PTX_SCALAR_EMBED(NAME, FILE)                                           \
  asm(".section .rodata,\"a\",@progbits\n"                                     \
      ".globl ptxsim_mufu_" #NAME "\n"                                         \
      "ptxsim_mufu_" #NAME ":\n"                                               \
      ".incbin \"" PTX_SCALAR_TABLES "/" FILE "\"\n"                           \
      ".globl ptxsim_mufu_" #NAME "_end\n"                                     \
      "ptxsim_mufu_" #NAME "_end:\n"                                           \
      ".byte 0\n"                                                              \
      ".text\n");                                                              \
  extern "C" const unsigned char ptxsim_mufu_##NAME[];                         \
  extern "C" const unsigned char ptxsim_mufu_##NAME##_end[];

PTX_SCALAR_EMBED(ex2, "ex2.i8.z")
PTX_SCALAR_EMBED(rcp, "rcp.i8.z")
PTX_SCALAR_EMBED(rsqrt, "rsqrt.i8.z")
PTX_SCALAR_EMBED(sqrt, "sqrt.i8.z")
PTX_SCALAR_EMBED(sin, "sin.i16.z")
PTX_SCALAR_EMBED(lg2_below, "lg2_half_1.i16.z")
PTX_SCALAR_EMBED(lg2_above, "lg2_1_2.i16.z")

namespace ptxsim::scalar {
namespace {

using Table = std::vector<int8_t>;

constexpr uint32_t one = 0x3F800000, infinity = 0x7F800000, nan = 0x7FFFFFFF;
constexpr uint32_t signBit = 0x80000000, fraction = 0x7FFFFF;
constexpr unsigned period = 1u << 23;

Table unpack(const unsigned char *begin, const unsigned char *end,
             size_t count) {
  Table table(count);
  uLongf size = count;
  int status = uncompress(reinterpret_cast<Bytef *>(table.data()), &size, begin,
                          static_cast<uLong>(end - begin));
  if (status != Z_OK || size != count)
    throw Error(Error::Kind::Unsupported,
                "table of the sm90 special-function unit: expected " +
                    std::to_string(count) + " bytes, got " +
                    std::to_string(size) + "; rebuild the library");
  return table;
}

float asFloat(uint32_t u) { return std::bit_cast<float>(u); }
uint32_t asBits(float x) { return std::bit_cast<uint32_t>(x); }

/// Returns the hardware's bits for the correctly rounded `reference`.
uint32_t corrected(double reference, int8_t difference) {
  return asBits(static_cast<float>(reference)) + difference;
}

/// Returns the bits with another exponent field; out of range gives 0 or
/// infinity.
uint32_t withField(uint32_t bits, int64_t field) {
  if (field <= 0)
    return 0;
  return field >= 255 ? infinity
                      : static_cast<uint32_t>(field) << 23 | (bits & fraction);
}

uint32_t ex2Flushed(uint32_t u) {
  static const Table table =
      unpack(ptxsim_mufu_ex2, ptxsim_mufu_ex2_end, period);
  uint32_t magnitude = u & ~signBit;
  if (magnitude > infinity)
    return nan;
  if (magnitude >= 0x43800000) // 256
    return u & signBit ? 0 : infinity;
  // The argument in units of 2^-23, truncated; negative arguments are
  // complemented, unless they are integers.
  auto q = static_cast<int64_t>(std::fabs(asFloat(u)) * 0x1p23);
  int64_t v = q;
  if (u & signBit)
    v = q & fraction ? ~q : -q;
  uint32_t index = v & fraction;
  uint32_t bits = corrected(std::exp2(1.0 + index * 0x1p-23), table[index]);
  return withField(bits, int64_t(bits >> 23) - 1 + (v >> 23));
}

/// Returns 2^x. Below -126 the result is subnormal: the square of the result
/// for half the exponent.
uint32_t ex2(uint32_t u, bool ftz) {
  float x = asFloat(u);
  if (ftz || !(x < -126))
    return ex2Flushed(u);
  float root = asFloat(ex2Flushed(asBits(x * 0.5f)));
  return asBits(root * root);
}

uint32_t rcpFlushed(uint32_t u) {
  static const Table table =
      unpack(ptxsim_mufu_rcp, ptxsim_mufu_rcp_end, period);
  uint32_t magnitude = u & ~signBit, sign = u & signBit;
  if (magnitude > infinity)
    return nan;
  if (magnitude == infinity)
    return sign;
  if (magnitude < period)
    return sign | infinity;
  uint32_t index = u & fraction;
  uint32_t bits = corrected(1.0 / asFloat(one | index), table[index]);
  int64_t exponent = magnitude >> 23;
  return sign | withField(bits, int64_t(bits >> 23) + 127 - exponent);
}

/// Returns the reciprocal. Without .ftz the argument is scaled into the range
/// where neither it nor the result is subnormal.
uint32_t rcp(uint32_t u, bool ftz) {
  uint32_t exponent = u >> 23 & 0xFF;
  if (ftz || (exponent > 0 && exponent < 253) || exponent == 255)
    return rcpFlushed(u);
  float scale = exponent == 0 ? 0x1p24f : 0x1p-24f;
  return asBits(asFloat(rcpFlushed(asBits(asFloat(u) * scale))) * scale);
}

uint32_t rsqrtFlushed(uint32_t u) {
  static const Table table =
      unpack(ptxsim_mufu_rsqrt, ptxsim_mufu_rsqrt_end, 2 * period);
  uint32_t magnitude = u & ~signBit;
  if (magnitude > infinity)
    return nan;
  if (magnitude < period)
    return (u & signBit) | infinity;
  if (u & signBit)
    return nan;
  if (magnitude == infinity)
    return 0;
  // x = y * 4^half with y in [1, 4).
  int exponent = static_cast<int>(u >> 23) - 127;
  int half = exponent >> 1;
  uint32_t index = static_cast<uint32_t>(exponent & 1) << 23 | (u & fraction);
  double y = asFloat(one + index);
  uint32_t bits = corrected(1.0 / std::sqrt(y), table[index]);
  return withField(bits, int64_t(bits >> 23) - half);
}

uint32_t rsqrt(uint32_t u, bool ftz) {
  uint32_t magnitude = u & ~signBit;
  if (ftz || magnitude >= period || magnitude == 0)
    return rsqrtFlushed(u);
  float scaled = asFloat(u) * 0x1p24f;
  uint32_t bits = rsqrtFlushed(asBits(scaled));
  return bits == nan ? nan : asBits(asFloat(bits) * 0x1p12f);
}

/// sqrt of a normal x = y * 4^half with y in [1, 4).
uint32_t sqrtNormal(uint32_t u) {
  static const Table table =
      unpack(ptxsim_mufu_sqrt, ptxsim_mufu_sqrt_end, 2 * period);
  int exponent = static_cast<int>(u >> 23) - 127;
  uint32_t index = static_cast<uint32_t>(exponent & 1) << 23 | (u & fraction);
  uint32_t bits =
      corrected(std::sqrt(double(asFloat(one + index))), table[index]);
  return withField(bits, int64_t(bits >> 23) + (exponent >> 1));
}

uint32_t sqrt(uint32_t u, bool ftz) {
  uint32_t magnitude = u & ~signBit;
  if (magnitude > infinity)
    return nan;
  if (magnitude == 0 || (ftz && magnitude < period))
    return u & signBit;
  if (u & signBit)
    return nan;
  if (magnitude == infinity)
    return infinity;
  if (magnitude < period)
    return asBits(asFloat(sqrtNormal(asBits(asFloat(u) * 0x1p24f))) * 0x1p-12f);
  return sqrtNormal(u);
}

/// A table of 16-bit differences.
class WideTable {
public:
  WideTable(const unsigned char *begin, const unsigned char *end)
      : bytes(unpack(begin, end, 2 * period)) {}

  /// Returns a difference. The low bytes of all differences come first, then
  /// the high bytes.
  int at(uint32_t index) const {
    return (bytes[period + index] * 256) | uint8_t(bytes[index]);
  }

private:
  Table bytes;
};

/// One binade of the logarithm. The unit computes multiples of 2^-36, so
/// differences are counted in these where floats are finer, else in floats.
class Logarithm {
public:
  Logarithm(const unsigned char *begin, const unsigned char *end, float first)
      : first(first), table(begin, end) {}

  float at(uint32_t index) const {
    int difference = table.at(index);
    double exact = std::log2(double(asFloat(asBits(first) | index)));
    if (std::fabs(exact) < 0x1p-13)
      return static_cast<float>((std::nearbyint(exact * 0x1p36) + difference) *
                                0x1p-36);
    return asFloat(asBits(static_cast<float>(exact)) + difference);
  }

private:
  float first;
  WideTable table;
};

/// Adds the logarithm of the mantissa and the exponent, truncated toward zero.
/// From 1 on, the table is that of [1, 2); below 1, that of [0.5, 1), which
/// keeps more bits.
uint32_t lg2Normal(uint32_t u) {
  static const Logarithm below(ptxsim_mufu_lg2_below, ptxsim_mufu_lg2_below_end,
                               0.5f);
  static const Logarithm above(ptxsim_mufu_lg2_above, ptxsim_mufu_lg2_above_end,
                               1.0f);
  uint32_t index = u & fraction;
  int exponent = static_cast<int>(u >> 23) - 127;
  double sum = exponent < 0 ? double(below.at(index)) + (exponent + 1)
                            : double(above.at(index)) + exponent;
  float nearest = static_cast<float>(sum);
  bool away = std::fabs(nearest) > std::fabs(sum);
  return asBits(nearest) - (away ? 1 : 0);
}

/// Returns abs(x) in turns, truncated to float32 and then to 2^-25, the unit's
/// own step; whole turns are dropped. From 2^24 on, turns have no fraction.
uint32_t turnsOf(uint32_t magnitude) {
  constexpr uint32_t perTurn = 0x3E22F983; // 1 / (2 pi)
  double exact = double(asFloat(magnitude)) * asFloat(perTurn);
  float turns = static_cast<float>(exact);
  if (turns > exact)
    turns = asFloat(asBits(turns) - 1);
  return turns < 0x1p24f
             ? static_cast<uint32_t>(static_cast<uint64_t>(turns * 0x1p25))
             : 0;
}

/// Returns the sine of a number of 2^-25 turns, from the table of the first
/// quarter. Odd quarters read it in reverse, by the complement of the index.
uint32_t sineOf(uint32_t turns) {
  static const WideTable table(ptxsim_mufu_sin, ptxsim_mufu_sin_end);
  constexpr double step = 0x1.921fb54442d18p2 * 0x1p-25; // 2 pi
  uint32_t quarter = turns >> 23 & 3;
  uint32_t index = (quarter & 1 ? ~turns : turns) & fraction;
  uint32_t bits =
      asBits(static_cast<float>(std::sin(index * step))) + table.at(index);
  return bits | (quarter & 2 ? signBit : 0);
}

uint32_t sin(uint32_t u, bool) {
  uint32_t magnitude = u & ~signBit;
  return magnitude >= infinity ? nan
                               : sineOf(turnsOf(magnitude)) ^ (u & signBit);
}

uint32_t cos(uint32_t u, bool) {
  uint32_t magnitude = u & ~signBit;
  return magnitude >= infinity ? nan : sineOf(turnsOf(magnitude) + period);
}

uint32_t lg2(uint32_t u, bool ftz) {
  uint32_t magnitude = u & ~signBit;
  if (magnitude > infinity)
    return nan;
  if (magnitude == 0 || (ftz && magnitude < period))
    return signBit | infinity;
  if (u & signBit)
    return nan;
  if (magnitude == infinity)
    return infinity;
  if (magnitude < period)
    return asBits(asFloat(lg2(asBits(asFloat(u) * 0x1p24f), true)) - 24.0f);
  return lg2Normal(u);
}

} // namespace

uint32_t mufuF32(Mufu function, uint32_t input, bool ftz) {
  using Unit = uint32_t (*)(uint32_t, bool);
  constexpr Unit units[] = {nullptr, ex2, lg2, rcp, rsqrt, sqrt, sin, cos};
  return units[static_cast<unsigned>(function)](input, ftz);
}

} // namespace ptxsim::scalar
