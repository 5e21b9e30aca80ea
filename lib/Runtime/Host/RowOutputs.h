//===- RowOutputs.h - Outputs with one number per row -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LSE, row maxima and row sums, for both attention and merge, and the sinks,
// which are an input. `rows` is a table of these outputs in `Tensors`: `host`
// is the member of `Tensors`, `name` the parameter's name, and `strideBatch`
// the run-time value of the first stride, which is followed by those of head
// and row. `copies` are their device copies, in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_ROWOUTPUTS_H
#define FMHA_LIB_RUNTIME_HOST_ROWOUTPUTS_H

#include "LaunchOutcome.h"
#include "fmha/Runtime/Attention.h"
#include "fmha/Runtime/Launch/Values.h"
#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Tensor.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <vector>

namespace fmha::runtime {

using launch::after;

/// An f32 number that a kernel writes for each row.
struct AttentionRow {
  TensorName name;
  llvm::StringLiteral title, flag;
  std::optional<Tensor4> AttentionTensors::*host;
  bool Manifest::*there;
  /// The strides of head and row follow this value.
  RunValue strideBatch;
};
constexpr AttentionRow attentionRows[] = {
    {TensorName::Lse, "LSE", "--lse", &AttentionTensors::lse, &Manifest::lse,
     RunValue::LseStrideBatch},
    {TensorName::RowMax, "row maxima", "--row-max", &AttentionTensors::rowMax,
     &Manifest::rowMax, RunValue::RowMaxStrideBatch},
    {TensorName::RowSum, "row sums", "--row-sum", &AttentionTensors::rowSum,
     &Manifest::rowSum, RunValue::RowSumStrideBatch}};

/// Sets the strides of the outputs per row.
template <typename Rows, typename Copies>
void setRowStrides(const Rows &rows, const Copies &copies, RunValues &values) {
  for (auto [row, copy] : llvm::zip_equal(rows, copies)) {
    if (copy)
      launch::setRowStrides(row.strideBatch, copy->view(), values);
  }
}

/// Checks that there is one sink per head; NaN and +inf would erase a row.
llvm::Error checkSink(const std::optional<std::vector<float>> &sink,
                      int64_t heads);

/// Reads back the outputs that `tensors` has.
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
