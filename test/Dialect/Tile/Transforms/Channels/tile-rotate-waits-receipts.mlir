// A wait for a free slot stays where it is if its consumer may receive fewer messages than the loop sends: at the end of
// the last iteration it would wait for a message that is not received.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-rotate-waits)))' --split-input-file | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @fewer_iterations
  gpu.func @fewer_iterations(%n: index, %m: index, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p.full" at 1040 arrivals 128 : !tile.barrier<1>
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      // CHECK: tile.wait %[[FREE]]
      // CHECK-NEXT: llvm.store
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %m step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %x = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // The consumer has a condition of its own.
  // CHECK-LABEL: gpu.func @condition
  gpu.func @condition(%n: index, %one: i1, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p.full" at 1040 arrivals 128 : !tile.barrier<1>
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      // CHECK: tile.wait %[[FREE]]
      // CHECK-NEXT: llvm.store
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %n step %c1 {
      scf.if %one {
        %parity = arith.andi %i, %c1 : index
        tile.wait %full[%c0] parity %parity : !tile.barrier<1>
        %x = llvm.load %slot : !llvm.ptr<3> -> f32
        tile.arrive %free[%c0] : !tile.barrier<1>
      }
    }
    gpu.return
  }

  // Both loops run under the condition, so the wait moves.
  // CHECK-LABEL: gpu.func @same_condition
  gpu.func @same_condition(%n: index, %one: i1, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p.full" at 1040 arrivals 128 : !tile.barrier<1>
    // CHECK: scf.if
    scf.if %one {
      // CHECK: tile.wait %[[FREE]]
      // CHECK: scf.for
      // CHECK-NOT: tile.wait
      // CHECK: llvm.store
      scf.for %i = %c0 to %n step %c1 {
        %parity = arith.andi %i, %c1 : index
        tile.wait %free[%c0] parity %parity : !tile.barrier<1>
        llvm.store %alpha, %slot : f32, !llvm.ptr<3>
        tile.arrive %full[%c0] : !tile.barrier<1>
        tile.arrive %p[%c0] : !tile.barrier<1>
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      scf.if %one {
        %parity = arith.andi %i, %c1 : index
        tile.wait %full[%c0] parity %parity : !tile.barrier<1>
        %x = llvm.load %slot : !llvm.ptr<3> -> f32
        tile.arrive %free[%c0] : !tile.barrier<1>
      }
    }
    gpu.return
  }
}
