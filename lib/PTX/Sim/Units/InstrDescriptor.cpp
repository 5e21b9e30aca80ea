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
using MaybeError = std::optional<std::string>;

using Types = std::array<MaybeType, 8>;

struct KindInfo {
  const char *name;
  uint32_t k;
  Types operands;                   // by the code of bits 7-9 and 10-12
  std::array<MaybeType, 4> results; // by the code of bits 4-5
  bool blockScaled = false;
};

constexpr MaybeType none = std::nullopt;
using E = ElementType;

constexpr Types narrowTypes = {E::E4M3, E::E5M2, none, E::E2M3,
                               E::E3M2, E::E2M1, none, none};
constexpr Types packedTypes = {none, E::PackedE2M1, none, none,
                               none, none,          none, none};

/// D of a block-scaled kind is f32, and bits 4-5 have another meaning.
constexpr std::array<KindInfo, 7> kinds = {{
    {"kind::f16",
     16,
     {E::F16, E::BF16, none, none, none, none, none, none},
     {E::F16, E::F32, none, none}},
    {"kind::tf32",
     8,
     {none, none, E::TF32, none, none, none, none, none},
     {none, E::F32, none, none}},
    {"kind::f8f6f4", 32, narrowTypes, {E::F16, E::F32, none, none}},
    {"kind::i8",
     32,
     {E::U8, E::S8, none, none, none, none, none, none},
     {none, none, E::S32, none}},
    {"kind::mxf8f6f4", 32, narrowTypes, {}, true},
    {"kind::mxf4", 64, packedTypes, {}, true},
    {"kind::mxf4nvf4", 64, packedTypes, {}, true},
}};

constexpr uint32_t field(uint32_t word, unsigned low, unsigned width) {
  return (word >> low) & ((1u << width) - 1);
}

std::string wrong(const KindInfo &kind, const std::string &what, uint32_t got,
                  const std::string &expected) {
  return "instruction descriptor for " + std::string(kind.name) + ": " + what +
         " is " + std::to_string(got) + ", expected " + expected;
}

MaybeError checkReserved(uint32_t word, const KindInfo &kind,
                         std::initializer_list<unsigned> bits) {
  for (unsigned bit : bits)
    if (field(word, bit, 1))
      return wrong(kind, "reserved bit " + std::to_string(bit), 1, "0");
  return std::nullopt;
}

/// Checks the sparsity selector. Two values are known: metadata with 16 bits
/// for each row are in either column of a pair.
MaybeError checkSelector(const KindInfo &kind, const MmaForm &form,
                         const InstrDescriptor &d) {
  bool pairs = form.kind == MmaKind::F16 || form.kind == MmaKind::TF32;
  if (d.selector && !d.sparse)
    return wrong(kind, "sparsity selector", d.selector,
                 "0 without the sparse bit");
  if (d.selector > (pairs ? 1u : 0u))
    return wrong(kind, "sparsity selector", d.selector,
                 std::string(pairs ? "0 or 1" : "0") +
                     ": others are not executed");
  return std::nullopt;
}

/// Checks reserved bits, the types, and flags that the kind does not have.
MaybeError checkFields(uint32_t word, const MmaForm &form,
                       const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  if (MaybeError error = checkReserved(word, kind, {6, 23, 29}))
    return error;
  if (MaybeError error = checkSelector(kind, form, d))
    return error;
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

/// Checks the fields that only block-scaled kinds have.
MaybeError checkScaleFields(uint32_t word, const MmaForm &form,
                            const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  if (MaybeError error = checkReserved(word, kind, {0, 1, 3, 6, 24, 25, 26}))
    return error;
  bool nvf4 = form.kind == MmaKind::MXF4NVF4;
  if (d.scale == E::UE4M3 && !(nvf4 && form.scaleVector == 4))
    return wrong(kind, "scale type", 0,
                 nvf4 ? "1 (ue8m0) for two scale factors per row"
                      : "1 (ue8m0)");
  if (field(word, 31, 1))
    return form.kind == MmaKind::MXF8F6F4
               ? wrong(kind, "reserved bit 31", 1, "0")
               : wrong(kind, "K dimension", 1,
                       "0 (K = 64, sparse 128): K = 96 of sm_103a is not "
                       "executed");
  // A scale factor is one byte; they start at a multiple of their size.
  for (auto [name, id] : {std::pair{"scale factor A ID", d.scaleIdA},
                          {"scale factor B ID", d.scaleIdB}})
    if (id % form.scaleVector)
      return wrong(kind, name, id,
                   form.scaleVector == 2 ? "0 or 2 for two scale factors"
                                         : "0 for four scale factors");
  return std::nullopt;
}

/// Checks that transposed elements have whole bytes and fill their container.
MaybeError checkMajor(const MmaForm &form, const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  auto narrow = [](ElementType type) {
    return type == E::E2M3 || type == E::E3M2 || type == E::E2M1 ||
           type == E::PackedE2M1;
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

/// Returns the range of N in the manual's tables of shapes and of transposed
/// operands of 8 bits.
Range legalN(const MmaForm &form, const InstrDescriptor &d) {
  if (form.weightStationary)
    return {64, form.sparse ? 128u : 256u, 64};
  bool pair = form.ctaGroup == 2, integer = form.kind == MmaKind::I8;
  bool narrowB = containerBits(d.b) == 8 && d.majorB == Major::MN;
  uint32_t step = pair ? (integer || narrowB ? 32 : 16) : narrowB ? 16 : 8;
  return {step, 256, step};
}

/// Returns the legal M as text, and in `legal` whether M is among them.
const char *legalM(const MmaForm &form, uint32_t m, bool &legal) {
  bool scaled = isBlockScaled(form.kind);
  if (form.ctaGroup == 2) {
    bool only256 = scaled && form.sparse;
    legal = m == 256 || (m == 128 && !only256);
    return only256 ? "256 for sparse A with scale factors"
                   : "128 or 256 for .cta_group::2";
  }
  legal =
      m == 128 || (m == 64 && !scaled) || (form.weightStationary && m == 32);
  return scaled                  ? "128 for .cta_group::1 with scale factors"
         : form.weightStationary ? "32, 64 or 128 for .ws"
                                 : "64 or 128 for .cta_group::1";
}

MaybeError checkShape(const MmaForm &form, const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  bool legal = false;
  const char *expected = legalM(form, d.m, legal);
  if (!legal)
    return wrong(kind, "M", d.m, expected);
  if (form.shiftsA && d.m < 128)
    return wrong(kind, "M", d.m, "128 or 256 with .ashift");
  Range range = legalN(form, d);
  legal = range.holds(d.n);
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
MaybeError libraryLimit(const MmaForm &form, const InstrDescriptor &d) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  if (form.weightStationary)
    return std::nullopt;
  if (form.kind == MmaKind::I8 && form.ctaGroup == 1 && d.n == 24)
    return wrong(kind, "N", d.n, "8, 16, 32, 48 .. in the vendor's library");
  if (form.kind == MmaKind::MXF8F6F4 && form.ctaGroup == 2 && d.m == 128)
    return wrong(kind, "M", d.m, "256 in the vendor's library");
  bool sparseBytes = form.sparse && form.kind == MmaKind::F8F6F4;
  bool coarse = form.aInTmem && form.kind != MmaKind::I8;
  uint32_t step = form.ctaGroup == 2 ? 32 : d.m == 128 ? 16 : 8;
  if ((coarse || sparseBytes) && d.n % step)
    return wrong(kind, "N", d.n,
                 "a multiple of " + std::to_string(step) + " with " +
                     (coarse ? "A in tensor memory" : "sparse A") +
                     ", as the vendor's library asks");
  return std::nullopt;
}

/// Sets the types, or the error of the result.
void decodeTypes(uint32_t word, const KindInfo &kind, DecodedInstr &result) {
  InstrDescriptor &d = result.descriptor;
  MaybeType a = kind.operands[field(word, 7, 3)];
  MaybeType b = kind.operands[field(word, 10, 3)];
  MaybeType dType = kind.blockScaled ? E::F32 : kind.results[field(word, 4, 2)];
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
}

/// Sets the fields that kinds with and without scale factors encode
/// differently.
void decodeSpecific(uint32_t word, const KindInfo &kind, InstrDescriptor &d) {
  if (kind.blockScaled) {
    d.scaleIdB = field(word, 4, 2);
    d.scale = field(word, 23, 1) ? E::UE8M0 : E::UE4M3;
    d.m = field(word, 27, 2) << 7;
    d.scaleIdA = field(word, 29, 2);
    return;
  }
  d.selector = field(word, 0, 2);
  d.saturate = field(word, 3, 1);
  d.m = field(word, 24, 5) << 4;
  d.maxShift = field(word, 30, 2) ? 4u << field(word, 30, 2) : 0;
}

} // namespace

const char *nameOf(MmaKind kind) { return kinds[unsigned(kind)].name; }

std::optional<MmaKind> parseMmaKind(std::string_view part) {
  for (unsigned i = 0; i < kinds.size(); ++i)
    if (kinds[i].name == part)
      return MmaKind(i);
  return std::nullopt;
}

bool isBlockScaled(MmaKind kind) { return kinds[unsigned(kind)].blockScaled; }

DecodedInstr decodeInstrDescriptor(uint32_t word, const MmaForm &form) {
  const KindInfo &kind = kinds[unsigned(form.kind)];
  DecodedInstr result;
  InstrDescriptor &d = result.descriptor;
  decodeTypes(word, kind, result);
  decodeSpecific(word, kind, d);
  d.sparse = field(word, 2, 1);
  d.negateA = field(word, 13, 1);
  d.negateB = field(word, 14, 1);
  d.majorA = field(word, 15, 1) ? Major::MN : Major::K;
  d.majorB = field(word, 16, 1) ? Major::MN : Major::K;
  d.n = field(word, 17, 6) << 3;
  d.k = kind.k << d.sparse;
  if (!result.error)
    result.error = kind.blockScaled ? checkScaleFields(word, form, d)
                                    : checkFields(word, form, d);
  if (!result.error)
    result.error = checkMajor(form, d);
  if (!result.error)
    result.error = checkShape(form, d);
  if (!result.error)
    result.warning = libraryLimit(form, d);
  return result;
}

} // namespace ptxsim
