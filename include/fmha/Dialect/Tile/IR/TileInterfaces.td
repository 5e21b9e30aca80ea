//===- TileInterfaces.td - What an op does to synchronisation -*- tablegen -*-//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILEINTERFACES_TD
#define FMHA_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_SyncOpInterface : OpInterface<"SyncOpInterface"> {
  let cppNamespace = "::fmha::tile";
  let description = [{
    Which places an op reads and writes, by which unit, and what it does to barriers: all that `tile-verify-sync` knows of
    it. Every machine op has it, so that a new one cannot be forgotten; one that touches neither has no effects.
  }];
  let methods = [
    InterfaceMethod<"Appends the effects, in the order in which a thread has them.", "void", "getSyncEffects",
                    (ins "::llvm::SmallVectorImpl<::fmha::tile::SyncEffect> &":$effects)>
  ];
}

#endif // FMHA_DIALECT_TILE_IR_TILEINTERFACES_TD
