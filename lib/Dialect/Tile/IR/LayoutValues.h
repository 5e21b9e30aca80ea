//===- LayoutValues.h - Values of layout attributes -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the storage of attributes needs of values of the layout algebra.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_IR_LAYOUTVALUES_H
#define FMHA_LIB_DIALECT_TILE_IR_LAYOUTVALUES_H

#include "fmha/Layout/Algebra/Swizzle.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include "llvm/ADT/Hashing.h"

namespace fmha::layout::algebra {

/// Return the hash of the text form: values that are equal have one text.
inline llvm::hash_code hash_value(const ComposedLayout &layout) {
  return llvm::hash_value(layout.str());
}
inline llvm::hash_code hash_value(const ThreadValue &map) {
  return llvm::hash_value(map.str());
}
inline llvm::hash_code hash_value(const TiledCopy &copy) {
  return llvm::hash_value(copy.str());
}
inline llvm::hash_code hash_value(const TiledMma &mma) {
  return llvm::hash_value(mma.str());
}

} // namespace fmha::layout::algebra

#endif // FMHA_LIB_DIALECT_TILE_IR_LAYOUTVALUES_H
