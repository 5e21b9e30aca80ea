//===- Tcgen05Passes.td - Passes on kernels that multiply by tcgen05 ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_TCGEN05PASSES_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_TCGEN05PASSES_TD

include "fmha/Dialect/Tile/Transforms/TilePass.td"

def TileTcgen05SplitOutputs : Tile_Pass<"tile-tcgen05-split-outputs"> {
  let summary = "Store outputs that share staged memory in messages of one panel";
  let description = [{
    Cuts a `tile.normalize` of an accumulator in tensor memory, and the `tile.store` of its result, into panels of 64 columns, so
    that each panel is a message of its own: TMA reads one while threads write the next one. An output is cut only if it has
    several panels and shares its staged memory with another output of the CTA, which then waits for one panel at a time.
    Outputs of 64 rows are not cut, since two threads share each of their rows.

    Before:
    ```mlir
    %o = tile.normalize %acc, %sum : ... to !tile.tile<128x128xbf16, #tile.smem<offset = 65536>>
    tile.store %o, %view[%row] : ...
    ```
    After:
    ```mlir
    %a0 = tile.slice %acc from 0 : ... -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    %o0 = tile.normalize %a0, %sum : ... to !tile.tile<128x64xbf16, #tile.smem<offset = 65536>>
    tile.store %o0, %view[%row] : ...
    %a1 = tile.slice %acc from 64 : ... -> !tile.tile<128x64xf32, #tile.tmem<column = 320>>
    %o1 = tile.normalize %a1, %sum : ... to !tile.tile<128x64xbf16, #tile.smem<offset = 81920>>
    %right = tile.view ... column %c64
    tile.store %o1, %right[%row] : ...
    ```
  }];
}

def TileTcgen05OrderProducts : Tile_Pass<"tile-tcgen05-order-products"> {
  let summary = "Order the products that one thread issues, with as few commits and waits as `mma_order` needs";
  let description = [{
    A product of an MMA role overwrites what an earlier one reads: the scores of a block replace the P of the one before.
    Before this pass the role waits for a barrier that its own commit completes. With `mma_order = issue` the pass drops such
    waits before products, since the tensor core executes the products of a thread in the order of issue. The PTX manual
    promises this order only for products with the same accumulator, shape and kind; public kernels rely on it for all products.
    With `mma_order = commit`, if no other thread waits for the barrier, the pass replaces it in these waits by another one that
    the same commits complete and that has no earlier phases of its own: in the example, the barrier for which the consumers of
    the accumulator wait. In both cases it drops commits to barriers for which no thread waits. A kernel without products of
    tcgen05 has no commits and is left unchanged. The verifiers model commits, not the order of issue, so they run before this
    pass.

    Before, with `mma_order = commit`:
    ```mlir
    tile.mma %o, %p, %v instruction 136381584 accumulate %true : !llvm.ptr<6>, !llvm.ptr<6>, i64
    tile.commit %done[%c0] : !tile.barrier<1>
    tile.commit %p_free[%c0] : !tile.barrier<1>
    tile.wait %p_free[%c0] parity %parity : !tile.barrier<1>
    tile.fence tcgen05_after
    tile.mma %s, %q, %k instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    ```
    After:
    ```mlir
    tile.mma %o, %p, %v instruction 136381584 accumulate %true : !llvm.ptr<6>, !llvm.ptr<6>, i64
    tile.commit %done[%c0] : !tile.barrier<1>
    tile.wait %done[%c0] parity %parity : !tile.barrier<1>
    tile.fence tcgen05_after
    tile.mma %s, %q, %k instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    ```
  }];
}

def TileTcgen05WidenRoles : Tile_Pass<"tile-tcgen05-widen-roles"> {
  let summary = "Run the control flow of the MMA role in its whole warp, and issue in one thread";
  let description = [{
    The branch of one elected thread around an MMA role moves inwards, to the ops that one thread issues: `tile.mma`,
    `tile.commit` and others with effects. All threads of the warp wait for barriers and compute stages and descriptors. ptxas
    then knows that the branches of the role are uniform: it keeps these numbers in uniform registers, from which tcgen05.mma
    reads descriptors, and computes them before the wait. Ops without effects between issues move before the branch. A branch
    ends after its commits, so that the operands of later products are computed after these commits. Two kinds of roles are left
    unchanged: those with an op that has both effects and results, and those whose products between two waits or commits need more
    uniform registers for their operands than there are, as with head dim 256, whose K is not split into chunks. The verifiers
    require a branch for the whole role, so they run before this pass.

    Before:
    ```mlir
    %leader = tile.elect
    scf.if %leader {
      tile.wait %full[%stage] parity %parity : !tile.barrier<5>
      %d = tile.descriptor %k plus 0 fields 4611756662049538048 : !llvm.ptr<3>
      tile.mma %s, %q, %d instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.commit %scores[%c0] : !tile.barrier<1>
    }
    ```
    After:
    ```mlir
    %leader = tile.elect
    tile.wait %full[%stage] parity %parity : !tile.barrier<5>
    %d = tile.descriptor %k plus 0 fields 4611756662049538048 : !llvm.ptr<3>
    scf.if %leader {
      tile.mma %s, %q, %d instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.commit %scores[%c0] : !tile.barrier<1>
    }
    ```
  }];
}

def TileTcgen05ReduceLoads : Tile_Pass<"tile-tcgen05-reduce-loads", ["::fmha::tcgen05::Tcgen05Dialect"]> {
  let summary = "Let loads of tensor memory compute the maximum of a row";
  let description = [{
    On targets with `tcgen05.ld.red` (sm_103a), a tree of `arith.maxnumf` that has all columns of some loads among its operands
    takes the maxima that the loads compute. If a branch replaces the columns, as a mask does, each of its regions yields a
    maximum with the row: that of the loads if it yields the row unchanged, otherwise one of the row that it yields. The order of
    the operands of a maximum changes, the result does not. Other targets and other uses of the columns are left unchanged. The
    verifiers know the loads of the tile dialect alone, so they run before this pass; `convert-tcgen05-to-nvvm` converts what it
    makes.

    Before:
    ```mlir
    %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %w = tile.tmem_wait load of %v : vector<2xi32> to vector<2xi32>
    %row = vector.bitcast %w : vector<2xi32> to vector<2xf32>
    %a = vector.extract %row[0] : f32 from vector<2xf32>
    %b = vector.extract %row[1] : f32 from vector<2xf32>
    %m = arith.maxnumf %a, %b : f32
    %new = arith.maxnumf %old, %m : f32
    ```
    After:
    ```mlir
    %v, %max = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
    %w:2 = tcgen05.wait load of %v, %max : vector<2xi32>, i32
    %m = arith.bitcast %w#1 : i32 to f32
    %new = arith.maxnumf %old, %m : f32
    ```
  }];
}

def TileTcgen05UnrollRows : Tile_Pass<"tile-tcgen05-unroll-rows"> {
  let summary = "Compute the elements of a row in pairs, in the order in which stores need them";
  let description = [{
    LLVM emits all elements of one vector op and then those of the next, and ptxas keeps much of this order: all exponentials
    come before the first store of P. The pass computes pairs of elements where a store or a scalar needs them first. A store to
    tensor memory has at most 16 words, right after their elements; sums of rows come after the last store. Only kernels whose
    softmax follows its stores are changed (schedule::ordersSoftmaxByStores): those with emulated exponentials.

    A branch that no thread takes follows the signal of each slice of P but the last: ptxas orders within basic blocks, and would
    move exponentials of the next slice before the signal. There is none on targets with `tcgen05.ld.red`, and none in a block with
    a branch to a mask, where ptxas would copy the scores (`tile-tcgen05-separate-masks` removes that branch from most loops).

    ```mlir
    %e = math.exp2 %x : vector<64xf32>                    %e0 = math.exp2 %x0 : vector<2xf32>
    %p = arith.truncf %e : ... to vector<64xbf16>    ->   %p0 = arith.truncf %e0 : vector<2xf32> to vector<2xbf16> ...
    %w = vector.bitcast %p : ... to vector<32xi32>        tile.tmem_store %w0, %t : vector<16xi32>, !llvm.ptr<6> ...
    tile.tmem_store %w, %t : vector<32xi32>               tile.tmem_store %w1, %t16 : vector<16xi32>, !llvm.ptr<6>
    ```
  }];
}

def TileTcgen05SeparateMasks : Tile_Pass<"tile-tcgen05-separate-masks"> {
  let summary = "Give blocks without a mask a loop of their own";
  let description = [{
    A loop that loads scores from tensor memory, masks them under a condition and passes on P in slices becomes a loop of the
    blocks without a mask, in another loop that also has the body with the mask. Otherwise `tile-tcgen05-unroll-rows` could not
    end a basic block after a slice: ptxas would copy scores where the two sides of the branch to the mask join. The blocks run in
    the same order with the same operations, so results have the same bits.

    A loop is left unchanged if no block ends in it (P in one slice, no emulated exponentials, or `tcgen05.ld.red`), if it has two
    masks or none, if something is computed from the scores before the mask, if the condition needs a load, or if the
    values that live across it and take a register of each thread, the slices but the last and the loops around it are more than 6
    together. These are
    values that depend on a load, the number of the thread or a division by a number that is not constant; ptxas keeps the others in
    uniform registers. With more it spills some kernels.

    ```mlir
    scf.for %n = %c0 to %end step %c1 {             scf.while (%n = %c0) {               // %n < %end
      %s = tile.tmem_load ...                         %m = scf.while (%i = %n) {         // %i < %end and not masked
      %row = scf.if %masked {                           %s = tile.tmem_load ...
        %t = arith.select %sees, %s, %inf       ->      use %s
        scf.yield %t                                  }
      } else {                                        scf.if (%m < %end) {
        scf.yield %s                                    %s = tile.tmem_load ...
      }                                                 %t = arith.select %sees, %s, %inf
      use %row                                          use %t
    }                                               } }
    ```
  }];
}

def TileTcgen05PairCtas : Tile_Pass<"tile-tcgen05-pair-ctas"> {
  let summary = "Let one MMA role issue the products of a pair of CTAs";
  let description = [{
    Before this pass each CTA has an MMA role of its own, whose products with `pair` stand for its half of the product of both
    CTAs. The pass keeps the role only in the even CTA. A barrier for which the role waits becomes a barrier of both CTAs: it
    counts the arrivals of both, and all threads and copies signal the one in the even CTA. A commit signals the barriers of both
    CTAs if other roles wait for them. Both CTAs allocate tensor memory together. The barriers of all threads at the start and
    at the end become barriers of the cluster, so that no CTA uses a barrier of the other one before it is initialized or after
    that CTA has exited. Kernels without such products do not change.

    Both CTAs execute the same code. Whatever the MMA role waited for in one CTA before the pass, it now waits for in both, so
    the order in each CTA stays the same. The verifiers run before this pass and check that order.

    Before:
    ```mlir
    tile.init_barrier %full arrivals 128 : !tile.barrier<1>
    tile.sync_cta
    scf.if %softmax {
      tile.wait %scores[%c0] parity %c0 : !tile.barrier<1>
      tile.arrive %full[%c0] : !tile.barrier<1>
    }
    scf.if %leader {
      tile.wait %full[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %o, %p, %v instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
      tile.commit %scores[%c0] : !tile.barrier<1>
    }
    ```
    After:
    ```mlir
    tile.init_barrier %full arrivals 256 : !tile.barrier<1>
    tile.sync_cluster
    scf.if %softmax {
      tile.wait %scores[%c0] parity %c0 : !tile.barrier<1>
      tile.arrive %full[%c0] pair : !tile.barrier<1>
    }
    scf.if %leader_of_even_cta {
      tile.wait %full[%c0] parity %c0 pair : !tile.barrier<1>
      tile.mma %o, %p, %v instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
      tile.commit %scores[%c0] pair both : !tile.barrier<1>
    }
    ```
  }];
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_TCGEN05PASSES_TD
