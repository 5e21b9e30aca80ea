//===- Workspace.cpp - The parts of a split -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"
#include "LaunchOutcome.h"

#include "llvm/ADT/STLExtras.h"

namespace fmha::runtime {
namespace {

/// In the order of `tensors`; `stridePart` is the first of the strides of part
/// and batch, which those of row and head follow in either order.
struct Kind {
  TensorName name;
  RunValue stridePart;
  bool rowFirst;
};
constexpr Kind kinds[] = {
    {TensorName::OParts, RunValue::OPartsStridePart, true},
    {TensorName::MaxParts, RunValue::MaxPartsStridePart, false},
    {TensorName::SumParts, RunValue::SumPartsStridePart, false}};

/// The number of the part is the slower part of the batch.
Tensor4 shapeOf(int64_t parts, const std::array<int64_t, 4> &dims,
                bool isOutput) {
  Tensor4 tensor;
  tensor.dtype = ElementType::F32;
  tensor.dims = {parts * dims[0], dims[1], dims[2], isOutput ? dims[3] : 1};
  tensor.strides =
      denseStrides(tensor.dims, isOutput ? Layout::BSHD : Layout::BHSD);
  return tensor;
}

} // namespace

llvm::Expected<Workspace> Workspace::copy(Device &device, int64_t parts,
                                          const std::array<Tensor4, 3> &tensors,
                                          const Padding &padding) {
  Workspace made;
  made.parts = parts;
  for (auto [to, from] : llvm::zip(made.tensors, tensors)) {
    auto fill =
        from.host ? DeviceTensor::Fill::Contents : DeviceTensor::Fill::Poison;
    auto created = DeviceTensor::create(device, from, fill, padding);
    if (!created)
      return created.takeError();
    to = std::move(*created);
  }
  return std::move(made);
}

llvm::Expected<Workspace> Workspace::create(Device &device, int64_t parts,
                                            const std::array<int64_t, 4> &dims,
                                            const Padding &padding) {
  return copy(device, parts,
              {shapeOf(parts, dims, true), shapeOf(parts, dims, false),
               shapeOf(parts, dims, false)},
              padding);
}

const DeviceTensor *Workspace::find(TensorName name) const {
  for (auto [kind, tensor] : llvm::zip(kinds, tensors))
    if (kind.name == name)
      return &tensor;
  return nullptr;
}

void Workspace::fill(RunValues &values) const {
  values[RunValue::Parts] = uint64_t(parts);
  for (auto [kind, tensor] : llvm::zip(kinds, tensors)) {
    const auto &strides = tensor.strides();
    int64_t batch = parts ? tensor.dims()[0] / parts : 0;
    int first = int(kind.stridePart);
    values[kind.stridePart] = uint64_t(batch * strides[0]);
    values[RunValue(first + 1)] = uint64_t(strides[0]);
    values[RunValue(first + 2)] = uint64_t(strides[kind.rowFirst ? 1 : 2]);
    values[RunValue(first + 3)] = uint64_t(strides[kind.rowFirst ? 2 : 1]);
  }
}

llvm::Error Workspace::check(Device &device, LaunchReport &report) const {
  for (auto [kind, tensor] : llvm::zip(kinds, tensors)) {
    Tensor4 host;
    host.dims = tensor.dims();
    host.strides = denseStrides(host.dims, Layout::BSHD);
    host.dtype = ElementType::F32;
    std::vector<float> numbers(host.dims[0] * host.dims[1] * host.dims[2] *
                               host.dims[3]);
    host.host = numbers.data();
    size_t stray = 0;
    if (llvm::Error error = tensor.readBack(device, host, stray))
      return error;
    addStrayFinding(stringify(kind.name), stray, report);
  }
  return llvm::Error::success();
}

} // namespace fmha::runtime
