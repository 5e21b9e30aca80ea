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

llvm::Expected<DeviceTensor> DeviceTensor::create(Device &device,
                                                  const Tensor4 &tensor,
                                                  Fill fill,
                                                  const Padding &padding) {
  DeviceTensor copy;
  copy.type = tensor.dtype;
  copy.extents = tensor.dims;
  copy.offset = padding.guardBytes;
  int64_t size = int64_t(sizeOf(copy.type));
  int64_t step = std::max<int64_t>(tensor.dims[3], 1);
  if (padding.rowUnits) {
    int64_t unit = 16 / size;
    step = (step + unit - 1) / unit * unit + padding.rowUnits * unit;
  }
  copy.steps[3] = 1;
  bool overflow = false;
  for (int dim : memoryOrder(tensor)) {
    copy.steps[dim] = step;
    int64_t rows = std::max<int64_t>(tensor.dims[dim], 1) + padding.extraRows;
    overflow |= __builtin_mul_overflow(step, rows, &step);
  }
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(step, size, &bytes);
  overflow |= __builtin_add_overflow(
      bytes, int64_t(2 * padding.guardBytes + 16), &bytes);
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

/// Calls visit(element index in the device copy, {b, l, h}) for every row.
template <typename Visit> void DeviceTensor::forEachRow(Visit visit) const {
  if (extents[3] == 0)
    return;
  for (int64_t b = 0; b < extents[0]; ++b)
    for (int64_t l = 0; l < extents[1]; ++l)
      for (int64_t h = 0; h < extents[2]; ++h)
        visit(b * steps[0] + l * steps[1] + h * steps[2],
              std::array<int64_t, 3>{b, l, h});
}

/// Returns the address of row {b, l, h} of a host tensor.
static char *hostRow(const Tensor4 &tensor, const std::array<int64_t, 3> &row) {
  int64_t index = 0;
  for (int i = 0; i < 3; ++i)
    index += row[i] * tensor.strides[i];
  return static_cast<char *>(tensor.host) +
         index * int64_t(sizeOf(tensor.dtype));
}

llvm::Error DeviceTensor::refill(Device &device, const Tensor4 &tensor,
                                 Fill fill) {
  Image image(memory.size());
  if (llvm::Error error = image.check())
    return error;
  size_t size = sizeOf(type);
  if (fill == Fill::Contents)
    forEachRow([&](int64_t at, const std::array<int64_t, 3> &row) {
      std::memcpy(image.data.get() + offset + at * size, hostRow(tensor, row),
                  extents[3] * size);
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
  forEachRow([&](int64_t at, const std::array<int64_t, 3> &row) {
    char *from = image.data.get() + offset + at * size;
    std::memcpy(hostRow(tensor, row), from, extents[3] * size);
    // All remaining bytes that are not poison were written outside the tensor.
    std::memset(from, poisonByte, extents[3] * size);
  });
  strayBytes += std::count_if(image.data.get(), image.data.get() + image.bytes,
                              [](char c) { return c != char(poisonByte); });
  return llvm::Error::success();
}

} // namespace fmha::runtime
