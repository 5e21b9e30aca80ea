//===- MmaAtoms.h - Instructions that multiply matrices ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_MMAATOMS_H
#define FMHA_LAYOUT_ALGEBRA_MMAATOMS_H

#include "fmha/Layout/Algebra/Layout.h"

#include <array>
#include <string_view>

namespace fmha::layout::algebra {

/// The operands of a product: A is MxK, B is NxK, C and D are MxN.
enum class Operand { A, B, C };

/// One instruction that multiplies matrices. A layout maps (thread, value) to
/// an element of the operand, counted with its first extent fastest.
struct MmaAtom {
  std::string name, ptx;
  /// M, N and K.
  std::array<int64_t, 3> shape = {};
  Layout threads;
  /// Of A, B and C.
  std::array<Layout, 3> operands;
  /// Bits of an element of A and B.
  int64_t bits = 16;

  const Layout &operand(Operand which) const { return operands[size_t(which)]; }
  bool operator==(const MmaAtom &) const = default;
};

/// Returns the atom of this name, such as mma_m16n8k16_f32_bf16 or
/// wgmma_m64n128k16_f32_f16_rs (A in registers; without _rs it is in shared
/// memory, which all threads see). Throws an error with all names if there is
/// none.
MmaAtom mmaAtom(std::string_view name);
/// Returns all names; N stands for a multiple of 8 up to 256.
std::vector<std::string> mmaAtomNames();

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_MMAATOMS_H
