//===- Tensor.cpp - Strided host tensors and their device copies ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Tensor.h"
#include "fmha/Runtime/Files.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace fmha::runtime {
namespace {

constexpr llvm::StringLiteral dimNames[] = {"batch", "length", "heads", "dim"};

/// Host memory for a device copy, in one block.
struct Image {
  explicit Image(size_t bytes)
      : data(new (std::nothrow) char[bytes]), bytes(bytes) {
    if (data)
      std::memset(data.get(), poisonByte, bytes);
  }
  llvm::Error check() const {
    if (data)
      return llvm::Error::success();
    return failure("cannot allocate " + llvm::Twine(bytes) +
                   " bytes of host memory");
  }
  std::unique_ptr<char[]> data;
  size_t bytes;
};

/// Returns the outer dimensions from the innermost in memory to the outermost.
std::array<int, 3> memoryOrder(const Tensor4 &tensor) {
  std::array<int, 3> order = {2, 1, 0};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return tensor.strides[a] < tensor.strides[b];
  });
  return order;
}

} // namespace

std::array<int64_t, 4> denseStrides(const std::array<int64_t, 4> &dims,
                                    Layout layout) {
  if (layout == Layout::BSHD)
    return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  return {dims[2] * dims[1] * dims[3], dims[3], dims[1] * dims[3], 1};
}

Tensor4 keysInVectors(const std::array<int64_t, 4> &dims, ElementType type) {
  Tensor4 tensor;
  tensor.dims = dims;
  tensor.dtype = type;
  tensor.vector = 16 / int64_t(sizeOf(type));
  tensor.vectorStride = dims[1] * tensor.vector;
  int64_t head = dims[1] * dims[3];
  tensor.strides = {dims[2] * head, tensor.vector, head, 1};
  return tensor;
}

llvm::Error checkAlignment(const Tensor4 &tensor, llvm::StringRef name) {
  if (uintptr_t(tensor.host) % 16)
    return failure("tensor '" + name +
                   "': TMA wants a base address that is a "
                   "multiple of 16 bytes, got one " +
                   llvm::Twine(uintptr_t(tensor.host) % 16) +
                   " bytes past; copy the tensor to an aligned buffer");
  if (tensor.dims[3] > 1 && tensor.strides[3] != 1)
    return failure("tensor '" + name +
                   "': expected the dimension 'dim' to be "
                   "contiguous (stride 1), got stride " +
                   llvm::Twine(tensor.strides[3]) +
                   "; make the tensor contiguous in its last dimension");
  for (int i = 0; i < 3; ++i) {
    int64_t bytes = tensor.strides[i] * int64_t(sizeOf(tensor.dtype));
    if (tensor.dims[i] <= 1 || (bytes >= 0 && bytes % 16 == 0))
      continue;
    return failure("tensor '" + name + "', dimension '" + dimNames[i] +
                   "': TMA wants a stride that is a multiple of 16 bytes and "
                   "not negative, got " +
                   llvm::Twine(bytes) + " bytes (" +
                   llvm::Twine(tensor.strides[i]) +
                   " elements); pad the rows of the tensor");
  }
  return llvm::Error::success();
}

std::optional<int64_t> DeviceTensor::chooseSteps(const Tensor4 &tensor,
                                                 const Padding &padding) {
  bool overflow = false;
  int64_t step = 1;
  auto add = [&](int64_t &of, int64_t extent) {
    of = step;
    int64_t rows = std::max<int64_t>(extent, 1) + padding.extraRows;
    overflow |= __builtin_mul_overflow(step, rows, &step);
  };
  steps[3] = 1;
  if (vector) {
    step = vector;
    add(steps[1], extents[1]);
    add(vectorStep, extents[3] / vector);
    add(steps[2], extents[2]);
    add(steps[0], extents[0]);
  } else {
    step = std::max<int64_t>(extents[3], 1);
    if (padding.rowUnits) {
      int64_t unit = 16 / int64_t(sizeOf(type));
      step = (step + unit - 1) / unit * unit + padding.rowUnits * unit;
    }
    for (int dim : memoryOrder(tensor))
      add(steps[dim], extents[dim]);
  }
  return overflow ? std::nullopt : std::optional(step);
}

llvm::Expected<DeviceTensor> DeviceTensor::create(Device &device,
                                                  const Tensor4 &tensor,
                                                  Fill fill,
                                                  const Padding &padding) {
  DeviceTensor copy;
  copy.type = tensor.dtype;
  copy.extents = tensor.dims;
  copy.offset = padding.guardBytes;
  copy.vector = tensor.vector;
  int64_t size = int64_t(sizeOf(copy.type)), bytes = 0;
  std::optional<int64_t> elements = copy.chooseSteps(tensor, padding);
  bool overflow =
      !elements || __builtin_mul_overflow(*elements, size, &bytes) ||
      __builtin_add_overflow(bytes, int64_t(2 * padding.guardBytes), &bytes);
  if (overflow)
    return failure("a tensor of " + llvm::Twine(tensor.dims[0]) + " x " +
                   llvm::Twine(tensor.dims[1]) + " x " +
                   llvm::Twine(tensor.dims[2]) + " x " +
                   llvm::Twine(tensor.dims[3]) +
                   " elements is larger than any memory");
  auto memory = device.allocate(size_t(bytes));
  if (!memory)
    return memory.takeError();
  copy.memory = std::move(*memory);
  if (llvm::Error error = copy.refill(device, tensor, fill))
    return std::move(error);
  return std::move(copy);
}

DeviceTensor DeviceTensor::columnsOf(const DeviceTensor &whole, int64_t dim) {
  DeviceTensor view;
  view.shared = whole.memory.address();
  view.offset = whole.offset;
  view.extents = whole.extents;
  view.extents[3] = dim;
  view.steps = whole.steps;
  view.type = whole.type;
  return view;
}

template <typename Visit> void DeviceTensor::forEachRun(Visit visit) const {
  int64_t count = vector ? vector : extents[3];
  for (int64_t b = 0; b < extents[0]; ++b)
    for (int64_t l = 0; l < extents[1]; ++l)
      for (int64_t h = 0; h < extents[2]; ++h)
        for (int64_t d = 0; d < extents[3]; d += count)
          visit(b * steps[0] + l * steps[1] + h * steps[2] +
                    d / count * vectorStep,
                std::array<int64_t, 4>{b, l, h, d}, count);
}

/// Returns the address of an element of a host tensor.
static char *hostElement(const Tensor4 &tensor,
                         const std::array<int64_t, 4> &at) {
  return static_cast<char *>(tensor.host) +
         tensor.indexOf(at[0], at[1], at[2], at[3]) *
             int64_t(sizeOf(tensor.dtype));
}

llvm::Error DeviceTensor::refill(Device &device, const Tensor4 &tensor,
                                 Fill fill) {
  Image image(memory.size());
  if (llvm::Error error = image.check())
    return error;
  size_t size = sizeOf(type);
  if (fill == Fill::Contents)
    forEachRun(
        [&](int64_t at, const std::array<int64_t, 4> &first, int64_t count) {
          std::memcpy(image.data.get() + offset + at * size,
                      hostElement(tensor, first), count * size);
        });
  return device.api().check(device.api().copyToDevice(memory.address(),
                                                      image.data.get(),
                                                      image.bytes),
                            "copying a tensor to the device");
}

llvm::Error DeviceTensor::readBack(Device &device, Tensor4 &tensor,
                                   size_t &strayBytes) const {
  Image image(memory.size());
  if (llvm::Error error = image.check())
    return error;
  if (llvm::Error error = device.api().check(
          device.api().copyToHost(image.data.get(), memory.address(),
                                  image.bytes),
          "copying a tensor from the device"))
    return error;
  size_t size = sizeOf(type);
  forEachRun(
      [&](int64_t at, const std::array<int64_t, 4> &first, int64_t count) {
        char *from = image.data.get() + offset + at * size;
        std::memcpy(hostElement(tensor, first), from, count * size);
        // All remaining bytes that are not poison were written outside the
        // tensor.
        std::memset(from, poisonByte, count * size);
      });
  strayBytes += std::count_if(image.data.get(), image.data.get() + image.bytes,
                              [](char c) { return c != char(poisonByte); });
  return llvm::Error::success();
}

} // namespace fmha::runtime
