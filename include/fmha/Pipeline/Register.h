//===- Register.h - Register all dialects and passes ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_REGISTER_H
#define FMHA_PIPELINE_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace fmha {

/// Registers the dialects fmha and tile, and the upstream interfaces that their
/// lowering to PTX needs.
void registerAllFmha(mlir::DialectRegistry &registry);

/// Registers all passes, and the pipelines `fmha-to-ptx`, `fmha-to-gpu`,
/// `fmha-program-to-llvm` and `fmha-to-cpu`.
void registerAllFmhaPasses();

} // namespace fmha

#endif // FMHA_PIPELINE_REGISTER_H
