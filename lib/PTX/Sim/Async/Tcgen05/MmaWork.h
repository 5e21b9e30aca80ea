//===- MmaWork.h - An MMA with its operands resolved ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAWORK_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAWORK_H

#include "Collectors.h"
#include "Mma/MmaOperands.h"

#include "fmha/PTX/Sim/Units/ZeroColumns.h"

namespace ptxsim {

/// A matrix in tensor memory that an MMA reads.
struct TmemSource {
  const char *name;
  TmemRange range;
};

/// An MMA with its operands resolved.
struct MmaWork {
  MmaForm form;
  InstrDescriptor instr;
  TmemLayout layout = TmemLayout::D;
  /// The participating CTAs, the even CTA of a pair first.
  std::vector<Cta *> ctas;
  /// A of each CTA; all share one descriptor or address.
  SmemOperand a, b;
  TmemOperand aTmem;
  /// Scale factors of block-scaled kinds.
  ScaleOperand scaleA, scaleB;
  /// Metadata of sparse A.
  MetadataOperand metadata;
  /// Columns of B that .ws replaces by zeros, and the first column.
  ZeroColumns zeroColumns;
  CollectorText collector;
  TmemCell d;
  bool accumulate = false;
  /// D is multiplied by 2^-scale before the sum.
  uint32_t scale = 0;
  /// Lanes of D that are not written, 128 bits per CTA.
  std::array<uint32_t, 8> disabledLanes{};

  /// Returns the elements of K that A has in memory.
  uint32_t storedK() const { return instr.k >> form.sparse; }
  /// Returns accumulator, shape and kind as one number.
  uint64_t key() const;
  TmemRange accumulator() const;
  /// Returns what the MMA reads in the tensor memory of each CTA, without D.
  std::vector<TmemSource> sources() const;
};

/// Checks the rules that hold at issue: alignment of lanes, columns,
/// descriptors, and ready bytes. Returns false after a fault.
bool checkIssue(const Site &site, const MmaWork &work);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAWORK_H
