//===- Error.h - What is wrong with a layout --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_ERROR_H
#define FMHA_LAYOUT_ALGEBRA_ERROR_H

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace fmha::layout::algebra {

/// Layouts that an operation does not admit, or text that is no layout. The
/// message names the operation, what was expected, what was given, and a
/// repair.
struct LayoutError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Text that is no layout. `position` is the first character that does not fit;
/// `reason` is the message without the position.
struct TextError : LayoutError {
  TextError(const std::string &message, size_t position, std::string reason)
      : LayoutError(message), position(position), reason(std::move(reason)) {}
  size_t position;
  std::string reason;
};

/// Return the sum and the product, or throw a LayoutError if 64 bits do not
/// hold them.
int64_t checkedAdd(int64_t a, int64_t b);
int64_t checkedMul(int64_t a, int64_t b);

/// Returns the least integer that is not below a / b, for a >= 0 and b > 0.
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_ERROR_H
