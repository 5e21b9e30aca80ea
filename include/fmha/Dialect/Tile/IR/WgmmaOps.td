//===- WgmmaOps.td - Ops of targets with wgmma --------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_WGMMAOPS_TD
#define FMHA_DIALECT_TILE_IR_WGMMAOPS_TD

include "fmha/Dialect/Tile/IR/FactorOps.td"

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Tile_WaitDotsOp
    : Tile_Op<"wait_dots", [MemoryEffects<[MemRead, MemWrite]>,
                            RangedTypesMatchWith<"results are the values", "values", "results", "$_self">]> {
  let summary = "Waits until all products but the `pending` newest are complete";
  let description = [{
    A `tile.dot` whose result is in `#tile.fragment` is asynchronous: its factors and its result must not be touched until a
    wait that leaves at most `pending` newer dots of the warpgroup in flight. The results of the wait are the values that
    may be used after it: the results of dots and the factors that the dots read from registers.

    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<64x128xf32, #tile.fragment>
    %o = tile.dot %p, %v plus %acc : ... -> !tile.tile<64x64xf32, #tile.fragment>
    %t = tile.wait_dots %s pending 1 : !tile.tile<64x128xf32, #tile.fragment>    // %o may still be in flight
    ```
  }];
  let arguments = (ins Variadic<Tile_Matrix>:$values, ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<7>]>:$pending);
  let results = (outs Variadic<Tile_Matrix>:$results);
  let assemblyFormat = "$values `pending` $pending attr-dict `:` type($values)";
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Registers that wgmma reads or writes: an accumulator, all K steps of A, or one of them.
def Tile_Accumulator : FixedVectorOfRankAndType<[1], [F32]>;
def Tile_StepsOfA : FixedVectorOfRankAndType<[1], [I32]>;
def Tile_FragmentOfA : AllOfType<[FixedVectorOfRankAndType<[1], [I32]>, FixedVectorOfLengthAndType<[4], [I32]>],
                                 "vector of 4 x i32", "::mlir::VectorType">;
def Tile_WgmmaRegisters : AnyTypeOf<[FixedVectorOfRankAndType<[1], [F32, I32]>]>;

def Tile_WgmmaOp : Tile_MachineOp<"wgmma"> {
  let summary = "wgmma.fence, and wgmma.mma_async.m64nNk16 on f16 or bf16 for each K step";
  let description = [{
    The product has 64 rows and N columns, where N is twice the number of elements that a thread has of the result. The
    result is overwritten if there is no `acc`. `a` is a descriptor, or the registers of all K steps, 4 each; with
    `transpose_b` B is MN-major in shared memory; `negate` multiplies by -A. The registers may be touched only after
    `wgmma_wait`.

    A K step is 16 elements of the inner extent. `steps` has the offset of each K step in bytes from the address in the
    descriptor. All K steps are one op with the fence for their registers, and one statement of PTX: no instruction can
    come between them, none that writes the registers can move after the fence, and LLVM copies the registers in and out
    once.

    ```mlir
    %s = tile.wgmma %da, %db of bf16 : i64, i64 -> vector<64xf32>
    %t = tile.wgmma %da steps [0, 32], %db steps [0, 32] plus %s of bf16 : i64, i64 -> vector<64xf32>
    %o = tile.wgmma %p, %dv steps [0, 2048] transpose_b plus %acc of bf16 : vector<8xi32>, i64 -> vector<32xf32>
    ```

    Constraints: the result has a multiple of 4 elements of at most 128, `acc` is of its type, A and B have the same steps, at
    multiples of 16 bytes, and the element type is f16 or bf16.
  }];
  let arguments = (ins AnyTypeOf<[I64, Tile_StepsOfA]>:$a, I64:$b, Optional<Tile_Accumulator>:$acc,
                       OptionalAttr<DenseI32ArrayAttr>:$a_steps, OptionalAttr<DenseI32ArrayAttr>:$b_steps,
                       UnitAttr:$transpose_b, UnitAttr:$negate, TypeAttr:$element);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = [{
    $a (`steps` $a_steps^)? `,` $b (`steps` $b_steps^)? (`transpose_b` $transpose_b^)? (`negate` $negate^)?
    (`plus` $acc^ `:` type($acc))? `of` $element attr-dict `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether A is in registers.
    bool hasRegistersOfA() { return ::llvm::isa<::mlir::VectorType>(getA().getType()); }
    int64_t countSteps() { return getBSteps() ? getBSteps()->size() : 1; }
    /// Returns the bytes from the address in the descriptor to a K step.
    int64_t stepOfA(int64_t step) { return getASteps() ? (*getASteps())[step] : 0; }
    int64_t stepOfB(int64_t step) { return getBSteps() ? (*getBSteps())[step] : 0; }
  }];
}

def Tile_WgmmaCommitOp : Tile_MachineOp<"wgmma_commit"> {
  let summary = "wgmma.commit_group: makes a group of the wgmmas since the last commit";
  let description = [{ `tile.wgmma_commit` }];
  let assemblyFormat = "attr-dict";
}

def Tile_WgmmaWaitOp
    : Tile_MachineOp<"wgmma_wait", [RangedTypesMatchWith<"results are the values", "values", "results", "$_self">]> {
  let summary = "wgmma.wait_group: waits until all groups but the `pending` newest are complete";
  let description = [{
    Returns the registers of those groups. `%s2 = tile.wgmma_wait 1 of %s : vector<64xf32>`

    `rescales` marks the wait in a branch that scales the results, to make it differ from the wait in the other branch.
    LLVM would otherwise merge the two and hoist them before the branch: `%o2 = tile.wgmma_wait 0 rescales of %o : ...`
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<7>]>:$pending, UnitAttr:$rescales,
                       Variadic<Tile_WgmmaRegisters>:$values);
  let results = (outs Variadic<Tile_WgmmaRegisters>:$results);
  let assemblyFormat = "$pending (`rescales` $rescales^)? (`of` $values^ `:` type($values))? attr-dict";
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

/// Number of a named barrier; 0 is the barrier of the CTA.
def Tile_NamedBarrierAttr : ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<15>]>;
def Tile_BarrierThreadsAttr : ConfinedAttr<I32Attr, [IntMinValue<32>, IntMaxValue<1024>, Tile_MultipleOf<32>]>;

class Tile_NamedBarrierOp<string mnemonic> : Tile_MachineOp<mnemonic> {
  let arguments = (ins Tile_NamedBarrierAttr:$barrier, Tile_BarrierThreadsAttr:$threads, Optional<I32>:$distance);
  let assemblyFormat = "$barrier (`plus` $distance^)? `threads` $threads attr-dict";
}

def Tile_SyncNamedOp : Tile_NamedBarrierOp<"sync_named"> {
  let summary = "barrier.sync of some threads: waits until all of them have arrived";
  let description = [{
    In code that several roles share, the barrier's number is a sum, which is the same in all threads of the warp.

    ```mlir
    tile.sync_named 1 threads 256
    tile.sync_named 1 plus %consumer threads 256
    ```
  }];
}

def Tile_ArriveNamedOp : Tile_NamedBarrierOp<"arrive_named"> {
  let summary = "barrier.arrive: arrives without waiting";
  let description = [{
    `tile.arrive_named 2 threads 256`, or, as for `tile.sync_named`, `tile.arrive_named 2 plus %n threads 256`.
  }];
}

#endif // FMHA_DIALECT_TILE_IR_WGMMAOPS_TD
