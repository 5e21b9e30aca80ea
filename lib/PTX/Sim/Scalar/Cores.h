//===- Cores.h - The IEEE operations, exact enough to round -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each core has `native`, the plain float32 operation in round-to-nearest, and
// `odd`, the exact result rounded to odd in double.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_CORES_H
#define FMHA_LIB_PTX_SIM_SCALAR_CORES_H

#include "Rounding.h"

PTX_SCALAR_BEGIN

struct SumCore {
  PTX_SCALAR_INLINE static float native(float a, float b) { return a + b; }
  template <Rounding R>
  PTX_SCALAR_INLINE static double odd(double a, double b) {
    return oddSum<R>(a, b);
  }
};
struct DifferenceCore {
  PTX_SCALAR_INLINE static float native(float a, float b) { return a - b; }
  template <Rounding R>
  PTX_SCALAR_INLINE static double odd(double a, double b) {
    return oddSum<R>(a, -b);
  }
};
struct ProductCore {
  PTX_SCALAR_INLINE static float native(float a, float b) { return a * b; }
  // 24 by 24 bits are exact in double.
  template <Rounding R>
  PTX_SCALAR_INLINE static double odd(double a, double b) {
    return a * b;
  }
};
struct FusedCore {
  PTX_SCALAR_INLINE static float native(float a, float b, float c) {
    return std::fma(a, b, c);
  }
  template <Rounding R>
  PTX_SCALAR_INLINE static double odd(double a, double b, double c) {
    return oddSum<R>(a * b, c);
  }
};
struct QuotientCore {
  PTX_SCALAR_INLINE static float native(float a, float b) { return a / b; }
  template <Rounding R>
  PTX_SCALAR_INLINE static double odd(double a, double b) {
    return oddQuotient(a, b);
  }
};
struct ReciprocalCore {
  PTX_SCALAR_INLINE static float native(float a) { return 1.0f / a; }
  template <Rounding R> PTX_SCALAR_INLINE static double odd(double a) {
    return oddQuotient(1.0, a);
  }
};
struct RootCore {
  PTX_SCALAR_INLINE static float native(float a) { return std::sqrt(a); }
  template <Rounding R> PTX_SCALAR_INLINE static double odd(double a) {
    return oddRoot(a);
  }
};

/// A float32 operation with its qualifiers.
template <typename Core, Rounding R, bool Ftz, bool Sat> struct Arithmetic {
  template <typename... A> PTX_SCALAR_INLINE static float run(A... a) {
    if constexpr (R == Rounding::Rn && !Ftz) {
      float f = canonical(Core::native(a...));
      return Sat ? saturate(f) : f;
    } else {
      return finish<R, Ftz, Sat>(
          Core::template odd<R>(static_cast<double>(flushIf<Ftz>(a))...));
    }
  }
};

PTX_SCALAR_END

#endif // FMHA_LIB_PTX_SIM_SCALAR_CORES_H
