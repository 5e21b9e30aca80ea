//===- Scalar.h - Register-to-register PTX instructions ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that read and write registers of one lane only: integer, logic,
// float, half, packed, conversion, comparison, selection, approximation. Each
// form is found by its full dotted text ("fma.rn.ftz.f32", "setp.ge.and.s64")
// and is a function over the 32 lanes of a warp. This library does not depend
// on modules, warps or memory.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_SCALAR_SCALAR_H
#define FMHA_PTX_SIM_SCALAR_SCALAR_H

#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace ptxsim::scalar {

/// A register of a warp: one 64-bit slot per lane. A value narrower than 64
/// bits occupies the low bits; the bits above are zero. A predicate is 0 or 1.
/// A 128-bit register takes two consecutive rows, low half first; a pointer to
/// such an operand points to the first.
using Row = std::array<uint64_t, 32>;
using LaneMask = uint32_t;

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  F16x2,
  BF16x2,
  F32x2,
  TF32,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
};

/// Returns the number of bits that a value of the type takes in a register.
unsigned bitWidth(Type type);

struct Context {
  ApproxMode approx = ApproxMode::Correct;
  /// ApproxMode::Perturb is a function of this seed and the operands.
  uint64_t perturbSeed = 0;
  /// The warp's condition-code carry flag, 0 or 1 per lane (add.cc, subc, ...).
  Row *carry = nullptr;
};

/// Computes the lanes of `active` and leaves the other lanes of each
/// destination unchanged. Rows may be identical, but must not overlap
/// partially. A source is truncated to its operand type here; a result has the
/// width of its operand type, with zeros above. Where the manual allows a
/// destination register wider than the type (cvt), the caller sign-extends
/// results of type S8, S16 and S32.
using Function = void (*)(const Context &, LaneMask active, Row *const *dst,
                          const Row *const *src);

struct Form {
  Function function = nullptr;
  uint8_t numDst = 0, numSrc = 0;
  /// Number of trailing destinations that may be absent ("setp ... p|q" without
  /// q); their pointer is then null.
  uint8_t optionalDst = 0;
  /// Number of trailing sources that may be absent ("max.f32 d, a, b" or "d, a,
  /// b, c": one text, two operand counts); their pointer is then null.
  uint8_t optionalSrc = 0;
  /// Operand types as given in the manual; an immediate is read as its
  /// operand's type. A second setp destination is dst[1]; the optional
  /// predicate of "setp.lt.and" is the last source; vector operands count once
  /// per element.
  std::array<Type, 2> dst{};
  std::array<Type, 6> src{};
};

/// Returns the form of `opcode`, or null if this library does not have it.
const Form *find(std::string_view opcode);

} // namespace ptxsim::scalar

#endif // FMHA_PTX_SIM_SCALAR_SCALAR_H
