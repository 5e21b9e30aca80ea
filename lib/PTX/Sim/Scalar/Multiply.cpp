//===- Multiply.cpp - mul, mad, mul24, mad24 (PTX 9.7.1) ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

/// The type that holds a full product.
template <typename V> struct WiderOf;
template <> struct WiderOf<uint16_t> {
  using Type = uint32_t;
};
template <> struct WiderOf<int16_t> {
  using Type = int32_t;
};
template <> struct WiderOf<uint32_t> {
  using Type = uint64_t;
};
template <> struct WiderOf<int32_t> {
  using Type = int64_t;
};
template <> struct WiderOf<uint64_t> {
  using Type = unsigned __int128;
};
template <> struct WiderOf<int64_t> {
  using Type = __int128;
};
template <typename V> using Wider = typename WiderOf<V>::Type;

template <typename V> Wider<V> product(V a, V b) {
  return static_cast<Wider<V>>(a) * static_cast<Wider<V>>(b);
}

struct MulLo {
  template <typename V> static V run(V a, V b) {
    // 64-bit unsigned products wrap without undefined behavior for each type.
    return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct MulHi {
  template <typename V> static V run(V a, V b) {
    return static_cast<V>(product(a, b) >> (sizeof(V) * 8));
  }
};
struct MulWide {
  template <typename V> static Wider<V> run(V a, V b) { return product(a, b); }
};

/// A product with an addend, which wraps.
template <typename Mul> struct Mad {
  template <typename V, typename C> static C run(V a, V b, C c) {
    return static_cast<C>(static_cast<uint64_t>(Mul::run(a, b)) +
                          static_cast<uint64_t>(c));
  }
};

inline int32_t clampToS32(int64_t x) {
  return static_cast<int32_t>(x < INT32_MIN ? INT32_MIN
                                            : (x > INT32_MAX ? INT32_MAX : x));
}
template <typename Mul> struct MadSat {
  static int32_t run(int32_t a, int32_t b, int32_t c) {
    return clampToS32(int64_t(Mul::run(a, b)) + c);
  }
};

/// Returns the low 24 bits of an operand, sign- or zero-extended.
inline uint64_t low24(uint32_t a) { return a & 0xFFFFFF; }
inline int64_t low24(int32_t a) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
}
struct Mul24Lo {
  template <typename V> static V run(V a, V b) {
    return static_cast<V>(low24(a) * low24(b));
  }
};
struct Mul24Hi {
  template <typename V> static V run(V a, V b) {
    return static_cast<V>((low24(a) * low24(b)) >> 16);
  }
};

template <typename T, typename W>
void registerWidth(Registry &r, std::string_view mul = "mul",
                   std::string_view mad = "mad") {
  r.add(text(mul, "lo", name<T>()), form<MulLo, T, T, T>());
  r.add(text(mul, "hi", name<T>()), form<MulHi, T, T, T>());
  r.add(text(mad, "lo", name<T>()), form<Mad<MulLo>, T, T, T, T>());
  r.add(text(mad, "hi", name<T>()), form<Mad<MulHi>, T, T, T, T>());
  if constexpr (!std::is_void_v<W>) {
    r.add(text(mul, "wide", name<T>()), form<MulWide, W, T, T>());
    r.add(text(mad, "wide", name<T>()), form<Mad<MulWide>, W, T, T, W>());
  }
}

} // namespace

void registerMultiply(Registry &r) {
  registerWidth<U16, U32>(r);
  registerWidth<S16, S32>(r);
  registerWidth<U32, U64>(r);
  registerWidth<S32, S64>(r);
  registerWidth<U64, void>(r);
  registerWidth<S64, void>(r);
  r.add("mad.hi.sat.s32", form<MadSat<MulHi>, S32, S32, S32, S32>());
  eachType<U32, S32>([&]<typename T>() {
    r.add(text("mul24.lo", name<T>()), form<Mul24Lo, T, T, T>());
    r.add(text("mul24.hi", name<T>()), form<Mul24Hi, T, T, T>());
    r.add(text("mad24.lo", name<T>()), form<Mad<Mul24Lo>, T, T, T, T>());
    r.add(text("mad24.hi", name<T>()), form<Mad<Mul24Hi>, T, T, T, T>());
  });
  r.add("mad24.hi.sat.s32", form<MadSat<Mul24Hi>, S32, S32, S32, S32>());
}

PTX_SCALAR_END
