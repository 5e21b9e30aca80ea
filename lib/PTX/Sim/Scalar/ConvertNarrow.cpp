//===- ConvertNarrow.cpp - cvt of narrow floats, pack ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cvt of 8-, 6- and 4-bit floats and of scale exponents, cvt with random
// rounding bits, cvt.pack (PTX 9.7.9).
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

/// A narrow float: its code has a sign bit above the magnitude. `largest` is
/// the code of the largest finite value; `nan` that of NaN, if there is one.
template <typename Fmt, uint32_t Largest, uint32_t Nan, Type K, Type K4>
struct Narrow {
  static constexpr Type type = K;
  static constexpr unsigned width = 1 + Fmt::exponentBits + Fmt::mantissaBits;
  static constexpr uint32_t largest = Largest, nan = Nan;

  PTX_SCALAR_INLINE static uint32_t signedCode(uint32_t magnitude,
                                               uint32_t sign) {
    magnitude = magnitude > Largest ? Largest : magnitude;
    return magnitude | sign << (width - 1);
  }
  /// Saturates; NaN has no sign. Formats without NaN convert it to the largest
  /// value.
  PTX_SCALAR_INLINE static uint32_t encode(float x) {
    uint32_t code =
        signedCode(Fmt::template encode<Rounding::Rn>(x), bits(x) >> 31);
    return x != x ? Nan : code;
  }
  PTX_SCALAR_INLINE static float decode(uint32_t code) {
    uint32_t magnitude = code & ((1u << (width - 1)) - 1);
    float x = Fmt::decode(magnitude);
    x = code >> (width - 1) & 1 ? -x : x;
    return special(magnitude) ? specialValue(code) : x;
  }
  PTX_SCALAR_INLINE static bool special(uint32_t magnitude) {
    return Nan > Largest && magnitude > Largest;
  }
  /// Returns the value of a code above the largest finite one: infinity
  /// directly above it (e5m2), else NaN.
  PTX_SCALAR_INLINE static float specialValue(uint32_t code) {
    uint32_t magnitude = code & ((1u << (width - 1)) - 1);
    bool infinite = Nan - Largest > 1 && magnitude == Largest + 1;
    uint32_t sign = (code >> (width - 1) & 1) << 31;
    return asFloat(infinite ? 0x7F800000 | sign : nanF32);
  }
};

using E4M3 = Narrow<Format<4, 3>, 0x7E, 0x7F, Type::E4M3x2, Type::B32>;
using E5M2 = Narrow<Format<5, 2>, 0x7B, 0x7F, Type::E5M2x2, Type::B32>;
using E2M3 = Narrow<Format<2, 3>, 0x1F, 0x1F, Type::E2M3x2, Type::B32>;
using E3M2 = Narrow<Format<3, 2>, 0x1F, 0x1F, Type::E3M2x2, Type::B32>;
using E2M1 = Narrow<Format<2, 1>, 0x7, 0x7, Type::E2M1x2, Type::B16>;

/// Distance between two elements in a packed word: 4 bits for fp4, else 8.
template <typename N> constexpr unsigned stride = N::width == 4 ? 4 : 8;

template <typename N, bool Relu> struct FromF32Pair {
  PTX_SCALAR_INLINE static uint32_t one(float x) {
    return N::encode(Relu ? relu(x) : x);
  }
  PTX_SCALAR_INLINE static uint16_t run(float a, float b) {
    return static_cast<uint16_t>(one(a) << stride<N> | one(b));
  }
};
template <typename N, typename H, bool Relu> struct FromHalfPair {
  PTX_SCALAR_INLINE static uint16_t run(uint32_t a) {
    return FromF32Pair<N, Relu>::run(H::widen(static_cast<uint16_t>(a >> 16)),
                                     H::widen(static_cast<uint16_t>(a)));
  }
};
template <typename N, typename H, bool Relu> struct ToHalfPair {
  PTX_SCALAR_INLINE static uint16_t one(uint32_t code) {
    float x = N::decode(code & ((1u << N::width) - 1));
    return H::narrow(Relu ? relu(x) : x);
  }
  PTX_SCALAR_INLINE static uint32_t run(uint16_t a) {
    return static_cast<uint32_t>(one(a >> stride<N>)) << 16 | one(a);
  }
};

/// ue8m0: a biased exponent, 0xFF is NaN. The sign is dropped. .rp rounds the
/// magnitude up to a power of two, .rz down.
template <bool Up, bool Finite> struct ToScale {
  PTX_SCALAR_INLINE static uint32_t one(float x) {
    uint32_t u = bits(x) & 0x7FFFFFFF;
    if (u > 0x7F800000)
      return 0xFF;
    uint32_t exponent = u >> 23;
    // Everything below 2^-127 is code 0, and so is 2^-127 itself.
    uint32_t rest = exponent ? u & 0x7FFFFF : (u > 0x400000 ? 1 : 0);
    uint32_t code = exponent + (Up && rest ? 1 : 0);
    return Finite && code > 0xFE ? 0xFE : (code > 0xFF ? 0xFF : code);
  }
  PTX_SCALAR_INLINE static uint16_t run(float a, float b) {
    return static_cast<uint16_t>(one(a) << 8 | one(b));
  }
};
template <bool Up, bool Finite> struct HalfToScale {
  PTX_SCALAR_INLINE static uint16_t run(uint32_t a) {
    return ToScale<Up, Finite>::run(
        HalfBF16::widen(static_cast<uint16_t>(a >> 16)),
        HalfBF16::widen(static_cast<uint16_t>(a)));
  }
};
struct FromScale {
  /// 2^(code - 127): a bf16 with this exponent field; 0 is the subnormal
  /// 2^-127.
  PTX_SCALAR_INLINE static uint32_t one(uint32_t code) {
    code &= 0xFF;
    return code == 0xFF ? nanF16 : (code ? code << 7 : 0x40);
  }
  PTX_SCALAR_INLINE static uint32_t run(uint16_t a) {
    return one(a >> 8) << 16 | one(a);
  }
};

/// Stochastic rounding: adds random bits below the last kept bit, and truncates
/// the sum. `Drop` bits of `random` are used.
template <unsigned Drop> uint32_t addRandom(uint32_t u, uint32_t random) {
  return u + (random & ((1u << Drop) - 1));
}
template <typename H, bool Relu, bool Finite> struct RandomPair {
  // bf16 drops 16 bits of float32, f16 drops 13.
  static constexpr unsigned drop = H::infinity == HalfBF16::infinity ? 16 : 13;
  PTX_SCALAR_INLINE static uint32_t one(float x, uint32_t random) {
    x = Relu ? relu(x) : x;
    if (std::fabs(x) < std::numeric_limits<float>::infinity())
      x = asFloat(addRandom<drop>(bits(x), random));
    uint16_t code = H::template narrow<Rounding::Rz>(x);
    bool over = std::fabs(x) >= 0x1p16f && drop == 13;
    code = over ? (code & 0x8000) | H::infinity : code;
    if (Finite && (code & 0x7FFF) == H::infinity)
      code -= 1;
    return code;
  }
  PTX_SCALAR_INLINE static uint32_t run(float a, float b, uint32_t random) {
    return one(a, random >> 16) << 16 | one(b, random);
  }
};

/// Four elements, the first operand the highest. Each uses its part of the
/// random word below its last kept bit.
template <typename N, typename Fmt, bool Relu> struct RandomFour {
  PTX_SCALAR_INLINE static uint32_t one(float x, uint32_t random) {
    x = Relu ? relu(x) : x;
    constexpr unsigned drop = 23 - Fmt::mantissaBits;
    if (std::fabs(x) < std::numeric_limits<float>::infinity())
      x = asFloat(bits(x) + ((random & 0xFF) << (drop - 8)));
    uint32_t code =
        N::signedCode(Fmt::template encode<Rounding::Rz>(x), bits(x) >> 31);
    return x != x ? N::nan : code;
  }
  PTX_SCALAR_INLINE static uint32_t run(float a, float b, float e, float f,
                                        uint32_t random) {
    constexpr unsigned step = stride<N>;
    return one(a, random >> 24) << (3 * step) |
           one(b, random >> 16) << (2 * step) | one(e, random >> 8) << step |
           one(f, random);
  }
};

/// cvt.pack.sat: a above b, with c shifted up by both. Bits is the width of a
/// part.
template <unsigned Bits, bool Signed> struct Pack {
  PTX_SCALAR_INLINE static uint32_t clamp(int32_t x) {
    constexpr int32_t high = Signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
    constexpr int32_t low = Signed ? -(1 << (Bits - 1)) : 0;
    x = x < low ? low : (x > high ? high : x);
    return static_cast<uint32_t>(x) & ((1u << Bits) - 1);
  }
  PTX_SCALAR_INLINE static uint32_t run(int32_t a, int32_t b) {
    return clamp(a) << Bits | clamp(b);
  }
  PTX_SCALAR_INLINE static uint32_t run(int32_t a, int32_t b, uint32_t c) {
    return run(a, b) | c << (Bits * 2 - 1) << 1;
  }
};

template <typename N> void registerNarrow(Registry &r) {
  using T = OperandType<N::type, uint16_t>;
  std::string_view word = nameOf(N::type);
  eachBool([&]<bool Relu>() {
    std::string to = text("cvt.rn.satfinite", when(Relu, "relu"), word);
    r.add(text(to, "f32"), form<FromF32Pair<N, Relu>, T, F32, F32>());
    r.add(text(to, "f16x2"), form<FromHalfPair<N, HalfF16, Relu>, T, F16x2>());
    r.add(text(to, "bf16x2"),
          form<FromHalfPair<N, HalfBF16, Relu>, T, BF16x2>());
    r.add(text("cvt.rn", when(Relu, "relu"), "f16x2", word),
          form<ToHalfPair<N, HalfF16, Relu>, F16x2, T>());
    r.add(text("cvt.rn", when(Relu, "relu"), "bf16x2", word),
          form<ToHalfPair<N, HalfBF16, Relu>, BF16x2, T>());
  });
}

void registerScales(Registry &r) {
  using T = OperandType<Type::UE8M0x2, uint16_t>;
  eachBool([&]<bool Up>() {
    eachBool([&]<bool Finite>() {
      std::string opcode =
          text("cvt", Up ? "rp" : "rz", when(Finite, "satfinite"), "ue8m0x2");
      r.add(text(opcode, "f32"), form<ToScale<Up, Finite>, T, F32, F32>());
      r.add(text(opcode, "bf16x2"), form<HalfToScale<Up, Finite>, T, BF16x2>());
    });
  });
  r.add("cvt.rn.bf16x2.ue8m0x2", form<FromScale, BF16x2, T>());
}

template <typename H> void registerRandom(Registry &r) {
  using P = typename H::Packed;
  eachBool([&]<bool Relu>() {
    eachBool([&]<bool Finite>() {
      r.add(text("cvt.rs", when(Relu, "relu"), when(Finite, "satfinite"),
                 name<P>(), "f32"),
            form<RandomPair<H, Relu, Finite>, P, F32, F32, B32>());
    });
  });
}

template <typename N, typename Fmt, typename D>
void registerRandomFour(Registry &r, std::string_view word) {
  eachBool([&]<bool Relu>() {
    r.add(text("cvt.rs", when(Relu, "relu"), "satfinite", word, "f32"),
          form<RandomFour<N, Fmt, Relu>, D, F32, F32, F32, F32, B32>());
  });
}

void registerPack(Registry &r) {
  r.add("cvt.pack.sat.u16.s32", form<Pack<16, false>, B32, S32, S32>());
  r.add("cvt.pack.sat.s16.s32", form<Pack<16, true>, B32, S32, S32>());
  eachBool([&]<bool Signed>() {
    std::string prefix = std::string("cvt.pack.sat.") + (Signed ? 's' : 'u');
    r.add(prefix + "8.s32.b32", form<Pack<8, Signed>, B32, S32, S32, B32>());
    r.add(prefix + "4.s32.b32", form<Pack<4, Signed>, B32, S32, S32, B32>());
    r.add(prefix + "2.s32.b32", form<Pack<2, Signed>, B32, S32, S32, B32>());
  });
}

} // namespace

void registerConvertNarrow(Registry &r) {
  eachType<E4M3, E5M2, E2M3, E3M2, E2M1>(
      [&]<typename N>() { registerNarrow<N>(r); });
  registerScales(r);
  registerRandom<HalfF16>(r);
  registerRandom<HalfBF16>(r);
  registerRandomFour<E4M3, Format<4, 3>, B32>(r, "e4m3x4");
  registerRandomFour<E5M2, Format<5, 2>, B32>(r, "e5m2x4");
  registerRandomFour<E2M3, Format<2, 3>, B32>(r, "e2m3x4");
  registerRandomFour<E3M2, Format<3, 2>, B32>(r, "e3m2x4");
  registerRandomFour<E2M1, Format<2, 1>, B16>(r, "e2m1x4");
  registerPack(r);
}

PTX_SCALAR_END
