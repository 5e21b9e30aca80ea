//===- ZeroColumns.cpp - Zero-column masks of tcgen05.mma.ws --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/ZeroColumns.h"

namespace ptxsim {
namespace {

constexpr uint32_t field(uint64_t word, unsigned low, unsigned width) {
  return uint32_t(word >> low & ((uint64_t(1) << width) - 1));
}

std::string wrong(const char *what, uint32_t got, const std::string &expected) {
  return std::string("zero-column mask descriptor: ") + what + " is " +
         std::to_string(got) + ", expected " + expected;
}

} // namespace

ZeroColumns decodeZeroColumns(uint64_t word, uint32_t m, uint32_t n,
                              uint32_t maxShift,
                              std::optional<std::string> &error) {
  ZeroColumns columns{std::vector<bool>(n), field(word, 56, 6)};
  uint32_t most = m == 32 ? 16 : 32;
  if (field(word, 36, 3) || field(word, 62, 2))
    error = wrong("a reserved field (bits 36-38, 62-63)", 1, "0");
  else if (columns.shift > most)
    error = wrong("column shift", columns.shift,
                  "at most " + std::to_string(most) +
                      " for M = " + std::to_string(m));
  else if (columns.shift > maxShift)
    error = wrong("column shift", columns.shift,
                  "at most " + std::to_string(maxShift) +
                      ", the maximum shift of the instruction descriptor");
  if (!field(word, 39, 1))
    return columns;
  uint32_t zeros = field(word, 40, 8) + 1, used = field(word, 48, 8) + 1;
  // A smaller M has more parts of the mask, each with its own start.
  uint32_t part = n * m / 128;
  for (uint32_t j = 0; j < n; ++j) {
    unsigned i = j / part;
    uint32_t at = (j % part + field(word, 8 * i, 8)) % (zeros + used);
    bool startsWithZeros = field(word, 32 + i, 1);
    columns.zero[j] = startsWithZeros ? at < zeros : at >= used;
  }
  return columns;
}

} // namespace ptxsim
