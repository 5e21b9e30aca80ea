//===- MmaForm.cpp - The form of a tcgen05.mma ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tcgen05/IR/MmaForm.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"

#include "llvm/ADT/Twine.h"

using namespace fmha::tcgen05;

namespace {

enum MmaProperty : unsigned {
  WeightStationary = 1,
  ShiftA = 2,
  ScaleD = 4,
  DisableLanes = 8,
  Transpose = 16,
  Negate = 32,
  Saturate = 64,
  Scaled = 128
};

enum Operand { AB, D };
enum Form : unsigned { Dense = 1, Sparse = 2, DenseWs = 4, SparseWs = 8 };

struct KindRow {
  const char *name;
  unsigned k, selector, properties;
};
struct TypeRow {
  MmaKind kind;
  Operand operand;
  const char *type;
  unsigned code;
};
struct ScaleRow {
  MmaKind kind;
  unsigned block, vector;
  const char *type;
  unsigned code;
};
struct ShapeRow {
  unsigned kinds, forms, group, m, from, to, step, coarse;
};

constexpr KindRow kinds[] = {
#define FMHA_TCGEN05_KIND(kind, name, k, selector, properties)                 \
  {name, k, selector, properties},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};

constexpr TypeRow types[] = {
#define FMHA_TCGEN05_TYPE(kind, operand, type, code)                           \
  {MmaKind::kind, operand, type, code},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};

constexpr ScaleRow scales[] = {
#define FMHA_TCGEN05_SCALE(kind, block, vector, type, code)                    \
  {MmaKind::kind, block, vector, type, code},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};

namespace bits {
#define FMHA_TCGEN05_KIND(kind, name, k, selector, properties)                 \
  constexpr unsigned kind = 1u << unsigned(MmaKind::kind);
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"

constexpr ShapeRow shapes[] = {
#define FMHA_TCGEN05_SHAPE(kinds, forms, group, m, from, to, step, coarse)     \
  {kinds, forms, group, m, from, to, step, coarse},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};
} // namespace bits

using Error = std::optional<std::string>;

} // namespace

static const KindRow &rowOf(const MmaForm &form) {
  return kinds[unsigned(form.kind)];
}

static bool has(const MmaForm &form, MmaProperty property) {
  return rowOf(form).properties & property;
}

static std::string kindName(const MmaForm &form) {
  return std::string("kind::") + rowOf(form).name;
}

static const TypeRow *findType(MmaKind kind, Operand operand,
                               const std::string &type) {
  for (const TypeRow &row : types)
    if (row.kind == kind && row.operand == operand && row.type == type)
      return &row;
  return nullptr;
}

static Error checkType(const MmaForm &form, Operand operand, const char *name,
                       const std::string &type) {
  if (findType(form.kind, operand, type))
    return std::nullopt;
  std::string text;
  for (const TypeRow &row : types)
    if (row.kind == form.kind && row.operand == operand)
      text += (text.empty() ? "" : ", ") + std::string(row.type);
  return "expected the type of " + std::string(name) + " to be one of " + text +
         " for " + kindName(form) + ", got " + type;
}

static Error checkTypes(const MmaForm &form) {
  if (Error error = checkType(form, AB, "A", form.a))
    return error;
  if (Error error = checkType(form, AB, "B", form.b))
    return error;
  if (Error error = checkType(form, D, "D", form.d))
    return error;
  if (form.kind == MmaKind::F16 && form.d == "f16" &&
      (form.a != "f16" || form.b != "f16"))
    return "expected A and B of f16 for D of f16, got " + form.a + " and " +
           form.b + "; use D of f32";
  return std::nullopt;
}

/// Reports the first of the features that are used without the property.
static Error checkProperties(const MmaForm &form) {
  struct Use {
    bool used;
    MmaProperty property;
    const char *name;
  };
  const Use uses[] = {
      {form.weightStationary, WeightStationary, "'ws'"},
      {form.shiftA, ShiftA, "'ashift'"},
      {form.scaleD != 0, ScaleD, "'scale_d'"},
      {form.laneWords != 0, DisableLanes, "disabled lanes"},
      {form.transposeA || form.transposeB, Transpose, "a transposed operand"},
      {form.negateA || form.negateB, Negate, "a negated operand"},
      {form.saturate, Saturate, "'saturate'"},
      {form.block != 0, Scaled, "scale factors"}};
  for (const Use &use : uses)
    if (use.used && !has(form, use.property))
      return kindName(form) + " does not have " + use.name +
             "; remove it or use another kind";
  if (has(form, Scaled) && !form.block)
    return "expected scale factors for " + kindName(form) +
           ", got none; add 'scales' with the addresses, and 'block' and "
           "'scale_type'";
  return std::nullopt;
}

static const ScaleRow *findScale(const MmaForm &form) {
  for (const ScaleRow &row : scales)
    if (row.kind == form.kind && row.block == form.block &&
        row.type == form.scale)
      return &row;
  return nullptr;
}

static Error checkScales(const MmaForm &form) {
  if (!form.block && (form.scaleIdA || form.scaleIdB))
    return "'scale_a_id' and 'scale_b_id' are for kinds with scale factors, "
           "got " +
           kindName(form) + "; remove them";
  if (!form.block)
    return std::nullopt;
  const ScaleRow *row = findScale(form);
  if (!row) {
    std::string text;
    for (const ScaleRow &known : scales)
      if (known.kind == form.kind)
        text += (text.empty() ? "" : ", ") + std::to_string(known.block) +
                " of " + known.type;
    return "expected a scale factor for each " + text + " in " +
           kindName(form) + ", got " + std::to_string(form.block) + " of " +
           form.scale;
  }
  for (unsigned id : {form.scaleIdA, form.scaleIdB})
    if (id > 3 || id % row->vector)
      return "expected the first byte of the scale factors to be a multiple of "
             "their number in a row, " +
             std::to_string(row->vector) + ", below 4, got " +
             std::to_string(id);
  return std::nullopt;
}

/// Checks which qualifiers exclude each other.
static Error checkQualifiers(const MmaForm &form) {
  if (form.weightStationary && form.ctaGroup != 1)
    return "expected a CTA group of 1 with 'ws', got 2";
  if (form.weightStationary && (form.shiftA || form.laneWords || form.scaleD))
    return "'ws' has neither 'ashift', nor disabled lanes, nor 'scale_d'";
  if (!form.weightStationary && (form.hasZeroColumns || form.maxShift))
    return "zero columns and 'max_shift' are for 'ws'; add it";
  if (form.shiftA && (!form.aInTmem || form.m < 128))
    return "expected A in tensor memory and M of 128 or 256 with 'ashift'";
  if (form.shiftA && form.keepsOperand)
    return "'ashift' changes A, which the collector must not keep; use lastuse "
           "or discard";
  if (form.laneWords && form.laneWords != 4 * form.ctaGroup)
    return "expected " + std::to_string(4 * form.ctaGroup) +
           " words of disabled lanes in a group of " +
           std::to_string(form.ctaGroup) + ", got " +
           std::to_string(form.laneWords);
  return std::nullopt;
}

static Error checkMaxShift(const MmaForm &form) {
  if (form.maxShift && !form.hasZeroColumns)
    return "'max_shift' bounds the shift that 'zero_columns' names; add it, or "
           "remove 'max_shift'";
  if (form.maxShift && form.m < 64)
    return "expected M of 64 or 128 with 'max_shift', got " +
           std::to_string(form.m);
  return std::nullopt;
}

static Error checkSelector(const MmaForm &form) {
  if (form.selector && !form.sparse)
    return "a sparsity selector is for sparse A; add 'metadata'";
  unsigned most = rowOf(form).selector;
  if (form.selector > most)
    return "expected a sparsity selector of at most " + std::to_string(most) +
           " for " + kindName(form) + ", got " + std::to_string(form.selector) +
           "; move the metadata to the columns of selector " +
           std::to_string(most);
  return std::nullopt;
}

static bool isNarrow(const std::string &type) {
  return type.starts_with("f6") || type.starts_with("f4");
}

static Error checkTransposes(const MmaForm &form) {
  if ((form.transposeA && isNarrow(form.a)) ||
      (form.transposeB && isNarrow(form.b)))
    return "elements of 4 and 6 bits cannot be transposed; store them K-major";
  if (form.transposeA && form.aInTmem)
    return "A in tensor memory cannot be transposed";
  unsigned step = form.ctaGroup == 2 ? 32 : 16;
  bool isByte = has(form, Transpose) && form.kind != MmaKind::F16 &&
                form.kind != MmaKind::TF32;
  if (form.transposeB && isByte && form.n % step)
    return "expected N to be a multiple of " + std::to_string(step) +
           " for a transposed B of bytes, got " + std::to_string(form.n);
  return std::nullopt;
}

static unsigned formOf(const MmaForm &form) {
  if (form.weightStationary)
    return form.sparse ? SparseWs : DenseWs;
  return form.sparse ? Sparse : Dense;
}

static Error checkShape(const MmaForm &form) {
  std::string legal;
  for (const ShapeRow &row : bits::shapes) {
    if (!(row.kinds >> unsigned(form.kind) & 1) ||
        !(row.forms & formOf(form)) || row.group != form.ctaGroup)
      continue;
    unsigned step = form.aInTmem ? row.coarse : row.step;
    unsigned from = std::max(row.from, step);
    if (row.m == form.m && form.n >= from && form.n <= row.to &&
        form.n % step == 0)
      return std::nullopt;
    legal += (legal.empty() ? "" : "; ") + std::to_string(row.m) + " x " +
             std::to_string(from);
    if (from != row.to)
      legal += ".." + std::to_string(row.to) + " in steps of " +
               std::to_string(step);
  }
  std::string what = kindName(form);
  what += std::string(form.sparse ? ", sparse" : "") +
          (form.weightStationary ? ", ws" : "") +
          (form.aInTmem ? ", A in tensor memory" : "");
  return "expected M x N of " + what + " in a group of " +
         std::to_string(form.ctaGroup) + " to be " + legal + ", got " +
         std::to_string(form.m) + " x " + std::to_string(form.n);
}

std::optional<std::string> MmaForm::check() const {
  for (auto rule : {checkTypes, checkProperties, checkQualifiers, checkMaxShift,
                    checkSelector, checkScales, checkTransposes, checkShape})
    if (Error error = rule(*this))
      return error;
  return std::nullopt;
}

unsigned MmaForm::k() const { return rowOf(*this).k << unsigned(sparse); }

uint32_t MmaForm::word() const {
  auto bit = [](unsigned value, unsigned at) { return uint32_t(value) << at; };
  uint32_t word = bit(selector, 0) | bit(sparse, 2) |
                  bit(findType(kind, AB, a)->code, 7) |
                  bit(findType(kind, AB, b)->code, 10) | bit(negateA, 13) |
                  bit(negateB, 14) | bit(transposeA, 15) | bit(transposeB, 16) |
                  bit(n >> 3, 17);
  if (block)
    return word | bit(scaleIdB, 4) | bit(findScale(*this)->code, 23) |
           bit(m >> 7, 27) | bit(scaleIdA, 29);
  unsigned shift = 0;
  for (unsigned rows = maxShift; rows >= 8; rows /= 2)
    ++shift;
  return word | bit(saturate, 3) | bit(findType(kind, D, d)->code, 4) |
         bit(m >> 4, 24) | bit(shift, 30);
}
