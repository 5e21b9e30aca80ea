//===- FactorOps.td - Factors of columns -------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scales of pages: each column of the scores, and of P, is a key, whose page has a factor.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_FACTOROPS_TD
#define FMHA_DIALECT_TILE_IR_FACTOROPS_TD

include "fmha/Dialect/Tile/IR/LaunchOps.td"

def Tile_LoadFactorsOp : Tile_RowsOp<"load_factors", [Tile_LoadOpInterface, AllTypesMatch<["keys", "values"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads the two factors of each row's page";
  let description = [{
    The result has two factors for each of n rows. Element i is the entry of `keys` for the page of row `row` + i of the
    view, and element n + i is that of `values`. Factors of rows after the last row of the view are 0. `into` is the slot for
    the result, from the specialised level on.

    ```mlir
    %f = tile.load_factors %ks, %vs of %k[%row] : memref<?xf32>, !tile.view<?x128xf8E4M3FN> -> !tile.tile<128xf32>
    ```

    Constraints: the view is made by a `tile.view` with pages; the result has at most 256 elements, a multiple of 32.
  }];
  let arguments = (ins MemRefRankOf<[F32], [1]>:$keys, MemRefRankOf<[F32], [1]>:$values, Tile_ViewType:$view, Index:$row,
                       Optional<Tile_TileType>:$into);
  let results = (outs Tile_F32Row:$result);
  let assemblyFormat = [{
    $keys `,` $values `of` $view `[` $row `]` (`into` $into^ `as` type($into))? attr-dict
    `:` type($keys) `,` type($view) `->` type($result)
  }];
}

def Tile_ScaleColumnsOp : Tile_SameTypeOp<"scale_columns"> {
  let summary = "Multiplies each column by its own factor";
  let description = [{
    Column j is multiplied by element `first` + j of `factors`, in f32.

    ```mlir
    %t = tile.scale_columns %s by %f from 64 : !tile.tile<128x64xf32>, !tile.tile<128xf32>
    ```

    Constraints: there is a factor for each column.
  }];
  let arguments = (ins Tile_F32Matrix:$input, Tile_F32Row:$factors, Tile_SliceColumnAttr:$first);
  let results = (outs Tile_F32Matrix:$result);
  let assemblyFormat = "$input `by` $factors `from` $first attr-dict `:` type($input) `,` type($factors)";
  let hasVerifier = 1;
}

def Tile_ReadFactorsOp : Tile_MachineOp<"read_factors", [AllTypesMatch<["keys", "values"]>, AttrSizedOperandSegments]> {
  let summary = "Loads the two factors of this thread's row";
  let description = [{
    Thread t of the warps from `first_warp` on returns the entries of `keys` and `values` for the page of row `row` + t, or 0
    if that row is not below `length`. Results of threads from `count` on are not used. `src` is the paged cache; `list` names
    rows as in `tile.view`. The loads may be in flight until `tile.write_factors`.

    ```mlir
    %k, %v = tile.read_factors 64 of %ks, %vs in %K pages %table[%entry] from %row before %length warps from 4
        : memref<?xf32>, memref<?x16x?x128xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, memref<?xi32>
    ```

    Constraints: `src` has a static number of rows per page; at most 128 rows, one for each thread of a warpgroup.
  }];
  let arguments = (ins MemRefRankOf<[F32], [1]>:$keys, MemRefRankOf<[F32], [1]>:$values, AnyMemRef:$src,
                       MemRefRankOf<[I32], [1]>:$pages, Index:$entry,
                       Optional<MemRefRankOf<[I32], [1]>>:$list, Optional<Index>:$first, Optional<Index>:$bound,
                       Index:$row, Index:$length, Tile_CountAttr:$count, Tile_OffsetAttr:$first_warp);
  let results = (outs F32:$key, F32:$value);
  let assemblyFormat = [{
    $count `of` $keys `,` $values `in` $src `pages` $pages `[` $entry `]`
    (`list` $list^ `[` $first `]` `below` $bound `:` type($list))? `from` $row `before` $length `warps` `from` $first_warp
    attr-dict `:` type($keys) `,` type($src) `,` type($pages)
  }];
  let hasVerifier = 1;
}

def Tile_WriteFactorsOp : Tile_MachineOp<"write_factors"> {
  let summary = "Stores the factors of this thread's row to shared memory";
  let description = [{
    Thread t of the warps from `first_warp` on stores the two numbers to elements t and `count` + t at `dest`, if t is below
    `count`.

    ```mlir
    tile.write_factors %k, %v of 64 to %dest warps from 4 : !llvm.ptr<3>
    ```

    Constraints: `count` is a multiple of 16 and at most 128, one row for each thread of a warpgroup.
  }];
  let arguments = (ins F32:$key, F32:$value, LLVM_PointerInAddressSpace<3>:$dest, Tile_CountAttr:$count,
                       Tile_OffsetAttr:$first_warp);
  let hasVerifier = 1;
  let assemblyFormat = "$key `,` $value `of` $count `to` $dest `warps` `from` $first_warp attr-dict `:` type($dest)";
}

#endif // FMHA_DIALECT_TILE_IR_FACTOROPS_TD
