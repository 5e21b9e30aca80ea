//===- MmaProduct.cpp - The product of one MMA ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaProduct.h"

#include "fmha/PTX/Sim/Units/ScaledArithmetic.h"

namespace ptxsim {
namespace {

SumRules rulesOf(const InstrDescriptor &instr) {
  SumRules rules;
  rules.minExponentA = minExponent(instr.a);
  rules.minExponentB = minExponent(instr.b);
  rules.halfResult = instr.d == ElementType::F16;
  return rules;
}

/// Multiplies rows of A with columns of B, by the arithmetic of the kind.
void multiplyBlock(const MmaWork &work, MmaMode mode, const float *a,
                   const float *b, uint32_t *d, const MmaBlock &block,
                   const ScaleFactors &scales) {
  const InstrDescriptor &instr = work.instr;
  bool exact = mode == MmaMode::Exact;
  if (work.form.kind == MmaKind::I8)
    integerMma(a, b, d, block, instr.saturate);
  else if (isBlockScaled(work.form.kind))
    exact ? exactScaledMma(a, b, d, block, scales, rulesOf(instr),
                           instr.a == ElementType::PackedE2M1)
          : fastScaledMma(a, b, d, block, scales);
  else
    exact ? exactMma(a, b, d, block, rulesOf(instr)) : fastMma(a, b, d, block);
}

} // namespace

void gatherB(const MmaWork &work, MmaInputs &inputs) {
  uint32_t k = work.instr.k, parts = uint32_t(work.ctas.size());
  // Columns are decoded in chunks, so that some may lie beyond the last.
  inputs.strideB = parts * work.b.mn;
  if (parts == 1)
    inputs.strideB = (inputs.strideB + 15) / 16 * 16;
  inputs.b.resize(k * inputs.strideB);
  for (unsigned part = 0; part < parts; ++part)
    gather(*work.ctas[part], work.b, inputs.b.data() + part * work.b.mn, 1,
           inputs.strideB);
  for (uint32_t j = 0; j < work.zeroColumns.zero.size(); ++j)
    if (work.zeroColumns.zero[j])
      for (uint32_t x = 0; x < k; ++x)
        inputs.b[x * inputs.strideB + work.zeroColumns.shift + j] = 0;
}

void gatherOwn(const Site &site, Cta &cta, const MmaWork &work,
               MmaInputs &inputs) {
  TensorMemory &memory = cta.states.get<TensorMemory>();
  uint32_t k = work.storedK();
  inputs.a.resize(size_t(operandRows(work.layout)) * k);
  if (work.form.aInTmem)
    gather(site, memory, work.aTmem, inputs.a.data());
  else
    gather(cta, work.a, inputs.a.data(), k, 1);
  if (work.form.sparse)
    gather(site, memory, work.metadata, inputs.kept);
  if (!isBlockScaled(work.form.kind))
    return;
  gather(site, memory, work.scaleA, "scale A of the MMA", inputs.scaleA);
  gather(site, memory, work.scaleB, "scale B of the MMA", inputs.scaleB);
}

/// Returns the row of an operand in tensor memory for row 0 of a patch: the
/// part of the lanes that holds the patch has its own rows.
static uint32_t operandRow(const MmaWork &work, const Patch &patch) {
  return patch.m + patch.n / patch.columns * rowsPerCta(work.layout);
}

/// Returns A for the rows of a patch.
static const float *rowsOfA(const MmaWork &work, const MmaInputs &inputs,
                            const Patch &patch) {
  uint32_t row = work.form.aInTmem ? operandRow(work, patch) : patch.m;
  return inputs.a.data() + size_t(row) * work.storedK();
}

/// Multiplies each row of sparse A with the rows of B that its elements have.
static void multiplySparse(const MmaWork &work, MmaMode mode,
                           const MmaInputs &inputs, const Patch &patch,
                           uint32_t *d, size_t strideD) {
  static thread_local std::vector<float> b;
  uint32_t k = work.storedK(), vector = work.form.scaleVector;
  b.resize(size_t(k) * patch.columns);
  MmaBlock block{1, patch.columns, k, patch.columns, strideD, work.accumulate};
  const float *a = rowsOfA(work, inputs, patch);
  const uint8_t *kept =
      inputs.kept.data() + size_t(operandRow(work, patch)) * k;
  for (uint32_t i = 0; i < patch.rows; ++i, a += k, kept += k) {
    for (uint32_t x = 0; x < k; ++x)
      std::copy_n(&inputs.b[kept[x] * inputs.strideB + work.zeroColumns.shift +
                            patch.n],
                  patch.columns, &b[size_t(x) * patch.columns]);
    ScaleFactors scales{inputs.scaleA.data() + size_t(patch.m + i) * vector,
                        inputs.scaleB.data() + size_t(patch.n) * vector, vector,
                        minExponent(work.instr.scale)};
    multiplyBlock(work, mode, a, b.data(), d + i * strideD, block, scales);
  }
}

void multiply(const MmaWork &work, MmaMode mode, const MmaInputs &inputs,
              const Patch &patch, uint32_t *d, size_t strideD) {
  if (work.form.sparse)
    return multiplySparse(work, mode, inputs, patch, d, strideD);
  uint32_t k = work.instr.k, vector = work.form.scaleVector;
  MmaBlock block{patch.rows,     patch.columns, k,
                 inputs.strideB, strideD,       work.accumulate};
  ScaleFactors scales{inputs.scaleA.data() + size_t(patch.m) * vector,
                      inputs.scaleB.data() + size_t(patch.n) * vector, vector,
                      minExponent(work.instr.scale)};
  multiplyBlock(work, mode, rowsOfA(work, inputs, patch),
                inputs.b.data() + work.zeroColumns.shift + patch.n, d, block,
                scales);
}

} // namespace ptxsim
