//===- Video.cpp - Video instructions (PTX 9.7.17, 9.7.18) ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms without byte selectors or masks. Parts of 8, 16 or 32 bits are
// widened to 64, combined, saturated to the result type under .sat, and either
// stored back or added to c. One function executes all forms by a recipe; the
// forms differ only in their recipes.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

namespace {

struct Operation {
  std::string_view word;
  int64_t (*run)(int64_t a, int64_t b);
};

#define PTX_SCALAR_VIDEO(WORD, EXPRESSION)                                     \
  {WORD, [](int64_t a, int64_t b) -> int64_t { return EXPRESSION; }}
constexpr Operation operations[] = {
    PTX_SCALAR_VIDEO("add", a + b),
    PTX_SCALAR_VIDEO("sub", a - b),
    PTX_SCALAR_VIDEO("absdiff", a < b ? b - a : a - b),
    PTX_SCALAR_VIDEO("min", a < b ? a : b),
    PTX_SCALAR_VIDEO("max", a < b ? b : a),
    PTX_SCALAR_VIDEO("avrg", (a + b + (a + b >= 0 ? 1 : 0)) >> 1),
};
constexpr Operation comparisons[] = {
    PTX_SCALAR_VIDEO("eq", a == b), PTX_SCALAR_VIDEO("ne", a != b),
    PTX_SCALAR_VIDEO("lt", a < b),  PTX_SCALAR_VIDEO("le", a <= b),
    PTX_SCALAR_VIDEO("gt", a > b),  PTX_SCALAR_VIDEO("ge", a >= b),
};
#undef PTX_SCALAR_VIDEO
/// avrg, the last operation, has packed forms only.
constexpr size_t scalarOperations = std::size(operations) - 1;

/// The secondary operation of a scalar form: result op c in the result's type.
constexpr const Operation *seconds[] = {nullptr, &operations[0], &operations[3],
                                        &operations[4]};

struct Recipe {
  const Operation *operation;
  /// Width of a part.
  unsigned bits;
  /// Signedness of the result and of both operands.
  bool d, a, b;
  bool saturate = false;
  /// Packed forms: the parts' results are added to c.
  bool accumulate = false;
  const Operation *second = nullptr;
};

/// Returns part `index` of `bits` bits, extended.
int64_t part(uint32_t word, unsigned bits, unsigned index, bool sign) {
  uint64_t raw = uint64_t(word) >> (bits * index) << (64 - bits);
  return sign ? static_cast<int64_t>(raw) >> (64 - bits)
              : static_cast<int64_t>(raw >> (64 - bits));
}

int64_t clampPart(int64_t x, unsigned bits, bool sign) {
  int64_t high = (int64_t(1) << (sign ? bits - 1 : bits)) - 1;
  int64_t low = sign ? -high - 1 : 0;
  return x < low ? low : (x > high ? high : x);
}

uint32_t compute(const Recipe &r, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t packed = 0;
  int64_t sum = c;
  for (unsigned i = 0; i < 32 / r.bits; ++i) {
    int64_t x =
        r.operation->run(part(a, r.bits, i, r.a), part(b, r.bits, i, r.b));
    x = r.saturate ? clampPart(x, r.bits, r.d) : x;
    sum += x;
    packed |= static_cast<uint32_t>(x & ((int64_t(1) << r.bits) - 1))
              << (r.bits * i);
  }
  if (r.second)
    return static_cast<uint32_t>(
        r.second->run(part(packed, 32, 0, r.d), part(c, 32, 0, r.d)));
  return r.accumulate ? static_cast<uint32_t>(sum) : packed;
}

/// Returns whether there is an operand c, which scalar forms without a
/// secondary operation lack.
bool hasThird(const Recipe &r) { return r.bits != 32 || r.second; }

PTX_SCALAR_NOINLINE void computeLanes(const Recipe &r, LaneMask active,
                                      Row *const *dst, const Row *const *src) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto word = [&](unsigned i) {
      return static_cast<uint32_t>((*src[i])[lane]);
    };
    (*dst[0])[lane] =
        compute(r, word(0), word(1), hasThird(r) ? word(2) : uint32_t(0));
  }
}

/// Removes and returns the lowest digit of a number whose digits have different
/// bases.
constexpr size_t digit(size_t &number, size_t base) {
  size_t result = number % base;
  number /= base;
  return result;
}

// The recipes by number: every combination of an operation and its qualifiers.
constexpr size_t scalarCount = scalarOperations * 8 * 2 * std::size(seconds);
constexpr Recipe scalarRecipe(size_t i) {
  const Operation *operation = &operations[digit(i, scalarOperations)];
  Recipe r{operation, 32, digit(i, 2) != 0, digit(i, 2) != 0, digit(i, 2) != 0};
  r.saturate = digit(i, 2) != 0;
  r.second = seconds[i];
  return r;
}

constexpr size_t packedCount = std::size(operations) * 2 * 8 * 3;
constexpr Recipe packedRecipe(size_t i) {
  const Operation *operation = &operations[digit(i, std::size(operations))];
  unsigned bits = digit(i, 2) ? 8 : 16;
  Recipe r{operation, bits, digit(i, 2) != 0, digit(i, 2) != 0,
           digit(i, 2) != 0};
  r.saturate = i == 1;
  r.accumulate = i == 2;
  return r;
}

constexpr size_t comparisonCount = std::size(comparisons) * 2 * 4 * 2;
constexpr Recipe comparisonRecipe(size_t i) {
  const Operation *operation = &comparisons[digit(i, std::size(comparisons))];
  unsigned bits = digit(i, 2) ? 8 : 16;
  Recipe r{operation, bits, false, digit(i, 2) != 0, digit(i, 2) != 0};
  r.accumulate = i == 1;
  return r;
}

template <Recipe (*Make)(size_t), size_t Index>
void video(const Context &, LaneMask active, Row *const *dst,
           const Row *const *src) {
  static constexpr Recipe recipe = Make(Index);
  computeLanes(recipe, active, dst, src);
}

std::string_view typeWord(bool sign) { return sign ? "s32" : "u32"; }

std::string opcodeOf(const Recipe &r) {
  std::string_view lanes = r.bits == 32 ? "" : (r.bits == 8 ? "4" : "2");
  return text(std::string("v").append(r.operation->word).append(lanes),
              typeWord(r.d), typeWord(r.a), typeWord(r.b),
              when(r.saturate, "sat"), when(r.accumulate, "add"),
              r.second ? r.second->word : std::string_view());
}

std::string comparisonOpcode(const Recipe &r) {
  return text(r.bits == 8 ? "vset4" : "vset2", typeWord(r.a), typeWord(r.b),
              r.operation->word, when(r.accumulate, "add"));
}

template <Recipe (*Make)(size_t), size_t... Index>
void registerRecipes(Registry &registry, std::string (*opcode)(const Recipe &),
                     std::index_sequence<Index...>) {
  constexpr Function functions[] = {&video<Make, Index>...};
  for (size_t i = 0; i < sizeof...(Index); ++i) {
    Recipe r = Make(i);
    Form form =
        makeForm(functions[i], {Type::B32}, {Type::B32, Type::B32, Type::B32});
    form.numSrc = hasThird(r) ? 3 : 2;
    registry.add(opcode(r), form);
  }
}

} // namespace

void registerVideo(Registry &r) {
  registerRecipes<scalarRecipe>(r, opcodeOf,
                                std::make_index_sequence<scalarCount>());
  registerRecipes<packedRecipe>(r, opcodeOf,
                                std::make_index_sequence<packedCount>());
  registerRecipes<comparisonRecipe>(
      r, comparisonOpcode, std::make_index_sequence<comparisonCount>());
}

PTX_SCALAR_END
