//===- Compare.cpp - setp, set, testp, copysign (PTX 9.7.3, 9.7.6, 9.7.7) -===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

// Ordered float comparisons are false for NaN, those with u are true. C++'s !=
// is true for NaN, so ne asks for order as well.
#define PTX_SCALAR_COMPARISON(NAME, WORD, EXPRESSION)                          \
  struct NAME {                                                                \
    static constexpr std::string_view word = WORD;                             \
    template <typename V> static bool run(V a, V b) { return EXPRESSION; }     \
  };
PTX_SCALAR_COMPARISON(Eq, "eq", a == b)
PTX_SCALAR_COMPARISON(Ne, "ne", (a < b) | (a > b))
PTX_SCALAR_COMPARISON(Lt, "lt", a < b)
PTX_SCALAR_COMPARISON(Le, "le", a <= b)
PTX_SCALAR_COMPARISON(Gt, "gt", a > b)
PTX_SCALAR_COMPARISON(Ge, "ge", a >= b)
PTX_SCALAR_COMPARISON(Lo, "lo", a < b)
PTX_SCALAR_COMPARISON(Ls, "ls", a <= b)
PTX_SCALAR_COMPARISON(Hi, "hi", a > b)
PTX_SCALAR_COMPARISON(Hs, "hs", a >= b)
PTX_SCALAR_COMPARISON(Equ, "equ", !((a < b) | (a > b)))
PTX_SCALAR_COMPARISON(Neu, "neu", !(a == b))
PTX_SCALAR_COMPARISON(Ltu, "ltu", !(a >= b))
PTX_SCALAR_COMPARISON(Leu, "leu", !(a > b))
PTX_SCALAR_COMPARISON(Gtu, "gtu", !(a <= b))
PTX_SCALAR_COMPARISON(Geu, "geu", !(a < b))
PTX_SCALAR_COMPARISON(Num, "num", (a == a) & (b == b))
PTX_SCALAR_COMPARISON(Nan, "nan", (a != a) | (b != b))
#undef PTX_SCALAR_COMPARISON

struct Alone {
  static constexpr std::string_view word = "";
  static bool run(bool t, bool) { return t; }
};
struct And {
  static constexpr std::string_view word = "and";
  static bool run(bool t, bool c) { return t & c; }
};
struct Or {
  static constexpr std::string_view word = "or";
  static bool run(bool t, bool c) { return t | c; }
};
struct Xor {
  static constexpr std::string_view word = "xor";
  static bool run(bool t, bool c) { return t ^ c; }
};

/// How an operand is read for comparing: as it is, flushed, or widened.
template <bool Ftz> struct Plain {
  template <typename V> static V run(V a) {
    if constexpr (Ftz && std::is_same_v<V, float>)
      return flush(a);
    else
      return a;
  }
};
template <typename H, bool Ftz> struct Widened {
  static float run(uint32_t a) {
    uint16_t h = static_cast<uint16_t>(a);
    if (Ftz && !(h & H::infinity))
      h &= 0x8000;
    return H::widen(h);
  }
};

template <typename Cmp, typename Read> struct Test {
  template <typename V> static bool run(V a, V b) {
    return Cmp::run(Read::run(a), Read::run(b));
  }
};

/// p = t op c, q = !t op c; q may be absent.
template <typename T, typename Tester, typename Combine>
void setPredicates(const Context &context, LaneMask active, Row *const *dst,
                   const Row *const *src) {
  constexpr bool alone = std::is_same_v<Combine, Alone>;
  if (alone && !dst[1])
    return Lanes<Tester, Pred, T, T>::run(context, active, dst, src);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    bool c = !alone && Pred::load((*src[2])[lane]);
    bool t = Tester::run(T::load((*src[0])[lane]), T::load((*src[1])[lane]));
    (*dst[0])[lane] = Combine::run(t, c);
    if (dst[1])
      (*dst[1])[lane] = Combine::run(!t, c);
  }
}

/// Packed halves: p of the low pair, q of the high pair.
template <typename T, typename Tester, typename Combine>
void setPackedPredicates(const Context &, LaneMask active, Row *const *dst,
                         const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    bool c = !std::is_same_v<Combine, Alone> && Pred::load((*src[2])[lane]);
    uint32_t a = T::load((*src[0])[lane]), b = T::load((*src[1])[lane]);
    (*dst[0])[lane] = Combine::run(Tester::run(a, b), c);
    if (dst[1])
      (*dst[1])[lane] = Combine::run(Tester::run(a >> 16, b >> 16), c);
  }
}

template <typename T, typename Combine> Form predicateForm(Function function) {
  Form form = formOf<Pred, T, T>(function);
  form.numDst = 2;
  form.optionalDst = 1;
  form.dst[1] = Type::Pred;
  if (!std::is_same_v<Combine, Alone>) {
    form.numSrc = 3;
    form.src[2] = Type::Pred;
  }
  return form;
}

template <typename Cmp, typename Read, typename T, bool Packed>
void registerSetp(Registry &r, bool ftz) {
  eachType<Alone, And, Or, Xor>([&]<typename Combine>() {
    using Tester = Test<Cmp, Read>;
    Function function = &setPredicates<T, Tester, Combine>;
    if constexpr (Packed)
      function = &setPackedPredicates<T, Tester, Combine>;
    r.add(text("setp", Cmp::word, Combine::word, when(ftz, "ftz"), name<T>()),
          predicateForm<T, Combine>(function));
  });
}

/// The destination types of set, with what they hold for true.
template <typename D, uint64_t True> struct Outcome {
  using Operand = D;
  static constexpr uint64_t value = True;
};

template <typename Tester, typename Combine, uint64_t True, bool Packed>
struct Set {
  template <typename V> static uint32_t run(V a, V b, bool c = false) {
    uint32_t low = Combine::run(Tester::run(a, b), c) ? True : 0;
    if constexpr (Packed) {
      uint32_t high = Combine::run(Tester::run(a >> 16, b >> 16), c) ? True : 0;
      return (low & 0xFFFF) | high << 16;
    }
    return low;
  }
};

template <typename Cmp, typename Read, typename T, bool Packed, typename... D>
void registerSet(Registry &r, bool ftz) {
  eachType<Alone, And, Or, Xor>([&]<typename Combine>() {
    eachType<D...>([&]<typename Result>() {
      using Op = Set<Test<Cmp, Read>, Combine, Result::value, Packed>;
      using Out = typename Result::Operand;
      std::string opcode = text("set", Cmp::word, Combine::word,
                                when(ftz, "ftz"), name<Out>(), name<T>());
      if constexpr (std::is_same_v<Combine, Alone>)
        r.add(opcode, form<Op, Out, T, T>());
      else
        r.add(opcode, form<Op, Out, T, T, Pred>());
    });
  });
}

// The host type of a result is 32 bits for each; a 16-bit True keeps the rest
// 0.
using SetU32 = Outcome<Operand<Type::U32, uint32_t>, 0xFFFFFFFF>;
using SetS32 = Outcome<Operand<Type::S32, uint32_t>, 0xFFFFFFFF>;
using SetF32 = Outcome<Operand<Type::F32, uint32_t>, 0x3F800000>;
using SetU16 = Outcome<Operand<Type::U16, uint32_t>, 0xFFFF>;
using SetS16 = Outcome<Operand<Type::S16, uint32_t>, 0xFFFF>;
using SetF16 = Outcome<F16, 0x3C00>;
using SetBF16 = Outcome<BF16, 0x3F80>;
using SetF16x2 = Outcome<F16x2, 0x3C00>;
using SetBF16x2 = Outcome<BF16x2, 0x3F80>;

template <typename Cmp> void registerFloatComparison(Registry &r) {
  eachBool([&]<bool Ftz>() {
    using Read = Plain<Ftz>;
    registerSetp<Cmp, Read, F32, false>(r, Ftz);
    registerSet<Cmp, Read, F32, false, SetU32, SetS32, SetF32>(r, Ftz);
    using ReadF16 = Widened<HalfF16, Ftz>;
    registerSetp<Cmp, ReadF16, F16, false>(r, Ftz);
    registerSetp<Cmp, ReadF16, F16x2, true>(r, Ftz);
    registerSet<Cmp, ReadF16, F16, false, SetU16, SetS16, SetU32, SetS32,
                SetF16>(r, Ftz);
    registerSet<Cmp, ReadF16, F16x2, true, SetF16x2>(r, Ftz);
  });
  registerSetp<Cmp, Plain<false>, F64, false>(r, false);
  registerSet<Cmp, Plain<false>, F64, false, SetU32, SetS32, SetF32>(r, false);
  using ReadBF16 = Widened<HalfBF16, false>;
  registerSetp<Cmp, ReadBF16, BF16, false>(r, false);
  registerSetp<Cmp, ReadBF16, BF16x2, true>(r, false);
  registerSet<Cmp, ReadBF16, BF16, false, SetU16, SetS16, SetU32, SetS32,
              SetBF16>(r, false);
  registerSet<Cmp, ReadBF16, BF16x2, true, SetBF16x2>(r, false);
}

template <typename Cmp, typename... T>
void registerIntegerComparison(Registry &r) {
  eachType<T...>([&]<typename Source>() {
    registerSetp<Cmp, Plain<false>, Source, false>(r, false);
    registerSet<Cmp, Plain<false>, Source, false, SetU32, SetS32, SetF32>(
        r, false);
  });
}

// testp looks at the bits: exponent field and mantissa.
#define PTX_SCALAR_CLASS(NAME, WORD, EXPRESSION)                               \
  struct NAME {                                                                \
    static constexpr std::string_view word = WORD;                             \
    template <typename V> static bool run(V a) { return EXPRESSION; }          \
  };
template <typename V> V smallest() { return std::numeric_limits<V>::min(); }
template <typename V> V infinity() {
  return std::numeric_limits<V>::infinity();
}
PTX_SCALAR_CLASS(Finite, "finite", std::fabs(a) < infinity<V>())
PTX_SCALAR_CLASS(Infinite, "infinite", std::fabs(a) == infinity<V>())
PTX_SCALAR_CLASS(Number, "number", a == a)
PTX_SCALAR_CLASS(NotANumber, "notanumber", a != a)
PTX_SCALAR_CLASS(Normal, "normal",
                 a == 0 || (std::fabs(a) >= smallest<V>() &&
                            std::fabs(a) < infinity<V>()))
PTX_SCALAR_CLASS(Subnormal, "subnormal", a != 0 && std::fabs(a) < smallest<V>())
#undef PTX_SCALAR_CLASS

/// The magnitude of b with the sign of a.
struct CopySign {
  template <typename U> static U run(U a, U b) {
    constexpr U sign = U(1) << (sizeof(U) * 8 - 1);
    return (a & sign) | (b & ~sign);
  }
};

} // namespace

void registerCompare(Registry &r) {
  eachType<Eq, Ne, Lt, Le, Gt, Ge>([&]<typename Cmp>() {
    registerFloatComparison<Cmp>(r);
    registerIntegerComparison<Cmp, U16, U32, U64, S16, S32, S64>(r);
  });
  eachType<Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan>(
      [&]<typename Cmp>() { registerFloatComparison<Cmp>(r); });
  eachType<Eq, Ne>([&]<typename Cmp>() {
    registerIntegerComparison<Cmp, B16, B32, B64>(r);
  });
  eachType<Lo, Ls, Hi, Hs>([&]<typename Cmp>() {
    registerIntegerComparison<Cmp, U16, U32, U64>(r);
  });
  eachType<Finite, Infinite, Number, NotANumber, Normal, Subnormal>(
      [&]<typename Class>() {
        r.add(text("testp", Class::word, "f32"), form<Class, Pred, F32>());
        r.add(text("testp", Class::word, "f64"), form<Class, Pred, F64>());
      });
  using BitsF32 = Operand<Type::F32, uint32_t>;
  using BitsF64 = Operand<Type::F64, uint64_t>;
  r.add("copysign.f32", form<CopySign, BitsF32, BitsF32, BitsF32>());
  r.add("copysign.f64", form<CopySign, BitsF64, BitsF64, BitsF64>());
}

PTX_SCALAR_END
