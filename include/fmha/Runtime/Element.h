//===- Element.h - Element types of arrays and tensors ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types of kernels and host arrays, their sizes, and conversions
// between them. Conversions round to nearest, ties to even, as tensor cores and
// NumPy do.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_ELEMENT_H
#define FMHA_RUNTIME_ELEMENT_H

#include "fmha/Runtime/Launch/Names.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fmha::runtime {

using launch::ElementType;
using launch::sizeOf;

/// Returns the name of `type`: "f16", "bf16", "f32" or "e4m3".
std::string_view stringify(ElementType type);
/// Returns the type with this name, if there is one.
std::optional<ElementType> parseElementType(std::string_view name);

/// Returns the bits of `value` rounded to binary16 or bfloat16. NaN stays NaN,
/// and overflow gives infinity.
uint16_t toHalf(float value);
uint16_t toBFloat16(float value);
/// Returns the value of these bits of a binary16 or bfloat16.
float fromHalf(uint16_t bits);
float fromBFloat16(uint16_t bits);
/// Returns the bits of `value` rounded to e4m3 (OCP FP8, which has no
/// infinity), and the value of these bits. What is too large becomes 448, the
/// largest number, and NaN 0x7f.
uint8_t toE4M3(float value);
float fromE4M3(uint8_t bits);

/// Writes `value`, rounded to `type`, to the sizeOf(type) bytes at `to`.
void storeElement(ElementType type, void *to, float value);
/// Returns the element of `type` at `from`.
float loadElement(ElementType type, const void *from);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_ELEMENT_H
