//===- MinMax.cpp - min and max of floats (PTX 9.7.3, 9.7.4) --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

// A float format for min and max: values are compared as float or double,
// results are selected as bits.
template <bool Ftz> struct Single {
  using OperandType =
      ptxsim::scalar::PTX_SCALAR_LEVEL::OperandType<Type::F32, uint32_t>;
  using Bits = uint32_t;
  static constexpr Bits sign = 0x80000000, nan = nanF32;
  PTX_SCALAR_INLINE static Bits read(Bits a) {
    return bits(flushIf<Ftz>(asFloat(a)));
  }
  PTX_SCALAR_INLINE static float value(Bits a) { return asFloat(a); }
};
struct Double {
  using OperandType =
      ptxsim::scalar::PTX_SCALAR_LEVEL::OperandType<Type::F64, uint64_t>;
  using Bits = uint64_t;
  static constexpr Bits nan = 0xFFF8000000000000;
  PTX_SCALAR_INLINE static Bits read(Bits a) { return a; }
  PTX_SCALAR_INLINE static double value(Bits a) { return asDouble(a); }
};
template <typename H, bool Ftz> struct Half {
  using OperandType = typename H::OperandType;
  using Packed = typename H::Packed;
  using Bits = uint16_t;
  static constexpr Bits sign = 0x8000, nan = nanF16;
  PTX_SCALAR_INLINE static Bits read(Bits a) {
    return Ftz && !(a & H::infinity) ? a & 0x8000 : a;
  }
  PTX_SCALAR_INLINE static float value(Bits a) { return H::widen(a); }
};

/// -0 is less than +0. One NaN is dropped unless KeepNan; a NaN result is
/// canonical. Values that compare equal differ only in the sign of zero.
template <typename Fmt, bool Max, bool KeepNan> struct Extreme {
  using Bits = typename Fmt::Bits;
  PTX_SCALAR_INLINE static Bits run(Bits a, Bits b) {
    return pick(Fmt::read(a), Fmt::read(b));
  }
  PTX_SCALAR_INLINE static Bits pick(Bits a, Bits b) {
    auto x = Fmt::value(a), y = Fmt::value(b);
    bool first = Max ? x > y : x < y;
    bool second = Max ? x < y : x > y;
    Bits tie = static_cast<Bits>(Max ? a & b : a | b);
    Bits ordered = first ? a : (second ? b : tie);
    Bits one = x == x ? a : (y == y ? b : Fmt::nan);
    Bits unordered = KeepNan ? Fmt::nan : one;
    return ((x == x) & (y == y)) ? ordered : unordered;
  }
};

/// Compares magnitudes and gives the result the product's sign.
template <typename Fmt, typename Pick> struct XorSign {
  using Bits = typename Fmt::Bits;
  PTX_SCALAR_INLINE static Bits run(Bits a, Bits b) {
    a = Fmt::read(a);
    b = Fmt::read(b);
    Bits magnitude = Pick::pick(a & ~Fmt::sign, b & ~Fmt::sign);
    Bits signs = static_cast<Bits>((a ^ b) & Fmt::sign);
    return magnitude == Fmt::nan ? magnitude
                                 : static_cast<Bits>(magnitude | signs);
  }
};

/// Three inputs, from the left. Magnitudes under .abs.
template <typename Fmt, typename Pick, bool Abs> struct Three {
  using Bits = typename Fmt::Bits;
  PTX_SCALAR_INLINE static Bits read(Bits a) {
    return Abs ? Fmt::read(a) & ~Fmt::sign : Fmt::read(a);
  }
  PTX_SCALAR_INLINE static Bits run(Bits a, Bits b, Bits c) {
    return Pick::pick(Pick::pick(read(a), read(b)), read(c));
  }
};

template <typename Fmt, typename Two, typename Triple>
void twoOrThree(const Context &context, LaneMask active, Row *const *dst,
                const Row *const *src) {
  using T = typename Fmt::OperandType;
  if (src[2])
    Lanes<Triple, T, T, T, T>::run(context, active, dst, src);
  else
    Lanes<Two, T, T, T>::run(context, active, dst, src);
}

template <bool Ftz, bool Max, bool KeepNan> void registerSingle(Registry &r) {
  using Fmt = Single<Ftz>;
  using Pick = Extreme<Fmt, Max, KeepNan>;
  using T = typename Fmt::OperandType;
  std::string opcode =
      text(Max ? "max" : "min", when(Ftz, "ftz"), when(KeepNan, "NaN"));
  Form either =
      formOf<T, T, T, T>(&twoOrThree<Fmt, Pick, Three<Fmt, Pick, false>>);
  either.optionalSrc = 1;
  r.add(text(opcode, "f32"), either);
  r.add(text(opcode, "xorsign.abs.f32"), form<XorSign<Fmt, Pick>, T, T, T>());
  r.add(text(opcode, "abs.f32"), form<Three<Fmt, Pick, true>, T, T, T, T>());
}

template <typename H, bool Ftz, bool Max, bool KeepNan>
void registerHalfFormat(Registry &r) {
  using Fmt = Half<H, Ftz>;
  using Pick = Extreme<Fmt, Max, KeepNan>;
  using Sign = XorSign<Fmt, Pick>;
  using T = typename Fmt::OperandType;
  using P = typename Fmt::Packed;
  std::string opcode =
      text(Max ? "max" : "min", when(Ftz, "ftz"), when(KeepNan, "NaN"));
  r.add(text(opcode, name<T>()), form<Pick, T, T, T>());
  r.add(text(opcode, name<P>()), form<Halves<Pick>, P, P, P>());
  r.add(text(opcode, "xorsign.abs", name<T>()), form<Sign, T, T, T>());
  r.add(text(opcode, "xorsign.abs", name<P>()), form<Halves<Sign>, P, P, P>());
}

/// f64 has no qualifiers. Of two NaNs the first is returned, quieted.
template <bool Max> struct ExtremeF64 {
  PTX_SCALAR_INLINE static uint64_t run(uint64_t a, uint64_t b) {
    double x = asDouble(a), y = asDouble(b);
    if (x != x && y != y)
      return a | uint64_t(1) << 51;
    return Extreme<Double, Max, false>::pick(a, b);
  }
};

} // namespace

void registerMinMax(Registry &r) {
  eachBool([&]<bool Max>() {
    eachBool([&]<bool KeepNan>() {
      eachBool([&]<bool Ftz>() {
        registerSingle<Ftz, Max, KeepNan>(r);
        registerHalfFormat<HalfF16, Ftz, Max, KeepNan>(r);
      });
      registerHalfFormat<HalfBF16, false, Max, KeepNan>(r);
    });
    using T = typename Double::OperandType;
    r.add(text(Max ? "max" : "min", "f64"), form<ExtremeF64<Max>, T, T, T>());
  });
}

PTX_SCALAR_END
