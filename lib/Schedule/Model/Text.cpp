//===- Text.cpp - Columns and paragraphs of a report ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"

#include <algorithm>
#include <cmath>

using namespace fmha;

std::string schedule::wrap(const std::string &text, unsigned indent) {
  constexpr size_t width = 77;
  std::string result, line;
  for (size_t at = 0; at < text.size();) {
    size_t blank = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, blank - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      result += line + '\n';
      line = std::string(indent, ' ') + word;
    } else {
      line += (at == 0 ? "" : " ") + word;
    }
    at = blank + 1;
  }
  return result + line + '\n';
}

std::string schedule::rounded(double value) {
  return std::to_string(std::llround(value));
}

std::string schedule::twoDigits(double value) {
  std::string text = rounded(value * 100);
  text.insert(0, text.size() < 3 ? 3 - text.size() : 0, '0');
  return text.insert(text.size() - 2, ".");
}
