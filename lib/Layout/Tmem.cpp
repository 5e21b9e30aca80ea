//===- Tmem.cpp - Addresses and operands in tensor memory -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Tmem.h"

#include <algorithm>
#include <bit>

unsigned fmha::layout::tmemAllocation(unsigned columns) {
  constexpr unsigned unit = 32;
  return columns > tmemColumns ? 0 : std::max(unit, std::bit_ceil(columns));
}
