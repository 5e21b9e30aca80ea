//===- KernelArguments.cpp - The parameters of one launch -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelArguments.h"
#include "fmha/Runtime/Files.h"

#include <algorithm>
#include <cstring>

namespace fmha::runtime {
namespace {

struct Extent {
  int64_t size, step;
};

/// Extent and step (elements) of the named dimension. The heads of q and o may
/// be split: head h is KV head h / group, member h % group.
Extent extentOf(MapDim dim, const DeviceTensor &tensor, TensorName name,
                const RunValues &values) {
  const auto &dims = tensor.dims(), &steps = tensor.strides();
  bool split = name == TensorName::Q || name == TensorName::O;
  int64_t group = int64_t(values[RunValue::Group]);
  switch (dim) {
  case MapDim::HeadDim:
  case MapDim::HeadDimV:
    return {dims[3], steps[3]};
  case MapDim::QLen:
  case MapDim::KvLen:
  case MapDim::KvLen2:
    return {dims[1], steps[1]};
  case MapDim::QHeads:
    return {dims[2], steps[2]};
  case MapDim::KvHeads:
    // Nobody steps from the only group, however far that would be.
    if (split)
      return {int64_t(values[RunValue::KvHeads]),
              values[RunValue::KvHeads] > 1 ? steps[2] * group : steps[2]};
    return {dims[2], steps[2]};
  case MapDim::Group:
    return {group, steps[2]};
  case MapDim::Batch:
    return {dims[0], steps[0]};
  }
  return {1, 1};
}

int driverType(ElementType type) {
  constexpr int types[] = {driver::tensorFloat16, driver::tensorBFloat16,
                           driver::tensorFloat32};
  return types[size_t(type)];
}

llvm::Error encode(const Parameter &parameter, const DeviceTensor &tensor,
                   const RunValues &values, const driver::Api &api,
                   driver::TensorMap *map) {
  if (parameter.dims[0] != MapDim::HeadDim &&
      parameter.dims[0] != MapDim::HeadDimV)
    return failure("parameter '" + parameter.name +
                   "': expected the innermost dimension of a tensor map to be "
                   "the contiguous head_dim or head_dim_v, got " +
                   stringify(parameter.dims[0]));
  constexpr uint64_t mostStride = uint64_t(1) << 40;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> elementStrides(parameter.dims.size(), 1);
  for (MapDim dim : parameter.dims) {
    Extent extent = extentOf(dim, tensor, parameter.tensor, values);
    // The driver refuses empty extents; no kernel loads from such a tensor.
    sizes.push_back(uint64_t(std::max<int64_t>(extent.size, 1)));
    strides.push_back(uint64_t(extent.step) * sizeOf(parameter.dtype));
    if (dim == MapDim::KvHeads && strides.back() >= mostStride)
      return failure("tensor '" + stringify(parameter.tensor) +
                     "': expected a group of heads to span less than 2^40 "
                     "bytes, since they are packed into tiles, got " +
                     llvm::Twine(strides.back()) +
                     "; compile with pack_heads = 1");
  }
  driver::DevicePointer address = tensor.address();
  std::vector<uint32_t> box = parameter.box;
  if (parameter.sequences) {
    size_t rows = parameter.rowDim().value_or(1);
    address -= sizes[rows] * strides[rows];
    sizes.push_back(sizes[rows] + 1);
    strides.push_back(strides[rows]);
    box.push_back(1);
    elementStrides.push_back(1);
  }
  driver::Result result = api.encodeTiled(
      map, driverType(parameter.dtype), uint32_t(sizes.size()),
      reinterpret_cast<void *>(address), sizes.data(),
      // The contiguous dimension has no entry.
      strides.data() + 1, box.data(), elementStrides.data(),
      /*interleave=*/0, int(parameter.swizzle), driver::promotionL2_256B,
      /*oobFill=*/0);
  return api.check(result, "encoding the tensor map '" + parameter.name + "'");
}

} // namespace

llvm::Expected<KernelArguments>
KernelArguments::build(const KernelLaunch &launch, const Device &device,
                       const RunValues &values, const DeviceCaptures &captures,
                       Find find) {
  KernelArguments arguments;
  arguments.slots.resize(launch.parameters.size());
  for (size_t i = 0; i < arguments.slots.size(); ++i) {
    const Parameter &parameter = launch.parameters[i];
    unsigned char *bytes = arguments.slots[i].bytes;
    arguments.addresses.push_back(bytes);
    bool isTensor =
        parameter.kind == Parameter::Kind::TensorMap ||
        (parameter.kind == Parameter::Kind::Pointer && !parameter.capture);
    const DeviceTensor *tensor = isTensor ? find(parameter.tensor) : nullptr;
    if (isTensor && !tensor)
      return failure("parameter '" + parameter.name +
                     "': expected a manifest with \"" +
                     stringify(parameter.tensor) + "\": true, got false");
    uint64_t number = parameter.capture ? captures.valueOf(parameter)
                                        : values[parameter.value];
    if (parameter.kind == Parameter::Kind::U32 && number > UINT32_MAX)
      return failure("parameter '" + parameter.name + "': expected at most " +
                     llvm::Twine(UINT32_MAX) + ", got " + llvm::Twine(number));
    if (parameter.kind == Parameter::Kind::Pointer && !parameter.capture)
      number = tensor->address();
    // Little-endian, so that a u32 is the first half of the number.
    std::memcpy(bytes, &number, sizeof(number));
    if (parameter.kind != Parameter::Kind::TensorMap)
      continue;
    if (llvm::Error error =
            encode(parameter, *tensor, values, device.api(),
                   reinterpret_cast<driver::TensorMap *>(bytes)))
      return std::move(error);
  }
  return std::move(arguments);
}

} // namespace fmha::runtime
