//===- Float64.cpp - f64 arithmetic (PTX 9.7.3) ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

#include <cfenv>

PTX_SCALAR_BEGIN

namespace {

struct Sum {
  static double run(double a, double b) { return a + b; }
};
struct Difference {
  static double run(double a, double b) { return a - b; }
};
struct Product {
  static double run(double a, double b) { return a * b; }
};
struct Fused {
  static double run(double a, double b, double c) { return std::fma(a, b, c); }
};
struct Quotient {
  static double run(double a, double b) { return a / b; }
};
struct Reciprocal {
  static double run(double a) { return 1.0 / a; }
};
struct Root {
  static double run(double a) { return std::sqrt(a); }
};

inline double quiet(double x) { return asDouble(bits(x) | uint64_t(1) << 51); }

/// Returns the first NaN operand, quieted; an invalid operation gives the
/// default NaN.
inline double pickNan() { return asDouble(0xFFF8000000000000); }
template <typename... Rest> double pickNan(double a, Rest... rest) {
  return a != a ? quiet(a) : pickNan(rest...);
}

template <Rounding R> constexpr int hostMode() {
  constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  return modes[static_cast<unsigned>(R)];
}

template <typename Op, size_t... I>
double apply(volatile double *operands, std::index_sequence<I...>) {
  return Op::run(static_cast<double>(operands[I])...);
}

/// Computes in a rounding mode. Volatile operands keep the operation between
/// the two changes of mode.
template <typename Op, Rounding R, typename... A> double inMode(A... a) {
  volatile double operands[] = {a...};
  std::fesetround(hostMode<R>());
  volatile double result = apply<Op>(operands, std::index_sequence_for<A...>());
  std::fesetround(FE_TONEAREST);
  return result;
}

template <typename Op, Rounding R> struct Arithmetic64 {
  template <typename... A> static double run(A... a) {
    double result;
    if constexpr (R == Rounding::Rn)
      result = Op::run(a...);
    else
      result = inMode<Op, R>(a...);
    return result == result ? result : pickNan(a...);
  }
};

struct Abs {
  static uint64_t run(uint64_t a) {
    double x = asDouble(a);
    return x != x ? bits(quiet(x)) : a & ~(uint64_t(1) << 63);
  }
};
struct Neg {
  static uint64_t run(uint64_t a) {
    double x = asDouble(a);
    return x != x ? bits(quiet(x)) : a ^ uint64_t(1) << 63;
  }
};

template <typename Op, typename... S>
void registerOne(Registry &r, std::string_view opcode, bool hasDefault) {
  eachRounding([&]<Rounding R>() {
    Form form = ptxsim::scalar::PTX_SCALAR_LEVEL::form<Arithmetic64<Op, R>, F64,
                                                       S...>();
    r.add(text(opcode, nameOf(R), "f64"), form);
    if (hasDefault && R == Rounding::Rn)
      r.add(text(opcode, "f64"), form);
  });
}

/// The high word of a function of the high word; low words are 0. A NaN whose
/// payload is only in the low word reads as infinity.
inline double highWord(double x) {
  return asDouble(bits(x) & 0xFFFFFFFF00000000);
}
inline double flushDouble(double x) {
  return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x;
}
inline double highResult(double x) {
  return x != x ? asDouble(0x7FFFFFFF00000000) : highWord(x);
}
struct ReciprocalHigh {
  static double run(double a) {
    return highResult(flushDouble(1.0 / flushDouble(highWord(a))));
  }
};
struct ReciprocalRootHigh {
  static double run(double a) {
    return highResult(1.0 / std::sqrt(flushDouble(highWord(a))));
  }
};
struct ReciprocalRoot {
  static double run(double a) {
    double result = 1.0 / std::sqrt(a);
    return result == result ? result : pickNan(a);
  }
};

} // namespace

void registerFloat64(Registry &r) {
  registerOne<Sum, F64, F64>(r, "add", true);
  registerOne<Difference, F64, F64>(r, "sub", true);
  registerOne<Product, F64, F64>(r, "mul", true);
  registerOne<Fused, F64, F64, F64>(r, "fma", false);
  registerOne<Fused, F64, F64, F64>(r, "mad", false);
  registerOne<Quotient, F64, F64>(r, "div", false);
  registerOne<Reciprocal, F64>(r, "rcp", false);
  registerOne<Root, F64>(r, "sqrt", false);
  using Word = OperandType<Type::F64, uint64_t>;
  r.add("abs.f64", form<Abs, Word, Word>());
  r.add("neg.f64", form<Neg, Word, Word>());
  r.add("rcp.approx.ftz.f64", form<ReciprocalHigh, F64, F64>());
  r.add("rsqrt.approx.ftz.f64", form<ReciprocalRootHigh, F64, F64>());
  r.add("rsqrt.approx.f64", form<ReciprocalRoot, F64, F64>());
}

PTX_SCALAR_END
