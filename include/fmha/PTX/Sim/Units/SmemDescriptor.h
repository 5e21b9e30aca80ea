//===- SmemDescriptor.h - Shared-memory matrix descriptors ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tcgen05: Shared memory descriptor" and "wgmma: Matrix descriptor".
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_SMEMDESCRIPTOR_H
#define FMHA_PTX_SIM_UNITS_SMEMDESCRIPTOR_H

#include "fmha/PTX/Sim/Units/Swizzle.h"

namespace ptxsim {

/// The dimension of an operand that is contiguous in 16-byte chunks.
enum class Major : uint8_t { K, MN };

enum class SmemSwizzle : uint8_t { None, B128Atom32, B128, B64, B32 };

/// The two encodings of the swizzle field; all other fields are common.
enum class DescriptorArch : uint8_t { Wgmma, Tcgen05 };

/// A descriptor's fields in bytes.
struct SmemDescriptor {
  uint32_t start = 0, leadingOffset = 0, strideOffset = 0;
  SmemSwizzle swizzle = SmemSwizzle::None;

  /// Returns the bytes of one row of the swizzle pattern, 16 without swizzle.
  uint32_t rowBytes() const;
  XorSwizzle xorFunction() const;

  /// Returns the absolute shared address of element (mn, k) of one
  /// instruction's operand; `elementBytes` is 1, 2 or 4. The XOR acts on
  /// absolute address bits: the start address is not the origin of the pattern.
  uint32_t address(Major major, unsigned elementBytes, uint32_t mn,
                   uint32_t k) const;
};

/// A decoded descriptor, or the field that is illegal for an operand of this
/// major-ness and element size.
struct DecodedDescriptor {
  SmemDescriptor descriptor;
  std::optional<std::string> error;
};
DecodedDescriptor decodeSmemDescriptor(uint64_t raw, DescriptorArch arch);

/// Checks the rules that relate the swizzle to major-ness and element size.
std::optional<std::string> checkOperandSwizzle(const SmemDescriptor &descriptor,
                                               Major major,
                                               unsigned elementBytes);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_SMEMDESCRIPTOR_H
