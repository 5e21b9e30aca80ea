//===- Bits.cpp - Logic, shifts, bit fields, byte permutation (PTX 9.7.1, -===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

struct And {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, V b) {
    return a & b;
  }
};
struct Or {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, V b) {
    return a | b;
  }
};
struct Xor {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, V b) {
    return a ^ b;
  }
};
struct Not {
  template <typename V> PTX_SCALAR_INLINE static V run(V a) {
    if constexpr (std::is_same_v<V, bool>)
      return !a;
    else
      return static_cast<V>(~a);
  }
};
struct Cnot {
  template <typename V> PTX_SCALAR_INLINE static V run(V a) { return a == 0; }
};

/// Shift amounts are clamped to the width: the result is zeros, or copies of
/// the sign for .s.
struct Shl {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, uint32_t n) {
    return n >= sizeof(V) * 8 ? V(0) : static_cast<V>(a << n);
  }
};
struct Shr {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, uint32_t n) {
    constexpr uint32_t top = sizeof(V) * 8 - 1;
    V shifted = static_cast<V>(a >> (n > top ? top : n));
    return std::is_signed_v<V> || n <= top ? shifted : V(0);
  }
};

template <bool Wrap> uint32_t funnelAmount(uint32_t n) {
  return Wrap ? n & 31 : (n > 32 ? 32 : n);
}
/// The 64-bit value {b, a} shifted; the high word of a left shift, the low
/// word of a right shift.
template <bool Wrap> struct FunnelLeft {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t a, uint32_t b, uint32_t n) {
    uint64_t both = uint64_t(b) << 32 | a;
    return static_cast<uint32_t>((both << funnelAmount<Wrap>(n)) >> 32);
  }
};
template <bool Wrap> struct FunnelRight {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t a, uint32_t b, uint32_t n) {
    uint64_t both = uint64_t(b) << 32 | a;
    return static_cast<uint32_t>(both >> funnelAmount<Wrap>(n));
  }
};

/// A sum of minterms: bit 4a + 2b + c of the table is the result.
struct Lop3 {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t a, uint32_t b, uint32_t c,
                                        uint32_t table) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      result |= (0u - (table >> i & 1)) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) &
                (i & 1 ? c : ~c);
    return result;
  }
};

/// "lop3.or.b32 d|p, a, b, c, table, q": p = (d != 0) or q.
template <typename Combine>
void lop3Predicate(const Context &, LaneMask active, Row *const *dst,
                   const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto word = [&](unsigned i) {
      return static_cast<uint32_t>((*src[i])[lane]);
    };
    uint32_t value = Lop3::run(word(0), word(1), word(2), word(3));
    bool predicate = Combine::run(value != 0, Pred::load((*src[4])[lane]));
    if (dst[0])
      (*dst[0])[lane] = value;
    if (dst[1])
      (*dst[1])[lane] = predicate;
  }
}

/// b32 fields use position and length modulo 256, b64 fields all 32 bits.
template <typename V> uint32_t fieldPart(uint32_t n) {
  return sizeof(V) == 4 ? n & 0xFF : n;
}

/// Extracts a field, filled above with its highest bit inside the operand (.s)
/// or with zeros.
struct Bfe {
  template <typename V>
  PTX_SCALAR_INLINE static V run(V a, uint32_t pos, uint32_t len) {
    using U = std::make_unsigned_t<V>;
    constexpr uint32_t msb = sizeof(V) * 8 - 1;
    pos = fieldPart<V>(pos);
    len = fieldPart<V>(len);
    if (len == 0)
      return 0;
    uint64_t end = uint64_t(pos) + len - 1;
    uint32_t last = end > msb ? msb : static_cast<uint32_t>(end);
    bool fill = std::is_signed_v<V> && (U(a) >> last & 1);
    U field = pos > msb ? U(0) : U(a) >> pos;
    U mask = len > msb ? ~U(0) : (U(1) << len) - 1;
    // Bits of the field beyond the operand are also copies of the fill bit.
    U beyond = pos == 0 ? U(0) : (pos > msb ? ~U(0) : ~(~U(0) >> pos));
    U outside = ~mask | beyond;
    return static_cast<V>((field & ~outside) | (fill ? outside : U(0)));
  }
};

/// Inserts the low `len` bits of a into b at `pos`.
struct Bfi {
  template <typename V>
  PTX_SCALAR_INLINE static V run(V a, V b, uint32_t pos, uint32_t len) {
    constexpr uint32_t width = sizeof(V) * 8;
    pos = fieldPart<V>(pos);
    len = fieldPart<V>(len);
    if (pos >= width)
      return b;
    V mask = (len >= width ? ~V(0) : (V(1) << len) - 1) << pos;
    return (b & ~mask) | ((a << pos) & mask);
  }
};

struct Brev {
  template <typename V> PTX_SCALAR_INLINE static V run(V a) {
    V result = 0;
    for (unsigned i = 0; i < sizeof(V) * 8; ++i)
      result |= (a >> i & 1) << (sizeof(V) * 8 - 1 - i);
    return result;
  }
};

template <bool Wrap> struct Bmsk {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t pos, uint32_t len) {
    pos = funnelAmount<Wrap>(pos);
    len = funnelAmount<Wrap>(len);
    return static_cast<uint32_t>(((uint64_t(1) << len) - 1) << pos);
  }
};

/// Extends from `n` bits; 0 bits give 0, more than the width keep the value.
template <bool Wrap> struct Szext {
  template <typename V> PTX_SCALAR_INLINE static V run(V a, uint32_t n) {
    n = funnelAmount<Wrap>(n);
    uint64_t up = n == 0 ? 0 : uint64_t(uint32_t(a)) << (64 - n);
    if constexpr (std::is_signed_v<V>)
      return static_cast<V>(static_cast<int64_t>(up) >> (n == 0 ? 0 : 64 - n));
    else
      return static_cast<V>(up >> (n == 0 ? 0 : 64 - n));
  }
};

/// Returns the position of the n-th set bit from `base`, upwards for positive n
/// and downwards for negative, `base` itself being the first; all ones if there
/// is none. n = 0 tests the bit at base.
struct Fns {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t mask, uint32_t base,
                                        int32_t n) {
    if (base > 31)
      return 0xFFFFFFFF;
    if (n == 0)
      return mask >> base & 1 ? base : 0xFFFFFFFF;
    int64_t left = n < 0 ? -int64_t(n) : n;
    int step = n < 0 ? -1 : 1;
    for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
      if ((mask >> i & 1) && --left == 0)
        return static_cast<uint32_t>(i);
    return 0xFFFFFFFF;
  }
};

PTX_SCALAR_INLINE uint32_t byteOf(uint32_t a, uint32_t b, uint32_t index) {
  uint64_t both = uint64_t(b) << 32 | a;
  return static_cast<uint32_t>(both >> (8 * (index & 7))) & 0xFF;
}

/// Each nibble selects one of the eight bytes; its top bit replicates the sign.
struct Prmt {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t a, uint32_t b,
                                        uint32_t selectors) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t selector = selectors >> (4 * i) & 0xF;
      uint32_t byte = byteOf(a, b, selector);
      uint32_t sign = 0xFF & (0u - (byte >> 7));
      result |= (selector & 8 ? sign : byte) << (8 * i);
    }
    return result;
  }
};

/// The named modes: Table holds the four byte indices for each of the values
/// 0..3 of c, one nibble per byte, lowest byte first.
template <uint16_t S0, uint16_t S1, uint16_t S2, uint16_t S3> struct PrmtMode {
  PTX_SCALAR_INLINE static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    constexpr uint16_t selectors[] = {S0, S1, S2, S3};
    return Prmt::run(a, b, selectors[c & 3]);
  }
};

void registerLogic(Registry &r) {
  eachType<Pred, B16, B32, B64>([&]<typename T>() {
    r.add(text("and", name<T>()), form<And, T, T, T>());
    r.add(text("or", name<T>()), form<Or, T, T, T>());
    r.add(text("xor", name<T>()), form<Xor, T, T, T>());
    r.add(text("not", name<T>()), form<Not, T, T>());
  });
  eachType<B16, B32, B64>([&]<typename T>() {
    r.add(text("cnot", name<T>()), form<Cnot, T, T>());
    r.add(text("shl", name<T>()), form<Shl, T, T, U32>());
  });
  eachType<B16, B32, B64, U16, U32, U64, S16, S32, S64>([&]<typename T>() {
    r.add(text("shr", name<T>()), form<Shr, T, T, U32>());
  });
  r.add("lop3.b32", form<Lop3, B32, B32, B32, B32, U32>());
  Form both = formOf<B32, B32, B32, B32, U32, Pred>(&lop3Predicate<Or>);
  both.numDst = 2;
  both.dst[1] = Type::Pred;
  r.add("lop3.or.b32", both);
  both.function = &lop3Predicate<And>;
  r.add("lop3.and.b32", both);
}

void registerFields(Registry &r) {
  eachType<U32, U64, S32, S64>([&]<typename T>() {
    r.add(text("bfe", name<T>()), form<Bfe, T, T, U32, U32>());
  });
  eachType<B32, B64>([&]<typename T>() {
    r.add(text("bfi", name<T>()), form<Bfi, T, T, T, U32, U32>());
    r.add(text("brev", name<T>()), form<Brev, T, T>());
  });
  eachBool([&]<bool Wrap>() {
    std::string_view mode = Wrap ? "wrap" : "clamp";
    r.add(text("shf.l", mode, "b32"),
          form<FunnelLeft<Wrap>, B32, B32, B32, U32>());
    r.add(text("shf.r", mode, "b32"),
          form<FunnelRight<Wrap>, B32, B32, B32, U32>());
    r.add(text("bmsk", mode, "b32"), form<Bmsk<Wrap>, B32, B32, B32>());
    r.add(text("szext", mode, "s32"), form<Szext<Wrap>, S32, S32, U32>());
    r.add(text("szext", mode, "u32"), form<Szext<Wrap>, U32, U32, U32>());
  });
  r.add("fns.b32", form<Fns, B32, B32, B32, S32>());
}

template <typename Op> Form permutation() {
  return form<Op, B32, B32, B32, B32>();
}

} // namespace

void registerBits(Registry &r) {
  registerLogic(r);
  registerFields(r);
  r.add("prmt.b32", permutation<Prmt>());
  r.add("prmt.b32.f4e",
        permutation<PrmtMode<0x3210, 0x4321, 0x5432, 0x6543>>());
  r.add("prmt.b32.b4e",
        permutation<PrmtMode<0x5670, 0x6701, 0x7012, 0x0123>>());
  r.add("prmt.b32.rc8",
        permutation<PrmtMode<0x0000, 0x1111, 0x2222, 0x3333>>());
  r.add("prmt.b32.ecl",
        permutation<PrmtMode<0x3210, 0x3211, 0x3222, 0x3333>>());
  r.add("prmt.b32.ecr",
        permutation<PrmtMode<0x0000, 0x1110, 0x2210, 0x3210>>());
  r.add("prmt.b32.rc16",
        permutation<PrmtMode<0x1010, 0x3232, 0x1010, 0x3232>>());
}

PTX_SCALAR_END
