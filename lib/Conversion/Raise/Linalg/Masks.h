//===- Masks.h - Masks by position in code on scores ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_MASKS_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_MASKS_H

#include "Linalg/Roles.h"

namespace fmha::raise {

/// Sets `mask` to a mask of fmha.attention, and returns `scores` without the
/// comparisons of row and key that it replaces, which hide keys by -inf. The
/// lengths may be dynamic.
Code *takeMask(CodeGraph &graph, const Roles &roles, Code *scores,
               int64_t queryLength, int64_t keyLength, schedule::Mask &mask);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_MASKS_H
