//===- BufferizableOpInterfaceImpl.h - Bufferize fmha -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {
/// Lets one-shot-bufferize turn the tensor form of fmha.attention into the
/// memref form:
///
///   %o = fmha.attention ins(%q, ... : tensor<...>) outs(%out : tensor<...>)
///   // becomes
///   fmha.attention ins(%qm, ... : memref<...>) outs(%outm : memref<...>)
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);
} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
