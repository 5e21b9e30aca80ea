//===- Text.h - Columns and paragraphs of a report --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_MODEL_TEXT_H
#define FMHA_LIB_SCHEDULE_MODEL_TEXT_H

#include <cstdint>
#include <string>

namespace fmha::schedule {

inline std::string str(uint64_t value) { return std::to_string(value); }

inline std::string padLeft(const std::string &text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

inline std::string padRight(const std::string &text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

/// Breaks `text` at blanks into lines of at most 77 characters, all but the
/// first indented.
std::string wrap(const std::string &text, unsigned indent);

/// Returns "9.81".
std::string twoDigits(double value);
/// Returns the nearest integer as text.
std::string rounded(double value);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_MODEL_TEXT_H
