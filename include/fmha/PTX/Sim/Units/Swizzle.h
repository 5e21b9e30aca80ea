//===- Swizzle.h - Shared-memory swizzles -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensor-map: Swizzling Modes" and "Matrix descriptor: canonical
// layouts". A swizzle permutes the 16-byte chunks of shared memory by XOR of
// absolute address bits; it is its own inverse.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_SWIZZLE_H
#define FMHA_PTX_SIM_UNITS_SWIZZLE_H

#include "fmha/PTX/Sim/Units/TensorMap.h"

namespace ptxsim {

/// address ^ ((address >> shift) & (2^bits - 1) << base).
struct XorSwizzle {
  uint8_t bits = 0, base = 4, shift = 3;

  constexpr uint32_t operator()(uint32_t address) const {
    uint32_t mask = ((1u << bits) - 1) << base;
    return address ^ ((address >> shift) & mask);
  }
  /// Returns the number of bytes after which the pattern repeats.
  constexpr uint32_t period() const {
    return bits ? 1u << (bits + base + shift) : 16;
  }
};

/// Returns the XOR of a tensor map's swizzle. For B128Atom32Flip8 this is the
/// part without the exchange of 8-byte halves (see swizzleAddress).
constexpr XorSwizzle xorOf(MapSwizzle swizzle) {
  constexpr std::array<XorSwizzle, 7> table = {{{0, 4, 3},
                                                {1, 4, 3},
                                                {2, 4, 3},
                                                {3, 4, 3},
                                                {2, 5, 2},
                                                {2, 5, 2},
                                                {1, 6, 1}}};
  return table[unsigned(swizzle)];
}

/// Returns the location of the byte at linear address `address`.
constexpr uint32_t swizzleAddress(MapSwizzle swizzle, uint32_t address) {
  uint32_t result = xorOf(swizzle)(address);
  // The flip exchanges the 8-byte halves of every 16 bytes in odd rows of 128
  // bytes.
  if (swizzle == MapSwizzle::B128Atom32Flip8)
    result ^= (address >> 4) & 8;
  return result;
}

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_SWIZZLE_H
