//===- TileInterfaces.td - Synchronization effects of ops ---*- tablegen -*-===//
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
    Returns the places that an op reads and writes, the unit that accesses them, and the op's effects on barriers.
    `tile-verify-sync` uses no other property of an op. Every machine op has the interface, so that a new one cannot be
    forgotten; an op that touches neither memory nor barriers has no effects.
  }];
  let methods = [
    InterfaceMethod<"Appends the effects, in the order in which a thread has them.", "void", "getSyncEffects",
                    (ins "::llvm::SmallVectorImpl<::fmha::tile::SyncEffect> &":$effects)>
  ];
}

#endif // FMHA_DIALECT_TILE_IR_TILEINTERFACES_TD
