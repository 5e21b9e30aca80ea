//===- RowCode.h - Addresses of rows in kernels of plain threads *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_THREADS_ROWCODE_H
#define FMHA_LIB_CONVERSION_THREADS_ROWCODE_H

#include "ThreadCode.h"

namespace fmha {

/// Emits addresses in tensors whose strides are parameters of the kernel.
class RowCode : protected ThreadCode {
protected:
  using ThreadCode::ThreadCode;

  /// Returns the address of the first element of `tensor` at batch, row and
  /// head.
  Value rowAt(const std::string &tensor, Value batch, Value row, Value head,
              mlir::Type element);
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_THREADS_ROWCODE_H
