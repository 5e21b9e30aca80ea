//===- WgmmaOps.td - What targets with wgmma have of their own -*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_WGMMAOPS_TD
#define FMHA_DIALECT_TILE_IR_WGMMAOPS_TD

include "fmha/Dialect/Tile/IR/MachineOps.td"

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Tile_WaitDotsOp
    : Tile_Op<"wait_dots", [MemoryEffects<[MemRead, MemWrite]>,
                            RangedTypesMatchWith<"results are the values", "values", "results", "$_self">]> {
  let summary = "The products that are awaited, all but the newest few";
  let description = [{
    A `tile.dot` whose result is in `#tile.fragment` only begins: its factors and its result must be left alone until a wait
    that lets at most `pending` newer dots of the warpgroup run on. It hands on what may be used from then on, the results
    of dots and the factors that they read from registers.

    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<64x128xf32, #tile.fragment>
    %o = tile.dot %p, %v plus %acc : ... -> !tile.tile<64x64xf32, #tile.fragment>
    %t = tile.wait_dots %s pending 1 : !tile.tile<64x128xf32, #tile.fragment>    // the other one may run on
    ```
  }];
  let arguments = (ins Variadic<Tile_Matrix>:$values, ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<7>]>:$pending);
  let results = (outs Variadic<Tile_Matrix>:$results);
  let assemblyFormat = "$values `pending` $pending attr-dict `:` type($values)";
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Registers that wgmma reads or writes: an accumulator, or one K step of A.
def Tile_Accumulator : FixedVectorOfRankAndType<[1], [F32]>;
def Tile_FragmentOfA : AllOfType<[FixedVectorOfRankAndType<[1], [I32]>, FixedVectorOfLengthAndType<[4], [I32]>],
                                 "vector of 4 x i32", "::mlir::VectorType">;
def Tile_WgmmaRegisters : AnyTypeOf<[FixedVectorOfRankAndType<[1], [F32, I32]>]>;

class Tile_WgmmaHandOver<string mnemonic, Type handed, dag extra = (ins)>
    : Tile_MachineOp<mnemonic, [RangedTypesMatchWith<"results are the values", "values", "results", "$_self">]> {
  let arguments = !con(extra, (ins Variadic<handed>:$values));
  let results = (outs Variadic<handed>:$results);
}

def Tile_WgmmaFenceOp : Tile_WgmmaHandOver<"wgmma_fence", AnyTypeOf<[Tile_WgmmaRegisters, I64]>> {
  let summary = "wgmma.fence: earlier accesses to registers that wgmma is to use are done";
  let description = [{
    Hands the registers on, so that nothing that writes them can move behind it; and descriptors, so that those of all K
    steps are not made ahead of a loop and kept.
    `%acc2, %db2 = tile.wgmma_fence of %acc, %db : vector<32xf32>, i64`
  }];
  let assemblyFormat = "(`of` $values^ `:` type($values))? attr-dict";
}

def Tile_WgmmaOp : Tile_MachineOp<"wgmma"> {
  let summary = "wgmma.mma_async.m64nNk16 on f16 or bf16";
  let description = [{
    64 rows and N columns, twice as many as a thread has elements of the result, which is overwritten where there is no
    `acc`. `a` is a descriptor, or the registers of one K step; with `transpose_b` the columns of B follow each other in
    shared memory (MN-major); `negate` takes -A. The registers may be touched behind `wgmma_wait` only.

    ```mlir
    %s = tile.wgmma %da, %db of bf16 : i64, i64 -> vector<64xf32>
    %t = tile.wgmma %da2, %db2 plus %s of bf16 : i64, i64 -> vector<64xf32>
    %o = tile.wgmma %p, %dv transpose_b plus %acc of bf16 : vector<4xi32>, i64 -> vector<32xf32>
    ```

    Constraints: the result has a multiple of 4 elements of at most 128, `acc` is of its type, and the element type is f16
    or bf16.
  }];
  let arguments = (ins AnyTypeOf<[I64, Tile_FragmentOfA]>:$a, I64:$b, Optional<Tile_Accumulator>:$acc, UnitAttr:$transpose_b,
                       UnitAttr:$negate, TypeAttr:$element);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = [{
    $a `,` $b (`transpose_b` $transpose_b^)? (`negate` $negate^)? (`plus` $acc^ `:` type($acc))? `of` $element attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_WgmmaCommitOp : Tile_MachineOp<"wgmma_commit"> {
  let summary = "wgmma.commit_group: the wgmmas since the last one are a group";
  let description = [{ `tile.wgmma_commit` }];
  let assemblyFormat = "attr-dict";
}

def Tile_WgmmaWaitOp
    : Tile_WgmmaHandOver<"wgmma_wait", Tile_WgmmaRegisters, (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<7>]>:$pending)> {
  let summary = "wgmma.wait_group: all groups but the `pending` newest are complete";
  let description = [{
    Hands on the registers of those groups. `%s2 = tile.wgmma_wait 1 of %s : vector<64xf32>`
  }];
  let assemblyFormat = "$pending (`of` $values^ `:` type($values))? attr-dict";
}

def Tile_StoreMatrixOp : Tile_MachineOp<"store_matrix"> {
  let summary = "stmatrix.x4: 16 x 16 elements of a warp into four 8 x 8 matrices";
  let description = [{
    Lane l gives the address of row l mod 8 of matrix l / 8.
    `tile.store_matrix %v, %p : vector<4xi32>, !llvm.ptr<3>`
  }];
  let arguments = (ins Tile_FragmentOfA:$values, LLVM_PointerInAddressSpace<3>:$address);
  let assemblyFormat = "$values `,` $address attr-dict `:` type($values) `,` type($address)";
}

/// bar.sync 0 is the CTA's.
def Tile_NamedBarrierAttr : ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<15>]>;
def Tile_BarrierThreadsAttr : ConfinedAttr<I32Attr, [IntMinValue<32>, IntMaxValue<1024>, Tile_MultipleOf<32>]>;

class Tile_NamedBarrierOp<string mnemonic> : Tile_MachineOp<mnemonic> {
  let arguments = (ins Tile_NamedBarrierAttr:$barrier, Tile_BarrierThreadsAttr:$threads);
  let assemblyFormat = "$barrier `threads` $threads attr-dict";
}

def Tile_SyncNamedOp : Tile_NamedBarrierOp<"sync_named"> {
  let summary = "barrier.sync of some threads: waits until all of them have come";
  let description = [{ `tile.sync_named 1 threads 256` }];
}

def Tile_ArriveNamedOp : Tile_NamedBarrierOp<"arrive_named"> {
  let summary = "barrier.arrive: counts as having come, and goes on";
  let description = [{ `tile.arrive_named 2 threads 256` }];
}

#endif // FMHA_DIALECT_TILE_IR_WGMMAOPS_TD
