//===- Video.cpp - Video instructions (PTX 9.7.17, 9.7.18) ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms without byte selectors or masks. Parts of 8, 16 or 32 bits are
// widened to 64, combined, saturated to the result type where .sat says so, and
// either put back in place or added to c.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

/// Part `index` of `Bits` bits, extended.
template <unsigned Bits>
int64_t part(uint32_t word, unsigned index, bool sign) {
  uint64_t raw = uint64_t(word) >> (Bits * index) << (64 - Bits);
  return sign ? static_cast<int64_t>(raw) >> (64 - Bits)
              : static_cast<int64_t>(raw >> (64 - Bits));
}

template <unsigned Bits> int64_t clampPart(int64_t x, bool sign) {
  int64_t high = (int64_t(1) << (sign ? Bits - 1 : Bits)) - 1;
  int64_t low = sign ? -high - 1 : 0;
  return x < low ? low : (x > high ? high : x);
}

#define PTX_SCALAR_VIDEO(NAME, WORD, EXPRESSION)                               \
  struct NAME {                                                                \
    static constexpr std::string_view word = WORD;                             \
    static int64_t run(int64_t a, int64_t b) { return EXPRESSION; }            \
  };
PTX_SCALAR_VIDEO(Add, "add", a + b)
PTX_SCALAR_VIDEO(Sub, "sub", a - b)
PTX_SCALAR_VIDEO(AbsDiff, "absdiff", a < b ? b - a : a - b)
PTX_SCALAR_VIDEO(Min, "min", a < b ? a : b)
PTX_SCALAR_VIDEO(Max, "max", a < b ? b : a)
PTX_SCALAR_VIDEO(Average, "avrg", (a + b + (a + b >= 0 ? 1 : 0)) >> 1)
PTX_SCALAR_VIDEO(Eq, "eq", a == b)
PTX_SCALAR_VIDEO(Ne, "ne", a != b)
PTX_SCALAR_VIDEO(Lt, "lt", a < b)
PTX_SCALAR_VIDEO(Le, "le", a <= b)
PTX_SCALAR_VIDEO(Gt, "gt", a > b)
PTX_SCALAR_VIDEO(Ge, "ge", a >= b)
#undef PTX_SCALAR_VIDEO

/// Signedness of the result and of both operands.
template <bool D, bool A, bool B> struct Signs {
  static constexpr bool d = D, a = A, b = B;
};

template <typename Op, unsigned Bits, typename S, bool Sat, bool Accumulate>
struct Parts {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t packed = 0;
    int64_t sum = c;
    for (unsigned i = 0; i < 32 / Bits; ++i) {
      int64_t x = Op::run(part<Bits>(a, i, S::a), part<Bits>(b, i, S::b));
      x = Sat ? clampPart<Bits>(x, S::d) : x;
      sum += x;
      packed |= static_cast<uint32_t>(x & ((int64_t(1) << Bits) - 1))
                << (Bits * i);
    }
    return Accumulate ? static_cast<uint32_t>(sum) : packed;
  }
  static uint32_t run(uint32_t a, uint32_t b) { return run(a, b, 0); }
};

/// The secondary operation of a scalar form: result op c in the result's type.
template <typename Op, typename Second, typename S, bool Sat> struct Chained {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t first = Parts<Op, 32, S, Sat, false>::run(a, b);
    return static_cast<uint32_t>(
        Second::run(part<32>(first, 0, S::d), part<32>(c, 0, S::d)));
  }
};

constexpr std::string_view typeWord(bool sign) { return sign ? "s32" : "u32"; }

template <typename F> void eachSigns(F f) {
  eachBool([&]<bool D>() {
    eachBool([&]<bool A>() {
      eachBool([&]<bool B>() { f.template operator()<Signs<D, A, B>>(); });
    });
  });
}

template <typename Op> void registerScalar(Registry &r) {
  eachSigns([&]<typename S>() {
    eachBool([&]<bool Sat>() {
      std::string opcode =
          text("v" + std::string(Op::word), typeWord(S::d), typeWord(S::a),
               typeWord(S::b), when(Sat, "sat"));
      r.add(opcode, form<Parts<Op, 32, S, Sat, false>, B32, B32, B32>());
      eachType<Add, Min, Max>([&]<typename Second>() {
        r.add(text(opcode, Second::word),
              form<Chained<Op, Second, S, Sat>, B32, B32, B32, B32>());
      });
    });
  });
}

template <typename Op, unsigned Bits> void registerPacked(Registry &r) {
  std::string word = "v" + std::string(Op::word) + (Bits == 8 ? "4" : "2");
  eachSigns([&]<typename S>() {
    std::string opcode =
        text(word, typeWord(S::d), typeWord(S::a), typeWord(S::b));
    eachBool([&]<bool Sat>() {
      r.add(text(opcode, when(Sat, "sat")),
            form<Parts<Op, Bits, S, Sat, false>, B32, B32, B32, B32>());
    });
    r.add(text(opcode, "add"),
          form<Parts<Op, Bits, S, false, true>, B32, B32, B32, B32>());
  });
}

template <typename Op, unsigned Bits> void registerCompares(Registry &r) {
  eachBool([&]<bool A>() {
    eachBool([&]<bool B>() {
      using S = Signs<false, A, B>;
      std::string opcode = text(Bits == 8 ? "vset4" : "vset2", typeWord(A),
                                typeWord(B), Op::word);
      r.add(opcode,
            form<Parts<Op, Bits, S, false, false>, B32, B32, B32, B32>());
      r.add(text(opcode, "add"),
            form<Parts<Op, Bits, S, false, true>, B32, B32, B32, B32>());
    });
  });
}

} // namespace

void registerVideo(Registry &r) {
  eachType<Add, Sub, AbsDiff, Min, Max>([&]<typename Op>() {
    registerScalar<Op>(r);
    registerPacked<Op, 8>(r);
    registerPacked<Op, 16>(r);
  });
  registerPacked<Average, 8>(r);
  registerPacked<Average, 16>(r);
  eachType<Eq, Ne, Lt, Le, Gt, Ge>([&]<typename Op>() {
    registerCompares<Op, 8>(r);
    registerCompares<Op, 16>(r);
  });
}

PTX_SCALAR_END
