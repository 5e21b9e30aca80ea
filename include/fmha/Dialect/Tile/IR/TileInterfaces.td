//===- TileInterfaces.td - Interfaces of ops on tiles -------*- tablegen -*-===//
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

def Tile_PlaceAttrInterface : AttrInterface<"PlaceAttrInterface"> {
  let cppNamespace = "::fmha::tile";
  let description = [{
    A place that a tile type may have. `fmha-compile --print-layouts` prints its layout, and passes distribute tiles by it:
    a `#tile.layout` in memory, a `#tile.thread_values` in registers.
  }];
  let methods = [
    InterfaceMethod<"Returns the layout of a tile of rank 2 in this place, without the offset of the place.", "::mlir::Attribute",
                    "getLayout", (ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType)>
  ];
}

def Tile_LoadOpInterface : OpInterface<"LoadOpInterface"> {
  let cppNamespace = "::fmha::tile";
  let description = [{
    An op of a role that loads a tile from device memory to shared memory. From the specialised level on it has the slot of a
    channel as an operand. In a loop its tile is in a ring.
  }];
  let methods = [
    InterfaceMethod<"Returns the slot, or null.", "::mlir::Value", "getInto">,
    InterfaceMethod<"Returns the operand of the slot, which may be absent.", "::mlir::MutableOperandRange", "getIntoMutable">
  ];
}

#endif // FMHA_DIALECT_TILE_IR_TILEINTERFACES_TD
