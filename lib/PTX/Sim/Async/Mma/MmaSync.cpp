//===- MmaSync.cpp - mma.sync, the tensor core of one warp ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, mma. For lane 4 * g + t, register r of A holds elements adjacent in
// k of row g, or of row g + 8 if r is odd; register r of B holds elements
// adjacent in k of column g; C and D hold columns 2 * t and 2 * t + 1 of rows g
// and g + 8. The instruction is complete when it has executed. Its bits are
// those observed on an H200.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Units/MmaArithmetic.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace ptxsim {
namespace {

constexpr uint32_t columns = 8, mostRows = 16, mostTerms = 64;

/// How elements are multiplied.
enum class Product : uint8_t { Float, Byte, Integer, And, Xor, Double };

/// A and B by name, their bits, and the two numbers of terms that such an
/// instruction may have (f64 has three).
struct Source {
  std::string_view name;
  Product product;
  ElementType type;
  uint8_t bits;
  std::array<uint16_t, 3> terms;
};
using enum ElementType;
constexpr Source sources[] = {{"f16", Product::Float, F16, 16, {8, 16, 0}},
                              {"bf16", Product::Float, BF16, 16, {8, 16, 0}},
                              {"tf32", Product::Float, TF32, 32, {4, 8, 0}},
                              {"e4m3", Product::Byte, E4M3, 8, {16, 32, 0}},
                              {"e5m2", Product::Byte, E5M2, 8, {16, 32, 0}},
                              {"s8", Product::Integer, S8, 8, {16, 32, 0}},
                              {"u8", Product::Integer, U8, 8, {16, 32, 0}},
                              {"s4", Product::Integer, S8, 4, {32, 64, 0}},
                              {"u4", Product::Integer, U8, 4, {32, 64, 0}},
                              {"b1", Product::Xor, U8, 1, {128, 256, 0}},
                              {"f64", Product::Double, F32, 64, {4, 8, 16}}};

struct Form {
  Product product = Product::Float;
  ElementType a = F16, b = F16, d = F32;
  unsigned bits = 16;
  uint32_t m = 16, k = 16;
  bool saturate = false;

  /// Returns the number of elements in a register; b1 is counted in words.
  unsigned perRegister() const {
    return bits == 1 || bits == 64 ? 1 : 32 / bits;
  }
  uint32_t terms() const { return bits == 1 ? k / 32 : k; }
  uint32_t registersA() const { return m * terms() / 32 / perRegister(); }
  uint32_t registersB() const { return columns * terms() / 32 / perRegister(); }
  uint32_t registersD() const { return m * columns / 32 / (d == F16 ? 2 : 1); }
};

/// The registers of one instruction's operands, as rows of lanes.
struct Registers {
  std::span<const Operand> a, b, c;
};

/// Returns element i of a register.
uint32_t elementOf(uint64_t word, unsigned bits, unsigned i) {
  if (bits == 1 || bits == 32)
    return uint32_t(word);
  return uint32_t(word) >> (i * bits) & ((1u << bits) - 1);
}

/// Calls `put(row, k, register, lane, i)` for each element of A.
template <typename Put> void forA(const Form &form, Put put) {
  unsigned per = form.perRegister();
  bool halves = form.m == mostRows;
  for (uint32_t r = 0; r < form.registersA(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < per; ++i) {
        uint32_t row = lane / 4 + (halves ? 8 * (r % 2) : 0);
        uint32_t k = per * (lane % 4 + 4 * (halves ? r / 2 : r)) + i;
        put(row, k, r, lane, i);
      }
}

/// Calls `put(k, column, register, lane, i)` for each element of B.
template <typename Put> void forB(const Form &form, Put put) {
  unsigned per = form.perRegister();
  for (uint32_t r = 0; r < form.registersB(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < per; ++i)
        put(per * (lane % 4 + 4 * r) + i, lane / 4, r, lane, i);
}

/// Calls `put(row, column, register, lane, i)` for each element of C and D.
template <typename Put> void forD(const Form &form, Put put) {
  unsigned per = form.d == F16 ? 2 : 1;
  for (uint32_t r = 0; r < form.registersD(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < per; ++i) {
        uint32_t at = r * per + i;
        put(lane / 4 + 8 * (at / 2), 2 * (lane % 4) + at % 2, r, lane, i);
      }
}

using FloatsA = std::array<float, mostRows * mostTerms>;
using FloatsB = std::array<float, mostTerms * columns>;
using Cells = std::array<uint32_t, mostRows * columns>;

SumRules rulesOf(ElementType a, ElementType b, ElementType d) {
  SumRules rules;
  rules.minExponentA = minExponent(a);
  rules.minExponentB = minExponent(b);
  rules.halfResult = d == F16;
  return rules;
}

/// Multiplies 8-bit floats, for which mma.sync has no unit. It sums the f16
/// products of the terms with k % 4 < 2, then of the other terms, each group at
/// once, and finally adds C with an ordinary addition.
void multiplyBytes(const FloatsA &a, const FloatsB &b, Cells &d,
                   const Form &form) {
  FloatsA left{};
  FloatsB right{};
  Cells sums{};
  uint32_t half = form.k / 2;
  for (unsigned part = 0; part < 2; ++part) {
    for (uint32_t x = 0; x < half; ++x) {
      uint32_t k = x / 2 * 4 + 2 * part + x % 2;
      for (uint32_t i = 0; i < form.m; ++i)
        left[i * half + x] = a[i * form.k + k];
      for (uint32_t j = 0; j < columns; ++j)
        right[x * columns + j] = b[k * columns + j];
    }
    exactMma(left.data(), right.data(), sums.data(),
             {form.m, columns, half, columns, columns, part == 1},
             rulesOf(F16, F16, form.d));
  }
  for (uint32_t i = 0; i < form.m * columns; ++i) {
    // The sum of two f16 is exact in f64, and then rounded once.
    double sum = double(std::bit_cast<float>(d[i])) +
                 double(std::bit_cast<float>(sums[i]));
    float rounded = form.d == F16 ? decodeElement(F16, encodeF16(sum))
                                  : std::bit_cast<float>(d[i]) +
                                        std::bit_cast<float>(sums[i]);
    d[i] = std::isnan(rounded) ? 0x7fffffff : std::bit_cast<uint32_t>(rounded);
  }
}

void multiplyFloats(const Warp &warp, const Form &form, const FloatsA &a,
                    const FloatsB &b, Cells &d) {
  MmaBlock block{form.m, columns, form.k, columns, columns, true};
  if (warp.machine.options.mma == MmaMode::Fast)
    fastMma(a.data(), b.data(), d.data(), block);
  else if (form.product == Product::Byte)
    multiplyBytes(a, b, d, form);
  else
    exactMma(a.data(), b.data(), d.data(), block,
             rulesOf(form.a, form.b, form.d));
}

/// Loads C. The cells of C and D hold bits of f32, even if the registers hold
/// f16.
void loadFloats(Warp &warp, const Form &form, const Registers &from, Cells &d) {
  forD(form, [&](uint32_t row, uint32_t column, uint32_t r, unsigned lane,
                 unsigned i) {
    uint32_t word = uint32_t(warp.row(from.c[r])[lane]);
    if (form.d == F16)
      word =
          std::bit_cast<uint32_t>(decodeElement(F16, elementOf(word, 16, i)));
    d[row * columns + column] = word;
  });
}

void storeFloats(Warp &warp, const Instruction &inst, const Form &form,
                 const Cells &d) {
  forD(form, [&](uint32_t row, uint32_t column, uint32_t r, unsigned lane,
                 unsigned i) {
    uint32_t bits = d[row * columns + column];
    uint64_t &to = warp.row(inst.dst[r])[lane];
    if (form.d != F16)
      to = bits;
    else if (uint64_t half = encodeF16(std::bit_cast<float>(bits)); i)
      to |= half << 16;
    else
      to = half;
  });
}

void executeFloats(Warp &warp, const Instruction &inst, const Form &form,
                   const Registers &from) {
  FloatsA a{};
  FloatsB b{};
  Cells d{};
  forA(form,
       [&](uint32_t row, uint32_t k, uint32_t r, unsigned lane, unsigned i) {
         uint32_t code = elementOf(warp.row(from.a[r])[lane], form.bits, i);
         a[row * form.k + k] = decodeElement(form.a, code);
       });
  forB(form,
       [&](uint32_t k, uint32_t column, uint32_t r, unsigned lane, unsigned i) {
         uint32_t code = elementOf(warp.row(from.b[r])[lane], form.bits, i);
         b[k * columns + column] = decodeElement(form.b, code);
       });
  loadFloats(warp, form, from, d);
  multiplyFloats(warp, form, a, b, d);
  storeFloats(warp, inst, form, d);
}

int64_t integerOf(ElementType type, unsigned bits, uint32_t code) {
  int64_t sign = type == S8 && code >> (bits - 1) & 1 ? int64_t(1) << bits : 0;
  return int64_t(code) - sign;
}

/// Returns one product of integers, or the number of bits set in the And or Xor
/// of two words.
int64_t productOf(const Form &form, uint32_t a, uint32_t b) {
  switch (form.product) {
  case Product::And:
    return std::popcount(a & b);
  case Product::Xor:
    return std::popcount(a ^ b);
  default:
    return integerOf(form.a, form.bits, a) * integerOf(form.b, form.bits, b);
  }
}

using Words = std::array<uint64_t, mostRows * columns>;

/// Stores all results together: D may be any of the registers that were read.
void storeWords(Warp &warp, const Instruction &inst, const Form &form,
                const Words &words) {
  forD(form,
       [&](uint32_t row, uint32_t column, uint32_t r, unsigned lane, unsigned) {
         warp.row(inst.dst[r])[lane] = words[row * columns + column];
       });
}

void executeIntegers(Warp &warp, const Instruction &inst, const Form &form,
                     const Registers &from) {
  std::array<uint32_t, mostRows * mostTerms> a{};
  std::array<uint32_t, mostTerms * columns> b{};
  uint32_t terms = form.terms();
  forA(form, [&](uint32_t row, uint32_t k, uint32_t r, unsigned lane,
                 unsigned i) {
    a[row * terms + k] = elementOf(warp.row(from.a[r])[lane], form.bits, i);
  });
  forB(form,
       [&](uint32_t k, uint32_t column, uint32_t r, unsigned lane, unsigned i) {
         b[k * columns + column] =
             elementOf(warp.row(from.b[r])[lane], form.bits, i);
       });
  constexpr int64_t low = std::numeric_limits<int32_t>::min();
  constexpr int64_t high = std::numeric_limits<int32_t>::max();
  Words words{};
  forD(form,
       [&](uint32_t row, uint32_t column, uint32_t r, unsigned lane, unsigned) {
         int64_t sum = int32_t(warp.row(from.c[r])[lane]);
         for (uint32_t k = 0; k < terms; ++k)
           sum += productOf(form, a[row * terms + k], b[k * columns + column]);
         sum = form.saturate ? std::clamp(sum, low, high) : sum;
         words[row * columns + column] = uint32_t(sum);
       });
  storeWords(warp, inst, form, words);
}

/// Rounds each product and sum once, in the order of k.
void executeDoubles(Warp &warp, const Instruction &inst, const Form &form,
                    const Registers &from) {
  std::array<double, mostRows * 16> a{};
  std::array<double, 16 * columns> b{};
  forA(form,
       [&](uint32_t row, uint32_t k, uint32_t r, unsigned lane, unsigned) {
         a[row * form.k + k] = std::bit_cast<double>(warp.row(from.a[r])[lane]);
       });
  forB(form, [&](uint32_t k, uint32_t column, uint32_t r, unsigned lane,
                 unsigned) {
    b[k * columns + column] = std::bit_cast<double>(warp.row(from.b[r])[lane]);
  });
  Words words{};
  forD(form,
       [&](uint32_t row, uint32_t column, uint32_t r, unsigned lane, unsigned) {
         double sum = std::bit_cast<double>(warp.row(from.c[r])[lane]);
         for (uint32_t k = 0; k < form.k; ++k)
           sum = std::fma(a[row * form.k + k], b[k * columns + column], sum);
         words[row * columns + column] = std::bit_cast<uint64_t>(sum);
       });
  storeWords(warp, inst, form, words);
}

Outcome execute(Warp &warp, const Instruction &inst, LaneMask) {
  const Form &form = inst.data<Form>();
  size_t a = form.registersA(), b = form.registersB();
  Registers from{inst.src.subspan(0, a), inst.src.subspan(a, b),
                 inst.src.subspan(a + b)};
  if (form.product == Product::Double)
    executeDoubles(warp, inst, form, from);
  else if (form.d == S32)
    executeIntegers(warp, inst, form, from);
  else
    executeFloats(warp, inst, form, from);
  return Outcome::Next;
}

const Source *findSource(std::string_view name) {
  auto found = std::find_if(std::begin(sources), std::end(sources),
                            [&](const Source &s) { return s.name == name; });
  return found == std::end(sources) ? nullptr : found;
}

std::optional<ElementType> resultType(std::string_view name) {
  constexpr std::pair<std::string_view, ElementType> results[] = {
      {"f16", F16}, {"f32", F32}, {"s32", S32}, {"f64", F32}};
  for (const auto &[known, type] : results)
    if (name == known)
      return type;
  return std::nullopt;
}

/// Returns the types of D, A, B and C, in the order of the opcode.
std::vector<std::string_view> typeNames(const Decoder &decoder) {
  std::vector<std::string_view> names;
  for (std::string_view part : decoder.text().parts)
    if (findSource(part) || resultType(part))
      names.push_back(part);
  return names;
}

/// Returns true if products of A and B may be summed in a D of this type.
bool fits(const Source &a, const Source &b, std::string_view d) {
  bool alike = a.product == b.product && a.bits == b.bits;
  switch (a.product) {
  case Product::Float:
    return &a == &b && (d == "f32" || (d == "f16" && a.type == F16));
  case Product::Byte:
    return alike && (d == "f32" || d == "f16");
  case Product::Double:
    return alike && d == "f64";
  default:
    return alike && d == "s32";
  }
}

/// Sets M and K from "m16n8k16"; returns false if there is no such shape.
bool findShape(const Decoder &decoder, const Source &source, Form &form) {
  for (uint16_t k : source.terms)
    for (uint32_t m : {16u, 8u}) {
      std::string shape = "m" + std::to_string(m) + "n8k" + std::to_string(k);
      bool exists =
          k && (m == 16 || (form.product == Product::Double && k == 4));
      if (!exists || !decoder.has(shape))
        continue;
      form.m = m;
      form.k = k;
      return true;
    }
  return false;
}

void checkModifiers(const Decoder &decoder, Form &form) {
  bool inOrder = decoder.text().opcode.find(".row.col.") != std::string::npos;
  if (!decoder.has("aligned") || !inOrder)
    decoder.unsupported("expected .sync.aligned and .row.col");
  for (std::string_view part : decoder.text().parts)
    if (part.starts_with("kind") || part == "block_scale")
      decoder.unsupported("." + std::string(part) + " is not executed");
  form.saturate = decoder.has("satfinite");
  bool bits = form.bits == 1;
  if (form.saturate && (form.d != S32 || bits))
    decoder.unsupported(".satfinite is for integers of 4 and 8 bits");
  if (bits != decoder.has("popc") ||
      bits != (decoder.has("and") || decoder.has("xor")))
    decoder.unsupported("expected .and.popc or .xor.popc with .b1 alone");
  if (decoder.has("and"))
    form.product = Product::And;
}

Form formOf(const Decoder &decoder) {
  std::vector<std::string_view> names = typeNames(decoder);
  const Source *a = names.size() == 4 ? findSource(names[1]) : nullptr;
  const Source *b = a ? findSource(names[2]) : nullptr;
  if (!b || !fits(*a, *b, names[0]) || names[0] != names[3])
    decoder.unsupported("expected types such as .f32.bf16.bf16.f32, the same "
                        "for C and D");
  Form form;
  form.product = a->product;
  form.a = a->type;
  form.b = b->type;
  form.d = *resultType(names[0]);
  form.bits = a->bits;
  if (!findShape(decoder, *a, form))
    decoder.unsupported("expected a shape m16n8kK that ." +
                        std::string(a->name) + " has");
  checkModifiers(decoder, form);
  return form;
}

/// Appends the registers of one operand, which must be `count`.
void append(Decoder &decoder, size_t index, Type type, uint32_t count,
            std::vector<Operand> &all) {
  std::span<const Operand> rows = decoder.sources(index, type);
  if (type == Type::F32)
    decoder.expectEach(index, type);
  if (rows.size() != count)
    decoder.unsupported("expected " + std::to_string(count) +
                        " registers as operand " + std::to_string(index + 1) +
                        ", got " + std::to_string(rows.size()));
  all.insert(all.end(), rows.begin(), rows.end());
}

void decode(Decoder &decoder, Instruction &inst) {
  Form form = formOf(decoder);
  decoder.expectOperands(4, 4);
  bool wide = form.product == Product::Double;
  Type source = wide ? Type::F64 : Type::B32;
  Type result = wide            ? Type::F64
                : form.d == F16 ? Type::F16x2
                : form.d == F32 ? Type::F32
                                : Type::S32;
  inst.dst = decoder.destinations(0, result);
  if (result == Type::F32)
    decoder.expectEach(0, result);
  if (inst.dst.size() != form.registersD())
    decoder.unsupported("expected " + std::to_string(form.registersD()) +
                        " registers of D, got " +
                        std::to_string(inst.dst.size()));
  std::vector<Operand> all;
  append(decoder, 1, source, form.registersA(), all);
  append(decoder, 2, source, form.registersB(), all);
  append(decoder, 3, result, form.registersD(), all);
  inst.src = decoder.keep(all);
  inst.payload = decoder.payload(form);
  inst.convergence = Convergence::Aligned;
  inst.handler = execute;
}

} // namespace

void registerMmaSync(Registry &registry) { registry.add("mma.sync", decode); }

} // namespace ptxsim
