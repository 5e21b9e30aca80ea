//===- Views.h - The source of a view of a memref ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_VIEWS_H
#define FMHA_DIALECT_FMHA_IR_VIEWS_H

#include "mlir/IR/Value.h"

namespace fmha {

/// Returns the memref of which `memref` is a view, or null if the op that
/// defines `memref` creates no view.
mlir::Value viewSource(mlir::Value memref);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_IR_VIEWS_H
