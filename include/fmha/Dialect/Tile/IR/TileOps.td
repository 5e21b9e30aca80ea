//===- TileOps.td - Attention on tile values ---------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILEOPS_TD
#define FMHA_DIALECT_TILE_IR_TILEOPS_TD

include "fmha/Dialect/Tile/IR/TileTypes.td"
include "fmha/Dialect/Tile/IR/TileInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

/// An op on values. It is pure until its result has a place in memory; after
/// that it writes there, and must not be moved or erased.
class Tile_ValueOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  let extraClassDefinition = [{
    void $cppClass::getEffects(::llvm::SmallVectorImpl<
        ::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
      addEffectsOfPlaces(getOperation(), effects);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_ViewOp : Tile_Op<"view", [AttrSizedOperandSegments, Pure]> {
  let summary = "The rows of one sequence and head of a tensor";
  let description = [{
    Describes the rows that tiles are loaded from or stored to, so that `tile.load` and the other ops on rows need only
    the number of a row. It reads no memory. `source` is [`batch`, length, `head`, dim], [`batch`, `head`, length] or a
    vector [`head`]. The view has `rows` rows. Without `from` they are those of the batch; with `from` they are those of one
    varlen sequence, which begins at that row of the length dimension and must lie inside the tensor. Without `from`,
    `tile.load` and `tile.store` use the end of the tensor in place of `rows`, because the tensor map has it. `column` is
    the first column, 0 if it is absent.

    If the type has `heads` p, the view packs rows of p query heads (pack_gqa), which begin at `head`; `of` is the number
    of query heads that the group has from there on. `group` is the same head in the coordinates of a tensor map: its KV
    head, and its number among the query heads of that KV head.

    With `or` and `if`, the view is one of the other tensor if the condition holds, and one of `source` otherwise. A loop
    over the keys of two sources makes a view for each block.

    With `pages` the rows are in pages: `source` is [page, row of the page, `head`, dim] with a static number of rows, a
    power of two, and row r of the view is row r mod n of the page that entry `entry` + r / n of the list names. Entries
    after that of the last row of the view are not read, except that the first entry is read also if the view has no
    rows. A page number outside of `source` is clamped to the nearest page. TMA copies a tile in boxes of gcd(rows of the tile, n) rows, each
    of which lies in one page, so the first row of a loaded tile must be a multiple of that number, which is n if a tile consists of
    whole pages. Tiles with different numbers of rows may be loaded from one operand if their boxes have the same number of rows.

    With `list` the rows of the view are those that a list names: row r is the row that entry `first` + r of the list names,
    of the batch, or of the rows in pages. An entry names a row from 0 on `below` a bound; a number outside stands for the
    nearest one, and the bound is positive if the view has rows. Entries after that of the last row of the view are not
    read. TMA copies one row at a time, or, if the kernel gathers rows, four.

    ```mlir
    %k = tile.view %K batch %batch head %head rows %n
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x128xbf16>
    %v = tile.view %V batch %batch head %head rows %n column %first
        : memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x512xbf16>
    %w = tile.view %V batch %zero head %head rows %kv_len from %start
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x128xbf16>
    %b = tile.view %K or %K2 : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> if %second batch %batch head %head rows %n
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x128xbf16>
    %p = tile.view %K pages %table[%first] head %head rows %n
        : memref<?x64x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?xi32> -> !tile.view<?x128xbf16>
    %t = tile.view %K list %topk[%first] below %keys : memref<?xi32> batch %batch head %head rows %n
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x128xbf16>
    %q = tile.view %Q batch %batch head %first of %count group %kv_head, %member rows %q_len
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x128xbf16, heads = 16>
    %l = tile.view %L batch %batch head %head rows %q_len
        : memref<?x?x?xf32, strided<[?, ?, ?]>> -> !tile.view<?xf32>
    %s = tile.view %sinks head %first of %count : memref<?xf32> -> !tile.view<f32, heads = 16>
    ```

    Constraints: the type is that of the source's rows; a vector has no batch and no rows, others have both, except that rows
    in pages have no batch and no `from`, and one tensor; listed rows have no `from` and one tensor, and heads are not
    packed; only rows
    of several columns may have a first column, a group or another tensor; `of` is given if and only if heads are packed,
    and `group` only if they are; the other tensor has the type of `source`.
  }];
  let arguments = (ins AnyMemRef:$source, Optional<AnyMemRef>:$other, Optional<I1>:$second,
                       Optional<MemRefRankOf<[I32], [1]>>:$pages, Optional<Index>:$entry,
                       Optional<MemRefRankOf<[I32], [1]>>:$list, Optional<Index>:$first, Optional<Index>:$bound,
                       Optional<Index>:$batch,
                       Index:$head, Optional<Index>:$count, Optional<Index>:$kv_head, Optional<Index>:$member,
                       Optional<Index>:$column, Optional<Index>:$start, Optional<Index>:$length);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = [{
    $source (`or` $other^ `:` type($other) `if` $second)? (`pages` $pages^ `[` $entry `]`)?
    (`list` $list^ `[` $first `]` `below` $bound `:` type($list))? (`batch` $batch^)? `head` $head (`of` $count^)?
    (`group` $kv_head^ `,` $member)? (`rows` $length^)? (`from` $start^)? (`column` $column^)?
    attr-dict `:` type($source) (`,` type($pages)^)? `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "const ::fmha::tile::ViewPlace &":$place,
                                 CArg<"uint32_t", "1">:$heads)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of packed heads, if heads are packed.
    std::optional<uint32_t> getHeads() {
      return getType().isPacked() ? std::optional(getType().getHeads()) : std::nullopt;
    }
    /// Returns the number of rows per page. The view must be paged.
    int64_t getPageSize() { return getSource().getType().getDimSize(1); }
    /// Returns the head coordinate of a copy by TMA, which is the KV head if heads are packed.
    ::mlir::Value getCopyHead() { return getKvHead() ? getKvHead() : getHead(); }
  }];
}

/// An op on rows of a view, with access to the `tile.view` that defines it.
class Tile_RowsOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits> {
  let hasVerifier = 1;
  let extraClassDeclaration = "ViewOp getViewOp();";
  let extraClassDefinition = [{
    ::fmha::tile::ViewOp $cppClass::getViewOp() { return getView().getDefiningOp<ViewOp>(); }
  }];
}

def Tile_LoadOp : Tile_RowsOp<"load", [Tile_LoadOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads a tile of rows of a view, with zeros outside of the view";
  let description = [{
    The tile has rows [`row`, `row` + n) of the view, where n is its number of rows. Rows and columns that the view does
    not have, and heads that its group does not have, read as zero and access no memory. The exception is a box (all rows
    of the tile, or those in one page, or a listed one) that lies entirely after the last row of a view with `from`, `pages` or `list`. TMA cannot
    copy such a box, so it gets rows of the view, or a row of `source` if the view has none. The program must mask these
    rows or multiply them by zeros. Elements of f8E4M3FN are converted to f16 or bf16, the type of the tile, without rounding. `into` is the slot for the tile, from the specialised level on.

    ```mlir
    %t = tile.load %k[%row] : !tile.view<?x128xbf16> -> !tile.tile<128x128xbf16>
    %q = tile.load %packed[%row] : !tile.view<?x128xbf16, heads = 16> -> !tile.tile<128x128xbf16>
    ```

    Constraints: the view is made by a `tile.view` of rows of several columns, and names the group of packed heads;
    the tile has no more columns than the head dim rounded up to 16, and at least as many rows as heads are packed.
  }];
  let arguments = (ins Index:$row, Tile_ViewType:$view, Optional<Tile_TileType>:$into);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $view `[` $row `]` (`into` $into^ `as` type($into))? attr-dict `:` type($view) `->` type($result)
  }];
}

def Tile_StoreOp : Tile_RowsOp<"store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Writes the part of a tile that lies inside a view";
  let description = [{
    Rows and columns that the view does not have, and heads that its group does not have, are not written.

    ```mlir
    tile.store %t, %o[%row] : !tile.tile<128x128xbf16>, !tile.view<?x128xbf16>
    ```

    Constraints: as for `tile.load`.
  }];
  let arguments = (ins Tile_Matrix:$value, Tile_ViewType:$view, Index:$row);
  let assemblyFormat = "$value `,` $view `[` $row `]` attr-dict `:` type($value) `,` type($view)";
}

def Tile_WriteOp : Tile_RowsOp<"write", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Divides each row by its sum and writes in f32 the rows that the view has";
  let description = [{
    Row r of `value`, divided by its sum, is written to row `row` + r of the view. Rows, columns and heads that the view
    does not have are not written. A row with sum 0 is written as zeros, and so is a `tile` without a value. With
    `undivided`, rows are not divided by their sums. The factor 2^`offset` of the exponentials is removed in both cases.
    All rows are multiplied by `scale`, if there is one.

    The threads write from their registers, because a tile of f32 in shared memory would be twice as large as that of the
    query, whose place the output takes.

    ```mlir
    tile.write %acc over %l : !tile.tile<128x128xf32>, !tile.tile<128xf32> as !tile.tile<128x128xf32>
        to %o[%row] : !tile.view<?x128xf32>
    tile.write as !tile.tile<128x128xf32> to %o[%row] : !tile.view<?x128xf32>
    ```

    Constraints: the view is made by a `tile.view` of rows of several columns; the tile has the constraints of
    `tile.load`; `tile` has the shape of the value; only a value has a scale.
  }];
  let arguments = (ins Optional<Tile_F32Matrix>:$value, Optional<Tile_F32Row>:$sum, Optional<F32>:$scale,
                       TypeAttrOf<Tile_TileType>:$tile,
                       Tile_ViewType:$view, Index:$row, UnitAttr:$undivided, Tile_ExponentAttr:$offset);
  let assemblyFormat = [{
    ($value^ `over` $sum (`times` $scale^)? `:` type($value) `,` type($sum))? `as` $tile `to` $view `[` $row `]`
    (`undivided` $undivided^)? (`offset` $offset^)? attr-dict `:` type($view)
  }];
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "Some columns of a tile, in place";
  let description = [{
    Returns columns [`column`, `column` + n) of `input`, where n is the number of columns of the result. No element moves:
    in shared memory the result lies in panels of the input, in tensor memory in columns of the input, and in registers
    each thread keeps its elements.

    ```mlir
    %q1 = tile.slice %q from 128 : !tile.tile<128x512xbf16> -> !tile.tile<128x128xbf16>
    ```

    Constraints: `column` is a multiple of 16; a slice in shared memory begins at a panel of 64 columns or ends in the
    panel that it begins in; a slice of 64 rows in registers is one of the parts of `#tile.registers`.
  }];
  let arguments = (ins Tile_Matrix:$input, Tile_SliceColumnAttr:$column);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = "$input `from` $column attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure]> {
  let summary = "Concatenates slices to a tile";
  let description = [{
    The inverse of `tile.slice`: the result has the columns of the first input, then those of the next one. In registers
    no element moves.

    ```mlir
    %p = tile.join %p0, %p1 : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<128x128xf32>
    ```

    Constraints: the inputs have no place or are in registers, have equal widths, and their columns add up to those of
    the result; in registers and with 64 rows their number is that of the result's `slices`.
  }];
  let arguments = (ins Variadic<Tile_Matrix>:$inputs);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadRowsOp : Tile_RowsOp<"load_rows", [MemoryEffects<[MemRead]>]> {
  let summary = "Loads one number per row, that of the row's head";
  let description = [{
    The element of a row is `factor` times the view's number for the head of the row. Rows of heads that the group does
    not have get the number of its last head.

    ```mlir
    %t = tile.load_rows %s by 1.442695 : !tile.view<f32> -> !tile.tile<128xf32>
    ```

    Constraints: the view is made by a `tile.view` of a vector with the result's element type; the tile has at least as
    many rows as heads are packed.
  }];
  let arguments = (ins Tile_ViewType:$view, F32Attr:$factor);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = "$view `by` $factor attr-dict `:` type($view) `->` type($result)";
}

def Tile_StoreRowsOp : Tile_RowsOp<"store_rows", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes one number per row, for the rows that the view has";
  let description = [{
    Row r of `value` is written to row `row` + r of the view; rows and heads that the view does not have are not written.

    ```mlir
    tile.store_rows %lse, %l[%row] : !tile.tile<128xf32>, !tile.view<?xf32>
    ```

    Constraints: the view is made by a `tile.view` of one number per row; the tile has at least as many rows as heads
    are packed.
  }];
  let arguments = (ins Tile_TileType:$value, Tile_ViewType:$view, Index:$row);
  let assemblyFormat = "$value `,` $view `[` $row `]` attr-dict `:` type($value) `,` type($view)";
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def Tile_FillOp : Tile_ValueOp<"fill", []> {
  let summary = "A tile whose elements are all `value`";
  let description = [{
    A tile of 16-bit elements can only be filled with 0, which needs no rounding.
    `%m = tile.fill 0xFF800000 : !tile.tile<128xf32>`
  }];
  let arguments = (ins F32Attr:$value);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_ValueOp<"dot", [AttrSizedOperandSegments]> {
  let summary = "A matrix product in f32";
  let description = [{
    Computes `a`·`b`, or `a`·`b`ᵀ with `transpose_b`, and negates the product with `negate`. `acc`, if it is given, is added
    to the product, unless `accumulate` is given and false. With `rows`, the second factor is the rows of `b` from that
    one on, as many as `a` has columns. With `pair`, two CTAs compute their products together: each has its own `a` and half of
    the columns of `b` (of its rows with `transpose_b`), the first half in the CTA with the even number.

    ```mlir
    %s = tile.dot %q, %k transpose_b : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    %o = tile.dot %p, %v plus %acc : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    %n = tile.dot %p1, %v rows 32 plus %o : !tile.tile<128x32xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    %t = tile.dot %q, %half pair transpose_b : !tile.tile<128x128xbf16>, !tile.tile<64x128xbf16> -> !tile.tile<128x128xf32>
    ```

    Constraints: `rows` is a multiple of 16, and excludes `transpose_b`.
  }];
  let arguments = (ins Tile_Matrix:$a, Tile_Matrix:$b, Optional<Tile_F32Matrix>:$acc, Optional<I1>:$accumulate,
                       UnitAttr:$transpose_b, UnitAttr:$negate, OptionalAttr<Tile_SliceColumnAttr>:$rows, UnitAttr:$pair);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $a `,` $b (`rows` $rows^)? (`pair` $pair^)? (`transpose_b` $transpose_b^)? (`negate` $negate^)? (`plus` $acc^ `as` type($acc))? (`if` $accumulate^)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

class Tile_SameTypeOp<string mnemonic, list<Trait> traits = []>
    : Tile_ValueOp<mnemonic, !listconcat([AllTypesMatch<["input", "result"]>], traits)>;

def Tile_ScaleOp : Tile_SameTypeOp<"scale"> {
  let summary = "Multiplies every element";
  let description = [{ `%t = tile.scale %s by -0.5 : !tile.tile<128x128xf32>` }];
  let arguments = (ins Tile_F32Tile:$input, F32Attr:$factor);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` type($input)";
}

def Tile_ScaleByOp : Tile_SameTypeOp<"scale_by"> {
  let summary = "Multiplies every element by a factor that is known at run time";
  let description = [{ `%t = tile.scale_by %s, %factor : !tile.tile<128x128xf32>` }];
  let arguments = (ins Tile_F32Tile:$input, F32:$factor);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = "$input `,` $factor attr-dict `:` type($input)";
}

def Tile_ModifyOp : Tile_SameTypeOp<"modify", [SingleBlock]> {
  let summary = "Applies a region to each score (score_mod)";
  let description = [{
    The region computes element (i, j) of the result from that of `input` and the indices `row` + i of the query row and
    `col` + j of the key. It may also use numbers and memrefs of the kernel; its ops are those of the region `score` of
    `fmha.attention`. Elements in rows or keys that the sequence does not have are arbitrary.

    If the view of the queries packs heads, `row` counts its rows, and the region has one more argument, the head of row
    i. Elements of heads that the group does not have are arbitrary, too.

    With `if`, the region runs only if the condition, the same for the whole tile, holds; otherwise the result is `input`.

    ```mlir
    %x = tile.modify %s at %q[%row, %col] : !tile.tile<128x128xf32>, !tile.view<?x128xbf16> {
    ^bb0(%e: f32, %i: index, %j: index):
      %b = fmha.read %bias[%head, %i, %j] : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>
      %y = arith.addf %e, %b : f32
      tile.yield %y : f32
    }
    %w = tile.modify %s at %q[%row, %col] if %partial : !tile.tile<128x128xf32>, !tile.view<?x128xbf16> {
    ^bb0(%e: f32, %i: index, %j: index):
      %seen = arith.cmpi sle, %j, %i : index
      %y = arith.select %seen, %e, %none : f32
      tile.yield %y : f32
    }
    %z = tile.modify %s at %packed[%row, %col] : !tile.tile<128x128xf32>, !tile.view<?x128xbf16, heads = 16> {
    ^bb0(%e: f32, %i: index, %j: index, %h: index):
      %b = fmha.read %bias[%h, %i, %j] : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>
      %y = arith.addf %e, %b : f32
      tile.yield %y : f32
    }
    ```

    Constraints: the view is made by a `tile.view` of rows of several columns; the tile has at least as many rows as
    heads are packed.
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_ViewType:$queries, Index:$row, Index:$col,
                       Optional<I1>:$condition);
  let results = (outs Tile_F32Matrix:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $input `at` $queries `[` $row `,` $col `]` (`if` $condition^)? attr-dict `:` type($input) `,` type($queries) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "ViewOp getQueriesOp();";
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, HasParent<"ModifyOp">]> {
  let summary = "Ends a region of tile.modify and returns the new element";
  let description = [{ `tile.yield %y : f32` ends the region of a `tile.modify`. }];
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_MaskOp : Tile_SameTypeOp<"mask", [AttrSizedOperandSegments]> {
  let summary = "Replaces the scores of hidden keys by minus infinity";
  let description = [{
    Element (i, j) is kept if the view of the keys has row k = `col` + j, and `row` + i + `lower` <= k <= `row` + i +
    `upper`; all others become minus infinity. An absent bound hides no key. Bounds are run-time values, so that blocks of
    one loop may have different bands. If query row r is aligned with key r + offset and sees `left` keys before and
    `right` keys after that one, the bounds are offset - left and offset + right. The arithmetic has 32 bits, in which
    row, bounds and keys, and sums of two of them, must fit. If the view of the queries packs n heads, row i of the tile
    is query row `row` + i / n.

    ```mlir
    %x = tile.mask %s at %q[%row], %k[%col] : !tile.tile<128x128xf32>, !tile.view<?x128xbf16>, !tile.view<?x128xbf16>
    %y = tile.mask %s at %q[%row], %k[%col] from %lower to %upper
        : !tile.tile<128x128xf32>, !tile.view<?x128xbf16>, !tile.view<?x128xbf16>
    ```

    Constraints: the views are made by `tile.view` of rows of several columns; the tile has at least as many rows as
    heads are packed; the view of the keys packs no heads.
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_ViewType:$queries, Index:$row, Index:$col, Tile_ViewType:$keys,
                       Optional<Index>:$lower, Optional<Index>:$upper);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = [{
    $input `at` $queries `[` $row `]` `,` $keys `[` $col `]` (`from` $lower^)? (`to` $upper^)?
    attr-dict `:` type($input) `,` type($queries) `,` type($keys)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ViewOp getQueriesOp();
    ViewOp getKeysOp();
  }];
}

def Tile_RowMaxOp
    : Tile_ValueOp<"row_max", [AllTypesMatch<["old", "max", "alpha"]>, Tile_RowsMatch<["input", "old"]>]> {
  let summary = "The running row maximum, and the factor that it gives earlier sums";
  let description = [{
    Let t = max(`old`, row maximum of `input`). If (t - `old`)·`log2_scale` > `threshold`, then `max` = t and `alpha` =
    2^((`old` - t)·`log2_scale`); otherwise `max` = `old` and `alpha` = 1. Any maximum gives the same softmax; to keep a
    slightly smaller one avoids rescaling O, and P is at most 2^`threshold`.

    ```mlir
    %m, %alpha = tile.row_max %x, %m_old scale 0.127 threshold 8.0 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$old, F32Attr:$log2_scale, F32Attr:$threshold);
  let results = (outs Tile_F32Row:$max, Tile_F32Row:$alpha);
  let assemblyFormat = [{
    $input `,` $old `scale` $log2_scale `threshold` $threshold attr-dict `:` type($input) `,` type($old)
  }];
}

def Tile_Exp2Op : Tile_SameTypeOp<"exp2", [Tile_RowsMatch<["input", "max"]>]> {
  let summary = "2^((x - max)·log2_scale + offset), with the maximum of each row";
  let description = [{
    A row whose maximum is minus infinity (all keys so far are hidden) gives zeros, not NaN. `emulated` percent of the
    elements are computed on the FMA units, by a polynomial with a relative error of 2^-13.7 (2^-18.5 in a kernel that
    writes an LSE), the others by `ex2.approx`.

    ```mlir
    %p = tile.exp2 %x, %m scale 0.127 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    %p = tile.exp2 %x, %m scale 0.127 offset 8 emulated 25 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$max, F32Attr:$log2_scale,
    Tile_ExponentAttr:$offset,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<100>]>, "0">:$emulated);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = [{
    $input `,` $max `scale` $log2_scale (`offset` $offset^)? (`emulated` $emulated^)? attr-dict `:` type($input) `,` type($max)
  }];
}

def Tile_RowSumOp
    : Tile_ValueOp<"row_sum", [AllTypesMatch<["old", "alpha", "result"]>, Tile_RowsMatch<["input", "old"]>]> {
  let summary = "old·alpha + 2^-offset · the sum of each row";
  let description = [{
    The result is a sum of exponentials without the factor 2^`offset` of `tile.exp2`. With `partial` each thread adds only
    the elements that it has, and `tile.row_total` completes the sums: a loop over many tiles then reduces across threads only once.

    ```mlir
    %l = tile.row_sum %p, %l_old, %alpha offset 8 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$old, Tile_F32Row:$alpha, Tile_ExponentAttr:$offset,
                       UnitAttr:$partial);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat =
      "$input `,` $old `,` $alpha (`offset` $offset^)? (`partial` $partial^)? attr-dict `:` type($input) `,` type($old)";
}

def Tile_RowTotalOp : Tile_SameTypeOp<"row_total"> {
  let summary = "Adds the parts of each row's sum over the threads that share the row";
  let description = [{
    The input is a `tile.row_sum` with `partial`, or 0.

    ```mlir
    %t = tile.row_total %l : !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Row:$input);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tile_CastOp : Tile_ValueOp<"cast", [Tile_ShapesMatch<["input", "result"]>]> {
  let summary = "Rounds every element to nearest even";
  let description = [{
    `%h = tile.cast %p : !tile.tile<128x128xf32> to !tile.tile<128x128xbf16>`

    Constraints: input and result have the same place, so that a thread keeps its columns.
  }];
  let arguments = (ins Tile_F32Matrix:$input);
  let results = (outs Tile_HalfMatrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_SameTypeOp<"rescale", [Tile_RowsMatch<["input", "alpha"]>]> {
  let summary = "Multiplies each row by its own factor";
  let description = [{
    In tensor memory rows are multiplied in place, and skipped if every factor is 1. The rescale of a `tile.fill` with 0
    folds to the fill.

    ```mlir
    %b = tile.rescale %acc, %alpha : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$alpha);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = "$input `,` $alpha attr-dict `:` type($input) `,` type($alpha)";
  let hasFolder = 1;
}

def Tile_NormalizeOp
    : Tile_ValueOp<"normalize", [Tile_ShapesMatch<["input", "result"]>, Tile_RowsMatch<["input", "sum"]>]> {
  let summary = "Divides each row by its sum and rounds; a row with sum 0 becomes 0";
  let description = [{
    With `undivided`, rows are only rounded. The factor 2^`offset` of the exponentials is removed in both cases. All rows are
    multiplied by `scale`, if there is one, before they are rounded.

    ```mlir
    %o = tile.normalize %acc, %l : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<128x128xbf16>
    %o = tile.normalize %acc, %l times %scale : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$sum, Optional<F32>:$scale, UnitAttr:$undivided, Tile_ExponentAttr:$offset);
  let results = (outs Tile_HalfMatrix:$result);
  let assemblyFormat = "$input `,` $sum (`times` $scale^)? (`undivided` $undivided^)? (`offset` $offset^)? attr-dict `:` type($input) `,` type($sum) `to` type($result)";
}

def Tile_AddSinkOp : Tile_ValueOp<"add_sink", [AllTypesMatch<["max", "sum", "sink", "result"]>]> {
  let summary = "The sum with one more term, 2^(sink - max·log2_scale)";
  let description = [{
    `sink` has a logit in log2 units for each row. A row whose maximum is minus infinity (all keys are hidden) keeps its
    sum, 0: a sink has no value vector, so that the output of the row is 0.

    ```mlir
    %s = tile.add_sink %m, %l sink %logit scale 0.127 : !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Row:$max, Tile_F32Row:$sum, Tile_F32Row:$sink, F32Attr:$log2_scale);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = "$max `,` $sum `sink` $sink `scale` $log2_scale attr-dict `:` type($max)";
}

def Tile_LseOp : Tile_ValueOp<"lse", [AllTypesMatch<["max", "sum", "result"]>]> {
  let summary = "Natural logarithm of the sum of exponentials: max·(log2_scale·ln 2) + ln 2·log2 sum";
  let description = [{
    With a `sink`, a logit in log2 units for each row, the logarithm is that of the sum plus 2^sink; `sum` does not contain
    the sink.

    ```mlir
    %e = tile.lse %m, %l scale 0.127 : !tile.tile<128xf32>
    %f = tile.lse %m, %l sink %logit as !tile.tile<128xf32> scale 0.127 : !tile.tile<128xf32>
    ```

    Constraints: `sink` is a tile of the type of `sum`.
  }];
  let arguments = (ins Tile_F32Row:$max, Tile_F32Row:$sum, Optional<Tile_F32Row>:$sink, F32Attr:$log2_scale);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = [{
    $max `,` $sum (`sink` $sink^ `as` type($sink))? `scale` $log2_scale attr-dict `:` type($max)
  }];
  let hasVerifier = 1;
}

def Tile_MoveOp : Tile_ValueOp<"move"> {
  let summary = "Copies a tile to another place";
  let description = [{
    ```mlir
    %r = tile.move %s : !tile.tile<128x128xf32, #tile.tmem<column = 0>> to !tile.tile<128x128xf32, #tile.registers>
    ```
  }];
  let arguments = (ins Tile_TileType:$input, Optional<Tile_TileType>:$into);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input (`into` $into^ `as` type($into))? attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

#endif // FMHA_DIALECT_TILE_IR_TILEOPS_TD
