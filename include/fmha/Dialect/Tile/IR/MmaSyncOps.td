//===- MmaSyncOps.td - Ops of targets with mma.sync ---------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of these targets multiply by nvvm.ldmatrix and nvvm.mma.sync; these are
// the ops that upstream does not have, and those of groups of copies, whose order
// tile-verify-sync follows (SyncEffects.h).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_MMASYNCOPS_TD
#define FMHA_DIALECT_TILE_IR_MMASYNCOPS_TD

include "fmha/Dialect/Tile/IR/WgmmaOps.td"

def Tile_CommitCopiesOp : Tile_MachineOp<"commit_copies"> {
  let summary = "cp.async.commit_group: makes a group of this thread's copies since the last commit";
  let description = [{
    `tile.await_copies` counts groups. A group may be empty, so that each step of a loop commits one.

    ```mlir
    tile.commit_copies
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_AwaitCopiesOp : Tile_MachineOp<"await_copies"> {
  let summary = "cp.async.wait_group: waits until all groups of this thread except the `pending` newest ones are complete";
  let description = [{
    Copies of other threads are visible after a barrier that follows their waits.

    ```mlir
    tile.await_copies 1
    tile.sync_cta
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_CopyRowsOutOp : Tile_MachineOp<"copy_rows_out", [AttrSizedOperandSegments]> {
  let summary = "Copies rows from shared memory to a tensor";
  let description = [{
    The inverse of `tile.rotate_rows` without tables: `count` rows that lie in panels of 64 columns at `src`, with the 128-byte
    swizzle, go to the rows, heads and columns that the tensor has, from column `column` on if there is one. All threads of the
    CTA execute the op; each copies 16 bytes at a time.

    ```mlir
    tile.copy_rows_out 128 x 128 of %src to %O batch %b head %h members %n from %row before %length heads 16
        : !llvm.ptr<3>, memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
    ```

    Constraints: the tensor has whole rows of 16 bytes; `count` is a multiple of `heads` and of 8, `columns` of 8.
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$src, AnyMemRef:$dest, Index:$batch, Index:$head, Index:$members, Index:$row,
                       Index:$length, Optional<Index>:$start, Optional<Index>:$column, Tile_CountAttr:$count,
                       Tile_CountAttr:$columns, Tile_CountAttr:$heads);
  let assemblyFormat = [{
    $count `x` $columns `of` $src `to` $dest `batch` $batch `head` $head `members` $members `from` $row `before` $length
    (`start` $start^)? (`column` $column^)? `heads` $heads attr-dict `:` type($src) `,` type($dest)
  }];
  let hasVerifier = 1;
}

#endif // FMHA_DIALECT_TILE_IR_MMASYNCOPS_TD
