//===- SmallFloat.h - Element formats of the tensor core --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element type of the tensor core is exact in f32, so operands are
// decoded to f32 once and the arithmetic handles a single format. Only the
// start of a format's subnormals is lost in f32; minExponent returns it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_SMALLFLOAT_H
#define FMHA_PTX_SIM_UNITS_SMALLFLOAT_H

#include <bit>
#include <cstdint>

namespace ptxsim {

enum class ElementType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  S8,
  U8,
  F32,
  S32,
  /// E2M1 without padding, two per byte.
  PackedE2M1,
  /// Scale factors, without a sign.
  UE8M0,
  UE4M3
};

const char *nameOf(ElementType type);
/// Returns the bits that an element takes in shared memory, including the
/// padding of sub-byte types: 4, 8, 16 or 32.
unsigned containerBits(ElementType type);
/// Returns the exponent of the smallest normal number, for example -14 for f16.
int minExponent(ElementType type);

/// Returns the value of the low bits of `bits`; tf32 drops the low 13 bits. Not
/// for the integer types wider than 8 bits.
float decodeElement(ElementType type, uint32_t bits);

/// Same, for the low 16 bits of the two formats of inner loops.
inline float decodeBF16(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}
inline float decodeF16(uint32_t bits) {
  uint32_t magnitude = (bits & 0x7fff) << 13;
  // The factor adjusts the exponent's bias, including subnormals.
  float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00)
    value = std::bit_cast<float>(magnitude | 0x7f800000);
  return bits & 0x8000 ? -value : value;
}

/// Round to nearest even; NaN becomes 0x7fff.
uint16_t encodeF16(double value);
uint16_t encodeBF16(double value);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_SMALLFLOAT_H
