// The waits and commits that order the products of one thread, with each value of mma_order.

// RUN: split-file %s %t && cat %t/commit.mlir %t/kernels.mlir > %t/by-commit.mlir && cat %t/issue.mlir %t/kernels.mlir > %t/by-issue.mlir
// RUN: fmha-opt %t/by-commit.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-order-products)))' | FileCheck %s --check-prefixes=CHECK,COMMIT
// RUN: fmha-opt %t/by-issue.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-order-products)))' | FileCheck %s
// A second run changes nothing.
// RUN: fmha-opt %t/by-commit.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-order-products,tile-tcgen05-order-products)))' | FileCheck %s --check-prefixes=CHECK,COMMIT

//--- commit.mlir
#schedule = #fmha.schedule<target = "sm_100a", mma_order = commit>
//--- issue.mlir
#schedule = #fmha.schedule<target = "sm_100a", mma_order = issue>
//--- kernels.mlir
gpu.module @kernels {
  // The same product completes a phase of "done" and one of "free"; only the issuing thread waits for "free". "done" has one more phase after the loop.
  // CHECK-LABEL: gpu.func @loop
  gpu.func @loop(%n: index, %s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    // CHECK: %[[KV:.*]] = tile.barrier "kv.full"
    // CHECK: %[[DONE:.*]] = tile.barrier "done.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "p.free"
    %kv = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<1>
    %done = tile.barrier "done.full" at 1032 arrivals 1 : !tile.barrier<1>
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    tile.init_barrier %free arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      // CHECK: scf.for
      scf.for %i = %c0 to %n step %c1 {
        %parity = arith.andi %i, %c1 : index
        // CHECK: tile.mma
        // CHECK-NEXT: tile.commit %[[DONE]]
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        tile.commit %done[%c0] : !tile.barrier<1>
        tile.commit %free[%c0] : !tile.barrier<1>
        // COMMIT-NEXT: tile.wait %[[DONE]][%c0] parity
        // COMMIT-NEXT: tile.fence tcgen05_after
        tile.wait %free[%c0] parity %parity : !tile.barrier<1>
        tile.fence tcgen05_after
        // CHECK-NEXT: tile.mma
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        // CHECK-NEXT: tile.wait %[[KV]]
        tile.wait %kv[%c0] parity %parity : !tile.barrier<1>
        // The fence belongs to the wait for keys, too.
        // COMMIT-NEXT: tile.wait %[[DONE]]
        // CHECK-NEXT: tile.fence tcgen05_after
        // CHECK-NEXT: tile.mma
        tile.wait %free[%c0] parity %parity : !tile.barrier<1>
        tile.fence tcgen05_after
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      }
      // CHECK: tile.commit %[[DONE]]
      tile.commit %done[%c0] : !tile.barrier<1>
    }
    tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
    gpu.return
  }

  // A thread of another role waits for "free", too: its commit stays, but with mma_order = issue no product waits for it.
  // CHECK-LABEL: gpu.func @awaited
  gpu.func @awaited(%s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    // CHECK: %[[DONE:.*]] = tile.barrier "done.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "p.free"
    %done = tile.barrier "done.full" at 1032 arrivals 1 : !tile.barrier<1>
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      // CHECK: tile.commit %[[DONE]]
      // CHECK-NEXT: tile.commit %[[FREE]]
      // COMMIT-NEXT: tile.wait %[[FREE]]
      // CHECK-NEXT: tile.mma
      tile.commit %done[%c0] : !tile.barrier<1>
      tile.commit %free[%c0] : !tile.barrier<1>
      tile.wait %free[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    // CHECK: tile.wait %[[DONE]]
    // CHECK-NEXT: tile.wait %[[FREE]]
    tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
    tile.wait %free[%c0] parity %c0 : !tile.barrier<1>
    gpu.return
  }

  // "done" completes two phases per iteration and "free" one, so the n-th phases do not match.
  // CHECK-LABEL: gpu.func @more_phases
  gpu.func @more_phases(%n: index, %s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    // CHECK: %[[DONE:.*]] = tile.barrier "done.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "p.free"
    %done = tile.barrier "done.full" at 1032 arrivals 1 : !tile.barrier<1>
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      // CHECK: scf.for
      scf.for %i = %c0 to %n step %c1 {
        %parity = arith.andi %i, %c1 : index
        // CHECK: tile.commit %[[DONE]]
        // COMMIT-NEXT: tile.commit %[[FREE]]
        // COMMIT-NEXT: tile.wait %[[FREE]]
        // CHECK-NEXT: tile.mma
        // CHECK-NEXT: tile.commit %[[DONE]]
        tile.commit %done[%c0] : !tile.barrier<1>
        tile.commit %free[%c0] : !tile.barrier<1>
        tile.wait %free[%c0] parity %parity : !tile.barrier<1>
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        tile.commit %done[%c0] : !tile.barrier<1>
      }
    }
    tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
    gpu.return
  }

  // In a loop over tiles "done" completes one more phase than "free" after each inner loop.
  // CHECK-LABEL: gpu.func @loop_over_tiles
  gpu.func @loop_over_tiles(%n: index, %s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    // CHECK: %[[DONE:.*]] = tile.barrier "done.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "p.free"
    %done = tile.barrier "done.full" at 1032 arrivals 1 : !tile.barrier<1>
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      scf.for %tile = %c0 to %n step %c1 {
        scf.for %i = %c0 to %n step %c1 {
          // CHECK: tile.commit %[[DONE]]
          // COMMIT-NEXT: tile.commit %[[FREE]]
          // COMMIT-NEXT: tile.wait %[[FREE]]
          // CHECK-NEXT: tile.mma
          tile.commit %done[%c0] : !tile.barrier<1>
          tile.commit %free[%c0] : !tile.barrier<1>
          tile.wait %free[%c0] parity %i : !tile.barrier<1>
          tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
        }
        // CHECK: tile.commit %[[DONE]]
        tile.commit %done[%c0] : !tile.barrier<1>
      }
    }
    tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
    gpu.return
  }

  // Waits that stay: one that no product follows, and one for a barrier at which threads arrive.
  // CHECK-LABEL: gpu.func @no_order_of_products
  gpu.func @no_order_of_products(%s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    // CHECK: %[[DONE:.*]] = tile.barrier "done.full"
    // CHECK: %[[MIXED:.*]] = tile.barrier "mixed"
    %done = tile.barrier "done.full" at 1032 arrivals 1 : !tile.barrier<1>
    %mixed = tile.barrier "mixed" at 1040 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      // CHECK: tile.commit %[[DONE]]
      // CHECK-NEXT: tile.commit %[[MIXED]]
      // CHECK-NEXT: tile.wait %[[MIXED]]
      // CHECK-NEXT: tile.mma
      tile.commit %done[%c0] : !tile.barrier<1>
      tile.commit %mixed[%c0] : !tile.barrier<1>
      tile.wait %mixed[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      // CHECK-NEXT: tile.wait %[[DONE]]
      // CHECK-NEXT: tile.arrive %[[MIXED]]
      tile.wait %done[%c0] parity %c0 : !tile.barrier<1>
      tile.arrive %mixed[%c0] : !tile.barrier<1>
    }
    gpu.return
  }

  // A fence that belongs to a wait outside of the branch stays.
  // CHECK-LABEL: gpu.func @outer_wait
  gpu.func @outer_wait(%n: i1, %s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %kv = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<1>
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      tile.commit %free[%c0] : !tile.barrier<1>
      // CHECK: tile.wait
      // CHECK-NEXT: scf.if %{{.*}} {
      tile.wait %kv[%c0] parity %c0 : !tile.barrier<1>
      // COMMIT-NEXT: tile.wait
      // CHECK-NEXT: tile.fence tcgen05_after
      // CHECK-NEXT: tile.mma
      scf.if %n {
        tile.wait %free[%c0] parity %c0 : !tile.barrier<1>
        tile.fence tcgen05_after
        tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      }
    }
    gpu.return
  }

  // Waits that stay, since they may order more than products: the thread arrives after the product, several threads commit, or two ops name the barrier.
  // CHECK-LABEL: gpu.func @other_order
  gpu.func @other_order(%n: i1, %s: !llvm.ptr<6>, %a: i64) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %free = tile.barrier "p.free" at 1040 arrivals 1 : !tile.barrier<1>
    %out = tile.barrier "out" at 1048 arrivals 1 : !tile.barrier<1>
    %four = tile.barrier "four" at 1056 arrivals 4 : !tile.barrier<1>
    %one = tile.barrier "twice" at 1064 arrivals 1 : !tile.barrier<1>
    %same = tile.barrier "twice" at 1064 arrivals 1 : !tile.barrier<1>
    %leader = tile.elect
    scf.if %leader {
      tile.commit %free[%c0] : !tile.barrier<1>
      // CHECK: tile.wait
      // CHECK-NEXT: tile.mma
      // CHECK-NEXT: tile.arrive
      tile.wait %free[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      tile.arrive %out[%c0] : !tile.barrier<1>
    }
    scf.if %leader {
      // CHECK: tile.commit
      // CHECK-NEXT: tile.wait
      // CHECK-NEXT: tile.mma
      tile.commit %four[%c0] : !tile.barrier<1>
      tile.wait %four[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
      // CHECK-NEXT: tile.commit
      // CHECK-NEXT: tile.wait
      // CHECK-NEXT: tile.mma
      tile.commit %one[%c0] : !tile.barrier<1>
      tile.wait %same[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %s, %a, %a instruction 136316048 accumulate %false : !llvm.ptr<6>, i64, i64
    }
    gpu.return
  }
}
