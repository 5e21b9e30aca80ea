//===- Rounding.h - IEEE rounding without the rounding mode -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every result other than plain round-to-nearest float32 goes through a double
// rounded to odd: the exact value truncated to 53 bits, with the last bit set
// if anything was lost. Such a value rounds to any format of at most 51 bits,
// in any direction, as the exact value would (Boldo and Melquiond, "Emulation
// of FMA and correctly rounded sums", 2008). It also identifies a result that
// is tiny before rounding, which .ftz flushes.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_ROUNDING_H
#define FMHA_LIB_PTX_SIM_SCALAR_ROUNDING_H

#include "Lanes.h"

PTX_SCALAR_BEGIN

enum class Rounding { Rn, Rz, Rm, Rp };

inline std::string_view nameOf(Rounding r) {
  constexpr std::string_view names[] = {"rn", "rz", "rm", "rp"};
  return names[static_cast<unsigned>(r)];
}

template <typename F> void eachRounding(F f) {
  eachValue<Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp>(f);
}

PTX_SCALAR_INLINE uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
PTX_SCALAR_INLINE uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
PTX_SCALAR_INLINE float asFloat(uint32_t x) { return std::bit_cast<float>(x); }
PTX_SCALAR_INLINE double asDouble(uint64_t x) {
  return std::bit_cast<double>(x);
}

inline constexpr uint32_t nanF32 = 0x7FFFFFFF;
inline constexpr uint16_t nanF16 = 0x7FFF;

/// Replaces a NaN of any sign and payload by the NaN that hardware returns. The
/// test is on the bits: a compiler may substitute any NaN for another.
PTX_SCALAR_INLINE float canonical(float x) {
  uint32_t u = bits(x);
  return asFloat((u & 0x7FFFFFFF) > 0x7F800000 ? nanF32 : u);
}

/// Replaces a subnormal by the zero of its sign.
PTX_SCALAR_INLINE float flush(float x) {
  uint32_t u = bits(x);
  return asFloat(u & 0x7F800000 ? u : u & 0x80000000);
}
template <bool Ftz> PTX_SCALAR_INLINE float flushIf(float x) {
  return Ftz ? flush(x) : x;
}

/// .sat: NaN and -0 become +0.
PTX_SCALAR_INLINE float saturate(float x) {
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}

/// .relu: negative values and -0 become +0, NaN stays NaN.
PTX_SCALAR_INLINE float relu(float x) {
  return x != x ? x : (x > 0 ? x : 0.0f);
}

/// Rounds to odd: `value` is the nearest double of an exact result, `error` has
/// the sign of exact - value (0 or NaN: nothing lost).
PTX_SCALAR_INLINE double toOdd(double value, double error) {
  uint64_t u = bits(value);
  bool lost = (error < 0) | (error > 0);
  bool away = (error > 0) == (value > 0);
  uint64_t moved = away ? u + 1 : u - 1;
  return asDouble((lost & !(u & 1)) ? moved : u);
}

/// Returns a + b; the zero of an exact cancellation is negative under .rm.
template <Rounding R> PTX_SCALAR_INLINE double oddSum(double a, double b) {
  double s = a + b;
  double c = s - a;
  double odd = toOdd(s, (a - (s - c)) + (b - c));
  if constexpr (R == Rounding::Rm) {
    bool opposite = (bits(a) ^ bits(b)) >> 63;
    return ((s == 0) & opposite) ? -0.0 : odd;
  }
  return odd;
}

/// Returns a / b of values that are exact in 24 bits.
PTX_SCALAR_INLINE double oddQuotient(double a, double b) {
  double q = a / b;
  double rest = std::fma(-q, b, a);
  return toOdd(q, b < 0 ? -rest : rest);
}

PTX_SCALAR_INLINE double oddRoot(double x) {
  double r = std::sqrt(x);
  return toOdd(r, std::fma(-r, r, x));
}

/// Rounds an odd-rounded double to float32.
template <Rounding R> PTX_SCALAR_INLINE float roundTo(double x) {
  float f = static_cast<float>(x);
  double g = f;
  uint32_t u = bits(f);
  if constexpr (R == Rounding::Rz)
    return asFloat(u - (std::fabs(g) > std::fabs(x) ? 1 : 0));
  if constexpr (R == Rounding::Rm)
    return asFloat(g > x ? (u >> 31 ? u + 1 : u - 1) : u);
  if constexpr (R == Rounding::Rp)
    return asFloat(g < x ? (u >> 31 ? u - 1 : u + 1) : u);
  return f;
}

/// Rounds `x` to odd as a float32.
PTX_SCALAR_INLINE float toOddFloat(double x) {
  float f = roundTo<Rounding::Rz>(x);
  return asFloat(bits(f) | (static_cast<double>(f) != x && x == x ? 1 : 0));
}

/// Returns the float32 result for the odd-rounded exact one, with the
/// qualifiers.
template <Rounding R, bool Ftz, bool Sat>
PTX_SCALAR_INLINE float finish(double odd) {
  float f = roundTo<R>(odd);
  if constexpr (Ftz)
    f = std::fabs(odd) < 0x1p-126 ? asFloat(bits(f) & 0x80000000) : f;
  f = canonical(f);
  return Sat ? saturate(f) : f;
}

/// A float format of E exponent and M mantissa bits with IEEE's subnormals.
/// Codes are magnitudes, without the sign.
template <unsigned E, unsigned M> struct Format {
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr unsigned exponentBits = E, mantissaBits = M;

  /// Rounds the magnitude of a finite or infinite float32 to a code, without an
  /// upper bound: a magnitude beyond the format gives a code above its largest.
  template <Rounding R> PTX_SCALAR_INLINE static uint32_t encode(float x) {
    uint32_t u = bits(x), sign = u >> 31;
    u &= 0x7FFFFFFF;
    int field = static_cast<int>(u >> 23);
    uint32_t mantissa = (u & 0x7FFFFF) | (field ? 0x800000u : 0u);
    int exponent = field ? field : 1;
    constexpr int lowest = 128 - bias;
    int below = lowest > exponent ? lowest - exponent : 0;
    uint32_t shift = 23 - M + (below > 25 ? 25 : below);
    shift = shift > 31 ? 31 : shift;
    uint32_t kept = mantissa >> shift;
    uint32_t rest = mantissa & ((1u << shift) - 1);
    kept += roundsUp<R>(kept, rest, 1u << (shift - 1), sign);
    int above = exponent > lowest ? exponent - lowest : 0;
    return (static_cast<uint32_t>(above) << M) + kept;
  }

  template <Rounding R>
  PTX_SCALAR_INLINE static uint32_t roundsUp(uint32_t kept, uint32_t rest,
                                             uint32_t half, uint32_t sign) {
    if constexpr (R == Rounding::Rn)
      return (rest > half) | ((rest == half) & kept & 1);
    if constexpr (R == Rounding::Rm)
      return (rest != 0) & sign;
    if constexpr (R == Rounding::Rp)
      return (rest != 0) & (sign ^ 1);
    return 0;
  }

  /// Returns the value of a code of a finite number.
  PTX_SCALAR_INLINE static float decode(uint32_t code) {
    float scaled = asFloat(code << (23 - M));
    return scaled * asFloat(static_cast<uint32_t>(127 + 127 - bias) << 23);
  }
};

/// Returns the result of an overflow in rounding direction R: infinity or the
/// largest finite value.
template <Rounding R>
PTX_SCALAR_INLINE uint32_t overflowCode(uint32_t infinity, uint32_t largest,
                                        uint32_t sign) {
  if constexpr (R == Rounding::Rz)
    return largest;
  if constexpr (R == Rounding::Rm)
    return sign ? infinity : largest;
  if constexpr (R == Rounding::Rp)
    return sign ? largest : infinity;
  return infinity;
}

/// The two 16-bit formats: bits to float32 and back.
template <typename Fmt, uint16_t Infinity> struct Half16 {
  static constexpr uint16_t infinity = Infinity;
  static constexpr unsigned mantissaBits = Fmt::mantissaBits;

  PTX_SCALAR_INLINE static float widen(uint16_t h) {
    uint32_t magnitude = h & 0x7FFF;
    uint32_t u = magnitude >= Infinity
                     ? 0x7F800000 | magnitude << (23 - Fmt::mantissaBits)
                     : bits(Fmt::decode(magnitude));
    return asFloat(u | static_cast<uint32_t>(h & 0x8000) << 16);
  }

  /// Rounds an exact or odd-rounded float32. NaN becomes 0x7FFF.
  template <Rounding R = Rounding::Rn>
  PTX_SCALAR_INLINE static uint16_t narrow(float x) {
    uint32_t sign = bits(x) >> 31;
    uint32_t code = Fmt::template encode<R>(x);
    uint32_t over = overflowCode<R>(Infinity, Infinity - 1, sign);
    code = code >= Infinity ? over : code;
    code = (bits(x) & 0x7FFFFFFF) == 0x7F800000 ? Infinity : code;
    code |= sign << 15;
    return static_cast<uint16_t>(x != x ? nanF16 : code);
  }
};

struct HalfF16 : Half16<Format<5, 10>, 0x7C00> {
  using OperandType = F16;
  using Packed = F16x2;
};

struct HalfBF16 : Half16<Format<8, 7>, 0x7F80> {
  using OperandType = BF16;
  using Packed = BF16x2;
  PTX_SCALAR_INLINE static float widen(uint16_t h) {
    return asFloat(uint32_t(h) << 16);
  }
};

PTX_SCALAR_END

#endif // FMHA_LIB_PTX_SIM_SCALAR_ROUNDING_H
