//===- Captures.cpp - Tensors of the score region, on the device ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Captures.h"
#include "fmha/Runtime/Files.h"

#include <algorithm>
#include <cstring>

namespace fmha::runtime {

static std::string describe(llvm::StringRef element, uint64_t rank) {
  return (element + " of rank " + llvm::Twine(rank)).str();
}

llvm::Error checkCaptures(const Manifest &manifest,
                          const AttentionTensors &tensors) {
  size_t wanted = manifest.captures.size(), given = tensors.captures.size();
  // Without rows or keys the tensors are not read.
  bool isEmpty = llvm::is_contained(tensors.q.dims, 0) || !tensors.k.dims[1];
  int64_t least = isEmpty ? 0 : 1;
  if (wanted != given)
    return failure("expected data for the " + llvm::Twine(wanted) +
                   " tensors that the kernel's code on scores reads, got " +
                   llvm::Twine(given));
  for (size_t n = 0; n < wanted; ++n) {
    const CaptureType &type = manifest.captures[n];
    const CaptureData &data = tensors.captures[n];
    std::string expected = describe(launch::nameOf(type.element), type.rank);
    std::string got = describe(data.element, data.dims.size());
    if (expected != got)
      return failure("capture " + llvm::Twine(n) + ": expected " + expected +
                     ", as the kernel's code on scores reads it, got " + got);
    for (int64_t extent : data.dims)
      if (extent < least || extent > maxLength)
        return failure("capture " + llvm::Twine(n) +
                       ": expected extents from " + llvm::Twine(least) +
                       " to " + llvm::Twine(maxLength) + ", got " +
                       llvm::Twine(extent));
  }
  return llvm::Error::success();
}

/// Creates copies whose rows are separated by a guard, NaN or true or -1, so
/// that no kernel can rely on dense data, and reads outside of a row are
/// visible.
llvm::Expected<DeviceCaptures>
DeviceCaptures::create(Device &device,
                       const std::vector<CaptureData> &captures) {
  DeviceCaptures made;
  for (const CaptureData &data : captures) {
    size_t bytes = sizeOf(*launch::parseName<CaptureElement>(data.element));
    size_t rank = data.dims.size();
    int64_t columns = rank ? data.dims.back() : 1, pitch = columns + 1;
    int64_t rows = 1;
    Copy copy{{}, data.dims, std::vector<int64_t>(rank, 1)};
    for (size_t d = rank; d-- > 1;) {
      copy.strides[d - 1] = rows * pitch;
      rows *= data.dims[d - 1];
    }
    // A kernel without work may still receive an empty tensor.
    for (int64_t &extent : copy.dims)
      extent = std::max<int64_t>(extent, 1);
    size_t held = size_t(std::max<int64_t>(rows, 1) * pitch) * bytes;
    std::vector<char> image(held, char(0xFF));
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(image.data() + size_t(row * pitch) * bytes,
                  static_cast<const char *>(data.host) +
                      size_t(row * columns) * bytes,
                  size_t(columns) * bytes);
    auto memory = device.allocate(image.size());
    if (!memory)
      return memory.takeError();
    copy.memory = std::move(*memory);
    const driver::Api &api = device.api();
    if (llvm::Error error = api.check(
            api.copyToDevice(copy.memory.address(), image.data(), image.size()),
            "copying what code on scores reads"))
      return std::move(error);
    made.copies.push_back(std::move(copy));
  }
  return std::move(made);
}

uint64_t DeviceCaptures::valueOf(const Parameter &parameter) const {
  const Copy &copy = copies[*parameter.capture];
  if (parameter.size)
    return uint64_t(copy.dims[*parameter.size]);
  if (parameter.stride)
    return uint64_t(copy.strides[*parameter.stride]);
  return copy.memory.address();
}

} // namespace fmha::runtime
