//===- Lanes.h - Forms over 32 lanes ----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The semantics of a form is a struct with a static `run` over host values.
// form<Op, D, S...>() turns it into a Form: a loop over the lanes that a
// compiler can vectorize, with a slow path for warps that are not full. The
// common families have only the slow path: there are many, and kernels seldom
// use them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_LANES_H
#define FMHA_LIB_PTX_SIM_SCALAR_LANES_H

#include "Families.h"
#include "Registry.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

// A family's functions carry the target attribute themselves, so that no
// function of the standard library is compiled for a CPU that may be absent.
#define PTX_SCALAR_PRAGMA(text) _Pragma(#text)
#if defined(PTX_SCALAR_COMMON)
#define PTX_SCALAR_LEVEL common
#define PTX_SCALAR_TARGET_BEGIN
#define PTX_SCALAR_TARGET_END
#elif !defined(PTX_SCALAR_AVX2)
#define PTX_SCALAR_LEVEL portable
#define PTX_SCALAR_TARGET_BEGIN
#define PTX_SCALAR_TARGET_END
#elif defined(__clang__)
#define PTX_SCALAR_LEVEL avx2
#define PTX_SCALAR_TARGET_BEGIN                                                \
  PTX_SCALAR_PRAGMA(clang attribute push(                                      \
      __attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))),               \
      apply_to = function))
#define PTX_SCALAR_TARGET_END PTX_SCALAR_PRAGMA(clang attribute pop)
#else
#define PTX_SCALAR_LEVEL avx2
#define PTX_SCALAR_TARGET_BEGIN                                                \
  PTX_SCALAR_PRAGMA(GCC push_options)                                          \
  PTX_SCALAR_PRAGMA(GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))
#define PTX_SCALAR_TARGET_END PTX_SCALAR_PRAGMA(GCC pop_options)
#endif
#define PTX_SCALAR_BEGIN                                                       \
  PTX_SCALAR_TARGET_BEGIN namespace ptxsim::scalar::PTX_SCALAR_LEVEL {
#define PTX_SCALAR_END                                                         \
  }                                                                            \
  PTX_SCALAR_TARGET_END

// Rows are identical or disjoint, so iterations never depend on each other.
#if defined(__clang__)
#define PTX_SCALAR_VECTORIZE                                                   \
  _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define PTX_SCALAR_VECTORIZE _Pragma("GCC ivdep")
#endif

// `run` must be fully inlined for its loop to be vectorized.
#define PTX_SCALAR_INLINE [[gnu::always_inline]] inline

// Keeps a function that many small functions call with different constants from
// being copied into each of them.
#define PTX_SCALAR_NOINLINE [[gnu::noinline]]

PTX_SCALAR_BEGIN

/// An operand type: its PTX name and the host type that holds a value. Half and
/// packed types are passed as their bits.
template <Type K, typename V> struct OperandType {
  using Value = V;
  static constexpr Type type = K;
  PTX_SCALAR_INLINE static V load(uint64_t slot) {
    if constexpr (std::is_same_v<V, bool>)
      return slot & 1;
    else if constexpr (std::is_same_v<V, float>)
      return std::bit_cast<float>(static_cast<uint32_t>(slot));
    else if constexpr (std::is_same_v<V, double>)
      return std::bit_cast<double>(slot);
    else
      return static_cast<V>(slot);
  }
  PTX_SCALAR_INLINE static uint64_t store(V value) {
    if constexpr (std::is_same_v<V, bool>)
      return value;
    else if constexpr (std::is_same_v<V, float>)
      return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<V, double>)
      return std::bit_cast<uint64_t>(value);
    else
      return static_cast<std::make_unsigned_t<V>>(value);
  }
};

using Pred = OperandType<Type::Pred, bool>;
using B8 = OperandType<Type::B8, uint8_t>;
using B16 = OperandType<Type::B16, uint16_t>;
using B32 = OperandType<Type::B32, uint32_t>;
using B64 = OperandType<Type::B64, uint64_t>;
using U8 = OperandType<Type::U8, uint8_t>;
using U16 = OperandType<Type::U16, uint16_t>;
using U32 = OperandType<Type::U32, uint32_t>;
using U64 = OperandType<Type::U64, uint64_t>;
using S8 = OperandType<Type::S8, int8_t>;
using S16 = OperandType<Type::S16, int16_t>;
using S32 = OperandType<Type::S32, int32_t>;
using S64 = OperandType<Type::S64, int64_t>;
using F16 = OperandType<Type::F16, uint16_t>;
using BF16 = OperandType<Type::BF16, uint16_t>;
using F32 = OperandType<Type::F32, float>;
using F64 = OperandType<Type::F64, double>;
using F16x2 = OperandType<Type::F16x2, uint32_t>;
using BF16x2 = OperandType<Type::BF16x2, uint32_t>;
using F32x2 = OperandType<Type::F32x2, uint64_t>;
using TF32 = OperandType<Type::TF32, uint32_t>;

/// The loop over the lanes of one operation with one destination.
template <typename Op, typename D, typename... S> struct Lanes {
  template <typename> using Pointer = const uint64_t *;

  static void loop(LaneMask active, uint64_t *d, Pointer<S>... s) {
#if !defined(PTX_SCALAR_COMMON)
    if (active == ~LaneMask(0)) {
      PTX_SCALAR_VECTORIZE
      for (unsigned lane = 0; lane < 32; ++lane)
        d[lane] = D::store(Op::run(S::load(s[lane])...));
      return;
    }
#endif
    for (LaneMask rest = active; rest; rest &= rest - 1) {
      unsigned lane = std::countr_zero(rest);
      d[lane] = D::store(Op::run(S::load(s[lane])...));
    }
  }

  template <size_t... I>
  static void unpack(LaneMask active, Row *const *dst, const Row *const *src,
                     std::index_sequence<I...>) {
    loop(active, dst[0]->data(), src[I]->data()...);
  }

  static void run(const Context &, LaneMask active, Row *const *dst,
                  const Row *const *src) {
    unpack(active, dst, src, std::index_sequence_for<S...>());
  }
};

/// Returns a form with `function`, one destination D and sources S.
template <typename D, typename... S> Form formOf(Function function) {
  return makeForm(function, {D::type}, {S::type...});
}

template <typename Op, typename D, typename... S> Form form() {
  return formOf<D, S...>(&Lanes<Op, D, S...>::run);
}

/// Computes the two 16-bit halves of a 32-bit operand separately.
template <typename Op> struct Halves {
  template <typename... A> PTX_SCALAR_INLINE static uint32_t run(A... a) {
    uint32_t low = static_cast<uint16_t>(Op::run(static_cast<uint16_t>(a)...));
    uint32_t high =
        static_cast<uint16_t>(Op::run(static_cast<uint16_t>(a >> 16)...));
    return low | high << 16;
  }
};

/// Returns "a.b.c" of the words that are not empty.
template <typename... Words> std::string text(Words... words) {
  return joinWords({std::string_view(words)...});
}

inline std::string_view when(bool condition, std::string_view word) {
  return condition ? word : std::string_view();
}

template <typename T> std::string_view name() { return nameOf(T::type); }

/// Calls f.operator()<T>() for each type.
template <typename... T, typename F> void eachType(F f) {
  (f.template operator()<T>(), ...);
}
template <auto... V, typename F> void eachValue(F f) {
  (f.template operator()<V>(), ...);
}
template <typename F> void eachBool(F f) { eachValue<false, true>(f); }

PTX_SCALAR_END

#endif // FMHA_LIB_PTX_SIM_SCALAR_LANES_H
