//===- Passes.h - From tcgen05 and conv to NVVM -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_TCGEN05_PASSES_H
#define FMHA_CONVERSION_TCGEN05_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace fmha {

#define GEN_PASS_DECL
#include "fmha/Conversion/Tcgen05/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fmha/Conversion/Tcgen05/Passes.h.inc"

/// Registers the pipelines tcgen05-to-ptx and conv-to-ptx.
void registerTcgen05Pipelines();

/// Lets the translation to LLVM IR mark calls of inline PTX with the attribute
/// tcgen05.convergent as convergent.
void registerTcgen05DialectTranslation(mlir::DialectRegistry &registry);

} // namespace fmha

#endif // FMHA_CONVERSION_TCGEN05_PASSES_H
