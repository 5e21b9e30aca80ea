//===- ListOps.td - Ops of a CTA above its roles ------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_LISTOPS_TD
#define FMHA_DIALECT_TILE_IR_LISTOPS_TD

include "fmha/Dialect/Tile/IR/TileOps.td"

def Tile_ListLengthOp : Tile_Op<"list_length", [MemoryEffects<[MemRead]>]> {
  let summary = "Counts the entries of a list before the first negative one";
  let description = [{
    The list has entries `first` to `first` + `most` - 1; without a negative one the result is `most`. All threads of a warp
    run the op together, and share the reading.

    ```mlir
    %n = tile.list_length %topk[%first] to %most : memref<?xi32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins MemRefRankOf<[I32], [1]>:$list, Index:$first, Index:$most);
  let results = (outs Index:$result);
  let assemblyFormat = "$list `[` $first `]` `to` $most attr-dict `:` type($list)";
}

def Tile_ListEntryOp : Tile_Op<"list_entry", [NoMemoryEffect]> {
  let summary = "Reads an entry of a list that the launch does not write";
  let description = [{
    The result is entry `place` of the list if the condition holds, and 0 otherwise; the list is not read then. Since nothing writes the list
    during the launch, the op has no memory effects: each role reads it again. It is not speculatable, since the place must be in the list.

    ```mlir
    %n = tile.list_entry %kv_indices[%place] if %partial : memref<?xi32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins MemRefRankOf<[I32], [1]>:$list, Index:$place, I1:$condition);
  let results = (outs Index:$result);
  let assemblyFormat = "$list `[` $place `]` `if` $condition attr-dict `:` type($list)";
}

def Tile_FindSlotOp : Tile_Op<"find_slot", [MemoryEffects<[MemRead]>]> {
  let summary = "Finds the sequence, and the part of its keys, that a slot of split-KV computes";
  let description = [{
    Sequences share `splits` slots per sequence by their KV blocks of `keys` keys (`fmha/Schedule/Model/SplitShares.h`).
    The results are the sequence of the slot, the number of its part, and the number of parts of that sequence. A slot
    that no sequence needs is part 1 of 1 of sequence 0. All threads of a warp run the op together.

    ```mlir
    %b, %part, %parts = tile.find_slot %kv_lens[%slot] of %batch splits 4 keys 64 : memref<?xi32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins MemRefRankOf<[I32], [1]>:$lengths, Index:$slot, Index:$sequences, Tile_CountAttr:$splits, Tile_CountAttr:$keys);
  let results = (outs Index:$sequence, Index:$part, Index:$parts);
  let assemblyFormat = "$lengths `[` $slot `]` `of` $sequences `splits` $splits `keys` $keys attr-dict `:` type($lengths)";
}

def Tile_AppendRowsOp : Tile_Op<"append_rows", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies the new rows of a sequence to the caches of K and V";
  let description = [{
    The last n of the `length` rows of sequence `sequence` are new: row t of `key_new` and `value_new`, which have n rows
    for each sequence, is row `length` - n + t. The op copies the new rows in [`first`, `end`) to `key` and `value`, where
    they lie in the batch of the sequence or in the pages that the table names. Rows before 0, and those of a page that
    the caches do not have, do not exist and are not written. Entries of the table are read for these rows only.

    All threads of the CTA run the op together, above the roles, and share the vectors of 16 bytes of a row. If TMA loads
    the caches, a fence makes the rows visible to it. The CTA's barrier before the roles orders the copies before all
    loads of this CTA. Nothing orders them for other CTAs, so no other CTA may load these rows.

    With `rotary` the first 2c columns of a row of `key_new` are rotated by the angles of the row's number, as `fmha.append`
    rotates them: `cos` and `sin` have c columns and a row per position. Pairs are columns 2j and 2j + 1 if `interleaved`, or j
    and j + c.

    ```mlir
    tile.append_rows %key_new, %value_new[%b] to %K, %V head %h from %first to %end before %length
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
    tile.append_rows %key_new, %value_new[%b] to %K, %V pages %table[%entry] : memref<?xi32> head %h from %first to %end
        before %length
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x16x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x16x?x128xbf16, strided<[?, ?, ?, 1]>>
    tile.append_rows %key_new, %value_new[%b] to %K, %V
        rotary %cos, %sin : memref<?x64xf32, strided<[?, 1]>, #gpu.address_space<global>>,
                            memref<?x64xf32, strided<[?, 1]>, #gpu.address_space<global>>
        head %h from %first to %end before %length
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>,
          memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
    ```

    Constraints: all tensors have four dimensions and the same element type, f16, bf16 or f8E4M3FN; the last dimension is static, of whole vectors of 16 bytes;
    `key_new` has the last dimension of `key`, and `value_new` that of `value`; caches of pages have a static number of rows per page, and a contiguous
    table with its entry; `cos` and `sin` are matrices of f32 with a static number of columns, at most half of those of `key_new`, whose elements then have 16 bits.
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyMemRef:$key_new, AnyMemRef:$value_new, Index:$sequence, AnyMemRef:$key, AnyMemRef:$value,
                       Optional<MemRefRankOf<[I32], [1]>>:$pages, Optional<Index>:$entry,
                       Optional<MemRefRankOf<[F32], [2]>>:$cos, Optional<MemRefRankOf<[F32], [2]>>:$sin, Index:$head,
                       Index:$first, Index:$end, Index:$length, UnitAttr:$interleaved);
  let assemblyFormat = [{
    $key_new `,` $value_new `[` $sequence `]` `to` $key `,` $value (`pages` $pages^ `[` $entry `]` `:` type($pages))?
    (`rotary` $cos^ `,` $sin `:` type($cos) `,` type($sin) (`interleaved` $interleaved^)?)?
    `head` $head `from` $first `to` $end `before` $length attr-dict
    `:` type($key_new) `,` type($value_new) `,` type($key) `,` type($value)
  }];
}

def Tile_LoadRotatedOp : Tile_RowsOp<"load_rotated", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads a tile of rows of a view by threads, with a rotary embedding if there is one";
  let description = [{
    The tile is that of `tile.load`, with the first 2c columns of each row rotated, as `fmha.append` rotates them, by the
    angles in row `position` + r of `cos` and `sin`, which have c columns, where r is the number of the row in the view.
    Rows at a position below 0, or after the last one of the tables, are as they are. Pairs are columns 2j and 2j + 1 if
    `interleaved`, or j and j + c. Without tables the rows are copied with `cp.async`.

    All threads of the CTA run the op together, above the roles, and write the tile to shared memory. Rows that were rotated
    are visible to TMA and MMA after a fence, and the CTA's barrier before the roles orders them before all uses; rows that
    were copied are there when the first group of copies is complete. There is no channel.

    ```mlir
    %q = tile.load_rotated %view[%row] at %position by %cos, %sin : !tile.view<?x128xbf16, heads = 16>,
        memref<?x64xf32, strided<[?, 1]>, #gpu.address_space<global>>,
        memref<?x64xf32, strided<[?, 1]>, #gpu.address_space<global>> -> !tile.tile<128x128xbf16>
    %q = tile.load_rotated %view[%row] : !tile.view<?x128xbf16> -> !tile.tile<128x128xbf16>
    ```

    Constraints: those of `tile.load`; the view is one of a batch, of a tensor in global memory with a static head dim,
    without a first column and, with tables, without a first row; there are a position, `cos` and `sin` or none of them;
    `cos` and `sin` have a static number of columns, at most half of that dim.
  }];
  let arguments = (ins Index:$row, Tile_ViewType:$view, Optional<Index>:$position, Optional<MemRefRankOf<[F32], [2]>>:$cos,
                       Optional<MemRefRankOf<[F32], [2]>>:$sin, UnitAttr:$interleaved);
  let results = (outs Tile_HalfMatrix:$result);
  let assemblyFormat = [{
    $view `[` $row `]` (`at` $position^ `by` $cos `,` $sin (`interleaved` $interleaved^)?)? attr-dict
    `:` type($view) (`,` type($cos)^ `,` type($sin))? `->` type($result)
  }];
}

#endif // FMHA_DIALECT_TILE_IR_LISTOPS_TD
