//===- TileTypes.td - Tiles, channels, barriers ------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILETYPES_TD
#define FMHA_DIALECT_TILE_IR_TILETYPES_TD

include "fmha/Dialect/Tile/IR/TileAttrs.td"

class Tile_TypeDef<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_TileType : Tile_TypeDef<"Tile", "tile"> {
  let summary = "A tile value, which has a place from the placed level on";
  let description = [{
    Examples: `!tile.tile<128x128xf32>` (tiled level), `!tile.tile<128x64xbf16, #tile.smem<offset = 0>>` and
    `!tile.tile<128xf32, #tile.registers>` (placed level and below).

    The number of columns of a tile is that of the matrix rounded up to 16, a K step of an MMA; columns that the matrix
    does not have are zero.

    A tile of rank 2 in registers may be written with its layout instead of its place. It gets the place that has this layout:
    `!tile.tile<128x64xf32, #tile.thread_values<(128,64):(1,128), (128,64)>>` is `!tile.tile<128x64xf32, #tile.registers>`.

    Constraints: rank 1 or 2, static extents, element type f16, bf16 or f32; the place is `#tile.smem`, `#tile.tmem`,
    `#tile.registers` or `#tile.fragment`, with the constraints of that attribute.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalParameter<"::mlir::Attribute">:$place);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    /// 1 for a rank-1 tile.
    int64_t getColumns() const { return getShape().size() == 2 ? getShape()[1] : 1; }
    /// Returns the bytes of one stage; of a rank-2 tile of 16-bit elements the bytes of its panels.
    int64_t getBytes() const;
    /// Returns the number of 32-bit columns that the tile takes, or would take, in tensor memory.
    int64_t getTmemColumns() const;
    /// Whether the tile takes 16 of every warp's 32 lanes, as 64 rows in tensor memory do.
    bool hasHalfLanes() const { return getTmem() && getRows() == 64 && !getTmem().getHalf(); }
    /// Returns the number of copies of the tile in its place, 1 in registers.
    unsigned getStages() const;
    /// Returns the distance from one stage to the next: bytes in shared memory, columns in tensor memory.
    int64_t getStagePitch() const;
    /// Returns the place of a tile that begins at column `first` of this one.
    ::mlir::Attribute getPlaceOfColumn(int64_t first) const;
    /// Returns the type of columns [first, first + count), with their place if the tile has one.
    TileType columns(int64_t first, int64_t count) const;
    SmemAttr getSmem() const;
    TmemAttr getTmem() const;
    bool inRegisters() const;
    bool inFragments() const;
    /// Returns the layout of a placed tile of rank 2 (PlaceAttrInterface), null for another one.
    ::mlir::Attribute getLayout() const;
    TileType withPlace(::mlir::Attribute place) const;
    TileType withElementType(::mlir::Type type) const;
    /// Returns the type of a tile with one element for each row of this one.
    TileType asRowVector(::mlir::Type type) const;
  }];
}

def Tile_ChannelType : Tile_TypeDef<"Channel", "channel"> {
  let summary = "A ring of tiles between two roles";
  let description = [{
    `!tile.channel<!tile.tile<128x128xbf16, #tile.smem<offset = 65536, stages = 3>>>`: message n lies in stage
    n mod stages of the tile's place.
  }];
  let parameters = (ins "TileType":$tile);
  let assemblyFormat = "`<` $tile `>`";
  let extraClassDeclaration = [{
    /// Returns the number of messages that may be in flight.
    unsigned getDepth() const;
  }];
}

def Tile_BarrierType : Tile_TypeDef<"Barrier", "barrier"> {
  let summary = "One mbarrier for each stage of a channel";
  let description = [{
    Example: `!tile.barrier<3>`.

    Constraints: 1 to 29056 mbarriers, which is as many as fit in the 232448 bytes of shared memory.
  }];
  let parameters = (ins "unsigned":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Tile_ViewType : Tile_TypeDef<"View", "view"> {
  let summary = "Rows of a tensor that tiles are loaded from or stored to";
  let description = [{
    The type of the result of `tile.view`. The shape is that of one sequence of one head: `!tile.view<?x128xbf16>` has
    rows of 128 columns, `!tile.view<?xf32>` one number per row, and `!tile.view<f32>` one number for all rows of a head.
    With `heads` p, as in `!tile.view<?x128xbf16, heads = 16>`, rows of p query heads are packed (pack_gqa): row r of a
    tile is row r / p of head r mod p.

    Constraints: rank 0 to 2, with a dynamic number of rows; element type f16, bf16, f32 or, of rank 2, f8E4M3FN; `heads` is a power of two.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        DefaultValuedParameter<"uint32_t", "1">:$heads);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the view of a memref [batch, length, heads, dim], [batch, heads, length] or [heads]; null for another rank.
    static ViewType of(::mlir::MemRefType memref, uint32_t heads = 1);
    bool isPacked() const { return getHeads() > 1; }
  }];
}

//===----------------------------------------------------------------------===//
// Tiles of one shape
//===----------------------------------------------------------------------===//

class Tile_Rank<int rank>
    : CPred<"::llvm::cast<::fmha::tile::TileType>($_self).getShape().size() == " # rank>;
def Tile_HoldsF32 : CPred<"::llvm::cast<::fmha::tile::TileType>($_self).getElementType().isF32()">;

class Tile_TileOf<list<Pred> conditions, string what>
    : Type<And<!listconcat([Tile_TileType.predicate], conditions)>, what, "::fmha::tile::TileType">;

def Tile_Matrix : Tile_TileOf<[Tile_Rank<2>], "tile of rank 2">;
def Tile_F32Tile : Tile_TileOf<[Tile_HoldsF32], "tile that holds f32">;
def Tile_F32Matrix : Tile_TileOf<[Tile_Rank<2>, Tile_HoldsF32], "tile of rank 2 that holds f32">;
def Tile_HalfMatrix
    : Tile_TileOf<[Tile_Rank<2>, Neg<Tile_HoldsF32>], "tile of rank 2 that holds f16 or bf16">;
def Tile_F32Row : Tile_TileOf<[Tile_Rank<1>, Tile_HoldsF32], "tile of rank 1 that holds f32">;

/// A matrix and vectors of one element for each of its rows.
class Tile_RowsMatch<list<string> names>
    : AllMatchSameOperatorTrait<names, "::llvm::cast<::fmha::tile::TileType>($_self.getType()).getRows()",
                                "number of rows">;
class Tile_ShapesMatch<list<string> names>
    : AllMatchSameOperatorTrait<names, "::llvm::cast<::fmha::tile::TileType>($_self.getType()).getShape()", "shape">;

#endif // FMHA_DIALECT_TILE_IR_TILETYPES_TD
