//===- Refusal.h - Why an op is not raised ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_REFUSAL_H
#define FMHA_LIB_CONVERSION_RAISE_REFUSAL_H

#include "mlir/IR/Operation.h"

#include <string>

namespace fmha::raise {

/// The reasons of Refusals.def.
enum class Reason {
#define FMHA_REFUSAL(name, id, text) name,
#include "fmha/Conversion/Raise/Refusals.def"
};

/// A reason, and the text that replaces {0} and {1} in that of the reason.
struct Refusal {
  Reason reason;
  std::string first, second;

  Refusal(Reason reason, std::string first = "", std::string second = "")
      : reason(reason), first(std::move(first)), second(std::move(second)) {}

  /// Returns the name of the remark.
  llvm::StringRef id() const;
  /// Returns what was expected, what there is, and the way out.
  std::string text() const;
};

/// Returns `shape` in the form 2x?x64.
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// Returns `type` or `attribute` as it is printed.
std::string textOf(mlir::Type type);
std::string textOf(mlir::Attribute attribute);

/// Emits a missed remark of category fmha-raise.
void reportMissed(mlir::Operation *op, const Refusal &refusal);
/// Emits such a remark, or a diagnostic if remarks of the category are off.
void reportRefused(mlir::Operation *op, const Refusal &refusal);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_REFUSAL_H
