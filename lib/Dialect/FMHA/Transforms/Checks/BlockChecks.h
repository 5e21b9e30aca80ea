//===- BlockChecks.h - Run-time checks of lists of blocks -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_BLOCKCHECKS_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_BLOCKCHECKS_H

#include "CheckedOp.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// Checks of `blocks` (attention.C36). They emit nothing for ops without it.
class BlockChecks : protected CheckedOp {
protected:
  using CheckedOp::CheckedOp;
  void addBlocks(AttentionOp attention);
  /// Checks which extents are equal.
  void blockExtents(AttentionOp attention);
  /// Checks the layout and the size of the tensors.
  void blockShapes();
  /// Checks the counts, and the entries that are counted.
  void blockEntries(AttentionOp attention);

private:
  void entriesOf(mlir::StringRef counts, mlir::StringRef lists,
                 mlir::Value blocks);
};

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_BLOCKCHECKS_H
