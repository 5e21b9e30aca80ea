//===- CompilerDialects.h - Dialects of modules to compile ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_COMPILERDIALECTS_H
#define FMHA_LIB_PIPELINE_COMPILERDIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace fmha {

/// Returns the dialects of modules that the compiler reads: upstream's, fmha
/// and tile.
const mlir::DialectRegistry &compilerDialects();

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_COMPILERDIALECTS_H
