//===- RowOutputs.h - Numbers that a kernel writes for each row -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LSE, row maxima and row sums, of an attention and of a merge alike, and the
// sinks that join them. `rows` is a table of what `Tensors` has of the former:
// its `host` is the member of `Tensors`, its `name` the parameter's, its
// `strideBatch` the run-time value of the first stride, which those of head and
// row follow. `copies` are theirs on the device, in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_ROWOUTPUTS_H
#define FMHA_LIB_RUNTIME_HOST_ROWOUTPUTS_H

#include "LaunchOutcome.h"
#include "fmha/Runtime/Launch/Values.h"
#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Tensor.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <vector>

namespace fmha::runtime {

using launch::after;

/// Tells a kernel the strides of what it writes.
template <typename Rows, typename Copies>
void setRowStrides(const Rows &rows, const Copies &copies, RunValues &values) {
  for (auto [row, copy] : llvm::zip_equal(rows, copies)) {
    if (copy)
      launch::setRowStrides(row.strideBatch, copy->view(), values);
  }
}

/// One a head; NaN and +inf would leave nothing of a row.
llvm::Error checkSink(const std::optional<std::vector<float>> &sink,
                      int64_t heads);

/// Brings back those that `tensors` has a place for.
template <typename Rows, typename Copies, typename Tensors>
llvm::Error readRows(Device &device, const Rows &rows, const Copies &copies,
                     Tensors &tensors, LaunchReport &report) {
  for (auto [row, copy] : llvm::zip_equal(rows, copies)) {
    size_t stray = 0;
    std::optional<Tensor4> &host = tensors.*row.host;
    if (!host)
      continue;
    if (llvm::Error error = copy->readBack(device, *host, stray))
      return error;
    addStrayFinding(stringify(row.name), stray, report);
  }
  return llvm::Error::success();
}

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_ROWOUTPUTS_H
