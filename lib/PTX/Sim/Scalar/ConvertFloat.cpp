//===- ConvertFloat.cpp - cvt between wide floats -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cvt between f16, bf16, f32, f64 and tf32 (PTX 9.7.9).
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

PTX_SCALAR_INLINE float rectify(float x, bool relu) {
  return relu ? ptxsim::scalar::PTX_SCALAR_LEVEL::relu(x) : x;
}

/// Narrows an exact or odd float32 with .relu and .satfinite. Under .satfinite
/// a result beyond the largest finite value becomes that value; NaN stays NaN.
template <typename H, Rounding R, bool Relu, bool Finite> struct Narrow {
  PTX_SCALAR_INLINE static uint16_t run(float x) {
    uint16_t code = H::template narrow<R>(rectify(x, Relu));
    if (Finite && (code & 0x7FFF) == H::infinity)
      code -= 1;
    return code;
  }
};
template <typename H, Rounding R, bool Ftz, bool Sat> struct NarrowPlain {
  PTX_SCALAR_INLINE static uint16_t run(float x) {
    x = flushIf<Ftz>(x);
    return H::template narrow<R>(Sat ? saturate(x) : x);
  }
};
/// Two floats to one word: a is the high half, b the low half.
template <typename Op> struct NarrowPair {
  PTX_SCALAR_INLINE static uint32_t run(float a, float b) {
    return static_cast<uint32_t>(Op::run(a)) << 16 | Op::run(b);
  }
};

/// One half format to the other; NaN is canonical.
template <typename From, typename To, Rounding R, bool Sat> struct Across {
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a) {
    float x = From::widen(a);
    return To::template narrow<R>(Sat ? saturate(x) : x);
  }
};

/// f64 to a half keeps the sign and the top payload of a NaN, quieted.
template <typename H, Rounding R, bool Sat> struct DoubleToHalf {
  PTX_SCALAR_INLINE static uint16_t run(double a) {
    if (!Sat && a != a)
      return nan(bits(a));
    float odd = toOddFloat(a);
    return H::template narrow<R>(Sat ? saturate(odd) : odd);
  }
  PTX_SCALAR_INLINE static uint16_t nan(uint64_t u) {
    uint64_t payload = (u >> 48 & 0xF) << 48 | (u & 0xFFFFFFFFFFFF);
    uint64_t quieted = payload | uint64_t(1) << 51;
    return static_cast<uint16_t>((u >> 63) << 15 | H::infinity |
                                 quieted >> (52 - H::mantissaBits));
  }
};
template <Rounding R, bool Ftz, bool Sat> struct DoubleToF32 {
  PTX_SCALAR_INLINE static float run(double a) {
    float f = finish<R, Ftz, Sat>(a);
    return Sat || a == a ? f : static_cast<float>(a);
  }
};

/// f16 to f32 makes NaN canonical; bf16 to f32 copies the bits.
template <bool Ftz, bool Sat> struct F16ToF32 {
  PTX_SCALAR_INLINE static float run(uint16_t a) {
    float x = canonical(HalfF16::widen(a));
    return Sat ? saturate(x) : x;
  }
};
template <bool Ftz, bool Sat> struct BF16ToF32 {
  PTX_SCALAR_INLINE static uint32_t run(uint16_t a) {
    float x = HalfBF16::widen(a);
    if (Sat)
      return bits(saturate(flushIf<Ftz>(x)));
    return Ftz ? bits(canonical(flush(x))) : uint32_t(a) << 16;
  }
};
template <typename H> struct HalfToDouble {
  PTX_SCALAR_INLINE static double run(uint16_t a) { return H::widen(a); }
};
template <bool Ftz> struct F32ToDouble {
  PTX_SCALAR_INLINE static double run(float a) {
    return Ftz ? canonical(flush(a)) : a;
  }
};

PTX_SCALAR_INLINE double saturateDouble(double x) {
  return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
}

// Rounding to an integral value of the same type; None leaves the value.
struct None {
  static constexpr std::string_view word = "";
  PTX_SCALAR_INLINE static double round(double x) { return x; }
};
struct Rni {
  static constexpr std::string_view word = "rni";
  PTX_SCALAR_INLINE static double round(double x) { return std::nearbyint(x); }
};
struct Rzi {
  static constexpr std::string_view word = "rzi";
  PTX_SCALAR_INLINE static double round(double x) { return std::trunc(x); }
};
struct Rmi {
  static constexpr std::string_view word = "rmi";
  PTX_SCALAR_INLINE static double round(double x) { return std::floor(x); }
};
struct Rpi {
  static constexpr std::string_view word = "rpi";
  PTX_SCALAR_INLINE static double round(double x) { return std::ceil(x); }
};

template <typename Mode, bool Ftz, bool Sat> struct IntegralF32 {
  PTX_SCALAR_INLINE static float run(float a) {
    float x = static_cast<float>(Mode::round(flushIf<Ftz>(a)));
    return Sat ? saturate(x) : canonical(x);
  }
};
template <typename Mode, bool Sat> struct IntegralF64 {
  PTX_SCALAR_INLINE static double run(double a) {
    double x = Mode::round(a);
    return Sat ? saturateDouble(x) : x;
  }
};
template <typename H, typename Mode, bool Sat> struct IntegralHalf {
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a) {
    float x = static_cast<float>(Mode::round(H::widen(a)));
    return H::narrow(Sat ? saturate(x) : x);
  }
};

// tf32 is float32 without its low 13 bits.
constexpr uint32_t tf32Mask = 0xFFFFE000;

/// .rna adds half a unit to finite bits and truncates. Payloads are truncated
/// too, so that a NaN may become infinity, as on hardware.
template <bool Finite> struct Tf32Away {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t u) {
    bool finite = (u & 0x7FFFFFFF) < 0x7F800000;
    uint32_t rounded = (finite ? u + 0x1000 : u) & tf32Mask;
    if (Finite && (rounded & 0x7FFFFFFF) >= 0x7F800000)
      rounded -= 0x2000;
    return rounded;
  }
};
template <Rounding R, bool Relu, bool Finite> struct Tf32 {
  PTX_SCALAR_INLINE static uint32_t run(float x) {
    if (x != x)
      return 0x7FFFE000;
    x = rectify(x, Relu);
    uint32_t u = bits(x), rest = u & 0x1FFF, kept = u & tf32Mask;
    uint32_t up = Format<8, 10>::roundsUp<R>(u >> 13, rest, 0x1000, u >> 31);
    uint32_t rounded = kept + (up << 13);
    if (Finite && (rounded & 0x7FFFFFFF) == 0x7F800000)
      rounded -= 0x2000;
    return rounded;
  }
};

template <typename H> void registerFromF32(Registry &r) {
  using T = typename H::OperandType;
  using P = typename H::Packed;
  eachRounding([&]<Rounding R>() {
    eachBool([&]<bool Relu>() {
      eachBool([&]<bool Finite>() {
        using Op = Narrow<H, R, Relu, Finite>;
        std::string opcode = text("cvt", nameOf(R), when(Relu, "relu"),
                                  when(Finite, "satfinite"));
        r.add(text(opcode, name<T>(), "f32"), form<Op, T, F32>());
        r.add(text(opcode, name<P>(), "f32"),
              form<NarrowPair<Op>, P, F32, F32>());
      });
    });
    eachBool([&]<bool Ftz>() {
      eachBool([&]<bool Sat>() {
        std::string opcode =
            text("cvt", nameOf(R), when(Ftz, "ftz"), when(Sat, "sat"));
        r.add(text(opcode, name<T>(), "f32"),
              form<NarrowPlain<H, R, Ftz, Sat>, T, F32>());
      });
    });
  });
}

template <typename H, typename Other> void registerHalf16(Registry &r) {
  using T = typename H::OperandType;
  using O = typename Other::OperandType;
  eachBool([&]<bool Sat>() {
    eachRounding([&]<Rounding R>() {
      std::string opcode = text("cvt", nameOf(R), when(Sat, "sat"), name<T>());
      r.add(text(opcode, name<O>()), form<Across<Other, H, R, Sat>, T, O>());
      r.add(text(opcode, "f64"), form<DoubleToHalf<H, R, Sat>, T, F64>());
    });
    eachType<None, Rni, Rzi, Rmi, Rpi>([&]<typename Mode>() {
      r.add(text("cvt", Mode::word, when(Sat, "sat"), name<T>(), name<T>()),
            form<IntegralHalf<H, Mode, Sat>, T, T>());
    });
  });
  r.add(text("cvt.f64", name<T>()), form<HalfToDouble<H>, F64, T>());
}

void registerWide(Registry &r) {
  using WordF32 = OperandType<Type::F32, uint32_t>;
  eachBool([&]<bool Sat>() {
    eachBool([&]<bool Ftz>() {
      std::string opcode = text(when(Ftz, "ftz"), when(Sat, "sat"), "f32");
      r.add(text("cvt", opcode, "f16"), form<F16ToF32<Ftz, Sat>, F32, F16>());
      r.add(text("cvt", opcode, "bf16"),
            form<BF16ToF32<Ftz, Sat>, WordF32, BF16>());
      eachRounding([&]<Rounding R>() {
        r.add(text("cvt", nameOf(R), opcode, "f64"),
              form<DoubleToF32<R, Ftz, Sat>, F32, F64>());
      });
      eachType<None, Rni, Rzi, Rmi, Rpi>([&]<typename Mode>() {
        r.add(text("cvt", Mode::word, opcode, "f32"),
              form<IntegralF32<Mode, Ftz, Sat>, F32, F32>());
      });
    });
    eachType<None, Rni, Rzi, Rmi, Rpi>([&]<typename Mode>() {
      r.add(text("cvt", Mode::word, when(Sat, "sat"), "f64.f64"),
            form<IntegralF64<Mode, Sat>, F64, F64>());
    });
  });
  r.add("cvt.f64.f32", form<F32ToDouble<false>, F64, F32>());
  r.add("cvt.ftz.f64.f32", form<F32ToDouble<true>, F64, F32>());
}

template <Rounding R> void registerTf32(Registry &r) {
  eachBool([&]<bool Relu>() {
    eachBool([&]<bool Finite>() {
      r.add(text("cvt", nameOf(R), when(Finite, "satfinite"),
                 when(Relu, "relu"), "tf32.f32"),
            form<Tf32<R, Relu, Finite>, TF32, F32>());
    });
  });
}

} // namespace

void registerConvertFloat(Registry &r) {
  registerFromF32<HalfF16>(r);
  registerFromF32<HalfBF16>(r);
  registerHalf16<HalfF16, HalfBF16>(r);
  registerHalf16<HalfBF16, HalfF16>(r);
  registerWide(r);
  using WordF32 = OperandType<Type::F32, uint32_t>;
  r.add("cvt.rna.tf32.f32", form<Tf32Away<false>, TF32, WordF32>());
  r.add("cvt.rna.satfinite.tf32.f32", form<Tf32Away<true>, TF32, WordF32>());
  registerTf32<Rounding::Rn>(r);
  registerTf32<Rounding::Rz>(r);
}

PTX_SCALAR_END
