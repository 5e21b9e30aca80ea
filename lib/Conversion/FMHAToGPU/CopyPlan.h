//===- CopyPlan.h - Where a buffer is copied --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_COPYPLAN_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_COPYPLAN_H

#include "BufferUses.h"

namespace fmha {

/// One copy of a whole buffer, to be inserted before an op.
struct PlannedCopy {
  mlir::Operation *before;
  bool toDevice;
};

/// Returns the copies between a buffer, whose uses must all be known, and its
/// device copy, in execution order. Does not change the IR.
///
/// Example: the host fills %q, and reads %o in a loop.
///
///   linalg.fill outs(%q)
///   scf.for ... {                      %q: to the device, before this op
///     fmha.attention ins(%q, ...) outs(%o)
///     memref.load %o                   %o: to the host, before this op
///   }
llvm::SmallVector<PlannedCopy> planCopies(const BufferUses &uses);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_COPYPLAN_H
