//===- InstrDescriptor.cpp - Instruction descriptors of tcgen05.mma -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

namespace ptxsim {
namespace {

using MaybeType = std::optional<ElementType>;

struct KindInfo {
  const char *name;
  uint32_t k;
  std::array<MaybeType, 8> operands; // by the code of bits 7-9 and 10-12
  std::array<MaybeType, 4> results;  // by the code of bits 4-5
};

constexpr MaybeType none = std::nullopt;
using E = ElementType;

constexpr std::array<KindInfo, 4> kinds = {{
    {"kind::f16",
     16,
     {E::F16, E::BF16, none, none, none, none, none, none},
     {E::F16, E::F32, none, none}},
    {"kind::tf32",
     8,
     {none, none, E::TF32, none, none, none, none, none},
     {none, E::F32, none, none}},
    {"kind::f8f6f4",
     32,
     {E::E4M3, E::E5M2, none, E::E2M3, E::E3M2, E::E2M1, none, none},
     {E::F16, E::F32, none, none}},
    {"kind::i8",
     32,
     {E::U8, E::S8, none, none, none, none, none, none},
     {none, none, E::S32, none}},
}};

constexpr uint32_t field(uint32_t word, unsigned low, unsigned width) {
  return (word >> low) & ((1u << width) - 1);
}

std::string wrong(const KindInfo &kind, const std::string &what, uint32_t got,
                  const std::string &expected) {
  return "instruction descriptor for " + std::string(kind.name) + ": " + what +
         " is " + std::to_string(got) + ", expected " + expected;
}

/// Checks reserved bits, the types, and flags that the kind does not have.
std::optional<std::string> checkFields(uint32_t word, const MmaForm &form,
                                       const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  for (unsigned bit : {6u, 23u, 29u})
    if (field(word, bit, 1))
      return wrong(kind, "reserved bit " + std::to_string(bit), 1, "0");
  if (!d.sparse && field(word, 0, 2))
    return wrong(kind, "sparsity selector", field(word, 0, 2),
                 "0 without the sparse bit");
  bool integer = form.kind == MmaKind::I8;
  if (d.saturate && !integer)
    return wrong(kind, "saturate", 1, "0: only kind::i8 saturates");
  if (integer && (d.negateA || d.negateB))
    return wrong(kind, "negate", 1, "0: integers are not negated");
  if (d.maxShift && !form.weightStationary)
    return wrong(kind, "max shift", d.maxShift, "0 without .ws");
  bool halfD = form.kind == MmaKind::F16 && d.d == E::F16;
  if (halfD && (d.a != E::F16 || d.b != E::F16))
    return wrong(kind, "D type", 0, "1 (f32) for bf16 operands");
  return std::nullopt;
}

/// Checks that transposed elements have whole bytes and fill their container.
std::optional<std::string> checkMajor(const MmaForm &form,
                                      const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  auto narrow = [](ElementType type) {
    return type == E::E2M3 || type == E::E3M2 || type == E::E2M1;
  };
  if (d.majorA == Major::MN && narrow(d.a))
    return wrong(kind, "transpose A", 1, "0 for 4- and 6-bit elements");
  if (d.majorB == Major::MN && narrow(d.b))
    return wrong(kind, "transpose B", 1, "0 for 4- and 6-bit elements");
  if (d.majorA == Major::MN && form.aInTmem)
    return wrong(kind, "transpose A", 1, "0 for A in tensor memory");
  return std::nullopt;
}

struct Range {
  uint32_t from, to, step;
  bool holds(uint32_t n) const { return n >= from && n <= to && n % step == 0; }
  std::string text() const {
    return std::to_string(from) + ".." + std::to_string(to) + " in steps of " +
           std::to_string(step);
  }
};

/// Returns the range of N in the manual's table of shapes.
Range legalN(const MmaForm &form, const InstrDescriptor &d) {
  if (form.weightStationary)
    return {64, 256, 64};
  bool pair = form.ctaGroup == 2;
  if (form.kind == MmaKind::I8)
    return pair ? Range{32, 256, 32} : Range{8, 256, 8};
  bool narrowB = containerBits(d.b) == 8 && d.majorB == Major::MN;
  uint32_t step = (pair ? 16 : 8) * (narrowB ? 2 : 1);
  return {step, 256, step};
}

bool legalM(const MmaForm &form, uint32_t m) {
  if (form.ctaGroup == 2)
    return m == 128 || m == 256;
  return m == 64 || m == 128 || (form.weightStationary && m == 32);
}

std::optional<std::string> checkShape(const MmaForm &form,
                                      const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  if (!legalM(form, d.m))
    return wrong(kind, "M", d.m,
                 form.ctaGroup == 2      ? "128 or 256 for .cta_group::2"
                 : form.weightStationary ? "32, 64 or 128 for .ws"
                                         : "64 or 128 for .cta_group::1");
  Range range = legalN(form, d);
  bool legal = range.holds(d.n);
  if (form.weightStationary && d.n == 192)
    legal = false;
  if (form.kind == MmaKind::I8 && form.ctaGroup == 1 && d.n > 32)
    legal = legal && d.n % 16 == 0;
  if (!legal)
    return wrong(kind, "N", d.n, range.text());
  return std::nullopt;
}

/// Returns the violation of a limit of the library, which requires coarser N if
/// A comes from tensor memory or is sparse.
std::optional<std::string> libraryLimit(const MmaForm &form,
                                        const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  if (form.weightStationary)
    return std::nullopt;
  if (form.kind == MmaKind::I8 && form.ctaGroup == 1 && d.n == 24)
    return wrong(kind, "N", d.n, "8, 16, 32, 48 .. in the vendor's library");
  bool coarse = form.aInTmem && form.kind != MmaKind::I8;
  uint32_t step = form.ctaGroup == 2 ? 32 : d.m == 128 ? 16 : 8;
  if (coarse && d.n % step)
    return wrong(kind, "N", d.n,
                 "a multiple of " + std::to_string(step) +
                     " with A in tensor memory, as the vendor's library asks");
  return std::nullopt;
}

} // namespace

const char *nameOf(MmaKind kind) { return kinds[unsigned(kind)].name; }

DecodedInstr decodeInstrDescriptor(uint32_t word, const MmaForm &form) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  DecodedInstr result;
  InstrDescriptor &d = result.descriptor;
  MaybeType a = kind.operands[field(word, 7, 3)];
  MaybeType b = kind.operands[field(word, 10, 3)];
  MaybeType dType = kind.results[field(word, 4, 2)];
  if (!a)
    result.error =
        wrong(kind, "A type", field(word, 7, 3), "a code of the kind");
  else if (!b)
    result.error =
        wrong(kind, "B type", field(word, 10, 3), "a code of the kind");
  else if (!dType)
    result.error =
        wrong(kind, "D type", field(word, 4, 2), "a code of the kind");
  d.a = a.value_or(E::F16);
  d.b = b.value_or(E::F16);
  d.d = dType.value_or(E::F32);
  d.sparse = field(word, 2, 1);
  d.saturate = field(word, 3, 1);
  d.negateA = field(word, 13, 1);
  d.negateB = field(word, 14, 1);
  d.majorA = field(word, 15, 1) ? Major::MN : Major::K;
  d.majorB = field(word, 16, 1) ? Major::MN : Major::K;
  d.n = field(word, 17, 6) << 3;
  d.m = field(word, 24, 5) << 4;
  d.k = kind.k << d.sparse;
  d.maxShift = field(word, 30, 2) ? 4u << field(word, 30, 2) : 0;
  if (!result.error)
    result.error = checkFields(word, form, d);
  if (!result.error)
    result.error = checkMajor(form, d);
  if (!result.error)
    result.error = checkShape(form, d);
  if (!result.error)
    result.warning = libraryLimit(form, d);
  return result;
}

} // namespace ptxsim
