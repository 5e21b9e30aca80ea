//===- RotaryRows.h - The angles of a row -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_ROTARYROWS_H
#define FMHA_LIB_CONVERSION_TILETONVVM_ROTARYROWS_H

#include "Threads/RotaryCode.h"

namespace fmha {

/// Returns whether `op` is in a kernel of attention that has angles.
bool rotates(mlir::Operation *op);
/// Returns the angles of `position`, an i32 that may be negative, in the kernel
/// of attention around `op`; `cos` and `sin` are its tables. The caller
/// sets `address`.
RotaryCode::Row rotaryRow(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                          mlir::Value cos, mlir::Value sin,
                          mlir::Value position);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_ROTARYROWS_H
