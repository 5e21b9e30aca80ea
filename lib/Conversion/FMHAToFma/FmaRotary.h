//===- FmaRotary.h - Rotated rows of an fma kernel --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAROTARY_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAROTARY_H

#include "FmaPlaces.h"

namespace fmha {

/// Emits the rotation of queries and new keys.
class FmaRotary : protected FmaPlaces {
protected:
  using FmaPlaces::FmaPlaces;

  /// Returns vector `number` of the row at `row` of a query or a new key,
  /// `vector`, rotated by the angles of `position`; as it is if nothing
  /// rotates. With `condition`, it rotates only where that holds.
  Value rotated(Value vector, Value number, Value row, Value position,
                Value condition = Value());
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAROTARY_H
