//===- TensorMap.cpp - Encoding tensor maps -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/TensorMap.h"
#include "State/State.h"

#include <cstring>

using namespace ptxsim::driver;
using ptxsim::Im2colParams;
using ptxsim::TiledParams;

namespace {

using MapBytes = std::array<uint8_t, 128>;

/// Copies the parameters common to both kinds of map. For an invalid rank it
/// copies nothing: the encoder rejects the rank before it reads the arrays.
template <typename Params>
void copyCommon(Params &params, void *address, const uint64_t *dims,
                const uint64_t *strides, const uint32_t *elementStrides) {
  params.address = reinterpret_cast<uint64_t>(address);
  if (params.rank < 1 || params.rank > 5)
    return;
  std::copy_n(dims, params.rank, params.dims.begin());
  std::copy_n(elementStrides, params.rank, params.elementStrides.begin());
  if (params.rank > 1)
    std::copy_n(strides, params.rank - 1, params.strides.begin() + 1);
}

/// The driver accepts 16-byte alignment of a map, although its manual requires
/// more.
constexpr uintptr_t mapAlignment = 16;

CUresult store(State &state, CUtensorMap *out, const MapBytes &bytes,
               const std::optional<std::string> &error) {
  if (error)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor map rejected: " + *error);
  std::memcpy(static_cast<void *>(out), bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

template <typename Params> Params paramsOf(const ptxsim::TensorMap &map) {
  Params params;
  params.dataType = uint32_t(map.type);
  params.rank = map.rank;
  params.address = map.address;
  params.dims = map.dims;
  params.strides = map.strides;
  params.elementStrides = map.elementStrides;
  params.interleave = uint32_t(map.interleave);
  params.swizzle = uint32_t(map.swizzle);
  params.oobFill = map.nanFill;
  return params;
}

/// Encodes a map again for another address, with the checks of a new map.
std::optional<std::string> encodeAgain(const ptxsim::TensorMap &map,
                                       MapBytes &bytes, unsigned sm) {
  if (!map.im2col) {
    auto params = paramsOf<TiledParams>(map);
    params.box = map.box;
    return ptxsim::encodeTiled(params, bytes, sm);
  }
  auto params = paramsOf<Im2colParams>(map);
  params.lowerCorner = map.lowerCorner;
  params.upperCorner = map.upperCorner;
  params.channelsPerPixel = map.channelsPerPixel;
  params.pixelsPerColumn = map.pixelsPerColumn;
  return ptxsim::encodeIm2col(params, bytes, sm);
}

bool misplaced(const CUtensorMap *map) {
  return !map || reinterpret_cast<uintptr_t>(map) % mapAlignment != 0;
}

CUresult nullArgument(const char *what) {
  return fail(CUDA_ERROR_INVALID_VALUE, std::string("tensor map rejected: ") +
                                            what + " is null or misaligned");
}

} // namespace

DRIVER_API cuTensorMapEncodeTiled(CUtensorMap *out, int type, uint32_t rank,
                                  void *address, const uint64_t *dims,
                                  const uint64_t *strides, const uint32_t *box,
                                  const uint32_t *elementStrides,
                                  int interleave, int swizzle, int l2,
                                  int oobFill) {
  return guarded(Needs::Init, [&](State &state) {
    if (misplaced(out))
      return nullArgument("tensorMap");
    if (!dims || !box || !elementStrides || (rank > 1 && !strides))
      return nullArgument("an array");
    TiledParams params;
    params.dataType = uint32_t(type);
    params.rank = rank;
    params.interleave = uint32_t(interleave);
    params.swizzle = uint32_t(swizzle);
    params.l2Promotion = uint32_t(l2);
    params.oobFill = uint32_t(oobFill);
    copyCommon(params, address, dims, strides, elementStrides);
    if (rank >= 1 && rank <= 5)
      std::copy_n(box, rank, params.box.begin());
    MapBytes bytes{};
    auto error = ptxsim::encodeTiled(params, bytes, state.target().cc);
    return store(state, out, bytes, error);
  });
}

DRIVER_API cuTensorMapEncodeIm2col(CUtensorMap *out, int type, uint32_t rank,
                                   void *address, const uint64_t *dims,
                                   const uint64_t *strides, const int *lower,
                                   const int *upper, uint32_t channels,
                                   uint32_t pixels,
                                   const uint32_t *elementStrides,
                                   int interleave, int swizzle, int l2,
                                   int oobFill) {
  return guarded(Needs::Init, [&](State &state) {
    if (misplaced(out))
      return nullArgument("tensorMap");
    if (!dims || !strides || !lower || !upper || !elementStrides)
      return nullArgument("an array");
    Im2colParams params;
    params.dataType = uint32_t(type);
    params.rank = rank;
    params.channelsPerPixel = channels;
    params.pixelsPerColumn = pixels;
    params.interleave = uint32_t(interleave);
    params.swizzle = uint32_t(swizzle);
    params.l2Promotion = uint32_t(l2);
    params.oobFill = uint32_t(oobFill);
    copyCommon(params, address, dims, strides, elementStrides);
    if (rank >= 3 && rank <= 5) {
      std::copy_n(lower, rank - 2, params.lowerCorner.begin());
      std::copy_n(upper, rank - 2, params.upperCorner.begin());
    }
    MapBytes bytes{};
    auto error = ptxsim::encodeIm2col(params, bytes, state.target().cc);
    return store(state, out, bytes, error);
  });
}

DRIVER_API cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  return guarded(Needs::Init, [&](State &state) {
    if (misplaced(map))
      return nullArgument("tensorMap");
    MapBytes bytes;
    std::memcpy(bytes.data(), map, bytes.size());
    auto decoded = ptxsim::decodeTensorMap(bytes);
    if (!decoded)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  "the bytes were not written by a tensor-map encoder");
    decoded->address = reinterpret_cast<uint64_t>(address);
    auto error = encodeAgain(*decoded, bytes, state.target().cc);
    return store(state, map, bytes, error);
  });
}
