// The branch of one thread around an MMA role moves inwards, to the ops that one thread issues.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-widen-roles)))' | FileCheck %s
// A second run changes nothing.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-widen-roles,tile-tcgen05-widen-roles)))' | FileCheck %s

gpu.module @kernels {
  // Waits, fences, loops, branches and arithmetic are for the whole warp. Products and commits in a row share one branch, and ops that compute
  // operands of later products move before the branch.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[TWO:[a-z0-9]+]]: i1
  gpu.func @loop(%n: index, %two: i1, %s: !llvm.ptr<6>, %q: !llvm.ptr<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<2>
    %done = tile.barrier "s0.full" at 1040 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[LEADER:.*]] = tile.elect
    %leader = tile.elect
    // CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %[[N]]
    scf.if %leader {
      scf.for %i = %c0 to %n step %c1 {
        // CHECK-NEXT: %[[PARITY:.*]] = arith.andi %[[I]], %c1
        %parity = arith.andi %i, %c1 : index
        // CHECK-NEXT: tile.wait %{{.*}}[%[[PARITY]]] parity %[[PARITY]]
        tile.wait %full[%parity] parity %parity : !tile.barrier<2>
        // CHECK-NEXT: tile.fence tcgen05_after
        tile.fence tcgen05_after
        // CHECK-NEXT: %[[A:.*]] = tile.descriptor %{{.*}} plus 0
        %a = tile.descriptor %q plus 0 fields 4611756662049538048 : !llvm.ptr<3>
        // CHECK-NEXT: %[[B:.*]] = tile.descriptor %{{.*}} plus 32
        // CHECK-NEXT: scf.if %[[LEADER]] {
        // CHECK-NEXT:   tile.mma %{{.*}}, %[[A]], %[[A]]
        // CHECK-NEXT:   tile.mma %{{.*}}, %[[B]], %[[B]]
        // CHECK-NEXT:   tile.commit
        // CHECK-NEXT: }
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        %b = tile.descriptor %q plus 32 fields 4611756662049538048 : !llvm.ptr<3>
        tile.mma %s, %b, %b instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        tile.commit %done[%c0] : !tile.barrier<1>
        // CHECK-NEXT: scf.if %[[TWO]] {
        // CHECK-NEXT:   tile.wait
        // CHECK-NEXT:   scf.if %[[LEADER]] {
        // CHECK-NEXT:     tile.mma
        // CHECK-NEXT:   }
        // CHECK-NEXT: }
        scf.if %two {
          tile.wait %done[%c0] parity %parity : !tile.barrier<1>
          tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        }
        // Ops after a loop or branch start a new branch on the leader.
        // CHECK-NEXT: scf.if %[[LEADER]] {
        // CHECK-NEXT:   tile.commit
        // CHECK-NEXT: }
        tile.commit %done[%c0] : !tile.barrier<1>
      }
    }
    // CHECK: gpu.return
    gpu.return
  }

  // Results of loops are for all threads, too.
  // CHECK-LABEL: gpu.func @carried
  gpu.func @carried(%n: index, %s: !llvm.ptr<6>, %a: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %done = tile.barrier "s0.full" at 1024 arrivals 1 : !tile.barrier<2>
    // CHECK: %[[LEADER:.*]] = tile.elect
    %leader = tile.elect
    scf.if %leader {
      // CHECK-NEXT: %[[LAST:.*]] = scf.for
      // CHECK-NEXT:   scf.if %[[LEADER]] {
      // CHECK-NEXT:     tile.mma
      // CHECK-NEXT:   }
      // CHECK-NEXT:   scf.yield
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %c0) -> (index) {
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        scf.yield %i : index
      }
      // CHECK: %[[STAGE:.*]] = arith.andi %[[LAST]], %c1
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-NEXT:   tile.commit %{{.*}}[%[[STAGE]]]
      %stage = arith.andi %last, %c1 : index
      tile.commit %done[%stage] : !tile.barrier<2>
    }
    gpu.return
  }

  // Branches left unchanged: one without products, one that does not test the elected thread, one with an op that has effects and a result, and one with an
  // else region.
  // CHECK-LABEL: gpu.func @others
  gpu.func @others(%s: !llvm.ptr<6>, %a: i64, %some: i1, %place: !llvm.ptr<3>) kernel {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %done = tile.barrier "s0.full" at 1024 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[LEADER:.*]] = tile.elect
    %leader = tile.elect
    // CHECK-NEXT: scf.if %[[LEADER]] {
    // CHECK-NEXT:   tile.wait
    // CHECK-NEXT:   tile.arrive
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.arrive %done[%c0] : !tile.barrier<1>
    }
    // CHECK: scf.if %{{.*}} {
    // CHECK-NEXT:   tile.wait
    // CHECK-NEXT:   tile.mma
    scf.if %some {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    // CHECK: scf.if %[[LEADER]] {
    // CHECK-NEXT:   tile.wait
    // CHECK-NEXT:   llvm.load
    // CHECK-NEXT:   tile.mma
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      %read = llvm.load %place : !llvm.ptr<3> -> i64
      tile.mma %s, %read, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    // CHECK: scf.if %[[LEADER]] {
    // CHECK-NEXT:   tile.wait
    // CHECK-NEXT:   tile.mma
    // CHECK-NEXT: } else {
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    } else {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
    }
    gpu.return
  }

  // Ten products with two descriptors each fit in the uniform registers, eleven do not, unless a commit is between them. An operand in tensor memory needs one register for its address.
  // CHECK-LABEL: gpu.func @registers
  gpu.func @registers(%s: !llvm.ptr<6>, %a: i64) kernel {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %done = tile.barrier "s0.full" at 1024 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[LEADER:.*]] = tile.elect
    %leader = tile.elect
    // CHECK-NEXT: tile.wait
    // CHECK-NEXT: scf.if %[[LEADER]] {
    // CHECK-COUNT-10: tile.mma
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.wait
    // CHECK-NEXT: scf.if %[[LEADER]] {
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    // CHECK: scf.if %[[LEADER]] {
    // CHECK-NEXT: tile.wait
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %s, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    // CHECK: tile.wait
    // CHECK-NEXT: scf.if %[[LEADER]] {
    scf.if %leader {
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.commit %done[%c0] : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    gpu.return
  }

  // What is computed after a commit stays after it.
  // CHECK-LABEL: gpu.func @after_commit
  gpu.func @after_commit(%s: !llvm.ptr<6>, %a: i64, %q: !llvm.ptr<3>) kernel {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %done = tile.barrier "s0.full" at 1024 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[LEADER:.*]] = tile.elect
    %leader = tile.elect
    scf.if %leader {
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-NEXT:   tile.mma
      // CHECK-NEXT:   tile.commit
      // CHECK-NEXT: }
      // CHECK-NEXT: %[[B:.*]] = tile.descriptor
      // CHECK-NEXT: scf.if %[[LEADER]] {
      // CHECK-NEXT:   tile.mma %{{.*}}, %[[B]], %[[B]]
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.commit %done[%c0] : !tile.barrier<1>
      %b = tile.descriptor %q plus 0 fields 4611756662049538048 : !llvm.ptr<3>
      tile.mma %s, %b, %b instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    gpu.return
  }
  // Loops over tiles are for the whole warp, too.
  // CHECK-LABEL: gpu.func @tiles
  gpu.func @tiles(%count: index, %s: !llvm.ptr<6>, %q: !llvm.ptr<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %full = tile.barrier "q0.full" at 1024 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[LEADER:.*]] = tile.elect
    // CHECK-NEXT: scf.while
    // CHECK: tile.wait
    // CHECK: scf.if %[[LEADER]] {
    // CHECK-NEXT: tile.mma
    %leader = tile.elect
    scf.if %leader {
      scf.while (%tile = %c0) : (index) -> index {
        %more = arith.cmpi ult, %tile, %count : index
        scf.condition(%more) %tile : index
      } do {
      ^bb0(%tile: index):
        %parity = arith.andi %tile, %c1 : index
        tile.wait %full[%c0] parity %parity : !tile.barrier<1>
        %a = tile.descriptor %q plus 0 fields 4611756662049538048 : !llvm.ptr<3>
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        %next = arith.addi %tile, %c1 : index
        scf.yield %next : index
      }
    }
    gpu.return
  }
}
