//===- Overlap.h - Whether two host tensors share memory --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_OVERLAP_H
#define FMHA_LIB_RUNTIME_HOST_OVERLAP_H

#include "fmha/Runtime/Tensor.h"

namespace fmha::runtime {

/// Returns whether an element of `a` and one of `b` may share a byte. Returns
/// false if the outer steps of both have a common divisor that separates them,
/// as in slices of a packed [batch, length, 4, heads, dim]; tensors that
/// interleave in another way count as overlapping. Tensors without elements or
/// without an address share nothing.
bool mayOverlap(const Tensor4 &a, const Tensor4 &b);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_OVERLAP_H
