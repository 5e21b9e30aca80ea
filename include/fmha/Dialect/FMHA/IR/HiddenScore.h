//===- HiddenScore.h - Scores that a region hides ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_HIDDENSCORE_H
#define FMHA_DIALECT_FMHA_IR_HIDDENSCORE_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// The parts of a region that ends in a mask:
///   yield select(seen, score, -inf)
struct HiddenScore {
  mlir::Value score;
  /// An i1 that does not depend on the score.
  mlir::Value seen;
  /// Whether the mask hides keys of partial blocks only:
  ///   seen = is_full | ...
  bool onlyInPartialBlocks;
};
/// Returns the parts of the region of `op`, which has lists of blocks, or
/// nothing if it does not end in a mask.
std::optional<HiddenScore> splitHidden(AttentionOp op);

/// Returns whether the region of `op` makes some scores -inf and leaves the
/// others unchanged, so that it works on unscaled scores as well.
bool onlyHides(AttentionOp op);

/// Returns the ops of the region of `op` that compute `value`, in order.
llvm::SmallVector<mlir::Operation *> opsOf(AttentionOp op, mlir::Value value);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_IR_HIDDENSCORE_H
