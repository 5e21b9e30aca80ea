//===- ElementType.h - Element types by name --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_ELEMENTTYPE_H
#define FMHA_TOOLS_PTXSIM_ELEMENTTYPE_H

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::tool {

/// Input of the user that cannot be run: exit code 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A type of a --arg value or output: u8..u64, i8..i64 (also s8..s64), b8..b64,
/// f16, bf16, f32, f64.
struct ElementType {
  enum class Kind { Unsigned, Signed, Bits, F16, BF16, F32, F64 };
  const char *name;
  Kind kind;
  unsigned bytes;
  /// The type of a stored output: bf16 is widened to f4, which NumPy has.
  const char *npy;
};

/// Returns the type called `name`, or null.
const ElementType *findType(std::string_view name);
/// Returns the type of a .npy file with NumPy's type string `dtype`, or null.
const ElementType *findNpyType(std::string_view dtype);
/// Returns all names, for messages.
std::string typeNames();

/// Returns the value `text` as little-endian bytes of the type, floats rounded
/// to nearest even. Throws BadInput for text that is not such a number or is
/// out of range.
std::vector<uint8_t> parseValue(const ElementType &type, std::string_view text);

/// Returns the value of one element as text, with enough digits to distinguish
/// it from every other value of its type; without a type the bits: "0x0102".
std::string valueText(const ElementType *type, std::span<const uint8_t> bytes);

/// Converts bf16 bytes to the float32 bytes of the same values.
std::vector<uint8_t> widenBf16(const std::vector<uint8_t> &bytes);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_ELEMENTTYPE_H
