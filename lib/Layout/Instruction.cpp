//===- Instruction.cpp - Instruction descriptor of tcgen05.mma --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Instruction.h"

using namespace fmha::layout;

std::optional<std::string> Instruction::check() const {
  if (ctaGroup != 1 && ctaGroup != 2)
    return "expected a CTA group of 1 or 2, got " + std::to_string(ctaGroup);
  // cta_group::1 has 64 and 128 rows, cta_group::2 has 128 and 256.
  unsigned least = 64 * ctaGroup;
  if (m != least && m != 2 * least)
    return "expected M to be " + std::to_string(least) + " or " +
           std::to_string(2 * least) + " in a group of " +
           std::to_string(ctaGroup) + " CTAs, got " + std::to_string(m);
  unsigned step = 8 * ctaGroup * (aInTmem && m > 64 ? 2 : 1);
  if (n < step || n > 256 || n % step)
    return "expected N to be a multiple of " + std::to_string(step) +
           " up to 256 for M = " + std::to_string(m) +
           (aInTmem ? " and A in tensor memory" : "") + ", got " +
           std::to_string(n);
  if (d == AccumulatorType::F16 &&
      (a == InputType::BF16 || b == InputType::BF16))
    return "an f16 accumulator takes f16 operands only; accumulate bf16 in f32";
  return std::nullopt;
}

uint32_t fmha::layout::instructionDescriptor(const Instruction &i) {
  auto bit = [](bool value, unsigned at) { return uint32_t(value) << at; };
  return uint32_t(i.d) << 4 | uint32_t(i.a) << 7 | uint32_t(i.b) << 10 |
         bit(i.negateA, 13) | bit(i.negateB, 14) |
         bit(i.aMajor == Major::MN, 15) | bit(i.bMajor == Major::MN, 16) |
         (i.n >> 3) << 17 | (i.m >> 4) << 24;
}
