//===- ConvertInteger.cpp - cvt with integers -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cvt between integers, and between integers and floats (PTX 9.7.9). A
// conversion to or from a float is a chain of steps through double, so that
// each step is compiled once for all forms that use it.
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

struct Cut {
  template <typename D, typename S> static D convert(S a) {
    return static_cast<D>(a);
  }
};
struct Saturate {
  template <typename D, typename S> static D convert(S a) {
    using Limit = std::numeric_limits<D>;
    if (std::cmp_less(a, Limit::min()))
      return Limit::min();
    return std::cmp_greater(a, Limit::max()) ? Limit::max() : static_cast<D>(a);
  }
};
template <typename How, typename D> struct IntegerToInteger {
  template <typename S> static D run(S a) {
    return How::template convert<D>(a);
  }
};

/// One step of a conversion, for every lane: slots in, slots out.
using Step = void (*)(const Row &in, Row &out);

template <typename Op, typename D, typename S>
void step(const Row &in, Row &out) {
  for (unsigned lane = 0; lane < 32; ++lane)
    out[lane] = D::store(Op::run(S::load(in[lane])));
}

PTX_SCALAR_NOINLINE void runSteps(std::initializer_list<Step> steps,
                                  LaneMask active, Row *const *dst,
                                  const Row *const *src) {
  Row row = *src[0];
  for (Step one : steps)
    one(row, row);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    (*dst[0])[lane] = row[lane];
  }
}

template <Step... Steps>
void inSteps(const Context &, LaneMask active, Row *const *dst,
             const Row *const *src) {
  runSteps({Steps...}, active, dst, src);
}

// The four ways to round to an integral value.
struct Rni {
  static constexpr std::string_view word = "rni";
  static double run(double x) { return std::nearbyint(x); }
};
struct Rzi {
  static constexpr std::string_view word = "rzi";
  static double run(double x) { return std::trunc(x); }
};
struct Rmi {
  static constexpr std::string_view word = "rmi";
  static double run(double x) { return std::floor(x); }
};
struct Rpi {
  static constexpr std::string_view word = "rpi";
  static double run(double x) { return std::ceil(x); }
};

// The float types as sources: exact in double.
template <bool Ftz> struct FromF32 {
  using OperandType = F32;
  static double run(float a) { return flushIf<Ftz>(a); }
};
struct FromF64 {
  using OperandType = F64;
  static double run(double a) { return a; }
};
template <typename H> struct FromHalf {
  using OperandType = typename H::OperandType;
  static double run(uint16_t a) { return H::widen(a); }
};

/// Returns the result for NaN: 0x80..0 of the target from f64 or to 64 bits,
/// else 0.
template <typename D, bool FromDouble> constexpr D nanInteger() {
  if constexpr (FromDouble || sizeof(D) == 8)
    return static_cast<D>(uint64_t(1) << (sizeof(D) * 8 - 1));
  return 0;
}

/// Converts float to integer with saturation, which .sat does not change.
template <typename D> D clampDouble(double r) {
  using Limit = std::numeric_limits<D>;
  constexpr double low = static_cast<double>(Limit::min());
  // 2^64 or 2^63 for 64-bit targets: the first value out of range.
  constexpr double high = static_cast<double>(Limit::max());
  if constexpr (sizeof(D) == 8) {
    if (r >= high)
      return Limit::max();
    return r <= low ? Limit::min() : static_cast<D>(r);
  } else {
    r = r < low ? low : r;
    r = r > high ? high : r;
    return static_cast<D>(static_cast<int64_t>(r));
  }
}

/// An integral double or NaN to an integer.
template <typename D, bool FromDouble> struct IntegralToInteger {
  static D run(double x) {
    bool nan = x != x;
    D result = clampDouble<D>(nan ? 0.0 : x);
    return nan ? nanInteger<D, FromDouble>() : result;
  }
};

/// Returns an integer as an odd-rounded double.
template <typename S> double oddInteger(S a) {
  if constexpr (sizeof(S) < 8) {
    return static_cast<double>(a);
  } else {
    uint64_t magnitude =
        a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
    uint64_t lost = magnitude & 0x7FF;
    double kept =
        magnitude >> 53
            ? static_cast<double>(magnitude >> 11 | (lost != 0)) * 2048.0
            : static_cast<double>(static_cast<int64_t>(magnitude));
    return a < 0 ? -kept : kept;
  }
}

struct IntegerToOdd {
  template <typename S> static double run(S a) { return oddInteger(a); }
};
template <Rounding R, bool Sat> struct OddToF32 {
  static float run(double odd) { return finish<R, false, Sat>(odd); }
};
template <typename H, Rounding R, bool Sat> struct OddToHalf {
  static uint16_t run(double wide) {
    float odd = toOddFloat(wide);
    return H::template narrow<R>(Sat ? saturate(odd) : odd);
  }
};
template <Rounding R, bool Sat> struct IntegerToF64 {
  template <typename S> static double run(S a) {
    double d = static_cast<double>(a);
    if constexpr (Sat)
      return d > 0 ? (d < 1 ? d : 1.0) : 0.0;
    if constexpr (sizeof(S) < 8 || R == Rounding::Rn)
      return d;
    __int128 lost = static_cast<__int128>(a) - static_cast<__int128>(d);
    bool negative = d < 0;
    bool up = R == Rounding::Rp || (R == Rounding::Rz && negative);
    bool step = up ? lost > 0 : lost < 0;
    // One step toward the exact value, in the direction of the mode.
    uint64_t u = bits(d);
    return step ? asDouble(up != negative ? u + 1 : u - 1) : d;
  }
};

/// Returns true if every value of S fits into D: then there is nothing to
/// saturate, and no such form.
template <typename D, typename S> constexpr bool holdsAll() {
  using To = typename D::Value;
  using From = typename S::Value;
  return std::is_same_v<To, From> ||
         (sizeof(To) > sizeof(From) &&
          (std::is_signed_v<To> || !std::is_signed_v<From>));
}

template <typename D, typename S> void registerIntegers(Registry &r) {
  using Value = typename D::Value;
  r.add(text("cvt", name<D>(), name<S>()),
        form<IntegerToInteger<Cut, Value>, D, S>());
  if constexpr (!holdsAll<D, S>())
    r.add(text("cvt.sat", name<D>(), name<S>()),
          form<IntegerToInteger<Saturate, Value>, D, S>());
}

template <typename From, typename D>
void registerToInteger(Registry &r, bool ftz) {
  using S = typename From::OperandType;
  constexpr bool fromDouble = std::is_same_v<From, FromF64>;
  constexpr Step read = &step<From, F64, S>;
  constexpr Step convert =
      &step<IntegralToInteger<typename D::Value, fromDouble>, D, F64>;
  eachType<Rni, Rzi, Rmi, Rpi>([&]<typename Mode>() {
    Form form = formOf<D, S>(&inSteps<read, &step<Mode, F64, F64>, convert>);
    for (bool sat : {false, true})
      r.add(text("cvt", Mode::word, when(ftz, "ftz"), when(sat, "sat"),
                 name<D>(), name<S>()),
            form);
  });
}

template <typename S> void registerFromInteger(Registry &r) {
  constexpr Step widen = &step<IntegerToOdd, F64, S>;
  eachRounding([&]<Rounding R>() {
    // Values that are exact in double need no rounding.
    constexpr Rounding rounding =
        sizeof(typename S::Value) < 8 ? Rounding::Rn : R;
    eachBool([&]<bool Sat>() {
      std::string opcode = text("cvt", nameOf(R), when(Sat, "sat"));
      r.add(text(opcode, "f32", name<S>()),
            formOf<F32, S>(&inSteps<widen, &step<OddToF32<R, Sat>, F32, F64>>));
      r.add(text(opcode, "f64", name<S>()),
            form<IntegerToF64<rounding, Sat>, F64, S>());
      r.add(text(opcode, "f16", name<S>()),
            formOf<F16, S>(
                &inSteps<widen, &step<OddToHalf<HalfF16, R, Sat>, F16, F64>>));
      // There are no conversions between bf16 and 8 bits, and no .sat to bf16.
      constexpr Step narrow = &step<OddToHalf<HalfBF16, R, Sat>, BF16, F64>;
      if constexpr (sizeof(typename S::Value) > 1 && !Sat)
        r.add(text(opcode, "bf16", name<S>()),
              formOf<BF16, S>(&inSteps<widen, narrow>));
    });
  });
}

} // namespace

void registerConvertInteger(Registry &r) {
  eachType<U8, U16, U32, U64, S8, S16, S32, S64>([&]<typename T>() {
    eachType<U8, U16, U32, U64, S8, S16, S32, S64>(
        [&]<typename S>() { registerIntegers<T, S>(r); });
    registerToInteger<FromF32<false>, T>(r, false);
    registerToInteger<FromF32<true>, T>(r, true);
    registerToInteger<FromF64, T>(r, false);
    registerToInteger<FromHalf<HalfF16>, T>(r, false);
    if constexpr (sizeof(typename T::Value) > 1)
      registerToInteger<FromHalf<HalfBF16>, T>(r, false);
    registerFromInteger<T>(r);
  });
}

PTX_SCALAR_END
