//===- Swizzle.cpp - Shared-memory swizzles ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Swizzle.h"

using namespace fmha::layout;

namespace {

/// Parameters of a swizzle: a ^= (a >> shift) & mask.
struct Facts {
  unsigned shift, mask;
  unsigned span, rows, pattern;
  unsigned descriptor, tensorMap;
};

/// In the order of the enumeration.
constexpr Facts table[] = {
    {3, 0x00, 16, 8, 16, 0, 0},    // None
    {3, 0x10, 32, 8, 256, 6, 1},   // Bytes32
    {3, 0x30, 64, 8, 512, 4, 2},   // Bytes64
    {3, 0x70, 128, 8, 1024, 2, 3}, // Bytes128
    {2, 0x60, 128, 4, 512, 1, 4},  // Bytes128Atom32
};

const Facts &facts(Swizzle mode) { return table[unsigned(mode)]; }

} // namespace

uint32_t fmha::layout::swizzle(Swizzle mode, uint32_t a) {
  return a ^ ((a >> facts(mode).shift) & facts(mode).mask);
}
unsigned fmha::layout::spanBytes(Swizzle mode) { return facts(mode).span; }
unsigned fmha::layout::groupRows(Swizzle mode) { return facts(mode).rows; }
unsigned fmha::layout::patternBytes(Swizzle mode) {
  return facts(mode).pattern;
}
unsigned fmha::layout::descriptorCode(Swizzle mode) {
  return facts(mode).descriptor;
}
unsigned fmha::layout::tensorMapCode(Swizzle mode) {
  return facts(mode).tensorMap;
}
