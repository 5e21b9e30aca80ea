//===- Approximate.cpp - Approximate functions ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exact value is computed in double. ApproxMode::Correct rounds it; Perturb
// first moves it by less than the manual's error bound; Sm90 uses the tables of
// the special-function unit if there is one (all but tanh), and otherwise
// rounds correctly.
//
//===----------------------------------------------------------------------===//

#include "MufuTables.h"
#include "Rounding.h"

#include <optional>

PTX_SCALAR_BEGIN

namespace {

PTX_SCALAR_INLINE double ulpOf(double x) {
  double floor = std::fabs(x) < 0x1p-126 ? 0x1p-126 : x;
  return asDouble(bits(floor) & 0x7FF0000000000000) * 0x1p-23;
}

/// 2^x by its Taylor series around the nearest integer; the remainder after
/// the 13th power is below 2^-56.
PTX_SCALAR_INLINE double exp2Double(double x) {
  x = x > 200 ? 200 : x;
  x = x < -200 ? -200 : x;
  constexpr double shifter = 0x1.8p52;
  double shifted = x + shifter;
  double t = (x - (shifted - shifter)) * 0x1.62e42fefa39efp-1;
  constexpr double factors[] = {1.0 / 6227020800,
                                1.0 / 479001600,
                                1.0 / 39916800,
                                1.0 / 3628800,
                                1.0 / 362880,
                                1.0 / 40320,
                                1.0 / 5040,
                                1.0 / 720,
                                1.0 / 120,
                                1.0 / 24,
                                1.0 / 6,
                                1.0 / 2,
                                1.0,
                                1.0};
  double sum = factors[0];
  for (unsigned i = 1; i < 14; ++i)
    sum = std::fma(sum, t, factors[i]);
  return asDouble(bits(sum) + (bits(shifted) << 52));
}

// Each function: its exact value, and how far Perturb may move it before
// rounding: the manual's bound minus the half ulp of rounding and a margin. The
// manual's bounds: ex2, division 2 ulp; rcp 1 ulp; lg2 2^-22, absolute in (0.5,
// 2), else relative; rsqrt 2^-22.9 and sqrt 2^-23 relative; sin, cos 2^-20.5
// absolute within half a turn; tanh 2^-11 relative.
struct Ex2 {
  static constexpr std::string_view word = "ex2";
  static constexpr Mufu mufu = Mufu::Ex2;
  static constexpr bool bounded = false;
  PTX_SCALAR_INLINE static double exact(double x) { return exp2Double(x); }
  PTX_SCALAR_INLINE static double slack(double, double y) {
    return 1.4 * ulpOf(y);
  }
};
struct Lg2 {
  static constexpr std::string_view word = "lg2";
  static constexpr Mufu mufu = Mufu::Lg2;
  static constexpr bool bounded = false;
  PTX_SCALAR_INLINE static double exact(double x) {
    return std::log2(x == 0 ? 0.0 : x);
  }
  PTX_SCALAR_INLINE static double slack(double x, double y) {
    return x > 0.5 && x < 2 ? 0x1.8p-23 : 1.4 * ulpOf(y);
  }
};
struct Rcp {
  static constexpr std::string_view word = "rcp";
  static constexpr Mufu mufu = Mufu::Rcp;
  static constexpr bool bounded = false;
  PTX_SCALAR_INLINE static double exact(double x) { return 1.0 / x; }
  PTX_SCALAR_INLINE static double slack(double, double y) {
    return 0.45 * ulpOf(y);
  }
};
struct Rsqrt {
  static constexpr std::string_view word = "rsqrt";
  static constexpr Mufu mufu = Mufu::Rsqrt;
  static constexpr bool bounded = false;
  PTX_SCALAR_INLINE static double exact(double x) { return 1.0 / std::sqrt(x); }
  PTX_SCALAR_INLINE static double slack(double, double y) {
    return 0.5 * ulpOf(y);
  }
};
struct Sqrt {
  static constexpr std::string_view word = "sqrt";
  static constexpr Mufu mufu = Mufu::Sqrt;
  static constexpr bool bounded = false;
  PTX_SCALAR_INLINE static double exact(double x) { return std::sqrt(x); }
  PTX_SCALAR_INLINE static double slack(double, double y) {
    return 0.45 * ulpOf(y);
  }
};
struct Sin {
  static constexpr std::string_view word = "sin";
  static constexpr Mufu mufu = Mufu::Sin;
  static constexpr bool bounded = true;
  PTX_SCALAR_INLINE static double exact(double x) { return std::sin(x); }
  PTX_SCALAR_INLINE static double slack(double, double) { return 0x1.4p-21; }
};
struct Cos {
  static constexpr std::string_view word = "cos";
  static constexpr Mufu mufu = Mufu::Cos;
  static constexpr bool bounded = true;
  PTX_SCALAR_INLINE static double exact(double x) { return std::cos(x); }
  PTX_SCALAR_INLINE static double slack(double, double) { return 0x1.4p-21; }
};
struct Tanh {
  static constexpr std::string_view word = "tanh";
  static constexpr Mufu mufu = Mufu::None;
  static constexpr bool bounded = true;
  PTX_SCALAR_INLINE static double exact(double x) { return std::tanh(x); }
  PTX_SCALAR_INLINE static double slack(double, double y) {
    return 0x1.ep-12 * std::fabs(y);
  }
};

/// Returns the state that Perturb draws from, which depends only on the
/// operand: an inexact unit gives the same error each time, for every warp, so
/// that runs are comparable bit by bit.
PTX_SCALAR_INLINE uint64_t stateOf(const Context &context, uint64_t operand) {
  return context.perturbSeed ^ operand * 0xD1342543DE82EF95;
}

/// Returns a uniform number in [-1, 1), by a SplitMix64 step from `state`.
PTX_SCALAR_INLINE double draw(uint64_t state) {
  uint64_t z = state + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>(static_cast<int64_t>(z ^ (z >> 31))) * 0x1p-63;
}

/// Returns true for zeros, subnormals, infinities and NaN. The manual's tables
/// give these results, so they do not move.
PTX_SCALAR_INLINE bool isInTables(double x, double y) {
  double magnitude = std::fabs(x);
  return !(magnitude >= 0x1p-126 && magnitude < 0x1p128) || y == 0;
}

/// Returns the class, which a perturbed result keeps: zero, number, infinity or
/// NaN, with its sign.
template <uint32_t Infinity> uint32_t classOf(uint32_t code) {
  constexpr uint32_t sign = Infinity > 0xFFFF ? 0x80000000 : 0x8000;
  uint32_t magnitude = code & (sign - 1);
  uint32_t kind = (magnitude > 0) + (magnitude >= Infinity);
  return (code & sign) | (kind + (magnitude > Infinity));
}

/// Returns the float32 of y, moved by up to `slack`. It never crosses zero,
/// infinity, a change of sign, or 1 where 1 bounds the function.
template <bool Ftz, bool Bounded>
float moved(double y, double slack, std::optional<uint64_t> state) {
  float correct = finish<Rounding::Rn, Ftz, false>(y);
  if (!state)
    return correct;
  float f = finish<Rounding::Rn, Ftz, false>(y + draw(*state) * slack);
  constexpr uint32_t infinity = 0x7F800000;
  bool same = classOf<infinity>(bits(f)) == classOf<infinity>(bits(correct));
  return same && !(Bounded && std::fabs(f) > 1) ? f : correct;
}

template <typename Fn, bool Ftz> struct Correct {
  PTX_SCALAR_INLINE static float run(float a) {
    return finish<Rounding::Rn, Ftz, false>(Fn::exact(flushIf<Ftz>(a)));
  }
};
template <typename Fn, bool Ftz> struct Sm90 {
  PTX_SCALAR_INLINE static float run(float a) {
    return asFloat(mufuF32(Fn::mufu, bits(a), Ftz));
  }
};

template <typename Fn, bool Ftz>
void perturbed(const Context &context, LaneMask active, Row *const *dst,
               const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    double x = flushIf<Ftz>(F32::load((*src[0])[lane]));
    double y = Fn::exact(x);
    std::optional<uint64_t> state;
    if (!isInTables(x, y))
      state = stateOf(context, uint32_t((*src[0])[lane]));
    (*dst[0])[lane] =
        F32::store(moved<Ftz, Fn::bounded>(y, Fn::slack(x, y), state));
  }
}

template <typename Fn, bool Ftz>
void approximate(const Context &context, LaneMask active, Row *const *dst,
                 const Row *const *src) {
  if (context.approx == ApproxMode::Perturb)
    return perturbed<Fn, Ftz>(context, active, dst, src);
  if (context.approx == ApproxMode::Sm90 && Fn::mufu != Mufu::None)
    return Lanes<Sm90<Fn, Ftz>, F32, F32>::run(context, active, dst, src);
  Lanes<Correct<Fn, Ftz>, F32, F32>::run(context, active, dst, src);
}

/// Half results are the float32 result truncated, not rounded (hardware). A
/// float32 beyond the format is infinite. Ftz is bf16's ex2.
template <typename H, typename Fn, bool Ftz> struct Half {
  PTX_SCALAR_INLINE static uint16_t cut(float y) {
    uint16_t code = H::template narrow<Rounding::Rz>(y);
    bool over = std::fabs(y) >= 0x1p16f && H::infinity == HalfF16::infinity;
    return over ? (code & 0x8000) | H::infinity : code;
  }
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a) {
    return cut(Correct<Fn, Ftz>::run(H::widen(a)));
  }
};
template <typename H, typename Fn, bool Ftz> struct HalfSm90 {
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a) {
    float x = H::widen(a);
    return Half<H, Fn, Ftz>::cut(Sm90<Fn, Ftz>::run(x));
  }
};

/// Truncates or rounds at random for Perturb; both are within the manual's
/// bounds. A number is not rounded to infinity, nor zero to a number.
template <typename H, typename Fn, bool Ftz>
uint16_t coin(uint16_t a, uint64_t state) {
  uint16_t cut = Half<H, Fn, Ftz>::run(a);
  if (draw(state) < 0)
    return cut;
  uint16_t rounded = H::narrow(Correct<Fn, Ftz>::run(H::widen(a)));
  return classOf<H::infinity>(rounded) == classOf<H::infinity>(cut) ? rounded
                                                                    : cut;
}

template <typename H, typename Fn, bool Ftz, bool Packed>
void approximateHalf(const Context &context, LaneMask active, Row *const *dst,
                     const Row *const *src) {
  using T =
      std::conditional_t<Packed, typename H::Packed, typename H::OperandType>;
  using Cut = Half<H, Fn, Ftz>;
  using Table = HalfSm90<H, Fn, Ftz>;
  if (context.approx == ApproxMode::Perturb) {
    for (LaneMask rest = active; rest; rest &= rest - 1) {
      unsigned lane = std::countr_zero(rest);
      auto a = static_cast<uint32_t>((*src[0])[lane]);
      auto flip = [&](uint16_t half) {
        return uint32_t(coin<H, Fn, Ftz>(half, stateOf(context, half)));
      };
      uint32_t low = flip(a), high = Packed ? flip(a >> 16) : 0;
      (*dst[0])[lane] = low | high << 16;
    }
    return;
  }
  using Plain = std::conditional_t<Packed, Halves<Cut>, Cut>;
  using Exact = std::conditional_t<Packed, Halves<Table>, Table>;
  if (context.approx == ApproxMode::Sm90 && Fn::mufu != Mufu::None)
    return Lanes<Exact, T, T>::run(context, active, dst, src);
  Lanes<Plain, T, T>::run(context, active, dst, src);
}

/// Divisions have two operands. By the manual, div.approx gives 0 for divisors
/// above 2^126 (NaN for an infinite dividend); div.full does not.
template <bool Ftz, bool Full> struct Divide {
  PTX_SCALAR_INLINE static double exact(float a, float b) {
    a = flushIf<Ftz>(a);
    b = flushIf<Ftz>(b);
    double magnitude = std::fabs(b);
    double sign = std::copysign(1.0, a) * std::copysign(1.0, b);
    bool huge = !Full && magnitude > 0x1p126 && magnitude < 0x1p128;
    double small = std::fabs(a) < 0x1p128 ? sign * 0.0 : asDouble(~uint64_t(0));
    return huge ? small : static_cast<double>(a) / b;
  }
  PTX_SCALAR_INLINE static float run(float a, float b) {
    return finish<Rounding::Rn, Ftz, false>(exact(a, b));
  }
};
/// The expansion of the division on sm_90: a product with the unit's
/// reciprocal, scaled if the divisor is subnormal or (div.full) its reciprocal
/// would be.
template <bool Ftz, bool Full> struct DivideSm90 {
  static float run(float a, float b) {
    a = flushIf<Ftz>(a);
    b = flushIf<Ftz>(b);
    float magnitude = std::fabs(b);
    float scale = !Ftz && magnitude < 0x1p-126f ? 0x1p24f : 1.0f;
    if (Full && magnitude > 0x1p126f)
      scale = 0.25f;
    float reciprocal = asFloat(mufuF32(Mufu::Rcp, bits(b * scale), true));
    float quotient =
        Full ? flushIf<Ftz>(a * scale) * reciprocal : a * reciprocal * scale;
    return canonical(flushIf<Ftz>(quotient));
  }
};
template <bool Ftz, bool Full>
void divide(const Context &context, LaneMask active, Row *const *dst,
            const Row *const *src) {
  using Op = Divide<Ftz, Full>;
  if (context.approx == ApproxMode::Sm90)
    return Lanes<DivideSm90<Ftz, Full>, F32, F32, F32>::run(context, active,
                                                            dst, src);
  if (context.approx != ApproxMode::Perturb)
    return Lanes<Op, F32, F32, F32>::run(context, active, dst, src);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t a = (*src[0])[lane], b = (*src[1])[lane];
    double y = Op::exact(F32::load(a), F32::load(b));
    std::optional<uint64_t> state;
    if (std::fabs(y) < 0x1p200 && y != 0)
      state = stateOf(context, a << 32 | uint32_t(b));
    (*dst[0])[lane] = F32::store(moved<Ftz, false>(y, 1.4 * ulpOf(y), state));
  }
}

template <typename H, typename Fn, bool Ftz>
void registerHalfFunction(Registry &r) {
  using T = typename H::OperandType;
  using P = typename H::Packed;
  std::string opcode = text(Fn::word, "approx", when(Ftz, "ftz"));
  r.add(text(opcode, name<T>()),
        formOf<T, T>(&approximateHalf<H, Fn, Ftz, false>));
  r.add(text(opcode, name<P>()),
        formOf<P, P>(&approximateHalf<H, Fn, Ftz, true>));
}

} // namespace

void registerApproximate(Registry &r) {
  eachType<Ex2, Lg2, Rcp, Rsqrt, Sqrt, Sin, Cos>([&]<typename Fn>() {
    r.add(text(Fn::word, "approx.f32"),
          formOf<F32, F32>(&approximate<Fn, false>));
    r.add(text(Fn::word, "approx.ftz.f32"),
          formOf<F32, F32>(&approximate<Fn, true>));
  });
  r.add("tanh.approx.f32", formOf<F32, F32>(&approximate<Tanh, false>));
  r.add("div.approx.f32", formOf<F32, F32, F32>(&divide<false, false>));
  r.add("div.approx.ftz.f32", formOf<F32, F32, F32>(&divide<true, false>));
  r.add("div.full.f32", formOf<F32, F32, F32>(&divide<false, true>));
  r.add("div.full.ftz.f32", formOf<F32, F32, F32>(&divide<true, true>));
  registerHalfFunction<HalfF16, Ex2, false>(r);
  registerHalfFunction<HalfBF16, Ex2, true>(r);
  registerHalfFunction<HalfF16, Tanh, false>(r);
  registerHalfFunction<HalfBF16, Tanh, false>(r);
}

PTX_SCALAR_END
