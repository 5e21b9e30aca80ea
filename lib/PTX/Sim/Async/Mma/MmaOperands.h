//===- MmaOperands.h - Operands of one tensor core instruction --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_MMA_MMAOPERANDS_H
#define FMHA_LIB_PTX_SIM_ASYNC_MMA_MMAOPERANDS_H

#include "Tmem/TensorMemory.h"

#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

#include <algorithm>

namespace ptxsim {

/// A matrix in shared memory: `mn` rows or columns by `k`.
struct SmemOperand {
  SmemDescriptor descriptor;
  Major major = Major::K;
  ElementType type = ElementType::F16;
  uint32_t mn = 0, k = 0;
  bool negate = false;

  /// Returns the bytes of a container: one or two bytes hold one element, or
  /// one byte two.
  unsigned elementBytes() const {
    return std::max(containerBits(type) / 8, 1u);
  }
  /// Returns the elements in each byte of a packed type, else 1.
  unsigned perContainer() const {
    return 8 * elementBytes() / containerBits(type);
  }
};

/// Returns rows or columns `first` to `first` + `count` of the operand. They
/// must not begin inside 16 bytes and, where these are contiguous, must not
/// leave a row of the swizzle.
SmemOperand rowsOf(const SmemOperand &operand, uint32_t first, uint32_t count);

/// Checks that every byte is in shared memory. Returns false after a fault.
bool checkBounds(const Site &site, Cta &cta, const SmemOperand &operand);
/// Reports bytes that are not ready for the async proxy.
void checkReady(const Site &site, Cta &cta, const SmemOperand &operand);
/// Mark an operand in flight. They do nothing under Policy::Eager, where no
/// other access can intervene.
void beginRead(Cta &cta, const SmemOperand &operand);
void endRead(Cta &cta, const SmemOperand &operand);

/// Returns true if the operand contains any of the shared bytes.
bool hasByte(const SmemOperand &operand, uint32_t offset, uint32_t bytes);

/// Reports the read to the race detector.
void noteRead(Races &races, const RaceStream &stream, const Site &site,
              Cta &cta, const SmemOperand &operand);

/// Decodes to f32. Element (mn, k) goes to out[mn * strideMn + k * strideK].
void gather(const Cta &cta, const SmemOperand &operand, float *out,
            size_t strideMn, size_t strideK);

/// Returns a hash of the elements' codes, of those inside shared memory.
uint64_t hashOf(const Cta &cta, const SmemOperand &operand);

/// A in tensor memory: `rows` by `k` in one CTA's part, which operandRows
/// counts, at lane | column of the base.
struct TmemOperand {
  TmemLayout layout = TmemLayout::D;
  TmemCell base;
  ElementType type = ElementType::F16;
  uint32_t rows = 0, k = 0;
  bool negate = false;

  uint32_t columns() const { return k * containerBits(type) / 32; }
  TmemRange range() const;
};

/// Decodes to out[row * k + k'], and reports cells that were never written.
void gather(const Site &site, TensorMemory &memory, const TmemOperand &operand,
            float *out);

uint64_t hashOf(TensorMemory &memory, const TmemOperand &operand);

/// Sparsity metadata in tensor memory of `rows` rows of A, which operandRows
/// counts. A group of `width`
/// elements has half of them in A.
struct MetadataOperand {
  MetadataMap map;
  TmemCell base;
  uint32_t rows = 0, width = 4;

  uint32_t perRow() const { return map.groups() * width / 2; }
  TmemRange range() const;
};

/// Decodes the positions in K of A's elements to out[row * perRow + i], and
/// reports cells that were never written, and indices without a meaning.
void gather(const Site &site, TensorMemory &memory,
            const MetadataOperand &operand, std::vector<uint8_t> &out);

/// Scale factors in tensor memory of `count` rows of A or columns of B,
/// `vector` bytes each, from byte `id` of their column on.
struct ScaleOperand {
  ScaleMap map;
  TmemCell base;
  ElementType type = ElementType::UE8M0;
  uint32_t count = 0, vector = 1, id = 0;

  uint32_t columns() const { return map.columns(count); }
  TmemRange range() const { return {0xff, base.column, columns()}; }
};

/// Decodes to out[row * vector + i], and reports cells that were never written
/// or whose copies differ. `name` is for reports.
void gather(const Site &site, TensorMemory &memory, const ScaleOperand &operand,
            const char *name, std::vector<float> &out);

/// Returns the groups of 16 lanes that a layout uses, from base lane 0 or 16.
uint8_t layoutGroups(TmemLayout layout, uint32_t baseLane);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_MMA_MMAOPERANDS_H
