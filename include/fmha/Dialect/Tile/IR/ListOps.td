//===- ListOps.td - Ops that read lists in memory ----------*- tablegen -*-===//
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
  let arguments = (ins MemRefRankOf<[I32], [1]>:$lengths, Index:$slot, Index:$sequences, I32Attr:$splits, I32Attr:$keys);
  let results = (outs Index:$sequence, Index:$part, Index:$parts);
  let assemblyFormat = "$lengths `[` $slot `]` `of` $sequences `splits` $splits `keys` $keys attr-dict `:` type($lengths)";
}

#endif // FMHA_DIALECT_TILE_IR_LISTOPS_TD
