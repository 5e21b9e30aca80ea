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
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

/// An op on values, until its result has a place in memory: from then on it
/// writes there, and must not be moved or dropped.
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

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "A tile of rows of one head, zero where the tensor ends";
  let description = [{
    Rows `row` to `row` + rows of `src`[`batch`, :, `head`, :], columns from `column` on, 0 if it is absent. Rows at or
    beyond the length and columns at or beyond the head dim read as zero and touch no memory. `into` is the slot that the
    tile is to lie in, once it has one.

    `within` [start, length] makes it rows of one sequence: row 0 lies at `start` of the length dimension, and rows at or
    beyond `length` read as zero, whatever the tensor holds there. The sequence must lie inside the tensor.

    `heads` p `from` m packs p query heads into the rows: `head` is then a KV head, to whose group of query heads m counts,
    and row r of the tile is row `row` + r / p of the group's head m + r mod p. Heads that the group does not have read as
    zero. How many it has, q_heads / kv_heads, is said by the tensor map.

    `or` another tensor `if` a condition holds reads that one instead of `src`.

    ```mlir
    %k = tile.load %K[%batch, %col, %head] : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.tile<128x128xbf16>
    %v = tile.load %V[%batch, %col, %head] column %first
        : memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>> -> !tile.tile<128x256xbf16>
    %l = tile.load %K or %K2 : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> if %second[%batch, %col, %head]
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.tile<128x128xbf16>
    %w = tile.load %V[%batch, %col, %head] within [%start, %kv_len]
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.tile<128x128xbf16>
    %q = tile.load %Q[%batch, %row, %kv_head] heads 16 from %member
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> -> !tile.tile<128x128xbf16>
    ```

    Constraints: the tile has no more columns than the head dim rounded up to 16; `heads` is a power of two of at most the
    tile's rows, and stands beside the head that it begins with; the other tensor has the type of `src`.
  }];
  let arguments = (ins AnyMemRef:$src, Index:$batch, Index:$row, Index:$head, Optional<Index>:$member,
                       Optional<Index>:$column, Optional<Index>:$start, Optional<Index>:$length,
                       Optional<Tile_TileType>:$into, OptionalAttr<Tile_HeadsAttr>:$heads,
                       Optional<AnyMemRef>:$other, Optional<I1>:$second);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $src (`or` $other^ `:` type($other) `if` $second)? `[` $batch `,` $row `,` $head `]` (`heads` $heads^ `from` $member)?
    (`column` $column^)? (`within` `[` $start^ `,` $length `]`)?
    (`into` $into^ `as` type($into))? attr-dict `:` type($src) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Writes the part of a tile that lies inside the tensor";
  let description = [{
    Columns of the tile go to columns from `column` on, 0 if it is absent; rows and columns that the tensor does not have
    are not written. `within` [start, length] makes it rows of one sequence, as for `tile.load`: rows at or beyond `length`
    are not written; nor are heads that the group does not have, with `heads` as for `tile.load`.

    ```mlir
    tile.store %o, %O[%batch, %row, %head] : !tile.tile<128x128xbf16>, memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
    tile.store %o, %O[%zero, %row, %head] within [%start, %q_len]
        : !tile.tile<128x128xbf16>, memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
    ```

    Constraints: as for `tile.load`.
  }];
  let arguments = (ins Tile_Matrix:$value, AnyMemRef:$dest, Index:$batch, Index:$row, Index:$head,
                       Optional<Index>:$member, Optional<Index>:$column, Optional<Index>:$start,
                       Optional<Index>:$length, OptionalAttr<Tile_HeadsAttr>:$heads);
  let assemblyFormat = [{
    $value `,` $dest `[` $batch `,` $row `,` $head `]` (`heads` $heads^ `from` $member)? (`column` $column^)? (`within` `[` $start^ `,` $length `]`)?
    attr-dict `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Divides each row by its sum and writes it in f32, for the rows below `length`";
  let description = [{
    Row r of `value`, divided by its sum, goes to `dest`[`batch`, `row` + r, `head`, :] where `row` + r < `length`, columns
    from `column` on, 0 if it is absent; columns that `dest` does not have are not written. A row with sum 0 is written as
    zeros, and so is a `tile` without a value. With `undivided` rows are written as they are, but for the
    factor 2^`offset` that exponentials had and that leaves rows either way; with `start` they lie as many
    rows behind that one. `heads` p `of` n is as for `tile.store_rows`.

    The threads write from their registers: a tile of f32 in shared memory would be twice as large as the query's, whose
    place the output takes.

    ```mlir
    tile.write %acc over %l : !tile.tile<128x128xf32>, !tile.tile<128xf32> as !tile.tile<128x128xf32>
        to %O[%batch, %row, %head] below %q_len : memref<?x?x?x128xf32, strided<[?, ?, ?, 1]>>
    tile.write as !tile.tile<128x128xf32> to %O[%batch, %row, %head] below %q_len
        : memref<?x?x?x128xf32, strided<[?, ?, ?, 1]>>
    ```

    Constraints: as for `tile.load`; `tile` is the value's shape; `heads` stands beside a count.
  }];
  let arguments = (ins Optional<Tile_F32Matrix>:$value, Optional<Tile_F32Row>:$sum, TypeAttrOf<Tile_TileType>:$tile,
                       AnyMemRef:$dest, Index:$batch, Index:$row, Index:$head, Optional<Index>:$count,
                       Optional<Index>:$column, Optional<Index>:$start, Index:$length, UnitAttr:$undivided,
                       Tile_ExponentAttr:$offset, OptionalAttr<Tile_HeadsAttr>:$heads);
  let assemblyFormat = [{
    ($value^ `over` $sum `:` type($value) `,` type($sum))? `as` $tile `to` $dest `[` $batch `,` $row `,` $head `]`
    (`heads` $heads^ `of` $count)? (`column` $column^)? (`from` $start^)? `below` $length (`undivided` $undivided^)?
    (`offset` $offset^)? attr-dict `:` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "Columns of a tile, where they are";
  let description = [{
    Columns [`column`, `column` + n) of `input`, n the columns of the result. Nothing moves: in shared memory the result
    lies in panels of the input, in tensor memory in columns of it, and in registers each thread keeps those that it has.

    ```mlir
    %q1 = tile.slice %q from 128 : !tile.tile<128x512xbf16> -> !tile.tile<128x128xbf16>
    ```

    Constraints: `column` is a multiple of 16; a slice in shared memory begins at a panel of 64 columns or ends in the one
    that it begins in; a slice of 64 rows in registers is one of the parts that `#tile.registers` names.
  }];
  let arguments = (ins Tile_Matrix:$input, Tile_SliceColumnAttr:$column);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = "$input `from` $column attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure]> {
  let summary = "Slices next to each other, as the tile that they make";
  let description = [{
    The inverse of `tile.slice`: columns of the first input, then those of the next. In registers nothing moves.

    ```mlir
    %p = tile.join %p0, %p1 : !tile.tile<128x64xf32>, !tile.tile<128x64xf32> -> !tile.tile<128x128xf32>
    ```

    Constraints: tiles without a place or in registers, of one width, whose columns add up to those of the result; of 64
    rows in registers as many as the result's `slices`.
  }];
  let arguments = (ins Variadic<Tile_Matrix>:$inputs);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadRowsOp : Tile_Op<"load_rows", [MemoryEffects<[MemRead]>]> {
  let summary = "One number a row, that of the row's head";
  let description = [{
    Every row has `src`[`head`]·`factor`. With `heads` p `of` n row r has that of head `head` + r mod p, or of the last of
    the n heads from `head` on where there is none.

    ```mlir
    %s = tile.load_rows %sinks[%head] by 1.442695 : memref<?xf32> -> !tile.tile<128xf32>
    %t = tile.load_rows %sinks[%head] heads 16 of %count by 1.442695 : memref<?xf32> -> !tile.tile<128xf32>
    ```

    Constraints: `src` is a list of the result's elements; `heads` is as for `tile.load`, and stands beside a count.
  }];
  let arguments = (ins AnyMemRef:$src, Index:$head, Optional<Index>:$count, F32Attr:$factor,
                       OptionalAttr<Tile_HeadsAttr>:$heads);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = [{
    $src `[` $head `]` (`heads` $heads^ `of` $count)? `by` $factor attr-dict `:` type($src) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreRowsOp : Tile_Op<"store_rows", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "Writes one number a row, for the rows below `length`";
  let description = [{
    Row r of `value` goes to `dest`[`batch`, `head`, `row` + r] where `row` + r < `length`; with `start` to as many rows
    behind that one. With `heads` p `of` n row r is row `row` + r / p of head `head` + r mod p, and is written only if that
    is one of the n heads from `head` on.

    ```mlir
    tile.store_rows %lse, %L[%batch, %head, %row] below %q_len : !tile.tile<128xf32>, memref<?x?x?xf32, strided<[?, ?, ?]>>
    tile.store_rows %lse, %L[%batch, %head, %row] heads 16 of %count below %q_len
        : !tile.tile<128xf32>, memref<?x?x?xf32, strided<[?, ?, ?]>>
    ```

    Constraints: `heads` is as for `tile.load`, and stands beside a count.
  }];
  let arguments = (ins Tile_TileType:$value, AnyMemRef:$dest, Index:$batch, Index:$head, Index:$row,
                       Optional<Index>:$count, Optional<Index>:$start, Index:$length,
                       OptionalAttr<Tile_HeadsAttr>:$heads);
  let assemblyFormat = [{
    $value `,` $dest `[` $batch `,` $head `,` $row `]` (`heads` $heads^ `of` $count)? (`from` $start^)? `below` $length
    attr-dict `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def Tile_FillOp : Tile_ValueOp<"fill", []> {
  let summary = "A tile whose elements are all `value`";
  let description = [{
    A tile of 16-bit elements can be filled with 0 only, which needs no rounding.
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
    `a`·`b`, or `a`·`b`ᵀ with `transpose_b`, and its negative with `negate`; `acc` is added where it is given and, if there
    is one, `accumulate` holds. With `rows` the rows of `b` from that one on count, as many as `a` has columns.

    ```mlir
    %s = tile.dot %q, %k transpose_b : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    %o = tile.dot %p, %v plus %acc : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    %n = tile.dot %p1, %v rows 32 plus %o : !tile.tile<128x32xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
    ```

    Constraints: `rows` is a multiple of 16, and not there with `transpose_b`.
  }];
  let arguments = (ins Tile_Matrix:$a, Tile_Matrix:$b, Optional<Tile_F32Matrix>:$acc, Optional<I1>:$accumulate,
                       UnitAttr:$transpose_b, UnitAttr:$negate, OptionalAttr<Tile_SliceColumnAttr>:$rows);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $a `,` $b (`rows` $rows^)? (`transpose_b` $transpose_b^)? (`negate` $negate^)? (`plus` $acc^ `as` type($acc))? (`if` $accumulate^)? attr-dict
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

def Tile_ModifyOp : Tile_SameTypeOp<"modify", [SingleBlock]> {
  let summary = "What code of the op's own makes of each score";
  let description = [{
    Element (i, j) becomes what the region makes of it and of the indices `row` + i of its query row and `col` + j of its
    key. The region also takes numbers and memrefs of the kernel around it; its ops are those of a region `score` of
    `fmha.attention`. Rows and keys that the sequence does not have give values that do not matter.

    With `heads` p `from` h row i is query row `row` + i / p of head h + i mod p, and the region takes that head as well; heads
    that the group does not have give values that do not matter either.

    ```mlir
    %x = tile.modify %s at [%row, %col] : !tile.tile<128x128xf32> {
    ^bb0(%e: f32, %i: index, %j: index):
      %b = fmha.read %bias[%head, %i, %j] : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>
      %y = arith.addf %e, %b : f32
      tile.yield %y : f32
    }
    %z = tile.modify %s at [%row, %col] heads 16 from %head : !tile.tile<128x128xf32> {
    ^bb0(%e: f32, %i: index, %j: index, %h: index):
      %b = fmha.read %bias[%h, %i, %j] : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>
      %y = arith.addf %e, %b : f32
      tile.yield %y : f32
    }
    ```

    Constraints: `heads` is as for `tile.load`.
  }];
  let arguments = (ins Tile_F32Matrix:$input, Index:$row, Index:$col, Optional<Index>:$head,
                       OptionalAttr<Tile_HeadsAttr>:$heads);
  let results = (outs Tile_F32Matrix:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $input `at` `[` $row `,` $col `]` (`heads` $heads^ `from` $head)? attr-dict `:` type($input) $body
  }];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, HasParent<"ModifyOp">]> {
  let summary = "What an element becomes";
  let description = [{ `tile.yield %y : f32` ends the region of a `tile.modify`. }];
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_MaskOp : Tile_SameTypeOp<"mask", [AttrSizedOperandSegments]> {
  let summary = "Minus infinity where a query row may not see a key";
  let description = [{
    Element (i, j) stays if key k = `col` + j is below `kv_len` and `row` + i + `lower` <= k <= `row` + i + `upper`. A
    bound that is absent hides nothing. Bounds are numbers of the run, so that blocks of one loop may have bands of
    their own; of a row that sits at key r + offset and sees `left` keys before and `right` behind its own they are
    offset - left and offset + right. They are computed in 32 bits: all of row, bounds and keys, and sums of two, fit.
    With `heads` n row i of the tile is query row `row` + i / n.

    ```mlir
    %x = tile.mask %s at [%row, %col] keys %kv_len : !tile.tile<128x128xf32>
    %y = tile.mask %s at [%row, %col] keys %kv_len from %lower to %upper : !tile.tile<128x128xf32>
    %z = tile.mask %s at [%row, %col] heads 16 keys %kv_len to %upper : !tile.tile<128x128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Index:$row, Index:$col, Index:$kv_len, Optional<Index>:$lower,
                       Optional<Index>:$upper, OptionalAttr<Tile_HeadsAttr>:$heads);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = [{
    $input `at` `[` $row `,` $col `]` (`heads` $heads^)? `keys` $kv_len (`from` $lower^)? (`to` $upper^)?
    attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Tile_RowMaxOp
    : Tile_ValueOp<"row_max", [AllTypesMatch<["old", "max", "alpha"]>, Tile_RowsMatch<["input", "old"]>]> {
  let summary = "The running row maximum, and what it does to earlier sums";
  let description = [{
    With t = max(`old`, row maximum of `input`): where (t - `old`)·`log2_scale` > `threshold`, `max` = t and `alpha` =
    2^((`old` - t)·`log2_scale`); elsewhere `max` = `old` and `alpha` = 1. Any maximum gives the same softmax; keeping a
    slightly old one spares the rescaling of O, and P stays below 2^`threshold`.

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
  let summary = "2^((x - max)·log2_scale + offset), row by row";
  let description = [{
    A row whose maximum is minus infinity (no key seen yet) gives zeros, never NaN.
    `emulated` per cent of the elements are computed on the FMA units, by a
    polynomial with a relative error of 2^-13.7 (2^-18.5 in a kernel that writes an
    LSE), the others by `ex2.approx`.

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
  let summary = "old·alpha + the sum of each row·2^-offset";
  let description = [{
    The sum is one of terms without the factor that `tile.exp2` gave them.

    ```mlir
    %l = tile.row_sum %p, %l_old, %alpha offset 8 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$old, Tile_F32Row:$alpha, Tile_ExponentAttr:$offset);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = "$input `,` $old `,` $alpha (`offset` $offset^)? attr-dict `:` type($input) `,` type($old)";
}

def Tile_CastOp : Tile_ValueOp<"cast", [Tile_ShapesMatch<["input", "result"]>]> {
  let summary = "Rounds every element to nearest even";
  let description = [{
    `%h = tile.cast %p : !tile.tile<128x128xf32> to !tile.tile<128x128xbf16>`

    Constraints: both have the same place, so that a thread keeps its columns.
  }];
  let arguments = (ins Tile_F32Matrix:$input);
  let results = (outs Tile_HalfMatrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_SameTypeOp<"rescale", [Tile_RowsMatch<["input", "alpha"]>]> {
  let summary = "Multiplies each row by its own factor";
  let description = [{
    In tensor memory this happens in place, and not at all where every factor is 1.

    ```mlir
    %b = tile.rescale %acc, %alpha : !tile.tile<128x128xf32>, !tile.tile<128xf32>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$alpha);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = "$input `,` $alpha attr-dict `:` type($input) `,` type($alpha)";
}

def Tile_NormalizeOp
    : Tile_ValueOp<"normalize", [Tile_ShapesMatch<["input", "result"]>, Tile_RowsMatch<["input", "sum"]>]> {
  let summary = "Divides each row by its sum and rounds; a row with sum 0 becomes 0";
  let description = [{
    With `undivided` rows are only rounded. The factor 2^`offset` that
    exponentials had leaves them either way.

    ```mlir
    %o = tile.normalize %acc, %l : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$sum, UnitAttr:$undivided, Tile_ExponentAttr:$offset);
  let results = (outs Tile_HalfMatrix:$result);
  let assemblyFormat = "$input `,` $sum (`undivided` $undivided^)? (`offset` $offset^)? attr-dict `:` type($input) `,` type($sum) `to` type($result)";
}

def Tile_AddSinkOp : Tile_ValueOp<"add_sink", [AllTypesMatch<["max", "sum", "sink", "result"]>]> {
  let summary = "The sum with one more term, 2^(sink - max·log2_scale)";
  let description = [{
    `sink` has a logit in log2 units for each row. A row whose maximum is minus infinity (no key seen) keeps its sum, 0: a sink brings no
    value, so that its output is 0.

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
    With a `sink`, a logit in log2 units for each row, of that sum and 2^sink; `sum` is the one without it.

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
  let summary = "The same tile in another place";
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
