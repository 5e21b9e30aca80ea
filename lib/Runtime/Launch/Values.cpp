//===- Values.cpp - The run-time values of a launch -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Values.h"

namespace fmha::launch {
namespace {

/// Views of parts are aligned to this many bytes.
constexpr uint64_t partAlignment = 256;

/// Reserves `parts` dense f32 tensors at `end` and sets `step`, the elements of
/// one. Tensors with one number per row have heads outside of rows, like an
/// LSE.
View place(int64_t parts, const std::array<int64_t, 4> &dims, bool isOutput,
           int64_t &step, uint64_t &end) {
  View view{end, dims, {}};
  auto [batch, length, heads, dim] = dims;
  if (isOutput)
    view.strides = {length * heads * dim, heads * dim, dim, 1};
  else
    view.strides = {heads * length, 1, length, 1};
  step = batch * view.strides[0];
  uint64_t bytes = uint64_t(parts) * uint64_t(step) * 4;
  end += (bytes + partAlignment - 1) / partAlignment * partAlignment;
  return view;
}

void setParts(RunValue first, const View &view, int64_t step, bool rowFirst,
              RunValues &values) {
  values[first] = uint64_t(step);
  values[after(first, 1)] = uint64_t(view.strides[0]);
  values[after(first, 2)] = uint64_t(view.strides[rowFirst ? 1 : 2]);
  values[after(first, 3)] = uint64_t(view.strides[rowFirst ? 2 : 1]);
}

} // namespace

void setMatrixStrides(RunValue strideBatch, const View &view,
                      RunValues &values) {
  for (int i = 0; i < 3; ++i)
    values[after(strideBatch, i)] = uint64_t(view.strides[i]);
  if (strideBatch == RunValue::KStrideBatch)
    values[RunValue::KStrideVector] = uint64_t(view.vectorStride);
}

void setRowStrides(RunValue strideBatch, const View &rows, RunValues &values) {
  values[strideBatch] = uint64_t(rows.strides[0]);
  values[after(strideBatch, 1)] = uint64_t(rows.strides[2]);
  values[after(strideBatch, 2)] = uint64_t(rows.strides[1]);
}

PartViews partsAt(uint64_t address, int64_t parts,
                  const std::array<int64_t, 4> &dims) {
  std::array<int64_t, 4> rows = {dims[0], dims[1], dims[2], 1};
  uint64_t end = address;
  PartViews views;
  views.o = place(parts, dims, true, views.steps[0], end);
  views.max = place(parts, rows, false, views.steps[1], end);
  views.sum = place(parts, rows, false, views.steps[2], end);
  views.bytes = end - address;
  return views;
}

void setPartStrides(int64_t parts, const PartViews &views, RunValues &values) {
  values[RunValue::Parts] = uint64_t(parts);
  setParts(RunValue::OPartsStridePart, views.o, views.steps[0], true, values);
  setParts(RunValue::MaxPartsStridePart, views.max, views.steps[1], false,
           values);
  setParts(RunValue::SumPartsStridePart, views.sum, views.steps[2], false,
           values);
}

} // namespace fmha::launch
