//===- Recognize.h - Recognize attention in linalg --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_LINALG_RECOGNIZE_H
#define FMHA_LIB_CONVERSION_RAISE_LINALG_RECOGNIZE_H

#include "Linalg/Score.h"

#include <variant>

namespace fmha::raise {

/// An attention that ends with a product, and how to create it.
struct LinalgForm {
  AttentionForm attention;
  SplitView query, key, value;
  OutputShape output;
  ScorePlan score;
};

/// Nothing if a product has no softmax before it, else a form or the reason why
/// there is none.
using Recognized = std::variant<std::monostate, LinalgForm, Refusal>;

/// Returns the attention whose second product is `op`. Changes nothing.
Recognized recognize(mlir::linalg::LinalgOp op, Compute compute);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_LINALG_RECOGNIZE_H
