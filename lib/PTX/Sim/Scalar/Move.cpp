//===- Move.cpp - mov, selp, slct (PTX 9.7.6, 9.7.9) ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

PTX_SCALAR_BEGIN

namespace {

struct Same {
  template <typename V> static V run(V a) { return a; }
};
struct Select {
  template <typename V> static V run(V a, V b, bool p) { return p ? a : b; }
};
struct SelectByInteger {
  template <typename V> static V run(V a, V b, int32_t c) {
    return c >= 0 ? a : b;
  }
};
/// NaN selects b; -0 is zero, and so is a subnormal under .ftz.
template <bool Ftz> struct SelectByFloat {
  template <typename V> static V run(V a, V b, float c) {
    return flushIf<Ftz>(c) >= 0 ? a : b;
  }
};

void move128(const Context &, LaneMask active, Row *const *dst,
             const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    dst[0][0][lane] = src[0][0][lane];
    dst[0][1][lane] = src[0][1][lane];
  }
}

} // namespace

void registerMove(Registry &r) {
  // Floats are copied as bits, so that a NaN keeps its payload.
  using BitsF32 = OperandType<Type::F32, uint32_t>;
  using BitsF64 = OperandType<Type::F64, uint64_t>;
  eachType<Pred, B8, B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, BF16,
           F16x2, BF16x2, BitsF32, BitsF64>(
      [&]<typename T>() { r.add(text("mov", name<T>()), form<Same, T, T>()); });
  r.add("mov.b128", formOf<OperandType<Type::B128, uint64_t>,
                           OperandType<Type::B128, uint64_t>>(&move128));
  eachType<Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, BF16, F16x2,
           BF16x2, BitsF32, BitsF64>([&]<typename T>() {
    r.add(text("selp", name<T>()), form<Select, T, T, T, Pred>());
    r.add(text("slct", name<T>(), "s32"),
          form<SelectByInteger, T, T, T, S32>());
    r.add(text("slct", name<T>(), "f32"),
          form<SelectByFloat<false>, T, T, T, F32>());
    r.add(text("slct.ftz", name<T>(), "f32"),
          form<SelectByFloat<true>, T, T, T, F32>());
  });
}

PTX_SCALAR_END
