//===- CopyAtoms.h - Instructions that copy ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_COPYATOMS_H
#define FMHA_LAYOUT_ALGEBRA_COPYATOMS_H

#include "fmha/Layout/Algebra/Layout.h"

#include <string_view>

namespace fmha::layout::algebra {

/// One instruction that copies. The layouts map (thread, bit) to a bit of what
/// the instruction copies: its source, its destination, and the reference, in
/// whose order a tiled copy arranges threads and values.
struct CopyAtom {
  std::string name, ptx;
  Layout source, destination, reference;

  int64_t threads() const { return reference.size(0); }
  /// Returns the bits that each thread copies.
  int64_t bits() const { return reference.size(1); }
  bool operator==(const CopyAtom &) const = default;
};

/// Returns the atom of this name, such as copy_128 or ldmatrix_x4_trans.
/// Throws an error with all names if there is none.
CopyAtom copyAtom(std::string_view name);
std::vector<std::string> copyAtomNames();

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_COPYATOMS_H
