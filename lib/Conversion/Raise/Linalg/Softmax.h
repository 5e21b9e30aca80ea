//===- Softmax.h - Recognize softmax ----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_SOFTMAX_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_SOFTMAX_H

#include "Linalg/Reader.h"
#include "Refusal.h"

namespace fmha::raise {

/// Returns whether the code has a softmax of a product, or code that may be
/// meant as one: exponentials of a difference from a row's maximum, or a sum of
/// exponentials. Other code is not attention and gets no remark.
bool resemblesSoftmax(Reader &reader, Code *code, const Index &keys);

/// Sets `scores` to the code whose softmax over `keys` is `probabilities`, or
/// returns why it is none.
std::optional<Refusal> matchSoftmax(Reader &reader, Code *probabilities,
                                    const Index &keys, Code *&scores);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_SOFTMAX_H
