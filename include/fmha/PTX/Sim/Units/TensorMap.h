//===- TensorMap.h - The simulator's tensor map -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map is 128 opaque bytes. The driver's own layout is not public, so
// the simulator writes its own: a magic word, the fields, and a checksum that
// distinguishes a map from other bytes. Encoding rejects what the CUDA driver
// was observed to reject, which is less than its manual forbids.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_TENSORMAP_H
#define FMHA_PTX_SIM_UNITS_TENSORMAP_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ptxsim {

/// Element types, in the order of CUtensorMapDataType.
enum class MapType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  U4Align8,
  U4Align16,
  U6Align16
};

/// Swizzles, in the order of CUtensorMapSwizzle.
enum class MapSwizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32,
  B128Atom32Flip8,
  B128Atom64
};

enum class MapInterleave : uint8_t { None, B16, B32 };

/// The arguments of cuTensorMapEncodeTiled, with the driver's enum values.
/// Dimension 0 is the contiguous one. `strides[i]` is the distance in bytes
/// between adjacent elements along dimension i, for i = 1 .. rank-1;
/// `strides[0]` is not read (the driver's array starts at dimension 1).
struct TiledParams {
  uint32_t dataType = 0, rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{}, strides{};
  std::array<uint32_t, 5> box{}, elementStrides{};
  uint32_t interleave = 0, swizzle = 0, l2Promotion = 0, oobFill = 0;
};

/// The arguments of cuTensorMapEncodeIm2col. Corners are W first, then H, D.
struct Im2colParams {
  uint32_t dataType = 0, rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{}, strides{};
  std::array<int32_t, 3> lowerCorner{}, upperCorner{};
  uint32_t channelsPerPixel = 0, pixelsPerColumn = 0;
  std::array<uint32_t, 5> elementStrides{};
  uint32_t interleave = 0, swizzle = 0, l2Promotion = 0, oobFill = 0;
};

/// Writes the map to `out`, or leaves `out` unchanged and returns the reason
/// why the driver would return CUDA_ERROR_INVALID_VALUE. `sm` is the compute
/// capability times ten: before 100 the sub-byte types and the swizzle atoms
/// are rejected.
std::optional<std::string> encodeTiled(const TiledParams &params,
                                       std::span<uint8_t, 128> out,
                                       unsigned sm = 100);
std::optional<std::string> encodeIm2col(const Im2colParams &params,
                                        std::span<uint8_t, 128> out,
                                        unsigned sm = 100);

/// A decoded map.
struct TensorMap {
  bool im2col = false;
  MapType type = MapType::U8;
  uint32_t rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{}, strides{};
  std::array<uint32_t, 5> box{}, elementStrides{};
  MapInterleave interleave = MapInterleave::None;
  MapSwizzle swizzle = MapSwizzle::None;
  bool nanFill = false;
  std::array<int32_t, 3> lowerCorner{}, upperCorner{};
  uint32_t channelsPerPixel = 0, pixelsPerColumn = 0;

  /// Returns the bits of one element in global memory: 4, 6, 8, 16, 32 or 64.
  unsigned elementBits() const;
  /// Returns the number of elements that a load reads along dimension `i`: the
  /// box divided by the element stride, rounded up; dimension 0 has no stride.
  uint32_t boxCount(unsigned i) const;
};

/// Returns the map in `bytes`, or nullopt if no encoder wrote them.
std::optional<TensorMap> decodeTensorMap(std::span<const uint8_t, 128> bytes);

/// Returns the bits of one element of `type` in global memory.
unsigned elementBits(MapType type);
/// Returns the bytes of one row of the swizzle pattern: 0 without swizzle, else
/// 32, 64 or 128.
unsigned swizzleSpan(MapSwizzle swizzle);
const char *nameOf(MapType type);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_TENSORMAP_H
