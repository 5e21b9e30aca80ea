//===- Float32.cpp - f32 and f32x2 arithmetic (PTX 9.7.3, 9.7.5) ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cores.h"

PTX_SCALAR_BEGIN

namespace {

/// Operations that drop or keep the sign return the canonical NaN for NaN.
template <bool Ftz> struct Abs {
  PTX_SCALAR_INLINE static float run(float a) {
    return canonical(std::fabs(flushIf<Ftz>(a)));
  }
};
template <bool Ftz> struct Neg {
  PTX_SCALAR_INLINE static float run(float a) {
    return canonical(-flushIf<Ftz>(a));
  }
};

/// An operation on both floats of a 64-bit pair, element 0 in the low word.
template <typename Op> struct Pair {
  template <typename... A> PTX_SCALAR_INLINE static uint64_t run(A... a) {
    uint64_t low = bits(Op::run(asFloat(static_cast<uint32_t>(a))...));
    uint64_t high = bits(Op::run(asFloat(static_cast<uint32_t>(a >> 32))...));
    return low | high << 32;
  }
};

/// 16-bit operands widened to float32, which is exact.
template <typename H, typename Op> struct MixedFused {
  PTX_SCALAR_INLINE static float run(uint16_t a, uint16_t b, float c) {
    return Op::run(H::widen(a), H::widen(b), c);
  }
};
template <typename H, typename Op> struct MixedSum {
  PTX_SCALAR_INLINE static float run(uint16_t a, float c) {
    return Op::run(H::widen(a), c);
  }
};

/// Registers `opcode` with a rounding word, and without it for .rn where the
/// manual has a default.
void addRounded(Registry &r, std::string_view opcode, Rounding rounding,
                bool hasDefault, std::string_view rest, const Form &form) {
  r.add(text(opcode, nameOf(rounding), rest), form);
  if (hasDefault && rounding == Rounding::Rn)
    r.add(text(opcode, rest), form);
}

template <typename Core, typename... S>
void registerOne(Registry &r, std::string_view opcode, bool hasDefault,
                 bool hasSat) {
  eachRounding([&]<Rounding R>() {
    eachBool([&]<bool Ftz>() {
      addRounded(r, opcode, R, hasDefault, text(when(Ftz, "ftz"), "f32"),
                 form<Arithmetic<Core, R, Ftz, false>, F32, S...>());
      if (hasSat)
        addRounded(r, opcode, R, hasDefault, text(when(Ftz, "ftz"), "sat.f32"),
                   form<Arithmetic<Core, R, Ftz, true>, F32, S...>());
    });
  });
}

template <typename Core, typename... S>
void registerPair(Registry &r, std::string_view opcode, bool hasDefault) {
  eachRounding([&]<Rounding R>() {
    eachBool([&]<bool Ftz>() {
      addRounded(r, opcode, R, hasDefault, text(when(Ftz, "ftz"), "f32x2"),
                 form<Pair<Arithmetic<Core, R, Ftz, false>>, F32x2, S...>());
    });
  });
}

template <typename H> void registerMixed(Registry &r) {
  using T = typename H::OperandType;
  eachRounding([&]<Rounding R>() {
    eachBool([&]<bool Sat>() {
      std::string rest = text(when(Sat, "sat"), "f32", name<T>());
      addRounded(r, "fma", R, false, rest,
                 form<MixedFused<H, Arithmetic<FusedCore, R, false, Sat>>, F32,
                      T, T, F32>());
      addRounded(
          r, "add", R, true, rest,
          form<MixedSum<H, Arithmetic<SumCore, R, false, Sat>>, F32, T, F32>());
      addRounded(r, "sub", R, true, rest,
                 form<MixedSum<H, Arithmetic<DifferenceCore, R, false, Sat>>,
                      F32, T, F32>());
    });
  });
}

} // namespace

void registerFloat32(Registry &r) {
  registerOne<SumCore, F32, F32>(r, "add", true, true);
  registerOne<DifferenceCore, F32, F32>(r, "sub", true, true);
  registerOne<ProductCore, F32, F32>(r, "mul", true, true);
  registerOne<FusedCore, F32, F32, F32>(r, "fma", false, true);
  registerOne<FusedCore, F32, F32, F32>(r, "mad", false, true);
  registerOne<QuotientCore, F32, F32>(r, "div", false, false);
  registerOne<ReciprocalCore, F32>(r, "rcp", false, false);
  registerOne<RootCore, F32>(r, "sqrt", false, false);
  registerPair<SumCore, F32x2, F32x2>(r, "add", true);
  registerPair<DifferenceCore, F32x2, F32x2>(r, "sub", true);
  registerPair<ProductCore, F32x2, F32x2>(r, "mul", true);
  registerPair<FusedCore, F32x2, F32x2, F32x2>(r, "fma", false);
  registerMixed<HalfF16>(r);
  registerMixed<HalfBF16>(r);
  eachBool([&]<bool Ftz>() {
    r.add(text("abs", when(Ftz, "ftz"), "f32"), form<Abs<Ftz>, F32, F32>());
    r.add(text("neg", when(Ftz, "ftz"), "f32"), form<Neg<Ftz>, F32, F32>());
  });
}

PTX_SCALAR_END
