//===- TensorMap.cpp - Tensor maps of a launch ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/TensorMap.h"

#include <algorithm>

namespace fmha::launch {
namespace {

namespace driver = runtime::driver;

constexpr int64_t chunkBytes = 16;

struct Extent {
  int64_t size, step;
};

/// Returns the dimension of rows that begin at every 16 bytes (../README.md).
Extent chunksOf(const View &view, size_t elementBytes) {
  int64_t last = 0;
  for (size_t n = 0; n < 3; ++n)
    last += std::max<int64_t>(view.dims[n] - 1, 0) * view.strides[n];
  int64_t step = chunkBytes / int64_t(elementBytes);
  return {last / step + 1, step};
}

/// Returns extent and step (elements) of the named dimension. The heads of q
/// and o may be split: head h is KV head h / group, member h % group.
Extent extentOf(MapDim dim, const View &view, const Parameter &parameter,
                const RunValues &values) {
  const auto &dims = view.dims, &steps = view.strides;
  bool split =
      parameter.tensor == TensorName::Q || parameter.tensor == TensorName::O;
  int64_t group = int64_t(values[RunValue::Group]);
  int64_t kvHeads = int64_t(values[RunValue::KvHeads]);
  switch (dim) {
  case MapDim::HeadDim:
  case MapDim::HeadDimV:
    return {dims[3], steps[3]};
  case MapDim::QLen:
  case MapDim::KvLen:
  case MapDim::KvLen2:
  case MapDim::PageSize:
    return {dims[1], steps[1]};
  case MapDim::QHeads:
    return {dims[2], steps[2]};
  case MapDim::KvHeads:
    // With one group, the kernel never uses the step, however large it is.
    if (split)
      return {kvHeads, kvHeads > 1 ? steps[2] * group : steps[2]};
    return {dims[2], steps[2]};
  case MapDim::Group:
    return {group, steps[2]};
  case MapDim::Batch:
  case MapDim::Pages:
    return {dims[0], steps[0]};
  case MapDim::Chunks:
    return chunksOf(view, sizeOf(parameter.dtype));
  }
  return {1, 1};
}

int driverType(ElementType type) {
  constexpr int types[] = {driver::tensorFloat16, driver::tensorBFloat16,
                           driver::tensorFloat32};
  return types[size_t(type)];
}

bool checkInnermost(const Parameter &parameter, std::string &problem) {
  MapDim innermost = parameter.dims[0];
  if (innermost == MapDim::HeadDim || innermost == MapDim::HeadDimV)
    return true;
  problem = "parameter '" + parameter.name +
            "': expected the innermost dimension of a tensor map to be the "
            "contiguous head_dim or head_dim_v, got " +
            std::string(nameOf(innermost));
  return false;
}

/// Checks that each row begins at a chunk, and that 31 bits count the chunks.
bool checkChunks(const Parameter &parameter, const View &view, int64_t count,
                 std::string &problem) {
  auto refuse = [&](const std::string &text) {
    problem = "tensor '" + std::string(nameOf(parameter.tensor)) +
              "': expected " + text;
    return false;
  };
  for (size_t n = 0; n < 3; ++n) {
    int64_t bytes = view.strides[n] * int64_t(sizeOf(parameter.dtype));
    if (view.dims[n] > 1 && (bytes < 0 || bytes % chunkBytes))
      return refuse("the stride of dimension " + std::to_string(n) +
                    " to be a multiple of 16 bytes and not negative, got " +
                    std::to_string(bytes) + " bytes; pad the rows");
  }
  constexpr int64_t mostChunks = int64_t(1) << 31;
  if (count <= mostChunks)
    return true;
  return refuse("rows that begin in the first 2^35 bytes, since 31 bits number "
                "the places of gathered rows, got " +
                std::to_string(count * chunkBytes) +
                " bytes; compile with kv_copy = tma");
}

/// Adds the dimension over the ends of sequences (../README.md).
void addSequences(const Parameter &parameter, MapRequest &request) {
  size_t rows = parameter.rowDim().value_or(1);
  uint64_t length = request.extents[rows], stride = request.strides[rows - 1];
  request.address -= length * stride;
  request.extents[request.rank] = length + 1;
  request.strides[request.rank - 1] = stride;
  ++request.rank;
}

} // namespace

bool describeMap(const Parameter &parameter, const View &view,
                 const RunValues &values, MapRequest &request,
                 std::string &problem) {
  if (!checkInnermost(parameter, problem))
    return false;
  constexpr uint64_t mostStride = uint64_t(1) << 40;
  request = {view.address, uint32_t(parameter.dims.size()), {}, {}};
  for (size_t n = 0; n < request.rank; ++n) {
    MapDim dim = parameter.dims[n];
    Extent extent = extentOf(dim, view, parameter, values);
    if (dim == MapDim::Chunks &&
        !checkChunks(parameter, view, extent.size, problem))
      return false;
    // The driver rejects empty extents; no kernel loads from such a tensor.
    request.extents[n] = uint64_t(std::max<int64_t>(extent.size, 1));
    uint64_t stride = uint64_t(extent.step) * sizeOf(parameter.dtype);
    // The contiguous dimension has no entry.
    if (n)
      request.strides[n - 1] = stride;
    if (dim == MapDim::KvHeads && stride >= mostStride) {
      problem = "tensor '" + std::string(nameOf(parameter.tensor)) +
                "': expected a group of heads to span less than 2^40 bytes, "
                "since they are packed into tiles, got " +
                std::to_string(stride) + "; compile with pack_heads = 1";
      return false;
    }
  }
  if (parameter.sequences)
    addSequences(parameter, request);
  return true;
}

driver::Result encodeMap(const driver::Calls &driver,
                         const Parameter &parameter, const MapRequest &request,
                         driver::TensorMap *map) {
  // The dimension over sequences has a box of 1.
  constexpr uint32_t ones[5] = {1, 1, 1, 1, 1};
  uint32_t box[5] = {1, 1, 1, 1, 1};
  std::copy(parameter.box.begin(), parameter.box.end(), box);
  return driver.encodeTiled(
      map, driverType(parameter.dtype), request.rank,
      reinterpret_cast<void *>(request.address), request.extents.data(),
      request.strides.data(), box, ones, driver::interleaveNone,
      int(parameter.swizzle), driver::promotionL2_256B, driver::oobFillNone);
}

} // namespace fmha::launch
