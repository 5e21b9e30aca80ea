// The wait for a free slot moves to the end of the iteration before if the consumers release the slot on receipt.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-rotate-waits)))' --split-input-file | FileCheck %s
// A second run changes nothing.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-rotate-waits,tile-rotate-waits)))' --split-input-file | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @released_on_receipt
  // CHECK-SAME: (%[[N:.*]]: index, %[[BASE:.*]]: index, %[[SLOT:.*]]: !llvm.ptr<3>, %[[ALPHA:.*]]: f32)
  gpu.func @released_on_receipt(%n: index, %base: index, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FULL:.*]] = tile.barrier "alpha.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    // CHECK: %[[P:.*]] = tile.barrier "p.full"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p.full" at 1040 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[M0:.*]] = arith.addi %[[BASE]], %c0
    // CHECK: %[[R0:.*]] = arith.andi %[[M0]], %c1
    // CHECK: %[[P0:.*]] = arith.xori %[[R0]], %c1
    // CHECK: tile.wait %[[FREE]][%c0] parity %[[P0]]
    // CHECK: scf.for %[[I:.*]] = %c0 to %[[N]] step %c1
    scf.for %i = %c0 to %n step %c1 {
      %message = arith.addi %base, %i : index
      %round = arith.andi %message, %c1 : index
      %parity = arith.xori %round, %c1 : index
      // CHECK-NOT: tile.wait
      // CHECK: llvm.store %[[ALPHA]], %[[SLOT]]
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      // CHECK: tile.arrive %[[P]]
      // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[I]], %c1
      // CHECK-NEXT: %[[M:.*]] = arith.addi %[[BASE]], %[[NEXT]]
      // CHECK-NEXT: %[[R:.*]] = arith.andi %[[M]], %c1
      // CHECK-NEXT: %[[PARITY:.*]] = arith.xori %[[R]], %c1
      // CHECK-NEXT: tile.wait %[[FREE]][%c0] parity %[[PARITY]]
      // CHECK-NEXT: }
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    // The consumer.
    scf.for %i = %c0 to %n step %c1 {
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
  // The consumer releases the slot after another wait, which may need the producer's next message.
  // CHECK-LABEL: gpu.func @released_later
  gpu.func @released_later(%n: index, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
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
      %parity = arith.andi %i, %c1 : index
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %x = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.wait %p[%c0] parity %parity : !tile.barrier<1>
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }

  // Nothing comes after the message, so that the wait would only come earlier.
  // CHECK-LABEL: gpu.func @nothing_after
  gpu.func @nothing_after(%n: index, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      // CHECK: tile.wait %[[FREE]]
      // CHECK-NEXT: llvm.store
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %x = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a">
gpu.module @kernels {
  // Without emulated exponentials nothing changes.
  // CHECK-LABEL: gpu.func @not_emulated
  gpu.func @not_emulated(%n: index, %slot: !llvm.ptr<3>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
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
  // Consumers may need the next arrival at X before they receive the message.
  // CHECK-LABEL: gpu.func @signals_before
  gpu.func @signals_before(%n: index, %slot: !llvm.ptr<3>, %alpha: f32, %one: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %full = tile.barrier "full" at 1024 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[FREE:.*]] = tile.barrier "free"
    %free = tile.barrier "free" at 1032 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[X:.*]] = tile.barrier "x"
    %x = tile.barrier "x" at 1040 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p" at 1048 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %r = arith.andi %i, %c1 : index
      %parity = arith.xori %r, %c1 : index
      // CHECK: scf.for
      // CHECK: tile.arrive %[[X]]
      tile.arrive %x[%c0] : !tile.barrier<1>
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      // CHECK: tile.wait %[[FREE]]
      // CHECK: llvm.store
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %x[%c0] parity %parity : !tile.barrier<1>
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // The arrival in a branch comes before the wait.
  // CHECK-LABEL: gpu.func @signals_in_branch
  gpu.func @signals_in_branch(%n: index, %slot: !llvm.ptr<3>, %alpha: f32, %one: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %full = tile.barrier "full" at 1024 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[FREE:.*]] = tile.barrier "free"
    %free = tile.barrier "free" at 1032 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[X:.*]] = tile.barrier "x"
    %x = tile.barrier "x" at 1040 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p" at 1048 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %r = arith.andi %i, %c1 : index
      %parity = arith.xori %r, %c1 : index
      // CHECK: scf.for
      // CHECK-NOT: tile.wait
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
      // CHECK: scf.if
      // CHECK: tile.arrive %[[X]]
      // CHECK: }
      // CHECK: tile.wait %[[FREE]]
      scf.if %one {
        tile.arrive %x[%c0] : !tile.barrier<1>
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %x[%c0] parity %parity : !tile.barrier<1>
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // The consumer meets other threads before it releases the slot.
  // CHECK-LABEL: gpu.func @meets_others
  gpu.func @meets_others(%n: index, %slot: !llvm.ptr<3>, %alpha: f32, %one: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %full = tile.barrier "full" at 1024 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[FREE:.*]] = tile.barrier "free"
    %free = tile.barrier "free" at 1032 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[X:.*]] = tile.barrier "x"
    %x = tile.barrier "x" at 1040 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p" at 1048 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %r = arith.andi %i, %c1 : index
      %parity = arith.xori %r, %c1 : index
      // CHECK: scf.for
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      // CHECK: tile.wait %[[FREE]]
      // CHECK: llvm.store
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      tile.sync_cta
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // One message is received and not released, so there is no wait after it.
  // CHECK-LABEL: gpu.func @keeps_last
  gpu.func @keeps_last(%n: index, %slot: !llvm.ptr<3>, %alpha: f32, %one: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %full = tile.barrier "full" at 1024 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[FREE:.*]] = tile.barrier "free"
    %free = tile.barrier "free" at 1032 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[X:.*]] = tile.barrier "x"
    %x = tile.barrier "x" at 1040 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p" at 1048 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %r = arith.andi %i, %c1 : index
      %parity = arith.xori %r, %c1 : index
      // CHECK: scf.for
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      // CHECK: tile.wait %[[FREE]]
      // CHECK: llvm.store
      llvm.store %alpha, %slot : f32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %full[%c0] parity %parity : !tile.barrier<1>
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      tile.arrive %free[%c0] : !tile.barrier<1>
    }
    %parity = arith.andi %n, %c1 : index
    tile.wait %full[%c0] parity %parity : !tile.barrier<1>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // The release of scores comes after the first message, and the wait moves.
  // CHECK-LABEL: gpu.func @released_scores
  gpu.func @released_scores(%n: index, %slot: !llvm.ptr<3>, %scores: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[FULL:.*]] = tile.barrier "alpha.full"
    // CHECK: %[[FREE:.*]] = tile.barrier "alpha.free"
    // CHECK: %[[P:.*]] = tile.barrier "p.full"
    // CHECK: %[[S:.*]] = tile.barrier "s.free"
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    %free = tile.barrier "alpha.free" at 1032 arrivals 128 : !tile.barrier<1>
    %p = tile.barrier "p.full" at 1040 arrivals 128 : !tile.barrier<1>
    %s = tile.barrier "s.free" at 1048 arrivals 128 : !tile.barrier<1>
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      // CHECK: tile.tmem_wait load
      // CHECK-NOT: tile.wait
      // CHECK-NOT: tile.fence
      // CHECK: llvm.store
      // CHECK-NEXT: tile.arrive %[[FULL]]
      // CHECK-NEXT: tile.fence tcgen05_before
      // CHECK-NEXT: tile.arrive %[[S]]
      // CHECK-NEXT: tile.arrive %[[P]]
      // CHECK: tile.wait %[[FREE]]
      // CHECK-NEXT: }
      %loaded = tile.tmem_load %scores : !llvm.ptr<6> -> vector<32xi32>
      %row = tile.tmem_wait load of %loaded : vector<32xi32> to vector<32xi32>
      tile.fence tcgen05_before
      tile.arrive %s[%c0] : !tile.barrier<1>
      %alpha = vector.extract %row[0] : i32 from vector<32xi32>
      tile.wait %free[%c0] parity %parity : !tile.barrier<1>
      llvm.store %alpha, %slot : i32, !llvm.ptr<3>
      tile.arrive %full[%c0] : !tile.barrier<1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    }
    // The consumer.
    scf.for %i = %c0 to %n step %c1 {
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
gpu.module @m {
  // Another role waits for the release before it lets this one go on: the release stays where it is.
  // CHECK-LABEL: gpu.func @sink
  // CHECK: tile.fence tcgen05_before
  // CHECK-NEXT: tile.arrive
  // CHECK-NEXT: tile.wait
  // CHECK-NEXT: tile.arrive
  gpu.func @sink(%n: index, %slot: !llvm.ptr<3>, %scores: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.barrier "s.free" at 1048 arrivals 128 : !tile.barrier<1>
    %x = tile.barrier "x.full" at 1056 arrivals 128 : !tile.barrier<1>
    %full = tile.barrier "alpha.full" at 1024 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      %loaded = tile.tmem_load %scores : !llvm.ptr<6> -> vector<32xi32>
      %row = tile.tmem_wait load of %loaded : vector<32xi32> to vector<32xi32>
      tile.fence tcgen05_before
      tile.arrive %s[%c0] : !tile.barrier<1>
      tile.wait %x[%c0] parity %parity : !tile.barrier<1>
      tile.arrive %full[%c0] : !tile.barrier<1>
    }
    // Another role answers the release of the scores.
    scf.for %i = %c0 to %n step %c1 {
      %parity = arith.andi %i, %c1 : index
      tile.wait %s[%c0] parity %parity : !tile.barrier<1>
      tile.arrive %x[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @m {
  // The second arrival is a release as well, which needs the fence.
  // CHECK-LABEL: gpu.func @twice
  // CHECK: tile.fence tcgen05_before
  // CHECK-NEXT: tile.arrive
  // CHECK-NEXT: tile.arrive
  gpu.func @twice(%n: index, %slot: !llvm.ptr<3>, %scores: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.barrier "s.free" at 1048 arrivals 128 : !tile.barrier<1>
    %t = tile.barrier "t.free" at 1056 arrivals 128 : !tile.barrier<1>
    scf.for %i = %c0 to %n step %c1 {
      %loaded = tile.tmem_load %scores : !llvm.ptr<6> -> vector<32xi32>
      %row = tile.tmem_wait load of %loaded : vector<32xi32> to vector<32xi32>
      tile.fence tcgen05_before
      tile.arrive %s[%c0] : !tile.barrier<1>
      tile.arrive %t[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}
