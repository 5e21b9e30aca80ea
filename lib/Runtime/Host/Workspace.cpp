//===- Workspace.cpp - The partial results of split-KV --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"
#include "LaunchOutcome.h"
#include "fmha/Runtime/Launch/Values.h"

#include "llvm/ADT/STLExtras.h"

namespace fmha::runtime {
namespace {

/// In the order of `tensors`.
constexpr TensorName names[] = {TensorName::OParts, TensorName::MaxParts,
                                TensorName::SumParts};

/// Returns the shape of the parts, which are the outer part of the batch.
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
  for (auto [own, tensor] : llvm::zip(names, tensors))
    if (own == name)
      return &tensor;
  return nullptr;
}

void Workspace::fill(RunValues &values) const {
  launch::PartViews views = {tensors[0].view(), tensors[1].view(),
                             tensors[2].view()};
  for (auto [step, tensor] : llvm::zip(views.steps, tensors))
    step = parts ? tensor.dims()[0] / parts * tensor.strides()[0] : 0;
  launch::setPartStrides(parts, views, values);
}

llvm::Error Workspace::check(Device &device, LaunchReport &report) const {
  for (auto [name, tensor] : llvm::zip(names, tensors)) {
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
    addStrayFinding(stringify(name), stray, report);
  }
  return llvm::Error::success();
}

/// Returns the shape of a single 32-bit value at `host`.
static Tensor4 numberAt(uint32_t &host) {
  Tensor4 tensor;
  tensor.host = &host;
  tensor.dims = {1, 1, 1, 1};
  tensor.strides = {1, 1, 1, 1};
  tensor.dtype = ElementType::F32;
  return tensor;
}

llvm::Expected<TileCounter> TileCounter::create(Device &device,
                                                const Padding &padding) {
  uint32_t zero = 0;
  auto made = DeviceTensor::create(device, numberAt(zero),
                                   DeviceTensor::Fill::Contents, padding);
  if (!made)
    return made.takeError();
  TileCounter counter;
  counter.number = std::move(*made);
  return std::move(counter);
}

llvm::Error TileCounter::check(Device &device, LaunchReport &report) const {
  uint32_t left = 0;
  Tensor4 host = numberAt(left);
  size_t stray = 0;
  if (llvm::Error error = number.readBack(device, host, stray))
    return error;
  addStrayFinding(stringify(TensorName::TileCounter), stray, report);
  addCounterFinding(left, report);
  return llvm::Error::success();
}

llvm::Expected<Scratch> Scratch::create(const Manifest &manifest,
                                        Device &device,
                                        const AttentionTensors &tensors,
                                        const RunOptions &options) {
  Scratch scratch;
  if (manifest.combine) {
    auto made = Workspace::create(device, manifest.splits,
                                  {tensors.o.dims[0], tensors.o.dims[1],
                                   tensors.o.dims[2], tensors.o.dims[3]},
                                  options.padding);
    if (!made)
      return made.takeError();
    scratch.workspace = std::move(*made);
  }
  if (manifest.tileCounter) {
    auto made = TileCounter::create(device, options.padding);
    if (!made)
      return made.takeError();
    scratch.counter = std::move(*made);
  }
  return std::move(scratch);
}

} // namespace fmha::runtime
