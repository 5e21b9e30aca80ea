//===- DiscardableAttributes.h - What dialects say of them ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_DISCARDABLEATTRIBUTES_H
#define FMHA_DIALECT_DISCARDABLEATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace fmha {

/// The error for an attribute on `place` ("an argument", "a result") of a
/// function: no attribute of the project's dialects says anything there.
inline mlir::LogicalResult refuseAttribute(mlir::Operation *op,
                                           mlir::NamedAttribute attribute,
                                           llvm::StringRef place) {
  llvm::StringRef name = attribute.getName().getValue();
  return op->emitError() << '"' << name
                         << "\": expected no attribute of the prefix "
                         << name.split('.').first << ". on " << place
                         << ", got one";
}

} // namespace fmha

#endif // FMHA_DIALECT_DISCARDABLEATTRIBUTES_H
