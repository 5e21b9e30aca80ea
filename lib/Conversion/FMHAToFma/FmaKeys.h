//===- FmaKeys.h - Keys and values of an fma kernel -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAKEYS_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAKEYS_H

#include "FmaRotary.h"

namespace fmha {

/// Emits loads of keys and values from dense caches, pages and new rows.
class FmaKeys : protected FmaRotary {
protected:
  using FmaRotary::FmaRotary;

  /// Where a key is in its tensor: its batch, or its page, and its row there.
  struct KeyPlace {
    Value key, batch, row;
  };
  KeyPlace placeOf(Value key);
  /// Returns the page of a key according to block_tables.
  Value pageOf(Value key);
  /// Returns key or value `tensor` ("k" or "v") at a place; new ones are in
  /// key_new and value_new.
  Value keyRow(const std::string &tensor, const KeyPlace &place);
  /// Returns "key_new" for "k", and "value_new" for "v".
  static std::string newTensorOf(const std::string &tensor) {
    return tensor == "k" ? "key_new" : "value_new";
  }
  /// Load a vector of 16 bytes of a value and of a key.
  Value loadValueVector(Value row, Value vector) {
    return loadVector(row, times(vector, i32(all.vectorElements)), keyElement);
  }
  Value loadKeyVector(const KeyPlace &place, Value row, Value vector);
  /// Returns vector `number` of the key in `row`, rotated if it is new.
  Value rotatedIfNew(Value vector, Value number, Value row,
                     const KeyPlace &place) {
    return problem.rotates()
               ? rotated(vector, number, row, place.key, isNew(place))
               : vector;
  }
  /// Returns the scale of keys or values ("k_scale" or "v_scale") that all of
  /// the CTA share; null without one, or if pages have their own.
  Value sharedScale(const std::string &scale);
  /// Returns the scale of the page of a key; null if all pages share one.
  Value pageScale(const std::string &scale, const KeyPlace &place);

private:
  Value isNew(const KeyPlace &place) {
    return compare(mlir::arith::CmpIPredicate::sge, place.key, firstNew);
  }
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAKEYS_H
