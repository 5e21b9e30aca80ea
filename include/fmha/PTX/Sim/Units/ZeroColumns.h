//===- ZeroColumns.h - Zero-column masks of tcgen05.mma.ws ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Zero-Column Mask Descriptor". The table of fields and the examples
// disagree about which span is used; this follows the examples and the vendor's
// library.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_ZEROCOLUMNS_H
#define FMHA_PTX_SIM_UNITS_ZEROCOLUMNS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptxsim {

/// Column j of the product multiplies column j + shift of B, or zeros if
/// zero[j].
struct ZeroColumns {
  std::vector<bool> zero;
  uint32_t shift = 0;
};

/// Decodes the descriptor for a product of m rows and n columns; `maxShift` is
/// that of the instruction descriptor. Sets `error` if a field is illegal.
ZeroColumns decodeZeroColumns(uint64_t word, uint32_t m, uint32_t n,
                              uint32_t maxShift,
                              std::optional<std::string> &error);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_ZEROCOLUMNS_H
