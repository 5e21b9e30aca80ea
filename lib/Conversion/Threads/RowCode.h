//===- RowCode.h - Addresses of rows in kernels of plain threads *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_THREADS_ROWCODE_H
#define FMHA_LIB_CONVERSION_THREADS_ROWCODE_H

#include "RotaryCode.h"
#include "ThreadCode.h"

namespace fmha {

/// Returns the offset of a row, in elements: the sum of its batch or page, its
/// number there and its head, as i32, each times its stride.
mlir::Value offsetOfRow(mlir::ImplicitLocOpBuilder &b,
                        mlir::ArrayRef<mlir::Value> row,
                        mlir::ArrayRef<mlir::Value> strides);

/// Emits addresses in tensors whose strides are parameters of the kernel.
class RowCode : protected ThreadCode {
protected:
  using ThreadCode::ThreadCode;

  /// Returns the address of the first element of `tensor` at batch, row and
  /// head.
  Value rowAt(const std::string &tensor, Value batch, Value row, Value head,
              mlir::Type element);
  /// Returns the angles of `position`, an i32 that may be negative, from the
  /// tables of a kernel with a rotary embedding. The caller sets `address`.
  RotaryCode::Row rotaryRow(Value position);
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_THREADS_ROWCODE_H
