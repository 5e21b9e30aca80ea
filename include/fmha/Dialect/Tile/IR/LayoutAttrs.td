//===- LayoutAttrs.td - Layouts as attributes --------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_LAYOUTATTRS_TD
#define FMHA_DIALECT_TILE_IR_LAYOUTATTRS_TD

include "fmha/Dialect/Tile/IR/TileDialect.td"
include "fmha/Dialect/Tile/IR/TileInterfaces.td"

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// An attribute with a value of the layout algebra, in the text form that str() returns and fmha-layout reads.
class Tile_AlgebraAttr<string name, string attrMnemonic, string type>
    : Tile_Attr<name, attrMnemonic> {
  let parameters = (ins AttrOrTypeParameter<"::fmha::layout::algebra::" # type, "the value",
                                            "const ::fmha::layout::algebra::" # type # " &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Tile_LayoutAttr : Tile_AlgebraAttr<"Layout", "layout", "ComposedLayout"> {
  let summary = "A layout: the offset of each coordinate, with a swizzle or without";
  let description = [{
    The shape and the strides are two trees of the same form, and the offset of a coordinate is its inner product with the
    strides. In `Sw<b,m,s> o offset o layout`, the swizzle takes `b` bits of the sum, from bit m + s on, and XORs them into the
    bits from m on. Offsets of a tile in shared memory count elements; those in tensor memory are addresses, lane << 16 | column,
    in elements. A shape without strides is column-major.

    Examples: `#tile.layout<((4,8),(2,2)):((32,1),(16,8))>`, `#tile.layout<Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))>`.

    Constraints: shape and strides have the same form; extents are at least 1; size and cosize fit 63 bits; a swizzle has b <= |s| and
    at most 62 bits.
  }];
}

def Tile_ThreadValuesAttr : Tile_AlgebraAttr<"ThreadValues", "thread_values", "ThreadValue"> {
  let summary = "A thread-value layout: which thread holds which elements of a tile";
  let description = [{
    The layout maps a thread and one of its values to an index in the tile, counted with the first extent fastest. Two modes of the
    layout are the threads and the values; a stride of 0 means that threads hold the same elements.

    A tile type may have this attribute as its place. The parser replaces it by the place in registers that has this map,
    `#tile.fragment` or `#tile.registers`, and the type is printed with that place.

    Examples: the accumulator of a warp, `#tile.thread_values<((4,8),(2,2)):((32,1),(16,8)), (16,8)>`, and
    `!tile.tile<64x8xf32, #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(64,8)), (64,8)>>`, which is
    `!tile.tile<64x8xf32, #tile.fragment>`.

    Constraints: the layout has two modes; the tile has at most 2^20 elements, each of which has an owner; no thread holds an
    element twice.
  }];
  let extraClassDeclaration = [{
    /// Returns the place in registers that gives a tile of rank 2 this layout; null after an error if there is none.
    ::mlir::Attribute findPlace(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError, ::llvm::ArrayRef<int64_t> shape,
                                ::mlir::Type elementType) const;
  }];
}

def Tile_TiledCopyAttr : Tile_AlgebraAttr<"TiledCopy", "tiled_copy", "TiledCopy"> {
  let summary = "A copy instruction, repeated over threads and values until it covers a tile";
  let description = [{
    The instruction, the thread-value layout of the copy, the tile that it covers, and the bits of a value unless they are 16:
    the parameters of CuTe's TiledCopy.

    Example: 128 threads copy 16 bytes each, `#tile.tiled_copy<cp_async_128, ((16,8),8):((64,1),8), (8,128)>`.

    Constraints: `fmha-layout --help` lists the instructions; threads and values are multiples of those of the instruction; the
    layout has the constraints of `#tile.thread_values`.
  }];
}

def Tile_TiledMmaAttr : Tile_AlgebraAttr<"TiledMma", "tiled_mma", "TiledMma"> {
  let summary = "A product instruction, repeated over groups of threads along M, N and K";
  let description = [{
    The instruction, the groups of threads along M, N and K, and how much of M, N and K a tile spans (`_` leaves it to the
    groups): the parameters of CuTe's TiledMMA.

    The attribute `tile.mma` of a `tile.dot` has this type. `tile-annotate-layouts` writes the product that the kernel family
    emits. A product that is written by hand selects the instruction: its K with mma.sync, its N with wgmma.

    Example: four warps along M, `#tile.tiled_mma<mma_m16n8k16_f32_bf16, (4,1,1), (64,16,16)>`.

    Constraints: `fmha-layout --help` lists the instructions; the tile is a multiple of what the groups multiply; groups and
    permutations reach each index below their size once, and are at most 2^20.
  }];
}

#endif // FMHA_DIALECT_TILE_IR_LAYOUTATTRS_TD
