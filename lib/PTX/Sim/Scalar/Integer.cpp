//===- Integer.cpp - Integer arithmetic and bit counting (PTX 9.7.1) ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

template <typename V> using Bits = std::make_unsigned_t<V>;

struct Add {
  template <typename V> static V run(V a, V b) {
    return static_cast<V>(Bits<V>(a) + Bits<V>(b));
  }
};
struct Sub {
  template <typename V> static V run(V a, V b) {
    return static_cast<V>(Bits<V>(a) - Bits<V>(b));
  }
};
struct Neg {
  template <typename V> static V run(V a) { return Sub::run(V(0), a); }
};
struct Abs {
  template <typename V> static V run(V a) { return a < 0 ? Neg::run(a) : a; }
};
struct Min {
  template <typename V> static V run(V a, V b) { return b < a ? b : a; }
};
struct Max {
  template <typename V> static V run(V a, V b) { return a < b ? b : a; }
};
struct Sad {
  template <typename V> static V run(V a, V b, V c) {
    V distance = a < b ? Sub::run(b, a) : Sub::run(a, b);
    return Add::run(c, distance);
  }
};

/// Division by zero gives all ones on hardware; the lowest value over -1 wraps.
struct Div {
  template <typename V> static V run(V a, V b) {
    if (b == 0)
      return static_cast<V>(~Bits<V>(0));
    if (std::is_signed_v<V> && b == static_cast<V>(-1))
      return Neg::run(a);
    return static_cast<V>(a / b);
  }
};
struct Rem {
  template <typename V> static V run(V a, V b) {
    if (b == 0)
      return static_cast<V>(~Bits<V>(0));
    if (std::is_signed_v<V> && b == static_cast<V>(-1))
      return 0;
    return static_cast<V>(a % b);
  }
};

inline int32_t clampToS32(int64_t x) {
  return static_cast<int32_t>(x < INT32_MIN ? INT32_MIN
                                            : (x > INT32_MAX ? INT32_MAX : x));
}
struct AddSat {
  static int32_t run(int32_t a, int32_t b) {
    return clampToS32(int64_t(a) + b);
  }
};
struct SubSat {
  static int32_t run(int32_t a, int32_t b) {
    return clampToS32(int64_t(a) - b);
  }
};

/// .relu: negative results become 0.
template <typename Op> struct Relu {
  template <typename V> static V run(V a, V b) {
    return Max::run(Op::run(a, b), V(0));
  }
};
/// An operation on the halves of a packed operand, read as V.
template <typename Op, typename V> struct As {
  template <typename... A> static uint16_t run(A... a) {
    return static_cast<uint16_t>(Op::run(static_cast<V>(a)...));
  }
};

struct Popc {
  template <typename V> static uint32_t run(V a) { return std::popcount(a); }
};
struct Clz {
  template <typename V> static uint32_t run(V a) { return std::countl_zero(a); }
};

/// Returns the position of the most significant bit that is not a sign bit, or
/// all ones if there is none. With .shiftamt, returns the left shift that moves
/// it to the top.
template <bool ShiftAmount> struct Bfind {
  template <typename V> static uint32_t run(V a) {
    Bits<V> u = static_cast<Bits<V>>(a < 0 ? ~a : a);
    if (u == 0)
      return 0xFFFFFFFF;
    uint32_t zeros = std::countl_zero(u);
    return ShiftAmount ? zeros : sizeof(V) * 8 - 1 - zeros;
  }
};

/// Sums of products of bytes (dp4a) or of 16-bit and 8-bit parts (dp2a).
template <typename A> int32_t part(uint32_t word, unsigned index) {
  return static_cast<A>(word >> (index * sizeof(A) * 8));
}
template <typename A, typename B> struct Dp4a {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 4; ++i)
      c += static_cast<uint32_t>(part<A>(a, i) * part<B>(b, i));
    return c;
  }
};
template <typename A, typename B, bool High> struct Dp2a {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 2; ++i)
      c +=
          static_cast<uint32_t>(part<A>(a, i) * part<B>(b, i + (High ? 2 : 0)));
    return c;
  }
};

template <bool Signed> using Byte = std::conditional_t<Signed, int8_t, uint8_t>;
template <bool Signed>
using Short = std::conditional_t<Signed, int16_t, uint16_t>;
template <bool Signed> using Word = std::conditional_t<Signed, S32, U32>;

void registerArithmetic(Registry &r) {
  eachType<U16, U32, U64, S16, S32, S64>([&]<typename T>() {
    r.add(text("add", name<T>()), form<Add, T, T, T>());
    r.add(text("sub", name<T>()), form<Sub, T, T, T>());
    r.add(text("min", name<T>()), form<Min, T, T, T>());
    r.add(text("max", name<T>()), form<Max, T, T, T>());
    r.add(text("div", name<T>()), form<Div, T, T, T>());
    r.add(text("rem", name<T>()), form<Rem, T, T, T>());
    r.add(text("sad", name<T>()), form<Sad, T, T, T, T>());
  });
  eachType<S16, S32, S64>([&]<typename T>() {
    r.add(text("abs", name<T>()), form<Abs, T, T>());
    r.add(text("neg", name<T>()), form<Neg, T, T>());
  });
  r.add("add.sat.s32", form<AddSat, S32, S32, S32>());
  r.add("sub.sat.s32", form<SubSat, S32, S32, S32>());
  r.add("min.relu.s32", form<Relu<Min>, S32, S32, S32>());
  r.add("max.relu.s32", form<Relu<Max>, S32, S32, S32>());
}

void registerPackedArithmetic(Registry &r) {
  auto add = [&]<typename Op, typename V>(std::string_view opcode, Op, V) {
    r.add(text(opcode), form<Halves<As<Op, V>>, B32, B32, B32>());
  };
  add("add.u16x2", Add(), uint16_t());
  add("add.s16x2", Add(), int16_t());
  add("min.u16x2", Min(), uint16_t());
  add("max.u16x2", Max(), uint16_t());
  add("min.s16x2", Min(), int16_t());
  add("max.s16x2", Max(), int16_t());
  add("min.relu.s16x2", Relu<Min>(), int16_t());
  add("max.relu.s16x2", Relu<Max>(), int16_t());
}

void registerDotProducts(Registry &r) {
  eachBool([&]<bool SignedA>() {
    eachBool([&]<bool SignedB>() {
      using A = Byte<SignedA>;
      using B = Byte<SignedB>;
      std::string types = text(name<Word<SignedA>>(), name<Word<SignedB>>());
      r.add(text("dp4a", types), form<Dp4a<A, B>, B32, B32, B32, B32>());
      using H = Short<SignedA>;
      r.add(text("dp2a.lo", types),
            form<Dp2a<H, B, false>, B32, B32, B32, B32>());
      r.add(text("dp2a.hi", types),
            form<Dp2a<H, B, true>, B32, B32, B32, B32>());
    });
  });
}

} // namespace

void registerInteger(Registry &r) {
  registerArithmetic(r);
  registerPackedArithmetic(r);
  registerDotProducts(r);
  eachType<B32, B64>([&]<typename T>() {
    r.add(text("popc", name<T>()), form<Popc, U32, T>());
    r.add(text("clz", name<T>()), form<Clz, U32, T>());
  });
  eachType<U32, S32, U64, S64>([&]<typename T>() {
    r.add(text("bfind", name<T>()), form<Bfind<false>, U32, T>());
    r.add(text("bfind.shiftamt", name<T>()), form<Bfind<true>, U32, T>());
  });
}

PTX_SCALAR_END
