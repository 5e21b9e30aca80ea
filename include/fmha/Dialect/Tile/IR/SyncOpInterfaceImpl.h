//===- SyncOpInterfaceImpl.h - Effects of upstream ops ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_SYNCOPINTERFACEIMPL_H
#define FMHA_DIALECT_TILE_IR_SYNCOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha::tile {

/// Gives SyncOpInterface to the upstream ops of machine kernels that access
/// shared memory: llvm.load, llvm.store and nvvm.ldmatrix. tile-verify-sync
/// rejects others that take an address in shared memory.
void registerSyncOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_IR_SYNCOPINTERFACEIMPL_H
