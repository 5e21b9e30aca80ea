//===- EmbeddedFunctions.h - The functions of a kernel in C -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_EMBEDDED_EMBEDDEDFUNCTIONS_H
#define FMHA_LIB_PIPELINE_EMBEDDED_EMBEDDEDFUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fmha {

/// A C function that is emitted into programs, named after the kernel plus
/// `suffix`. It passes its arguments on to `callee`, after the kernel if
/// `takesKernel`.
struct EmbeddedFunction {
  llvm::StringLiteral suffix, result, callee;
  bool takesKernel;
  struct Parameter {
    llvm::StringLiteral type, name;
    bool isSize;
  };
  llvm::ArrayRef<Parameter> parameters;
  llvm::StringLiteral comment;
};

/// Returns all functions, the launch first.
llvm::ArrayRef<EmbeddedFunction> embeddedFunctions();

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_EMBEDDED_EMBEDDEDFUNCTIONS_H
