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
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::tool {

/// The user gave something that cannot be run: exit code 2.
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
  /// What an output is stored as: bf16 is widened to f4, which NumPy has.
  const char *npy;
};

/// The type called `name`, or null.
const ElementType *findType(std::string_view name);
/// All names, for messages.
std::string typeNames();

/// The value `text` as little-endian bytes of the type, floats rounded to
/// nearest even. Throws BadInput for what is no such number or out of range.
std::vector<uint8_t> parseValue(const ElementType &type, std::string_view text);

/// bf16 bytes as the float32 bytes of the same values.
std::vector<uint8_t> widenBf16(const std::vector<uint8_t> &bytes);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_ELEMENTTYPE_H
