//===- Passes.td - Passes between the levels of the tile dialect ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

class Tile_Pass<string flag, list<string> moreDialects = []> : Pass<flag, "::mlir::gpu::GPUFuncOp"> {
  let dependentDialects = !listconcat([
    "::fmha::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::gpu::GPUDialect"
  ], moreDialects);
}

def TileAssignMemory : Tile_Pass<"tile-assign-memory"> {
  let summary = "Give every tile a space, a layout and an address";
  let description = [{
    Writes the place of each tile into its type, in the order of the program. The kernel family of the target decides the
    space: products lie in tensor memory (tcgen05) or in `#tile.fragment`, the registers of the warpgroup (wgmma), loads in
    shared memory, everything else in registers. The address is that of the region which the op names with `tile.region`
    (`convert-fmha-to-tile` names those of the schedule's memory map, and with them where P lies). In a kernel with
    `#tile.kernel` an op without a region gets one of its own, and the memory map becomes part of `#tile.kernel`; loads in
    loops get rings of as many stages as there is room for.

    Where a tile is needed in another place than it is made, a `tile.move` appears: products from tensor memory to
    registers, the factor of a product to memory, a tile that is stored to shared memory, and numbers of rows through
    shared memory to the role that multiplies an accumulator with them. The program stays sequential.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b {tile.region = #tile.region<name = "S0">} : ... -> !tile.tile<128x128xf32>
    %x = tile.mask %s at [...] keys %n : !tile.tile<128x128xf32>
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<128x128xf32, #tile.tmem<column = 0>>
    %r = tile.move %s : ... to !tile.tile<128x128xf32, #tile.registers>
    %x = tile.mask %r at [...] keys %n : !tile.tile<128x128xf32, #tile.registers>
    ```
  }];
}

def TileAssignPartitions : Tile_Pass<"tile-assign-partitions", ["::fmha::FMHADialect"]> {
  let summary = "Say of every op on tiles which role does it, and when";
  let description = [{
    Writes `tile.partition` on the ops of a placed kernel, from the table of the kernel family: loads belong to one role,
    products to another, and so on. Ops on registers that share tiles are one instance of their role (softmax0, softmax1).
    A product that needs another one of its iteration through other roles is of stage 1; products of one instance follow each
    other, in the order that the family's table says. An attribute that is there already stays: a person may write some or all
    of them.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    %x = tile.move %s : ...
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b {tile.partition = #tile.partition<role = "mma", order = 1>} : ...
    %x = tile.move %s {tile.partition = #tile.partition<role = "softmax0">} : ...
    ```
  }];
}

def TileElideZeroFills : Tile_Pass<"tile-elide-zero-fills", ["::mlir::ub::UBDialect"]> {
  let summary = "Let the first product of a loop overwrite its accumulator";
  let description = [{
    No instruction fills tensor memory. Where a loop carries an accumulator from a fill with 0 on, the first iteration
    multiplies without adding and does not rescale, and what comes after the loop takes zeros if it has no iteration.

    Before:
    ```mlir
    %acc = tile.fill 0.0 : !tile.tile<128x128xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = ... iter_args(%a = %acc) {
      %b = tile.rescale %a, %alpha : ...
      %c = tile.dot %p, %v plus %b : ...
    ```
    After, shortened:
    ```mlir
    %acc = ub.poison : !tile.tile<128x128xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = ... iter_args(%a = %acc) {
      %b = scf.if %not_first { tile.rescale ... } else { yield %a }
      %c = tile.dot %p, %v plus %b if %not_first : ...
    ```
  }];
}

def TileGuardLoops : Tile_Pass<"tile-guard-loops"> {
  let summary = "Put each loop on tiles into a branch in which it runs at least once";
  let description = [{
    A loop that is known to run is left alone. Loads that only the loop uses move into the branch: if the loop does not run, no
    role takes them, so none is sent.

    Before:
    ```mlir
    %q = tile.load ...
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%m = %init) { ... }
    ```
    After:
    ```mlir
    %has = arith.cmpi sgt, %n, %c0 : index
    %r = scf.if %has {
      %q = tile.load ...
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%m = %init) { ... }
      scf.yield %s
    } else {
      scf.yield %init
    }
    ```
  }];
}

def TileInsertChannels : Tile_Pass<"tile-insert-channels"> {
  let summary = "Put a channel on every edge between roles";
  let description = [{
    A tile that one role makes and another one uses crosses through a `tile.channel`; tiles of one producer and one place share
    it. The producer acquires a slot before the first op that writes it and publishes after the last one; the consumer
    receives before its first use in its order, and releases after its last one. The number of a message is that of the
    messages before it in the program.

    A channel of one message needs no release, nor does an accumulator that two roles update in turn. Where a tile that is sent
    back lies over the same memory, its release frees both. Of the messages that one chain of products takes, the last release
    frees all.

    Before:
    ```mlir
    %k = tile.load %K[...] {tile.partition = #tile.partition<role = "load">} : ...
    %s = tile.dot %q, %k transpose_b {tile.partition = #tile.partition<role = "mma">} : ...
    ```
    After, without the attributes:
    ```mlir
    %slot = tile.acquire %kv[%n] : ...
    %k = tile.load %K[...] into %slot : ...
    tile.publish %kv[%n] : ...
    %own = tile.receive %kv[%n] : ...
    %s = tile.dot %q, %own transpose_b : ...
    tile.release %kv[%n] : ...
    ```
  }];
}

def TileSlicePartitions : Tile_Pass<"tile-slice-partitions"> {
  let summary = "Cut a program with channels into its roles";
  let description = [{
    Each role of the schedule keeps its ops, the loops and branches around them and what these carry of its tiles; it makes its
    own index values. Conditions around all that a role does stand once, around its loops.

    After, shortened:
    ```mlir
    tile.specialise {
      tile.role "mma" warps 13 to 14 registers 72 single_thread { scf.for ... { tile.dot ... } }
      tile.role "softmax0" warps 0 to 4 registers 184 { scf.for ... { tile.row_max ... } }
    }
    ```
  }];
}

def TileRotateLoops : Tile_Pass<"tile-rotate-loops"> {
  let summary = "Overlap the stages of a role's loop";
  let description = [{
    A loop of a role with ops of two stages begins with stage 0 of the first iteration, goes on with stage 1 of an iteration
    and stage 0 of the next one, in the order that the ops' attributes say, and ends with stage 1 of the last one. Values that
    stage 1 takes from stage 0 are carried by the loop. The last iteration leaves out its last release of each channel, which no
    acquire waits for. `tile.partition` is dropped.

    Before:
    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      tile.dot ... {tile.partition = #tile.partition<role = "mma", order = 1>}              // scores of block i
      tile.dot ... {tile.partition = #tile.partition<role = "mma", stage = 1, order = 0>}   // product of block i
    }
    ```
    After:
    ```mlir
    tile.dot ...                                                                            // scores of block 0
    scf.for %i = %c0 to %last step %c1 {
      tile.dot ...                                                                          // product of block i
      tile.dot ...                                                                          // scores of block i + 1
    }
    tile.dot ...                                                                            // product of the last block
    ```
  }];
}

def TileLowerChannels : Tile_Pass<"tile-lower-channels"> {
  let summary = "Turn channels into mbarriers with stages and phases";
  let description = [{
    A channel of depth d becomes d mbarriers for full slots and, unless it is unreleased or released by another, d for
    free ones. Message n lies in stage n mod d; a receiver waits for parity (n / d) mod 2, an acquirer for the other one,
    so that the first round passes on fresh barriers. Nobody waits where the first round is known from the message's
    number, nor for the slot of a message whose counterpart in the channel that it releases is received. Fences stand
    where a hand-off changes the proxy or touches tensor memory. Loads and stores become TMA boxes.

    Before:
    ```mlir
    %slot = tile.acquire %kv[%n] : !tile.channel<...> -> !tile.tile<...>
    ```
    After:
    ```mlir
    tile.wait %kv_free[%stage] parity %p : !tile.barrier<3>
    %slot = tile.slot %stage : !tile.tile<...>
    ```
  }];
}

def TileExpandMath : Tile_Pass<"tile-expand-math"> {
  let summary = "Make functions that PTX lacks of those that it has";
  let description = [{
    In the code on scores, which has one score yet: a `tile.modify` on a whole tile, before it is cut into threads. exp,
    log, log2 and tanh stay, since the units of ex2 and lg2 make them; so do roots and what rounds. The rest becomes
    upstream's polynomials and expansions, around which stands what they leave out: sine and cosine take whole turns off
    their argument in three steps, a power looks at the sign of its base, arc tangents at the quadrant. f16 and bf16 are
    computed in f32. How far each is off stands in lib/Dialect/Tile/README.md.

    Before:
    ```mlir
    %y = math.tan %x : f32
    %z = math.log10 %y : f32
    ```
    After, shortened:
    ```mlir
    %turns = arith.mulf %x, %per_turn : f32
    %whole = math.roundeven %turns : f32
    %rest0 = math.fma %whole, %minus_turn0, %x : f32
    %rest1 = math.fma %whole, %minus_turn1, %rest0 : f32
    ...                                             // sine and cosine of the rest, as polynomials
    %y = arith.divf %sin, %cos : f32
    %log = math.log2 %y : f32
    %z = arith.mulf %log, %log10_2 : f32
    ```
    What no target computes, f64 and powers of integers, is an error.
  }];
}

def TileDistribute : Tile_Pass<"tile-distribute"> {
  let summary = "Give tiles to threads, and roles to warps";
  let description = [{
    The kernel family of the target rewrites the ops on tiles; a tile in memory becomes an address. With tcgen05 a tile in
    registers becomes one row per thread (a vector), products become MMA instructions, moves become tensor memory loads and
    stores or swizzled shared memory stores, and ops on an accumulator walk it in a loop, 16 columns at a time. With wgmma
    a tile in `#tile.fragment` becomes a vector of the elements that a thread has of its two rows in turn, 16-bit elements
    two to a word; maximum and sum of a row go through the four threads that share it, and a dot becomes a wgmma of all K
    steps and a commit:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<64x128xf32, #tile.fragment>
    %t = tile.wait_dots %s pending 1 : !tile.tile<64x128xf32, #tile.fragment>
    ```
    becomes
    ```mlir
    %s1 = tile.wgmma %q steps [0, 32, 64, 96], %k steps [0, 32, 64, 96] of bf16 : i64, i64 -> vector<64xf32>
    tile.wgmma_commit
    %t = tile.wgmma_wait 1 of %s1 : vector<64xf32>
    ```
    `tile.specialise` becomes branches over the warp index, with a prologue (barriers, tensor memory allocation, setmaxnreg)
    and an epilogue.

    Where the schedule's scheduler gives a CTA several output tiles each role becomes a loop over them, in which what
    followed from `gpu.block_id` follows from the number of the tile:
    ```mlir
    scf.while (%tile = %block) {
      // the role, for this tile; then, behind a barrier of the CTA, barriers made anew, and another one:
      %next = tile.next_tile at 231464
      ...
    }
    ```
  }];
}

def TileWgmmaAwaitProducts : Tile_Pass<"tile-wgmma-await-products"> {
  let summary = "Wait for products that have begun, and take turns to begin them";
  let description = [{
    A `tile.dot` into `#tile.fragment` only begins. Before the first op that takes its result, overwrites what it reads or frees
    that for the producer stands a `tile.wait_dots`, which lets later products run on. What threads write to shared memory for
    a product of their own is fenced, and one thread of each warp releases a message. Several consumers take turns to begin the products of
    a rotated loop (named barriers 1, 2 and 3): while one multiplies the others make exponentials.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    %o = tile.dot %p, %v plus %acc : ...
    tile.release %kv[%n] : ...
    %x = tile.mask %s ...
    ```
    After, shortened:
    ```mlir
    tile.sync_named 1 threads 256
    %s = tile.dot %q, %k transpose_b : ...
    %o = tile.dot %p, %v plus %acc : ...
    tile.arrive_named 2 threads 256
    %t = tile.wait_dots %s pending 1 : ...
    %e = tile.elect
    scf.if %e { tile.release %kv[%n] : ... }
    %x = tile.mask %t ...
    ```
  }];
}

def TileWgmmaLoopTiles : Tile_Pass<"tile-wgmma-loop-tiles"> {
  let summary = "Let the roles of a CTA do several output tiles";
  let description = [{
    Where the schedule gives a CTA several output tiles each role becomes a loop over them, in which what followed from
    `gpu.block_id` follows from the number of the tile. Channels go on from tile to tile: messages are counted from those of
    the tiles before, and no role waits for another one between tiles. The loads of a tile begin with those of its first KV block.

    After, shortened:
    ```mlir
    scf.while (%tile = %first, %sent = %c0) {
      // the role, for this tile, with its messages counted from %sent
      scf.yield %next, %sent_now
    }
    ```
  }];
}

def TileShareConsumers : Tile_Pass<"tile-share-consumers"> {
  let summary = "One body for the consumers of a wgmma kernel, which differ in numbers only";
  let description = [{
    Consumers do the same on other rows: they differ in shared memory addresses, numbers of named barriers, constants, and
    values from above the roles. Where the bodies of all warpgroups from one on are alike but for those, one body is left;
    what differed is computed from the number of the warpgroup, uniform in each warp. LLVM, ptxas and the instruction cache
    then have one consumer instead of up to three. It is computed where it is needed, so that it takes no register over the
    loop. Other kernels, and consumers that differ in more, are left as they are. What the verifiers ask for is known of the
    bodies apart, so they run ahead of this pass.

    Before:
    ```mlir
    scf.if %is_first {
      %p = tile.smem_address 0 : !llvm.ptr<3>
      tile.wait %q0_full[%c0] parity %c0 : !tile.barrier<1>
    } else {
      %p = tile.smem_address 16384 : !llvm.ptr<3>
      tile.wait %q1_full[%c0] parity %c0 : !tile.barrier<1>
    }
    ```
    After:
    ```mlir
    %n = tile.uniform ...
    %full = tile.barrier "q0.full" at 65536 plus %n_times_16 arrivals 1 : !tile.barrier<1>
    %a = tile.smem_address 0 : !llvm.ptr<3>
    %p = llvm.getelementptr %a[%n_times_16384] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    tile.wait %full[%c0] parity %c0 : !tile.barrier<1>
    ```
  }];
}

def TileVerifyResources : Tile_Pass<"tile-verify-resources"> {
  let summary = "Verify that a placed kernel fits its target";
  let description = [{
    Collects what the ops ask for (places of tiles, mbarriers, tensor memory columns, registers, threads, named barriers)
    and asks an op-free library whether the target of the kernel's schedule has it (Schedule/Rules/Capacities.h,
    rules resources.R1 to resources.R8).
    In a placed kernel, which is still sequential, it also asks MLIR's liveness whether an op overwrites a tile that is
    read later: P may lie over its scores only behind the read of the scores. Behind specialisation `tile-verify-sync`
    answers that. An unplaced kernel passes.

    ```mlir
    tile.tmem_alloc 256 to 230400
    %t = tile.tmem_address 384 from %base of_warp
    %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<32xi32>
    ```
    ```
    error: resources.R2: expected columns [384, 416) inside the 256 columns of tensor memory (160 too many): ...
    ```
  }];
}

def TileVerifySync : Tile_Pass<"tile-verify-sync"> {
  let summary = "Verify that everything that crosses roles is ordered";
  let description = [{
    Runs the kernel's synchronisation for a few lengths (no block, one, two, and enough to go round every ring) and verifies
    each run with vector clocks (Sync/Synchronisation.h, op-free, rules Y1 to Y9): conflicting accesses to a place are
    ordered, and for the proxy and unit that comes next; waits end; arrivals and bytes of a phase are what it expects; no
    phase can be missed or signalled early; barriers are initialised; nothing is under way at the exit; messages of a
    channel go in order; barriers are made anew behind all uses; warpgroups multiply as a whole. A CTA that does several tiles is run
    for two. At the specialised level channels stand for their barriers and fences, at the machine level every op stands for itself, by its
    SyncOpInterface. Kernels of other levels pass. Registers of a wgmma, which SSA shows, are looked at in the text: nothing touches them before the
    wait that hands them on, and they reach it through a fence.

    What it cannot tell stands in lib/Dialect/Tile/README.md.

    ```mlir
    %v = tile.tmem_load %s : !llvm.ptr<6> -> vector<32xi32>
    tile.fence tcgen05_before
    tile.arrive %free[%c0] : !tile.barrier<1>   // the loads may still run
    ```
    ```
    error: Y1: an MMA of "mma" writes columns [0, 128) of tensor memory, which tmem_load of "softmax0" reads:
    expected tmem_wait load before the thread signals
    ```
  }];
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
