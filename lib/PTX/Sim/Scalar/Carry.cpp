//===- Carry.cpp - Chains through the carry flag --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extended-precision arithmetic through the carry flag (PTX 9.7.2).
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

using Wide = unsigned __int128;

/// Result and carry of one step of a chain.
template <typename V> struct Step {
  V result;
  bool carry;
};
template <typename V> Step<V> addStep(V a, V b, uint64_t in) {
  Wide sum = Wide(a) + b + in;
  return {static_cast<V>(sum), static_cast<bool>(sum >> (sizeof(V) * 8) & 1)};
}
template <typename V> Step<V> subStep(V a, V b, uint64_t in) {
  Wide rest = Wide(a) - b - in;
  return {static_cast<V>(rest), static_cast<bool>(rest >> (sizeof(V) * 8) & 1)};
}

struct Add {
  static constexpr unsigned sources = 2;
  template <typename V>
  static Step<V> run(const std::array<V, 3> &x, uint64_t in) {
    return addStep<V>(x[0], x[1], in);
  }
};
struct Sub {
  static constexpr unsigned sources = 2;
  template <typename V>
  static Step<V> run(const std::array<V, 3> &x, uint64_t in) {
    return subStep<V>(x[0], x[1], in);
  }
};
/// mad of the low or high half of a product; S is the signedness of its
/// operands.
template <bool High, bool Signed> struct Mad {
  static constexpr unsigned sources = 3;
  template <typename V>
  static Step<V> run(const std::array<V, 3> &x, uint64_t in) {
    using S = std::conditional_t<Signed, std::make_signed_t<V>, V>;
    Wide product = static_cast<Wide>(static_cast<__int128>(S(x[0]))) *
                   static_cast<Wide>(static_cast<__int128>(S(x[1])));
    return addStep<V>(static_cast<V>(product >> (High ? sizeof(V) * 8 : 0)),
                      x[2], in);
  }
};

/// Reads the flag if In, writes it if Out. Without a flag row the flag reads as
/// 0.
template <typename Op, typename V, bool In, bool Out>
void run(const Context &context, LaneMask active, Row *const *dst,
         const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    std::array<V, 3> x{};
    for (unsigned i = 0; i < Op::sources; ++i)
      x[i] = static_cast<V>((*src[i])[lane]);
    uint64_t in = In && context.carry ? (*context.carry)[lane] : 0;
    Step<V> step = Op::template run<V>(x, in);
    (*dst[0])[lane] = step.result;
    if (Out && context.carry)
      (*context.carry)[lane] = step.carry;
  }
}

template <typename Op, typename T, bool In, bool Out> Form chain() {
  using V = std::make_unsigned_t<typename T::Value>;
  Form form =
      Op::sources == 3 ? formOf<T, T, T, T>(nullptr) : formOf<T, T, T>(nullptr);
  form.function = &run<Op, V, In, Out>;
  return form;
}

template <typename Op, typename T>
void registerChain(Registry &r, std::string_view first, std::string_view next,
                   std::string_view part) {
  r.add(text(first, part, "cc", name<T>()), chain<Op, T, false, true>());
  r.add(text(next, part, "cc", name<T>()), chain<Op, T, true, true>());
  r.add(text(next, part, name<T>()), chain<Op, T, true, false>());
}

} // namespace

void registerCarry(Registry &r) {
  eachType<U32, S32, U64, S64>([&]<typename T>() {
    constexpr bool isSigned = std::is_signed_v<typename T::Value>;
    registerChain<Add, T>(r, "add", "addc", "");
    registerChain<Sub, T>(r, "sub", "subc", "");
    registerChain<Mad<false, isSigned>, T>(r, "mad", "madc", "lo");
    registerChain<Mad<true, isSigned>, T>(r, "mad", "madc", "hi");
  });
}

PTX_SCALAR_END
