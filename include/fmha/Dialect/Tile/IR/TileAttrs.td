//===- TileAttrs.td - Places and small enumerations --------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILEATTRS_TD
#define FMHA_DIALECT_TILE_IR_TILEATTRS_TD

include "fmha/Dialect/Tile/IR/LayoutAttrs.td"

/// A place of tiles, which has a layout for each shape and element type.
class Tile_PlaceAttr<string name, string attrMnemonic>
    : Tile_Attr<name, attrMnemonic, [DeclareAttrInterfaceMethods<Tile_PlaceAttrInterface>]>;

def Tile_SmemAttr : Tile_PlaceAttr<"Smem", "smem"> {
  let summary = "A place in dynamic shared memory";
  let description = [{
    The place begins `offset` bytes after the 1024-byte aligned start of dynamic shared memory. It has `stages` copies of
    the tile, `pitch` bytes apart, or without a gap if `pitch` is 0. A rank-2 tile of 16-bit elements lies in panels of 64
    columns, each K-major with the 128-byte swizzle; the last panel has its full size even if it has fewer columns. A
    rank-1 tile has an element for each thread of a warpgroup, in order: two for each row if two threads share a row.

    Examples: `#tile.smem<offset = 65536, stages = 3>`, and in a ring that also has larger tiles,
    `#tile.smem<offset = 65536, stages = 3, pitch = 49152>`.

    Constraints: `stages` >= 1; `offset` is a multiple of 1024 for a rank-2 tile (the swizzle atom) and of 4 otherwise.
    Columns of a tile that begin inside a panel (`tile.slice`) have the panel's offset and up to 96 bytes more, in steps
    of 32, and end in the same panel. `pitch` is 0, or at least the size of a tile and a multiple of the offset's unit.
  }];
  let parameters = (ins "unsigned":$offset, DefaultValuedParameter<"unsigned", "1">:$stages,
                        DefaultValuedParameter<"unsigned", "0">:$pitch);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_TmemAttr : Tile_PlaceAttr<"Tmem", "tmem"> {
  let summary = "A place in tensor memory";
  let description = [{
    `column` is the first of the 32-bit columns that the tile takes, relative to the kernel's allocation; row r is lane r.
    An f32 tile takes one column per element column, a 16-bit tile (an A operand) one per two element columns. Row r of a
    tile of 64 rows is lane 32·(r/16) + r mod 16 + `lane`, so that two such tiles may lie in the same columns. The place
    holds `stages` copies of the tile. A copy begins `pitch` columns after the previous one, or directly after its end if
    `pitch` is 0. With `half = 64` lanes r and 64 + r hold the left and the right half of the columns of row r of 64, as a
    product of a pair of CTAs with M = 128 has them, so that the tile takes half as many columns.

    Examples: `#tile.tmem<column = 256>`, `#tile.tmem<column = 0, lane = 16>`, P in the upper half of each of two S,
    `#tile.tmem<column = 64, stages = 2, pitch = 128>`, and S of a pair of CTAs, `#tile.tmem<column = 0, half = 64>`.

    Constraints: `stages` >= 1; `pitch` is 0, or at least the columns of the tile; the last stage ends at column 512 or
    before; `lane` is 0, or 16 if the tile has 64 rows; `half` is 0, or 64 if the tile has 64 rows, an even number of columns
    and no `lane`.
  }];
  let parameters = (ins "unsigned":$column, DefaultValuedParameter<"unsigned", "0">:$lane,
                        DefaultValuedParameter<"unsigned", "1">:$stages,
                        DefaultValuedParameter<"unsigned", "0">:$pitch,
                        DefaultValuedParameter<"unsigned", "0">:$half);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_RegistersAttr : Tile_PlaceAttr<"Registers", "registers"> {
  let summary = "A place in registers: each thread of a 128-thread warpgroup holds a row, or half of one";
  let description = [{
    In a tile of 128 rows thread r holds row r, as `tcgen05.ld.32x32b` loads it, so that softmax needs no shuffles. In a
    tile of 64 rows lanes l and 16 + l of warp w hold the left and the right half of the columns of row 16·w + l, as
    `tcgen05.ld.16x32bx2` loads them, and both hold a rank-1 tile's element for the row. With `slices` the columns are cut
    into that many equal parts, and the two lanes hold the halves of each part, so that both have work in each part. With
    `half = 64` threads t and 64 + t hold the halves of row t, as a product of a pair of CTAs with M = 128 has them.

    Examples: `#tile.registers`, `#tile.registers<slices = 4>`, `#tile.registers<half = 64>`.

    Constraints: `slices` is 1, or, in a tile of 64 rows and rank 2, cuts the columns into parts of even width; `half` is 16,
    or 64 in a tile of 64 rows with 1 slice.
  }];
  let parameters = (ins DefaultValuedParameter<"unsigned", "1">:$slices, DefaultValuedParameter<"unsigned", "16">:$half);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

def Tile_FragmentAttr : Tile_PlaceAttr<"Fragment", "fragment"> {
  let summary = "A place in registers: each thread of a warpgroup holds its part of a wgmma accumulator";
  let description = [{
    Thread t holds rows r = 16·(t / 32) + (t mod 32) / 4 and r + 8, and of each of them columns c = 8·j + 2·(t mod 4) and
    c + 1 for every j (PTX ISA 9.7.15.5.1, the accumulator of wgmma.m64nN). For each j the elements of the first row come
    before those of the second one. In this order a tile of 16-bit elements is an A operand without a shuffle. All four
    threads of a row hold a rank-1 tile's element for it; the elements of both rows are a vector of two.

    Example: `#tile.fragment`.

    Constraints: a tile of 64 rows; if it has rank 2, the number of columns is a multiple of 8.
  }];
}

def Tile_PartitionAttr : Tile_Attr<"Partition", "partition"> {
  let summary = "The role, the stage and the order of an op";
  let description = [{
    The attribute `tile.partition` of ops of the placed level, written by `tile-assign-partitions` or by hand; later passes
    obey it. `role` is the name of a role of the schedule. In a loop an op of `stage` s runs s iterations after the ops of
    stage 0 of its iteration. If a loop has ops of both stages, the ops of a role run in ascending `order`, and ops of
    equal order run in program order; elsewhere `order` has no effect.

    Example: `#tile.partition<role = "mma", stage = 1, order = 2>`.

    Constraints: `stage` is 0 or 1.
  }];
  let parameters = (ins StringRefParameter<>:$role, DefaultValuedParameter<"unsigned", "0">:$stage,
                        DefaultValuedParameter<"unsigned", "0">:$order);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_RegionAttr : Tile_Attr<"Region", "region"> {
  let summary = "The region of the kernel's memory map that an op uses";
  let description = [{
    The attribute `tile.region` of ops of the tiled level, written by `convert-fmha-to-tile` or by hand.
    `tile-assign-memory` obeys it, and in a kernel with `#tile.kernel` allocates a region for an op that has none. `name` is
    the region of the op's result, or of the copy of it that another op reads from memory; `column` is the first column of
    the result there. `rows` is the region through which one number per row reaches the op from another role.

    Examples: `#tile.region<name = "P0", column = 64>`, `#tile.region<name = "out0", rows = "stats0">`.

    Constraints: `name` or `rows` is given; `column` is a multiple of 16.
  }];
  let parameters = (ins StringRefParameter<"", "\"\"">:$name, DefaultValuedParameter<"unsigned", "0">:$column,
                        StringRefParameter<"", "\"\"">:$rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_ExtentAttr : Tile_Attr<"Extent", "extent"> {
  let summary = "A named region of a kernel's memory";
  let description = [{
    `size` is the number of bytes of one stage in shared memory, or the number of columns in tensor memory.

    Example: `#tile.extent<name = "load0", place = #tile.smem<offset = 16384, stages = 3>, size = 16384>`.

    Constraints: `place` is `#tile.smem` or `#tile.tmem`; `size` is positive.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::Attribute":$place, "unsigned":$size);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_KernelAttr : Tile_Attr<"Kernel", "kernel"> {
  let summary = "The target, memory and roles of a kernel that was not made from an attention op";
  let description = [{
    The attribute `tile.kernel` of a `gpu.func` of tile ops. The author of the program gives the target only;
    `tile-assign-memory` adds the memory map and, for each operand, the rows of the boxes in which TMA copies its tiles,
    and whether these copies end with the rows of a view (`from` or `pages`) instead of the tensor;
    `tile-assign-partitions` adds the roles, unless they are given. A kernel made from `fmha.attention` has
    `fmha.schedule` and `fmha.problem` instead.

    Example: `#tile.kernel<target = "sm_90a">`.

    Constraints: the target can be compiled for; `memory` holds `#tile.extent`, `roles` holds `#fmha.role`.
  }];
  let parameters = (ins StringRefParameter<>:$target, OptionalParameter<"::mlir::ArrayAttr">:$memory,
                        OptionalParameter<"::mlir::DenseI32ArrayAttr">:$boxRows,
                        OptionalParameter<"::mlir::DenseBoolArrayAttr">:$sequences,
                        OptionalParameter<"::mlir::ArrayAttr">:$roles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Tile_Enum<string name, string what, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::fmha::tile";
  let genSpecializedAttr = 0;
}

def Tile_Agent : Tile_Enum<"Agent", "who signals that a slot is full or free", [
    I32EnumAttrCase<"Tma", 0, "tma">,
    I32EnumAttrCase<"Mma", 1, "mma">,
    I32EnumAttrCase<"Threads", 2, "threads">,
    I32EnumAttrCase<"CpAsync", 3, "cp_async">]>;
def Tile_AgentAttr : EnumAttr<Tile_Dialect, Tile_Agent, "agent">;

def Tile_FenceKind : Tile_Enum<"FenceKind", "what a fence orders", [
    I32EnumAttrCase<"Tcgen05Before", 0, "tcgen05_before">,
    I32EnumAttrCase<"Tcgen05After", 1, "tcgen05_after">,
    I32EnumAttrCase<"ProxyAsync", 2, "proxy_async">,
    I32EnumAttrCase<"MbarrierInit", 3, "mbarrier_init">]>;
def Tile_FenceKindAttr : EnumAttr<Tile_Dialect, Tile_FenceKind, "fence_kind">;

def Tile_TmemAccess : Tile_Enum<"TmemAccess", "which tensor memory accesses", [
    I32EnumAttrCase<"Load", 0, "load">,
    I32EnumAttrCase<"Store", 1, "store">]>;
def Tile_TmemAccessAttr : EnumAttr<Tile_Dialect, Tile_TmemAccess, "tmem_access">;

//===----------------------------------------------------------------------===//
// Numbers with the ranges of the hardware
//===----------------------------------------------------------------------===//

class Tile_MultipleOf<int n>
    : AttrConstraint<CPred<"::llvm::cast<::mlir::IntegerAttr>($_self).getInt() % " # n # " == 0">,
                     "whose value is a multiple of " # n>;

/// Expected arrival count of mbarrier.init (PTX ISA, "Contents of the mbarrier object").
def Tile_ArrivalsAttr : ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<1048575>]>;
/// Transaction count of an mbarrier, in bytes.
def Tile_TransactionAttr : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<1048575>]>;
// A number of rows, columns, warps or the like.
def Tile_CountAttr : ConfinedAttr<I32Attr, [IntMinValue<1>]>;
/// Byte offset in dynamic shared memory, which has at most 227 KiB per CTA.
def Tile_OffsetAttr : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<232447>]>;
class Tile_AlignedOffsetAttr<int n>
    : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<232447>, Tile_MultipleOf<n>]>;
/// First column of a TMA box in a tile: that of a panel of 64 columns.
def Tile_BoxColumnAttr : ConfinedAttr<I32Attr, [IntNonNegative, Tile_MultipleOf<64>]>;
/// First column of a slice of a tile: that of a K step of 16 columns.
def Tile_SliceColumnAttr : ConfinedAttr<I32Attr, [IntNonNegative, Tile_MultipleOf<16>]>;
/// Log2 of the factor of exponentials.
def Tile_ExponentAttr : DefaultValuedAttr<ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<96>]>, "0">;
/// Number of columns of tcgen05.alloc and dealloc.
def Tile_TmemColumnsAttr : ConfinedAttr<I32Attr, [IntIsOneOf<[32, 64, 128, 256, 512]>]>;
def Tile_TmemColumnAttr : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<511>]>;
/// First lane of a tile within each warp's lanes, and the distance in columns between the halves of a row.
def Tile_TmemLaneAttr : ConfinedAttr<I32Attr, [IntIsOneOf<[0, 16]>]>;
def Tile_TmemHalfAttr : ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<511>]>;
/// Registers per thread of setmaxnreg.
def Tile_RegistersAttrI32 : ConfinedAttr<I32Attr, [IntMinValue<24>, IntMaxValue<256>, Tile_MultipleOf<8>]>;

#endif // FMHA_DIALECT_TILE_IR_TILEATTRS_TD
