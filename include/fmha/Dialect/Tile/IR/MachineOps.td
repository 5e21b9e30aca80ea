//===- MachineOps.td - One op, one instruction -------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_MACHINEOPS_TD
#define FMHA_DIALECT_TILE_IR_MACHINEOPS_TD

include "fmha/Dialect/Tile/IR/ChannelOps.td"
include "fmha/Dialect/Tile/IR/TileInterfaces.td"

/// Every machine op acts on memory or on synchronization that SSA does not show.
class Tile_MachineOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([MemoryEffects<[MemRead, MemWrite]>,
                                     DeclareOpInterfaceMethods<Tile_SyncOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def Tile_BarrierOp : Tile_Op<"barrier", [Pure]> {
  let summary = "mbarriers at a byte offset in dynamic shared memory";
  let description = [{
    `arrivals` is the count that completes a phase. In code that several roles share, the address is `offset` `plus` a
    number of bytes that depends on the role.

    ```mlir
    %full = tile.barrier "kv.full" at 229376 arrivals 1 : !tile.barrier<3>
    %own = tile.barrier "q0.full" at 229440 plus %bytes arrivals 1 : !tile.barrier<1>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins StrAttr:$name, Tile_AlignedOffsetAttr<8>:$offset, Tile_ArrivalsAttr:$arrivals, Optional<I32>:$distance);
  let results = (outs Tile_BarrierType:$result);
  let assemblyFormat = "$name `at` $offset (`plus` $distance^)? `arrivals` $arrivals attr-dict `:` type($result)";
}

def Tile_InitBarrierOp : Tile_MachineOp<"init_barrier"> {
  let summary = "mbarrier.init of every stage";
  let description = [{ `tile.init_barrier %full arrivals 1 : !tile.barrier<3>` }];
  let arguments = (ins Tile_BarrierType:$barrier, Tile_ArrivalsAttr:$arrivals);
  let assemblyFormat = "$barrier `arrivals` $arrivals attr-dict `:` type($barrier)";
}

def Tile_InvalBarrierOp : Tile_MachineOp<"inval_barrier"> {
  let summary = "mbarrier.inval of every stage, after which they can be initialized again";
  let description = [{
    No thread may wait for them or signal them any more, and no asynchronous operation in flight may signal them.
    `tile.inval_barrier %full : !tile.barrier<3>`
  }];
  let arguments = (ins Tile_BarrierType:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` type($barrier)";
}

class Tile_BarrierStageOp<string mnemonic, dag extra = (ins)> : Tile_MachineOp<mnemonic> {
  let arguments = !con((ins Tile_BarrierType:$barrier, Index:$stage), extra);
}

/// Ops on a barrier that may belong to a pair of CTAs, whose MMA role runs in the even CTA: `pair` is their form for pairs.
class Tile_PairedStageOp<string mnemonic, dag extra = (ins), dag flags = (ins)>
    : Tile_BarrierStageOp<mnemonic, !con(extra, (ins UnitAttr:$pair), flags)>;

def Tile_WaitOp : Tile_PairedStageOp<"wait", (ins Index:$parity)> {
  let summary = "Waits until the phase of parity `parity` (0 or 1) has completed";
  let description = [{
    A loop around mbarrier.try_wait.parity, which may fail spuriously. With `pair`, it acquires the arrivals of both CTAs (cluster scope).
    `tile.wait %full[%stage] parity %p : !tile.barrier<3>`
  }];
  let assemblyFormat = "$barrier `[` $stage `]` `parity` $parity (`pair` $pair^)? attr-dict `:` type($barrier)";
}

def Tile_ArriveOp : Tile_PairedStageOp<"arrive"> {
  let summary = "mbarrier.arrive (release, CTA scope)";
  let description = [{
    With `pair`, it arrives at the barrier of the even CTA of the pair (release, cluster scope).
    `tile.arrive %empty[%stage] : !tile.barrier<3>`, `tile.arrive %p_full[%stage] pair : !tile.barrier<2>`
  }];
  let assemblyFormat = "$barrier `[` $stage `]` (`pair` $pair^)? attr-dict `:` type($barrier)";
}

def Tile_ArriveCopiesOp : Tile_BarrierStageOp<"arrive_copies"> {
  let summary = "cp.async.mbarrier.arrive.noinc: arrives once all earlier cp.async of this thread are complete";
  let description = [{
    The copies are writes of the generic proxy. Threads that wait for the phase must execute a fence `proxy_async` before a
    product reads the data. `tile.arrive_copies %full[%stage] : !tile.barrier<3>`
  }];
  let assemblyFormat = "$barrier `[` $stage `]` attr-dict `:` type($barrier)";
}

def Tile_ArriveExpectTxOp : Tile_PairedStageOp<"arrive_expect_tx", (ins Tile_TransactionAttr:$bytes)> {
  let summary = "mbarrier.arrive.expect_tx: one arrival, and `bytes` more that TMA will write";
  let description = [{
    With `pair`, the barrier is that of the even CTA of the pair. `tile.arrive_expect_tx %full[%stage] bytes 32768 : !tile.barrier<3>`
  }];
  let assemblyFormat = "$barrier `[` $stage `]` `bytes` $bytes (`pair` $pair^)? attr-dict `:` type($barrier)";
}

def Tile_CommitOp : Tile_PairedStageOp<"commit", (ins), (ins UnitAttr:$both)> {
  let summary = "tcgen05.commit: arrives once all earlier MMAs of this thread are complete";
  let description = [{
    With `pair`, the MMAs are those of a pair of CTAs (cta_group::2). With `both`, it arrives at the barriers of both (multicast).
    `tile.commit %s_full[%stage] : !tile.barrier<1>`, `tile.commit %s_full[%stage] pair both : !tile.barrier<1>`

    Constraints: `both` needs `pair`.
  }];
  let assemblyFormat = "$barrier `[` $stage `]` (`pair` $pair^)? (`both` $both^)? attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}

def Tile_FenceOp : Tile_MachineOp<"fence"> {
  let summary = "Orders one kind of access before or after a synchronization";
  let description = [{
    `tcgen05_before` and `tcgen05_after` go before and after a synchronization that passes tensor memory between threads;
    `proxy_async` makes generic writes to shared memory visible to TMA and MMA; `mbarrier_init` makes initialized barriers
    visible to them. `tile.fence proxy_async`
  }];
  let arguments = (ins Tile_FenceKindAttr:$kind);
  let assemblyFormat = "`` $kind attr-dict";
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

def Tile_SlotAddressOp : Tile_Op<"slot", [Pure]> {
  let summary = "The tile in stage `stage` of a place; reads no memory";
  let description = [{ `%k = tile.slot %stage : !tile.tile<128x128xbf16, #tile.smem<offset = 65536, stages = 3>>` }];
  let arguments = (ins Index:$stage);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$stage attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SmemAddressOp : Tile_Op<"smem_address", [Pure]> {
  let summary = "Address of a byte of dynamic shared memory";
  let description = [{ `%p = tile.smem_address 65536` }];
  let arguments = (ins Tile_OffsetAttr:$offset);
  let results = (outs LLVM_PointerInAddressSpace<3>:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
}

def Tile_TmemAddressOp : Tile_Op<"tmem_address", [Pure]> {
  let summary = "Address of a column of the kernel's tensor memory, at the lanes of this warp";
  let description = [{
    `base` is the address that `tmem_alloc` stored. With `of_warp` the lane field gets 32·(warp mod 4), because a warp can
    access only the 32 lanes of its subpartition. `lane` is added to the lane field.
    `%t = tile.tmem_address 128 from %base of_warp`, `%s = tile.tmem_address 0 lane 16 from %base`
  }];
  let arguments = (ins Tile_TmemColumnAttr:$column, DefaultValuedAttr<Tile_TmemLaneAttr, "0">:$lane, I32:$base,
                       UnitAttr:$of_warp);
  let results = (outs LLVM_PointerInAddressSpace<6>:$result);
  let assemblyFormat = [{
    $column (`lane` $lane^)? `from` $base (`of_warp` $of_warp^)? attr-dict `:` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

/// A tensor [batch, length, heads, dim] that TMA copies boxes of.
def Tile_Tensor : MemRefRankOf<[F16, BF16], [4]>;

def Tile_TmaLoadOp : Tile_MachineOp<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "cp.async.bulk.tensor of one box into shared memory";
  let description = [{
    The box begins at column `first` + `column`, where an absent `first` is 0. With `or` and `if`, the box comes from the
    other tensor if the condition holds.

    A varlen tensor has a tensor map of five dimensions, [head_dim, rows, heads, batch, ends], whose base address lies
    one extent of rows before the tensor. `end` is the first row after the sequence. `row` counts from one extent of rows
    before `end`, so that row i of a sequence is `extent` - length + i, and the map ends where the sequence ends.

    With `from`, a member of a group of query heads, the map is [head_dim, group, rows, kv_heads, batch], or has ends in
    place of batch; `head` is a KV head, and the box has rows of several query heads.

    With `pair`, the copy writes to this CTA and signals the barrier of the even CTA of the pair (cta_group::2).

    `tile.tma_load %K[%batch, %row, %head] column 64 to %dst signals %full[%stage] : memref<...>, !llvm.ptr<3>, !tile.barrier<3>`
  }];
  let arguments = (ins Tile_Tensor:$src, Index:$batch, Index:$row, Index:$head, Optional<Index>:$member,
                       Tile_BoxColumnAttr:$column, Optional<Index>:$first, Optional<Index>:$end, LLVM_PointerInAddressSpace<3>:$dest,
                       Tile_BarrierType:$barrier, Index:$stage, Optional<Tile_Tensor>:$other, Optional<I1>:$second,
                       UnitAttr:$pair);
  let assemblyFormat = [{
    $src (`or` $other^ `:` type($other) `if` $second)? `[` $batch `,` $row `,` $head `]` (`from` $member^)?
    `column` $column (`behind` $first^)? (`before` $end^)? `to` $dest
    `signals` $barrier `[` $stage `]` (`pair` $pair^)? attr-dict `:` type($src) `,` type($dest) `,` type($barrier)
  }];
  let hasVerifier = 1;
}

def Tile_TmaGatherOp : Tile_MachineOp<"tma_gather", [AttrSizedOperandSegments]> {
  let summary = "cp.async.bulk.tensor.tile::gather4 of four rows into shared memory";
  let description = [{
    Copies 64 columns, from column `first` + `column` on, of four rows to consecutive rows of a panel at `dest`, where an
    absent `first` is 0. Row n is row `rows`[n] of head `head` in `batches`[n], a batch or a page. All of them must be rows of the tensor. Columns that the tensor
    does not have are written as zeros.

    The tensor map has two dimensions, [head_dim, chunks]: a row of the map begins at every 16
    bytes of the tensor. Rows of the map overlap, and each row of each head and batch is a row of the map. The kernel computes
    its number from the strides of the tensor, which are parameters.

    ```mlir
    tile.tma_gather %K[%page0, %page1, %page2, %page3] rows [%r0, %r1, %r2, %r3] head %h column 64 to %dst
        signals %full[%stage] : memref<?x1x?x128xbf16, strided<[?, ?, ?, 1]>>, !llvm.ptr<3>, !tile.barrier<3>
    ```

    Constraints: there are four batches and four rows.
  }];
  let arguments = (ins Tile_Tensor:$src, Variadic<Index>:$batches, Variadic<Index>:$rows, Index:$head,
                       Tile_BoxColumnAttr:$column, Optional<Index>:$first, LLVM_PointerInAddressSpace<3>:$dest,
                       Tile_BarrierType:$barrier, Index:$stage);
  let assemblyFormat = [{
    $src `[` $batches `]` `rows` `[` $rows `]` `head` $head `column` $column (`behind` $first^)? `to` $dest
    `signals` $barrier `[` $stage `]` attr-dict `:` type($src) `,` type($dest) `,` type($barrier)
  }];
  let hasVerifier = 1;
}

def Tile_CopyRowsOp : Tile_MachineOp<"copy_rows", [AttrSizedOperandSegments]> {
  let summary = "Copies rows of a tile to shared memory with cp.async";
  let description = [{
    Copies rows [`row`, `row` + `count`) of a view to panels of 64 columns at `dest`, with the 128-byte swizzle. The operands
    have the meaning that they have in `tile.view`: the rows lie in the batch, from row `start` on if there is one, or in
    the pages that the table names, and may be those that a list names. Rows from `length` on, and columns that the tensor does not have, are written as
    zeros. `warps` consecutive warps, of which `first_warp` is the first, execute the op; each thread copies 16 bytes at a
    time. `tile.arrive_copies` signals that the copies are complete.

    ```mlir
    tile.copy_rows 128 x 128 of %K pages %table[%entry] head %h from %row before %length to %dest warps 2 from 2
        : memref<?x16x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?xi32>
    tile.copy_rows 128 x 128 of %K batch %b head %h from %row before %length to %dest warps 2 from 2
        : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>
    ```

    Constraints: the tensor has elements of f16 or bf16 in whole chunks of 16 bytes; lists are contiguous; there is either a batch or a table of pages; `warps` is 2 or 4, and
    `count` is a multiple of 4 · `warps`.
  }];
  let arguments = (ins AnyMemRef:$src, Optional<MemRefRankOf<[I32], [1]>>:$pages, Optional<Index>:$entry,
                       Optional<MemRefRankOf<[I32], [1]>>:$list, Optional<Index>:$first, Optional<Index>:$bound,
                       Optional<Index>:$batch, Index:$head, Index:$row, Index:$length, Optional<Index>:$start,
                       Optional<Index>:$column, LLVM_PointerInAddressSpace<3>:$dest, Tile_CountAttr:$count, Tile_CountAttr:$columns,
                       Tile_CountAttr:$warps, Tile_OffsetAttr:$first_warp);
  let assemblyFormat = [{
    $count `x` $columns `of` $src (`pages` $pages^ `[` $entry `]`)? (`list` $list^ `[` $first `]` `below` $bound `:` type($list))?
    (`batch` $batch^)? `head` $head `from` $row `before` $length
    (`start` $start^)? (`column` $column^)? `to` $dest `warps` $warps `from` $first_warp attr-dict
    `:` type($src) `,` type($dest) (`,` type($pages)^)?
  }];
  let hasVerifier = 1;
}

def Tile_ConvertRowsOp : Tile_MachineOp<"convert_rows", [AttrSizedOperandSegments]> {
  let summary = "Loads rows of e4m3 and stores them to shared memory as f16 or bf16";
  let description = [{
    The operands are those of `tile.copy_rows`. Each thread loads 16 elements at a time to registers and converts them to
    `element`, exactly. The op also prefetches the `count` rows that begin `prefetched` rows after `row` to L2.

    ```mlir
    tile.convert_rows 128 x 128 of %K pages %table[%entry] head %h from %row before %length to %dest as bf16 prefetched 256
        warps 4 from 4 : memref<?x16x?x128xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?xi32>
    ```

    Constraints: those of `tile.copy_rows`, with elements of f8E4M3FN, and a `count` that is a multiple of 8 · `warps`.
  }];
  let arguments = (ins AnyMemRef:$src, Optional<MemRefRankOf<[I32], [1]>>:$pages, Optional<Index>:$entry,
                       Optional<MemRefRankOf<[I32], [1]>>:$list, Optional<Index>:$first, Optional<Index>:$bound,
                       Optional<Index>:$batch, Index:$head, Index:$row, Index:$length, Optional<Index>:$start,
                       Optional<Index>:$column, LLVM_PointerInAddressSpace<3>:$dest, TypeAttrOf<AnyFloat>:$element,
                       Tile_CountAttr:$count, Tile_CountAttr:$columns, Tile_OffsetAttr:$prefetched, Tile_CountAttr:$warps, Tile_OffsetAttr:$first_warp);
  let assemblyFormat = [{
    $count `x` $columns `of` $src (`pages` $pages^ `[` $entry `]`)? (`list` $list^ `[` $first `]` `below` $bound `:` type($list))?
    (`batch` $batch^)? `head` $head `from` $row `before` $length
    (`start` $start^)? (`column` $column^)? `to` $dest `as` $element `prefetched` $prefetched
    `warps` $warps `from` $first_warp attr-dict `:` type($src) `,` type($dest) (`,` type($pages)^)?
  }];
  let hasVerifier = 1;
}

def Tile_RotateRowsOp : Tile_MachineOp<"rotate_rows", [AttrSizedOperandSegments]> {
  let summary = "Loads rows, rotates them and stores them to shared memory, or copies them";
  let description = [{
    Stores `count` rows in panels of 64 columns at `dest`, with the 128-byte swizzle. With p = `heads`, row r is query row
    `row` + r / p of head `head` + r mod p. It is zero if `row` + r / p is not below `length`, or if r mod p is not below `members`.
    Columns that the tensor does not have are zeros. Rows lie from row `start` on if there is one. The other operands are those of
    `tile.load_rotated`. All threads of the CTA execute the op; each handles 16 bytes at a time. No fence follows, and no wait for `cp.async`.

    ```mlir
    tile.rotate_rows 128 x 128 of %Q batch %b head %h members %n from %row before %length heads 16 at %position by %cos, %sin
        to %dest : memref<?x?x?x128xbf16>, !llvm.ptr<3>, memref<?x64xf32>, memref<?x64xf32>
    ```

    Constraints: those of `tile.load_rotated` on `src`, `cos` and `sin`; `count` is a multiple of `heads` and of 8, `columns` of 8.
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyMemRef:$src, Index:$batch, Index:$head, Index:$members, Index:$row, Index:$length, Optional<Index>:$start,
                       Optional<Index>:$position, Optional<MemRefRankOf<[F32], [2]>>:$cos, Optional<MemRefRankOf<[F32], [2]>>:$sin,
                       LLVM_PointerInAddressSpace<3>:$dest, Tile_CountAttr:$count, Tile_CountAttr:$columns, Tile_CountAttr:$heads,
                       UnitAttr:$interleaved);
  let assemblyFormat = [{
    $count `x` $columns `of` $src `batch` $batch `head` $head `members` $members `from` $row `before` $length (`start` $start^)?
    `heads` $heads (`at` $position^ `by` $cos `,` $sin (`interleaved` $interleaved^)?)? `to` $dest attr-dict
    `:` type($src) `,` type($dest) (`,` type($cos)^ `,` type($sin))?
  }];
}

def Tile_TmaStoreOp : Tile_MachineOp<"tma_store", [AttrSizedOperandSegments]> {
  let summary = "cp.async.bulk.tensor of one box to global memory, clipped at the tensor's end";
  let description = [{
    `column`, `first`, `end`, `row` and `member` have the meaning that they have in `tile.tma_load`.
    `tile.tma_store %src to %O[%batch, %row, %head] column 64 : !llvm.ptr<3>, memref<...>`
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$src, Tile_Tensor:$dest, Index:$batch, Index:$row, Index:$head,
                       Optional<Index>:$member, Tile_BoxColumnAttr:$column, Optional<Index>:$first,
                       Optional<Index>:$end);
  let assemblyFormat = [{
    $src `to` $dest `[` $batch `,` $row `,` $head `]` (`from` $member^)? `column` $column (`behind` $first^)?
    (`before` $end^)? attr-dict `:` type($src) `,` type($dest)
  }];
}

def Tile_TmaStoreWaitOp : Tile_MachineOp<"tma_store_wait"> {
  let summary = "Commits this thread's TMA stores and waits until they have read shared memory";
  let description = [{ `tile.tma_store_wait` }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Tensor memory and tensor core
//===----------------------------------------------------------------------===//

/// Registers of one thread that tcgen05.ld and st with the shapes .32x32b and .16x32bx2 move: .x2 to .x128.
def Tile_TmemRegisters
    : AllOfType<[FixedVectorOfRankAndType<[1], [I32]>,
                 FixedVectorOfLengthAndType<[2, 4, 8, 16, 32, 64, 128], [I32]>],
                "vector of 2, 4, 8, ... or 128 x i32", "::mlir::VectorType">;

def Tile_TmemAllocOp : Tile_MachineOp<"tmem_alloc"> {
  let summary = "tcgen05.alloc, which stores the base address in shared memory, and relinquish_alloc_permit";
  let description = [{
    With `pair`, both CTAs of a pair execute it, and both get the columns (cta_group::2).
    `tile.tmem_alloc 512 to 231424`
  }];
  let arguments = (ins Tile_TmemColumnsAttr:$columns, Tile_AlignedOffsetAttr<4>:$offset, UnitAttr:$pair);
  let assemblyFormat = "$columns `to` $offset (`pair` $pair^)? attr-dict";
}

def Tile_TmemBaseOp : Tile_MachineOp<"tmem_base"> {
  let summary = "Reads the base address that tmem_alloc stored";
  let description = [{ `%base = tile.tmem_base at 231424` }];
  let arguments = (ins Tile_AlignedOffsetAttr<4>:$offset);
  let results = (outs I32:$result);
  let assemblyFormat = "`at` $offset attr-dict";
}

def Tile_TmemDeallocOp : Tile_MachineOp<"tmem_dealloc"> {
  let summary = "tcgen05.dealloc";
  let description = [{ With `pair`, both CTAs of a pair execute it. `tile.tmem_dealloc %base columns 512` }];
  let arguments = (ins I32:$base, Tile_TmemColumnsAttr:$columns, UnitAttr:$pair);
  let assemblyFormat = "$base `columns` $columns (`pair` $pair^)? attr-dict";
}

def Tile_TmemLoadOp : Tile_MachineOp<"tmem_load"> {
  let summary = "tcgen05.ld.32x32b or .16x32bx2: one lane's columns into a thread";
  let description = [{
    With `split` the warp reads 16 lanes: threads l and 16 + l both read lane l, and the columns of thread 16 + l begin
    `split` columns further right. The registers may be read only after `tmem_wait load`, which returns them.

    ```mlir
    %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<32xi32>
    %h = tile.tmem_load %t split 64 : !llvm.ptr<6> -> vector<32xi32>
    ```
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<6>:$address, OptionalAttr<Tile_TmemHalfAttr>:$split);
  let results = (outs Tile_TmemRegisters:$result);
  let assemblyFormat = "$address (`split` $split^)? attr-dict `:` type($address) `->` type($result)";
}

def Tile_TmemStoreOp : Tile_MachineOp<"tmem_store"> {
  let summary = "tcgen05.st.32x32b or .16x32bx2: a thread's registers into its lane's columns";
  let description = [{
    `split` has the meaning that it has in `tmem_load`. `tile.tmem_store %v, %t : vector<32xi32>, !llvm.ptr<6>`
  }];
  let arguments = (ins Tile_TmemRegisters:$value, LLVM_PointerInAddressSpace<6>:$address,
                       OptionalAttr<Tile_TmemHalfAttr>:$split);
  let assemblyFormat = "$value `,` $address (`split` $split^)? attr-dict `:` type($value) `,` type($address)";
}

def Tile_TmemWaitOp : Tile_MachineOp<"tmem_wait"> {
  let summary = "tcgen05.wait: waits until all earlier loads (stores) of this thread are complete";
  let description = [{
    After loads, `values` are their results. The result of the wait is the same registers, in the same order, as one
    vector. They can be read from there on, and no use can move before the wait.

    ```mlir
    %w = tile.tmem_wait load of %a, %b : vector<32xi32>, vector<32xi32> to vector<64xi32>
    tile.tmem_wait store
    ```
  }];
  let arguments = (ins Tile_TmemAccessAttr:$access, Variadic<Tile_TmemRegisters>:$values);
  let results = (outs Optional<FixedVectorOfRankAndType<[1], [I32]>>:$result);
  let assemblyFormat = "`` $access (`of` $values^ `:` type($values) `to` type($result))? attr-dict";
  let hasVerifier = 1;
}

/// Not pure, so that CSE merges no two of them. If the products of a prologue, a loop and its last step shared their
/// descriptors, all those of a wide head would be live through the loop; a second one costs one addition.
def Tile_DescriptorOp : Tile_Op<"descriptor"> {
  let summary = "Matrix descriptor of an operand in shared memory";
  let description = [{
    `fields` holds all fields but the start address (PTX ISA, shared memory descriptor), which is `base` plus `offset`
    bytes.
    `%d = tile.descriptor %p plus 32 fields 4611756662049538048 : !llvm.ptr<3>`
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$base, Tile_AlignedOffsetAttr<16>:$offset, I64Attr:$fields);
  let results = (outs I64:$result);
  let assemblyFormat = "$base `plus` $offset `fields` $fields attr-dict `:` type($base)";
}

def Tile_MmaOp : Tile_MachineOp<"mma"> {
  let summary = "tcgen05.mma.kind::f16";
  let description = [{
    `a` is a descriptor (shared memory) or an address (tensor memory); D is overwritten unless `accumulate`.
    `tile.mma %d, %a, %b instruction 136316048 accumulate %p : !llvm.ptr<6>, i64, i64`

    With `pair`, it multiplies for two CTAs (cta_group::2), at the same addresses in both: each has half of the rows of A and
    of D, and half of the columns of B. M and N of the instruction count the rows and columns of both CTAs. With M = 128 D has
    `half = 64` (#tile.tmem).
    `tile.mma %d, %a, %b instruction 270533776 accumulate %p pair : !llvm.ptr<6>, i64, i64`

    Constraints: with `pair`, M is 128 or 256.
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<6>:$d, AnyTypeOf<[I64, LLVM_PointerInAddressSpace<6>]>:$a, I64:$b,
                       I32Attr:$instruction, I1:$accumulate, UnitAttr:$pair);
  let assemblyFormat = [{
    $d `,` $a `,` $b `instruction` $instruction `accumulate` $accumulate (`pair` $pair^)? attr-dict
    `:` type($d) `,` type($a) `,` type($b)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "Elements of a tensor, one per key, with indices clamped to the tensor";
  let description = [{
    Reads like `fmha.read`, but some indices are vectors with one entry per key, and so is the result. If all indices are
    scalars, the result is one element, or a vector of consecutive elements of the last dimension that begins at the
    indices. With `overlapped` loads may be moved together; without it they stay next to their uses and need few registers.

    ```mlir
    %e = tile.gather %bias[%head, %row, %keys]
        : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>, index, index, vector<32xindex> -> vector<32xf32>
    %f = tile.gather %bias[%head, %row, %key]
        : memref<?x?x?xf32, strided<[?, ?, 1]>, #gpu.address_space<global>>, index, index, index -> vector<32xf32>
    ```

    Constraints: one index per dimension; elements f32, f16, bf16, i64, i32 or i8.
  }];
  let arguments = (ins AnyMemRef:$src, Variadic<AnyTypeOf<[Index, VectorOfRankAndType<[1], [Index]>]>>:$indices, UnitAttr:$overlapped);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$src `[` $indices `]` (`overlapped` $overlapped^)? attr-dict `:` type($src) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

def Tile_SetRegistersOp : Tile_MachineOp<"set_registers"> {
  let summary = "setmaxnreg for this warpgroup";
  let description = [{ `tile.set_registers 192 from 128` }];
  let arguments = (ins Tile_RegistersAttrI32:$count, Tile_RegistersAttrI32:$previous);
  let assemblyFormat = "$count `from` $previous attr-dict";
}

def Tile_ElectOp : Tile_MachineOp<"elect"> {
  let summary = "elect.sync: true in one thread of the warp";
  let description = [{ `%leader = tile.elect` }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_AnyInWarpOp : Tile_MachineOp<"any_in_warp"> {
  let summary = "vote.sync.any: whether the condition holds in any thread of the warp";
  let description = [{ `%any = tile.any_in_warp %c` }];
  let arguments = (ins I1:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_UniformOp : Tile_MachineOp<"uniform"> {
  let summary = "redux.sync.or of a number that is the same in all threads of the warp";
  let description = [{
    Returns the number. ptxas knows the result to be uniform in the warp and keeps it in a uniform register. All threads
    of the warp must execute the op with the same number.
    `%n = tile.uniform %m`
  }];
  let arguments = (ins Index:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$number attr-dict";
}

def Tile_RereadOp : Tile_MachineOp<"reread"> {
  let summary = "A number that is opaque to LLVM";
  let description = [{
    Returns the number as a new value, so that LLVM does not hoist computations on it: they stay inside the loop, in
    registers that are free again at once. `%n = tile.reread %m`
  }];
  let arguments = (ins Index:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$number attr-dict";
}

def Tile_SyncWarpOp : Tile_MachineOp<"sync_warp"> {
  let summary = "bar.warp.sync of all 32 threads";
  let description = [{ `tile.sync_warp` }];
  let assemblyFormat = "attr-dict";
}

def Tile_AwaitGridsOp : Tile_MachineOp<"await_grids"> {
  let summary = "griddepcontrol.wait: until the grids that this one depends on have ended";
  let description = [{
    A grid that is launched with the programmatic attribute may start before the previous one of the stream has ended. After
    the op, the memory operations of that grid are visible. In other launches the op does nothing.
    `tile.await_grids`
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_LaunchDependentsOp : Tile_MachineOp<"launch_dependents"> {
  let summary = "griddepcontrol.launch_dependents: the next grid of the stream may start";
  let description = [{
    A grid that is launched with the programmatic attribute starts when all CTAs of this one have executed the op or have
    exited. It sees no result of this grid before its own `tile.await_grids`, so that this op may come first.
    `tile.launch_dependents`
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_SyncCtaOp : Tile_MachineOp<"sync_cta"> {
  let summary = "barrier.sync 0 of all threads of the CTA";
  let description = [{ `tile.sync_cta` }];
  let assemblyFormat = "attr-dict";
}

def Tile_SyncClusterOp : Tile_MachineOp<"sync_cluster"> {
  let summary = "barrier.cluster.arrive and wait of all threads of the cluster";
  let description = [{
    All accesses of threads of the cluster before this barrier are ordered before all their accesses after it.
    `tile.sync_cluster`
  }];
  let assemblyFormat = "attr-dict";
}

#endif // FMHA_DIALECT_TILE_IR_MACHINEOPS_TD
