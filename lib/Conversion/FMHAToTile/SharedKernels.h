//===- SharedKernels.h - Kernels that several ops share ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_SHAREDKERNELS_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_SHAREDKERNELS_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// The kernels of the ops of one symbol table. Two ops share a kernel if
/// they have the same problem and schedule (target included), and score regions
/// that are structurally equal. Extents of static types, which kernels take at
/// run time, and locations do not count.
class SharedKernels {
public:
  /// Returns the kernel of an op that computes the same; null if there is none.
  mlir::SymbolRefAttr find(AttentionOp op);
  mlir::SymbolRefAttr find(MergeOp op);
  mlir::SymbolRefAttr find(AppendOp op);
  /// Registers the kernel of `op` for later ops.
  void add(AttentionOp op);
  void add(MergeOp op);
  void add(AppendOp op);

private:
  /// Keyed by everything of an op except its region.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<AttentionOp, 1>> attentions;
  /// Those of ops without regions.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> others;
};

/// Returns whether two score regions compute the same function of scores,
/// indices and captures: equal ops in the same order, which read captures of
/// the same number.
bool haveEqualScores(AttentionOp a, AttentionOp b);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_SHAREDKERNELS_H
