//===- Passes.td - Passes between the levels of the tile dialect ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "fmha/Dialect/Tile/Transforms/LoopGraphPasses.td"
include "fmha/Dialect/Tile/Transforms/Tcgen05Passes.td"
include "fmha/Dialect/Tile/Transforms/TilePass.td"

def TileAssignMemory : Tile_Pass<"tile-assign-memory"> {
  let summary = "Give every tile a space, a layout and an address";
  let description = [{
    Writes the place of each tile into its type, in program order. The kernel family of the target decides the space:
    products lie in tensor memory (tcgen05) or in `#tile.fragment`, the registers of the warpgroup (wgmma), loads in shared
    memory, and all other tiles in registers. The address is that of the region in the op's `tile.region`, which
    `convert-fmha-to-tile` takes from the schedule's memory map. In a kernel with `#tile.kernel`, an op without a region
    gets a new one, and the memory map becomes part of `#tile.kernel`; loads in loops get rings with as many stages as fit,
    at most 4.

    Inserts a `tile.move` if a tile is used in another place than that of its definition: from tensor memory to registers
    for products, to memory for the factor of a product, to shared memory for a tile that is stored, and through shared
    memory for per-row values, to the role that multiplies an accumulator by them. The program stays sequential.

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

def TileAnnotateLayouts : Tile_Pass<"tile-annotate-layouts"> {
  let summary = "Write the layout of each placed tile on the op that defines it";
  let description = [{
    Writes three attributes for readers: `tile.layout` is the layout of an op's result in its place, `tile.mma` is the product
    that the kernel family emits for a `tile.dot`, and `tile.copies` lists the copies of its factors by ldmatrix, or of a
    `tile.move` by stmatrix. No later pass needs them. `tile-distribute` uses a `tile.mma` that is already there, so one that is
    written by hand selects the instruction; this pass keeps it. It takes placed and specialised kernels.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<128x64xf32, #tile.fragment>
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b {
      tile.layout = #tile.thread_values<((4,8,4),(2,2,8,2)):((256,1,16),(128,8,1024,64)), (128,64)>,
      tile.mma = #tile.tiled_mma<mma_m16n8k16_f32_bf16, (4,1,1), (64,16,16)>} : ... -> !tile.tile<128x64xf32, #tile.fragment>
    ```
  }];
}

def TileAssignPartitions : Tile_Pass<"tile-assign-partitions", ["::fmha::FMHADialect"]> {
  let summary = "Assign a role, a stage and an order to every op on tiles";
  let description = [{
    Writes `tile.partition` on the ops of a placed kernel, from the table of the kernel family: loads belong to one role,
    products to another, and so on. Ops on registers that share tiles are one instance of their role (softmax0, softmax1;
    compute0, compute1 in a program that no attention op made).
    A product that depends, through other roles, on another product of its iteration has stage 1. Products of one instance
    have the order of the family's table. If the next block has a free slot for the results of stage 0 (they have
    several stages, or no tile that is read later shares their memory), products of stage 0 of all instances come before those of
    stage 1. An existing attribute is kept, so that some or all may be written by hand.

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
    No instruction fills tensor memory. If a loop carries an accumulator that begins as a fill with 0, the first iteration
    multiplies without adding and does not rescale, and ops after the loop use zeros if the loop has no iteration.

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
  let summary = "Put each loop on tiles into a branch in which it has at least one iteration";
  let description = [{
    A loop that is known to have an iteration is left alone. Loads that only the loop uses move into the branch, since no
    role receives them if the loop has no iteration. In a kernel whose CTAs run ahead into their next tile they stay before it:
    every tile sends the same messages, and roles release them in both regions.

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
  let summary = "Insert a channel for every edge between roles";
  let description = [{
    A tile that one role defines and another one uses is sent through a `tile.channel`; tiles of one producer and one place
    share a channel. The producer acquires a slot before the first op that writes it and publishes it after the last one;
    the consumer receives it before its first use, in the order of the role, and releases it after the last one. The number
    of a message is the number of messages before it in the program.

    A channel of one message needs no release, nor does an accumulator that two roles update in turn. If a tile that is
    sent back lies in the same memory, its release frees both slots. If one chain of products consumes several messages,
    the release of the last one frees all of them.

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
    Each role of the schedule keeps its ops, the loops and branches around them, and the tiles that these carry for it; index
    values are computed again in each role. A condition around all ops of a role becomes one branch around its loops.

    After, shortened:
    ```mlir
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 72 single_thread { scf.for ... { tile.dot ... } }
      tile.role "softmax0" warps 0 to 4 registers 184 { scf.for ... { tile.row_max ... } }
    }
    ```
  }];
}

def TileSkipHiddenBlocks : Tile_Pass<"tile-skip-hidden-blocks"> {
  let summary = "End the loop of a role where the mask hides all later keys from its rows";
  let description = [{
    The roles of a CTA receive the same KV blocks, those that its last row sees. If at least two roles have rows of their
    own, the loop of each ends before the blocks that the upper bound of its mask hides from its rows; a second loop receives
    and releases their messages. A role computes at least one block. The first key of a block is a constant times
    the loop index, plus a value that is invariant in the loop. The pass does not change loops in which a role sends
    messages, or kernels whose CTAs do not run ahead into another output tile (schedule::runsAhead).

    Before:
    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %k = tile.receive %kv[%i] : ...
      %s = tile.dot %q, %k transpose_b : ...
      tile.release %kv[%i] : ...
      %x = tile.mask %s at %queries[%row], %keys[%col] to %upper : ...
    }
    ```
    After, shortened:
    ```mlir
    %computed, %skipped = tile.split_trips %own of %n
    scf.for %i = %c0 to %computed step %c1 { ... }
    scf.for %i = %c0 to %skipped step %c1 {
      %m = arith.addi %computed, %i : index
      %k = tile.receive %kv[%m] : ...
      tile.release %kv[%m] : ...
    }
    ```
  }];
}

def TileRotateLoops : Tile_Pass<"tile-rotate-loops"> {
  let summary = "Overlap the stages of a role's loop";
  let description = [{
    Pipelines each loop of a role with ops of two stages. Stage 0 of the first iteration comes before the loop; the loop has
    stage 1 of an iteration and stage 0 of the next one, in the order of the ops' attributes; and stage 1 of the last
    iteration comes after the loop. A branch with ops of both stages becomes two if a product is between these. The loop
    carries the values that stage 1 uses from stage 0. Releases of stage 0 that follow the loop come before stage 1 of the last
    iteration. The last iteration omits its last release of each channel, which no acquire waits for, unless messages follow: in
    a program, in a kernel whose CTAs run ahead into their next tile, in a loop inside another one, and if another role keeps its
    releases. `tile.partition` is removed.

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
    A channel of depth d becomes d mbarriers for full slots and, unless it is unreleased or released by another channel, d
    mbarriers for free slots. Message n lies in stage n mod d; `receive` waits for parity (n / d) mod 2, `acquire` for the
    other parity, so that acquires of the first round do not wait on new barriers. There is no wait for a slot if the
    message's number shows that it is in the first round, or if the role has received or acquired the message of the same
    number in a channel whose slots the same release frees. Fences are inserted if a message crosses proxies or lies in
    tensor memory. Loads and stores become copies of TMA boxes.

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
  let summary = "Expand math functions that PTX does not have";
  let description = [{
    Rewrites the region of `tile.modify`, which computes one score at a time before `tile-distribute` repeats it. exp, log,
    log2 and tanh are kept, because the units of ex2 and lg2 compute them, and so are roots and rounding functions. Other
    functions become upstream's polynomials and expansions, with the cases that those leave out: sine and cosine subtract
    whole turns from their argument in three steps, a power depends on the sign of its base, and arc tangents on the
    quadrant. f16 and bf16 are computed in f32. lib/Dialect/Tile/README.md lists the errors.

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
    Functions on f64 and powers of integers, which no target computes, are errors.
  }];
}

def TileDistribute : Tile_Pass<"tile-distribute", ["::mlir::NVVM::NVVMDialect"]> {
  let summary = "Distribute tiles to threads, and roles to warps";
  let description = [{
    The kernel family of the target rewrites the ops on tiles; a tile in memory becomes an address. With tcgen05, a tile in
    registers becomes one row per thread (a vector), products become MMA instructions, moves become tensor memory loads and
    stores or swizzled shared memory stores, and ops on an accumulator become a loop over pieces of 16 columns. With wgmma,
    a tile in `#tile.fragment` becomes a vector of the elements that a thread has of its two rows, with two 16-bit elements
    in a word; maximum and sum of a row are reduced over the four threads that share it, and a dot becomes a wgmma of all
    K steps and a commit:
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
    `tile.warp_specialize` becomes branches on the warp index, with a prologue (barriers, tensor memory allocation, setmaxnreg)
    and an epilogue.

    If the schedule's scheduler gives a CTA several output tiles, each role becomes a loop over them, in which the number of
    the tile replaces `gpu.block_id`:
    ```mlir
    scf.while (%tile = %block) {
      // the role, for this tile; then a barrier of the CTA, initialization of the mbarriers, and another barrier of the CTA
      %next = tile.next_tile at 231464
      ...
    }
    ```
  }];
}

def TileWgmmaAwaitProducts : Tile_Pass<"tile-wgmma-await-products"> {
  let summary = "Insert waits for asynchronous products, and turns in which consumers issue them";
  let description = [{
    A `tile.dot` into `#tile.fragment` is asynchronous. A `tile.wait_dots`, which leaves later products in flight, is inserted
    before the first op that uses its result, overwrites its factors or releases them to the producer. Writes of threads to
    shared memory for their own product are fenced, and one thread of each warp releases a message. Several consumers take
    turns to issue the products of a rotated loop (named barriers 1, 2 and 3): while one multiplies, the others compute
    exponentials.

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

def TileMmaSyncStageCopies : Tile_Pass<"tile-mma-sync-stage-copies"> {
  let summary = "Copy keys and values ahead of their products, by the threads that multiply";
  let description = [{
    In kernels of mma.sync one role loads and multiplies. The loads of its loop become copies by cp.async into a ring of
    S stages, which all of its threads share. Before load n is used, its group of copies is awaited, a barrier makes the
    copies of all threads visible and shows that all have read stage n - 1, and load n + S - 1, which may belong to a later
    iteration, begins to fill that stage. Rows of the output go through shared memory to the tensor.

    Before:
    ```mlir
    scf.for %i = %lb to %ub step %c1 ... {
      %k = tile.load %keys[%row] : ...
      %s = tile.dot %q, %k transpose_b : ...
    ```
    After, shortened, with a ring of 2 stages:
    ```mlir
    tile.copy_rows ... %lb ...
    tile.commit_copies
    scf.for %i = %lb to %ub step %c1 ... {
      tile.await_copies 0
      tile.sync_cta
      scf.if %isNext { tile.copy_rows ... %i + 1 ... }
      tile.commit_copies
      %k = tile.slot_address[%stage] : ...
      %s = tile.dot %q, %k transpose_b : ...
    ```
  }];
}

def TileLoopTiles : Tile_Pass<"tile-loop-tiles"> {
  let summary = "Make the roles of a CTA loop over several output tiles";
  let description = [{
    If the schedule gives a CTA several output tiles, each role becomes a loop over them, in which the number of the tile
    replaces `gpu.block_id`. Channels continue from tile to tile: the number of a message includes the messages of earlier
    tiles, and no role waits for another one between tiles. The loads of a tile begin with those of its first KV block. After
    the last tile a role acquires again all slots that products free, so that none of their signals comes after the exit of the
    CTA. Kernels that initialize barriers again for each tile (schedule::runsAhead is false) are left unchanged: tile-distribute
    makes their loops.

    After, shortened:
    ```mlir
    scf.while (%tile = %first, %sent = %c0) {
      // the role, for this tile, with its messages counted from %sent
      scf.yield %next, %sent_now
    }
    ```
  }];
}

def TileRotateWaits : Tile_Pass<"tile-rotate-waits"> {
  let summary = "Wait for the free slot of the next message at the end of an iteration";
  let description = [{
    ptxas keeps instructions on their side of a wait: in a softmax role, no exponential of P comes before the wait for the slot of
    alpha. If the consumers release a slot right after they have received its message, and the role signals something else
    after the message and nothing before it in the iteration, the wait moves after the last signal of the previous iteration.
    So that no wait is added, the code after the loop must also wait for the slot of the last message, or the consumers must
    receive and release every message, in a loop with the same bounds and step as that of the message and under no further
    condition. Otherwise the wait stays where it is. A release of
    a tile that the role has loaded from tensor memory moves after the first message of the iteration: before it, all loads
    would end before the first use of one, and the wait could not move. Only kernels whose softmax follows its stores are
    changed (schedule::ordersSoftmaxByStores): those with emulated exponentials.

    ```mlir
    scf.for %n = ... {                                    tile.wait %free[%c0] parity %p_of_first
      tile.wait %free[%c0] parity %p_of_n                 scf.for %n = ... {
      llvm.store %alpha, %slot                       ->     llvm.store %alpha, %slot
      tile.arrive %full[%c0]                                tile.arrive %full[%c0]
      tile.arrive %p[%c0]                                   tile.arrive %p[%c0]
    }                                                       tile.wait %free[%c0] parity %p_of_n_plus_1 }
    ```
  }];
}

def TileShareConsumers : Tile_Pass<"tile-share-consumers"> {
  let summary = "Merge the consumers of a wgmma kernel, which differ only in constants and addresses, into one body";
  let description = [{
    Consumers do the same work on different rows: they differ in shared memory addresses, numbers of named barriers,
    constants, and values from above the roles. If the bodies of all warpgroups from some warpgroup on are equal except for
    those, the pass keeps one body and computes the values that differ from the number of the warpgroup, uniformly in each
    warp. LLVM, ptxas and the instruction cache then have one consumer instead of up to three. Each value is computed at
    its use, so that it takes no register across the loop. Other kernels, and consumers with other differences, are left as
    they are. The verifiers need separate bodies, so they run before this pass.

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

def TileCarryStages : Tile_Pass<"tile-carry-stages"> {
  let summary = "Carry the stages of channels through loops instead of dividing numbers of messages";
  let description = [{
    Message n of a channel of depth d lies in stage n mod d, in round n / d. If d is not a power of two, each needs a
    multiplication by a reciprocal. If message numbers are a constant times the loop index plus a loop-invariant value, the
    loop carries the stage and the parity of the first message of an iteration; those of later messages are computed from
    them. Numbers that each iteration uses must not be negative. A loop that uses messages only in branches is not changed,
    since message numbers may be negative in iterations that do not take the branch.

    Before:
    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %round = arith.divui %i, %c3 : index
      %parity = arith.andi %round, %c1 : index
      %stage = arith.remui %i, %c3 : index
      ...
    }
    ```
    After:
    ```mlir
    scf.for %i = %c0 to %n step %c1 iter_args(%stage = %c0, %parity = %c0) -> (index, index) {
      ...
      %next = arith.addi %stage, %c1 : index
      %wraps = arith.cmpi uge, %next, %c3 : index
      %wrapped = arith.subi %next, %c3 : index
      %other = arith.xori %parity, %c1 : index
      %next_stage = arith.select %wraps, %wrapped, %next : index
      %next_parity = arith.select %wraps, %other, %parity : index
      scf.yield %next_stage, %next_parity : index, index
    }
    ```
  }];
}

def TileVerifyResources : Tile_Pass<"tile-verify-resources"> {
  let summary = "Verify that a placed kernel fits its target";
  let description = [{
    Collects the resources that the ops use (places of tiles, mbarriers, tensor memory columns, registers, threads, named
    barriers), and checks with an op-free library that the target of the kernel's schedule has them
    (Schedule/Rules/Capacities.h, rules resources.R1 to resources.R8).
    In a placed kernel, which is still sequential, it also checks with MLIR's liveness analysis that no op overwrites a tile
    that is read later: P may lie over its scores only after the read of the scores. After specialization `tile-verify-sync`
    checks that. An unplaced kernel passes.

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
  let summary = "Verify that accesses of different roles are ordered";
  let description = [{
    Executes the kernel's synchronization for a few lengths (no block, one, two, and enough to go round every ring) and
    verifies each run with vector clocks (Sync/Synchronization.h, op-free, rules Y1 to Y9): conflicting accesses to a place
    are ordered, also for the proxy and unit of the later access; waits end; a phase gets the arrivals and bytes that it
    expects; no phase can be missed or signaled early; barriers are initialized; no operation is in flight at the exit;
    messages of a channel are in order; barriers are initialized again only after all uses; all warps of a warpgroup issue
    a wgmma together. A CTA that computes several tiles is run for two tiles, or for three if the scheduler is dynamic. At the specialised level a channel represents its
    barriers and fences; at the machine level every op has the effects of its SyncOpInterface. Kernels of other levels
    pass. Registers of a wgmma are SSA values and are checked in the IR: no op touches them before the wait that returns
    them, and a fence orders the writes to them before the wgmma.

    lib/Dialect/Tile/README.md lists the errors that the pass does not find.

    ```mlir
    %v = tile.tmem_load %s : !llvm.ptr<6> -> vector<32xi32>
    tile.fence tcgen05_before
    tile.arrive %free[%c0] : !tile.barrier<1>   // the loads may still be in flight
    ```
    ```
    error: Y1: an MMA of "mma" writes columns [0, 128) of tensor memory, which tmem_load of "softmax0" reads:
    expected tmem_wait load before the thread signals
    ```
  }];
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
