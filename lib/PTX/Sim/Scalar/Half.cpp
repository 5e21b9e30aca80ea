//===- Half.cpp - f16, bf16 and their packed forms (PTX 9.7.4) ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cores.h"

PTX_SCALAR_BEGIN

namespace {

/// Helpers for one half format. Only f16 has .ftz; it is off for bf16.
template <typename H> uint16_t flushHalf(uint16_t h) {
  return h & H::infinity ? h : h & 0x8000;
}
template <typename H, bool Ftz> float read(uint16_t h) {
  return H::widen(Ftz ? flushHalf<H>(h) : h);
}

template <bool Sat, bool Relu> float limit(float x) {
  if constexpr (Sat)
    return saturate(x);
  return Relu ? relu(x) : x;
}

/// Exact in double, rounded once to the half format. Under .ftz, results that
/// are tiny before rounding are flushed.
template <typename H, typename Core, bool Ftz, bool Sat, bool Relu>
struct Arithmetic16 {
  template <typename... A> PTX_SCALAR_INLINE static uint16_t run(A... a) {
    double odd = Core::template odd<Rounding::Rn>(
        static_cast<double>(read<H, Ftz>(a))...);
    if constexpr (Ftz)
      odd = std::fabs(odd) < 0x1p-14 ? std::copysign(0.0, odd) : odd;
    return H::narrow(limit<Sat, Relu>(toOddFloat(odd)));
  }
};

/// fma.oob: the result is zero if an operand is the NaN that a tensor load
/// writes out of bounds, 0x7FF7 (PTX 9.7.4.4). 0x7FFF is a NaN like any other.
template <typename Fused> struct OutOfBounds {
  static constexpr uint16_t pattern = 0x7FF7;
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a, uint16_t b, uint16_t c) {
    bool outside = (a == pattern) | (b == pattern) | (c == pattern);
    return outside ? 0 : Fused::run(a, b, c);
  }
};

/// neg and abs lose the sign of a NaN.
template <typename H, bool Ftz, uint16_t Keep, uint16_t Flip> struct SignOf {
  PTX_SCALAR_INLINE static uint16_t run(uint16_t a) {
    uint16_t h = Ftz ? flushHalf<H>(a) : a;
    return (h & 0x7FFF) > H::infinity ? nanF16 : (h & Keep) ^ Flip;
  }
};

/// Adds a form of one half and the same form of packed halves.
template <typename H, typename Op, unsigned Sources>
void addBoth(Registry &r, const std::string &opcode) {
  using T = typename H::OperandType;
  using P = typename H::Packed;
  if constexpr (Sources == 1) {
    r.add(text(opcode, name<T>()), form<Op, T, T>());
    r.add(text(opcode, name<P>()), form<Halves<Op>, P, P>());
  } else if constexpr (Sources == 2) {
    r.add(text(opcode, name<T>()), form<Op, T, T, T>());
    r.add(text(opcode, name<P>()), form<Halves<Op>, P, P, P>());
  } else {
    r.add(text(opcode, name<T>()), form<Op, T, T, T, T>());
    r.add(text(opcode, name<P>()), form<Halves<Op>, P, P, P, P>());
  }
}

/// add, sub, mul: .rn is the default.
template <typename H, typename Core, bool Ftz>
void registerBinary(Registry &r, std::string_view opcode) {
  eachBool([&]<bool Sat>() {
    using Op = Arithmetic16<H, Core, Ftz, Sat, false>;
    std::string rest = text(when(Ftz, "ftz"), when(Sat, "sat"));
    addBoth<H, Op, 2>(r, text(opcode, rest));
    addBoth<H, Op, 2>(r, text(opcode, "rn", rest));
  });
}

template <typename H, bool Ftz> void registerFused(Registry &r) {
  std::string opcode = text("fma.rn", when(Ftz, "ftz"));
  using Plain = Arithmetic16<H, FusedCore, Ftz, false, false>;
  using Saturated = Arithmetic16<H, FusedCore, Ftz, true, false>;
  using Rectified = Arithmetic16<H, FusedCore, Ftz, false, true>;
  addBoth<H, Plain, 3>(r, opcode);
  addBoth<H, Saturated, 3>(r, text(opcode, "sat"));
  addBoth<H, Rectified, 3>(r, text(opcode, "relu"));
  addBoth<H, OutOfBounds<Plain>, 3>(r, text(opcode, "oob"));
  addBoth<H, OutOfBounds<Rectified>, 3>(r, text(opcode, "oob.relu"));
}

template <typename H, bool Ftz> void registerFormat(Registry &r) {
  registerBinary<H, SumCore, Ftz>(r, "add");
  registerBinary<H, DifferenceCore, Ftz>(r, "sub");
  registerBinary<H, ProductCore, Ftz>(r, "mul");
  registerFused<H, Ftz>(r);
  addBoth<H, SignOf<H, Ftz, 0x7FFF, 0>, 1>(r, text("abs", when(Ftz, "ftz")));
  addBoth<H, SignOf<H, Ftz, 0xFFFF, 0x8000>, 1>(r,
                                                text("neg", when(Ftz, "ftz")));
}

} // namespace

void registerHalf(Registry &r) {
  registerFormat<HalfF16, false>(r);
  registerFormat<HalfF16, true>(r);
  registerFormat<HalfBF16, false>(r);
}

PTX_SCALAR_END
