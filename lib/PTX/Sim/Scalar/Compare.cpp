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

// Ordered float comparisons are false for NaN; those with u are true. C++'s !=
// is true for NaN, so ne also tests for order.
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
PTX_SCALAR_COMPARISON(Equ, "equ", !((a < b) | (a > b)))
PTX_SCALAR_COMPARISON(Neu, "neu", !(a == b))
PTX_SCALAR_COMPARISON(Ltu, "ltu", !(a >= b))
PTX_SCALAR_COMPARISON(Leu, "leu", !(a > b))
PTX_SCALAR_COMPARISON(Gtu, "gtu", !(a <= b))
PTX_SCALAR_COMPARISON(Geu, "geu", !(a < b))
PTX_SCALAR_COMPARISON(Num, "num", (a == a) & (b == b))
PTX_SCALAR_COMPARISON(Nan, "nan", (a != a) | (b != b))
#undef PTX_SCALAR_COMPARISON

/// A boolean function of the comparison t and the predicate c: bit 2t + c of
/// the table is the result.
using TruthTable = uint8_t;
constexpr TruthTable alone = 0b1100;

struct Combiner {
  std::string_view word;
  TruthTable table;
};
constexpr Combiner combiners[] = {
    {"", alone}, {"and", 0b1000}, {"or", 0b1110}, {"xor", 0b0110}};

PTX_SCALAR_INLINE uint64_t combine(TruthTable table, uint64_t t, uint64_t c) {
  return table >> (2 * t + c) & 1;
}

/// How an operand is read for the comparison: unchanged, flushed, or widened.
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

/// Writes 1 or 0 for every lane, active or not. Only this step is compiled for
/// each comparison of each type. The few functions below take the comparison as
/// an argument and process its result.
using Comparison = void (*)(const Row &a, const Row &b, Row &result);

template <typename Cmp, typename Read, typename T>
void compare(const Row &a, const Row &b, Row &result) {
  PTX_SCALAR_VECTORIZE
  for (unsigned lane = 0; lane < 32; ++lane)
    result[lane] =
        Cmp::run(Read::run(T::load(a[lane])), Read::run(T::load(b[lane])));
}

/// Compares the high halves of packed operands.
void compareHigh(Comparison comparison, const Row *const *src, Row &result) {
  Row a, b;
  for (unsigned lane = 0; lane < 32; ++lane) {
    a[lane] = (*src[0])[lane] >> 16;
    b[lane] = (*src[1])[lane] >> 16;
  }
  comparison(a, b, result);
}

/// Returns the predicate operand of a lane, 0 if the form has none.
PTX_SCALAR_INLINE uint64_t predicateOf(TruthTable table, const Row *const *src,
                                       unsigned lane) {
  return table == alone ? 0 : (*src[2])[lane] & 1;
}

/// p = t op c, q = !t op c; q may be absent.
PTX_SCALAR_NOINLINE void setPredicates(Comparison comparison, TruthTable table,
                                       LaneMask active, Row *const *dst,
                                       const Row *const *src) {
  if (table == alone && !dst[1] && active == ~LaneMask(0))
    return comparison(*src[0], *src[1], *dst[0]);
  Row t;
  comparison(*src[0], *src[1], t);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t c = predicateOf(table, src, lane);
    (*dst[0])[lane] = combine(table, t[lane], c);
    if (dst[1])
      (*dst[1])[lane] = combine(table, t[lane] ^ 1, c);
  }
}

/// Packed halves: p of the low pair, q of the high pair.
PTX_SCALAR_NOINLINE void setPackedPredicates(Comparison comparison,
                                             TruthTable table, LaneMask active,
                                             Row *const *dst,
                                             const Row *const *src) {
  Row low, high;
  comparison(*src[0], *src[1], low);
  compareHigh(comparison, src, high);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t c = predicateOf(table, src, lane);
    (*dst[0])[lane] = combine(table, low[lane], c);
    if (dst[1])
      (*dst[1])[lane] = combine(table, high[lane], c);
  }
}

/// d = t op c ? outcome : 0.
PTX_SCALAR_NOINLINE void setValues(Comparison comparison, TruthTable table,
                                   uint64_t outcome, LaneMask active,
                                   Row *const *dst, const Row *const *src) {
  Row t;
  comparison(*src[0], *src[1], t);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t c = predicateOf(table, src, lane);
    (*dst[0])[lane] = combine(table, t[lane], c) ? outcome : 0;
  }
}

PTX_SCALAR_NOINLINE void setPackedValues(Comparison comparison,
                                         TruthTable table, uint64_t outcome,
                                         LaneMask active, Row *const *dst,
                                         const Row *const *src) {
  Row low, high;
  comparison(*src[0], *src[1], low);
  compareHigh(comparison, src, high);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t c = predicateOf(table, src, lane);
    uint64_t lowBits = combine(table, low[lane], c) ? outcome : 0;
    uint64_t highBits = combine(table, high[lane], c) ? outcome : 0;
    (*dst[0])[lane] = lowBits | highBits << 16;
  }
}

// A Form's function has no room for arguments; these bind them.
template <Comparison C, TruthTable Table, bool Packed>
void setp(const Context &, LaneMask active, Row *const *dst,
          const Row *const *src) {
  constexpr auto function = Packed ? &setPackedPredicates : &setPredicates;
  function(C, Table, active, dst, src);
}
template <Comparison C, TruthTable Table, uint32_t Outcome, bool Packed>
void set(const Context &, LaneMask active, Row *const *dst,
         const Row *const *src) {
  constexpr auto function = Packed ? &setPackedValues : &setValues;
  function(C, Table, Outcome, active, dst, src);
}

/// One function for each of `combiners`.
using Functions = std::array<Function, std::size(combiners)>;
template <Comparison C, bool Packed, size_t... I>
constexpr Functions setpFunctions(std::index_sequence<I...>) {
  return {&setp<C, combiners[I].table, Packed>...};
}
template <Comparison C, uint32_t Outcome, bool Packed, size_t... I>
constexpr Functions setFunctions(std::index_sequence<I...>) {
  return {&set<C, combiners[I].table, Outcome, Packed>...};
}
using EachCombiner = std::make_index_sequence<std::size(combiners)>;

/// The words of an opcode that name the comparison and its types.
struct Compared {
  std::string_view word;
  bool ftz;
  Type type;
};

PTX_SCALAR_NOINLINE void addSetp(Registry &r, const Compared &what,
                                 const Functions &functions) {
  for (size_t i = 0; i < functions.size(); ++i) {
    Form form = makeForm(functions[i], {Type::Pred, Type::Pred},
                         {what.type, what.type, Type::Pred});
    form.optionalDst = 1;
    if (combiners[i].table == alone)
      --form.numSrc;
    r.add(text("setp", what.word, combiners[i].word, when(what.ftz, "ftz"),
               nameOf(what.type)),
          form);
  }
}

PTX_SCALAR_NOINLINE void addSet(Registry &r, const Compared &what, Type result,
                                const Functions &functions) {
  for (size_t i = 0; i < functions.size(); ++i) {
    Form form =
        makeForm(functions[i], {result}, {what.type, what.type, Type::Pred});
    if (combiners[i].table == alone)
      --form.numSrc;
    r.add(text("set", what.word, combiners[i].word, when(what.ftz, "ftz"),
               nameOf(result), nameOf(what.type)),
          form);
  }
}

// The value of set for true: all ones of the result's width, or 1.0.
constexpr uint32_t ones32 = 0xFFFFFFFF, ones16 = 0xFFFF, oneF32 = 0x3F800000;

template <Comparison C, uint32_t Outcome>
void addSets(Registry &r, const Compared &what,
             std::initializer_list<Type> results) {
  for (Type result : results)
    addSet(r, what, result, setFunctions<C, Outcome, false>(EachCombiner()));
}

/// Adds setp and set of operands of 32 bits and more, and of integers.
template <Comparison C> void addWide(Registry &r, const Compared &what) {
  addSetp(r, what, setpFunctions<C, false>(EachCombiner()));
  addSets<C, ones32>(r, what, {Type::U32, Type::S32});
  addSets<C, oneF32>(r, what, {Type::F32});
}

/// Adds setp and set of one half format and its packed form.
template <typename Cmp, typename H, uint16_t One, bool Ftz>
void addHalf(Registry &r) {
  using T = typename H::OperandType;
  constexpr Comparison comparison = &compare<Cmp, Widened<H, Ftz>, T>;
  Compared one{Cmp::word, Ftz, T::type};
  addSetp(r, one, setpFunctions<comparison, false>(EachCombiner()));
  addSets<comparison, ones16>(r, one, {Type::U16, Type::S16});
  addSets<comparison, ones32>(r, one, {Type::U32, Type::S32});
  addSets<comparison, One>(r, one, {T::type});
  Compared both{Cmp::word, Ftz, H::Packed::type};
  addSetp(r, both, setpFunctions<comparison, true>(EachCombiner()));
  addSet(r, both, both.type,
         setFunctions<comparison, One, true>(EachCombiner()));
}

template <typename Cmp> void registerFloatComparison(Registry &r) {
  addWide<&compare<Cmp, Plain<false>, F32>>(r, {Cmp::word, false, Type::F32});
  addWide<&compare<Cmp, Plain<true>, F32>>(r, {Cmp::word, true, Type::F32});
  addWide<&compare<Cmp, Plain<false>, F64>>(r, {Cmp::word, false, Type::F64});
  addHalf<Cmp, HalfF16, 0x3C00, false>(r);
  addHalf<Cmp, HalfF16, 0x3C00, true>(r);
  addHalf<Cmp, HalfBF16, 0x3F80, false>(r);
}

/// `word` is lo, ls, hi or hs if Cmp has another name for signed types.
template <typename Cmp, typename... T>
void registerIntegerComparison(Registry &r, std::string_view word) {
  eachType<T...>([&]<typename Source>() {
    addWide<&compare<Cmp, Plain<false>, Source>>(r,
                                                 {word, false, Source::type});
  });
}

/// Bits compare as unsigned integers.
template <typename Cmp> void registerBitComparison(Registry &r) {
  addWide<&compare<Cmp, Plain<false>, U16>>(r, {Cmp::word, false, Type::B16});
  addWide<&compare<Cmp, Plain<false>, U32>>(r, {Cmp::word, false, Type::B32});
  addWide<&compare<Cmp, Plain<false>, U64>>(r, {Cmp::word, false, Type::B64});
}

// testp tests the bits: exponent field and mantissa.
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
    registerIntegerComparison<Cmp, U16, U32, U64, S16, S32, S64>(r, Cmp::word);
  });
  eachType<Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan>(
      [&]<typename Cmp>() { registerFloatComparison<Cmp>(r); });
  registerBitComparison<Eq>(r);
  registerBitComparison<Ne>(r);
  registerIntegerComparison<Lt, U16, U32, U64>(r, "lo");
  registerIntegerComparison<Le, U16, U32, U64>(r, "ls");
  registerIntegerComparison<Gt, U16, U32, U64>(r, "hi");
  registerIntegerComparison<Ge, U16, U32, U64>(r, "hs");
  eachType<Finite, Infinite, Number, NotANumber, Normal, Subnormal>(
      [&]<typename Class>() {
        r.add(text("testp", Class::word, "f32"), form<Class, Pred, F32>());
        r.add(text("testp", Class::word, "f64"), form<Class, Pred, F64>());
      });
  using BitsF32 = OperandType<Type::F32, uint32_t>;
  using BitsF64 = OperandType<Type::F64, uint64_t>;
  r.add("copysign.f32", form<CopySign, BitsF32, BitsF32, BitsF32>());
  r.add("copysign.f64", form<CopySign, BitsF64, BitsF64, BitsF64>());
}

PTX_SCALAR_END
