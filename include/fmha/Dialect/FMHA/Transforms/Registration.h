//===- Registration.h - Register the fmha dialect ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_REGISTRATION_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {
/// Registers the fmha dialect with its external models.
void registerFMHADialect(mlir::DialectRegistry &registry);
/// Registers the passes and pipelines of the dialect.
void registerFMHATransforms();
} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_REGISTRATION_H
