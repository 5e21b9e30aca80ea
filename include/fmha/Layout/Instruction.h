//===- Instruction.h - Instruction descriptor of tcgen05.mma ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 32-bit instruction descriptor of tcgen05.mma.kind::f16 (PTX ISA
// 9.7.16.4.2):
//
//   bits 4-5 D type | 7-9 A type | 10-12 B type | 13, 14 negate A, B
//   15, 16 transpose A, B | 17-22 N >> 3 | 24-28 M >> 4
//
// Worked: bf16 x bf16 into f32, M = N = 128, both K-major: 0x08200490; with B
// MN-major, as for P x V: 0x08210490.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_INSTRUCTION_H
#define FMHA_LAYOUT_INSTRUCTION_H

#include "fmha/Layout/SmemTile.h"

namespace fmha::layout {

enum class InputType { F16 = 0, BF16 = 1 };
enum class AccumulatorType { F16 = 0, F32 = 1 };

struct Instruction {
  InputType a = InputType::BF16, b = InputType::BF16;
  AccumulatorType d = AccumulatorType::F32;
  /// Rows and columns of D over all CTAs of the group.
  unsigned m = 128, n = 128;
  Major aMajor = Major::K, bMajor = Major::K;
  bool negateA = false, negateB = false;
  /// Whether A is in tensor memory (P of P x V); B never is.
  bool aInTmem = false;
  /// Number of CTAs that issue it together, 1 or 2.
  unsigned ctaGroup = 1;

  /// Returns a sentence that names the unsupported M, N or type (PTX ISA
  /// 9.7.16.2.1), or nullopt.
  std::optional<std::string> check() const;
};

/// Returns the descriptor of `instruction`, which must pass its check().
uint32_t instructionDescriptor(const Instruction &instruction);

} // namespace fmha::layout

#endif // FMHA_LAYOUT_INSTRUCTION_H
