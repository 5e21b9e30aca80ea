//===- Element.h - Element types of arrays and tensors ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that kernels and host arrays use, their sizes, and the
// roundings between them. Rounding is to nearest, ties to even, as the tensor
// cores and NumPy do it.
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

/// "f16", "bf16", "f32".
std::string_view stringify(ElementType type);
std::optional<ElementType> parseElementType(std::string_view name);

/// The bits of `value` rounded to binary16 / bfloat16; NaN stays NaN, overflow
/// goes to infinity.
uint16_t toHalf(float value);
uint16_t toBFloat16(float value);
float fromHalf(uint16_t bits);
float fromBFloat16(uint16_t bits);

/// Writes `value`, rounded to `type`, to the sizeOf(type) bytes at `to`.
void storeElement(ElementType type, void *to, float value);
float loadElement(ElementType type, const void *from);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_ELEMENT_H
