// The even CTA of a pair gets the MMA role; barriers that the role waits for
// count the arrivals of both CTAs, and commits signal both if other roles wait.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-pair-ctas)))' | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @pair
  gpu.func @pair(%k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %base: i32) kernel {
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    // The load role is one thread of each CTA, softmax 128 threads.
    // CHECK: %[[FULL:.*]] = tile.barrier "kv.full" at 1024 arrivals 2 : <2>
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<2>
    // CHECK: %[[FREE:.*]] = tile.barrier "kv.free" at 1040 arrivals 1 : <2>
    %free = tile.barrier "kv.free" at 1040 arrivals 1 : !tile.barrier<2>
    // CHECK: %[[S:.*]] = tile.barrier "s.full" at 1056 arrivals 1 : <1>
    %s = tile.barrier "s.full" at 1056 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[P:.*]] = tile.barrier "p.full" at 1064 arrivals 256 : <1>
    %p = tile.barrier "p.full" at 1064 arrivals 128 : !tile.barrier<1>
    // CHECK: %[[PF:.*]] = tile.barrier "p.free" at 1072 arrivals 1 : <1>
    %pfree = tile.barrier "p.free" at 1072 arrivals 1 : !tile.barrier<1>
    // CHECK: %[[ST:.*]] = tile.barrier "stats.full" at 1080 arrivals 128 : <1>
    %stats = tile.barrier "stats.full" at 1080 arrivals 128 : !tile.barrier<1>
    // CHECK: tile.tmem_alloc 512 to 2048 pair
    tile.tmem_alloc 512 to 2048
    // CHECK: tile.init_barrier %[[FULL]] arrivals 2
    tile.init_barrier %full arrivals 1 : !tile.barrier<2>
    // CHECK: tile.init_barrier %[[P]] arrivals 256
    tile.init_barrier %p arrivals 128 : !tile.barrier<1>
    // CHECK: tile.init_barrier %[[ST]] arrivals 128
    tile.init_barrier %stats arrivals 128 : !tile.barrier<1>
    // CHECK: tile.sync_cluster
    // CHECK-NOT: tile.sync_cta
    tile.sync_cta
    %tid = gpu.thread_id x
    %c13 = arith.constant 13 : index
    %softmax = arith.cmpi ult, %tid, %c13 : index
    scf.if %softmax {
      // CHECK: tile.wait %[[S]][%{{.*}}] parity %{{.*}} : <1>
      tile.wait %s[%c0] parity %c0 : !tile.barrier<1>
      // CHECK: tile.arrive %[[ST]][%{{.*}}] : <1>
      tile.arrive %stats[%c0] : !tile.barrier<1>
      // CHECK: tile.wait %[[ST]][%{{.*}}] parity %{{.*}} : <1>
      tile.wait %stats[%c0] parity %c0 : !tile.barrier<1>
      // CHECK: tile.arrive %[[P]][%{{.*}}] pair : <1>
      tile.arrive %p[%c0] : !tile.barrier<1>
    } else {
      // CHECK: tile.wait %[[FREE]][%{{.*}}] parity %{{.*}} : <2>
      tile.wait %free[%c0] parity %c0 : !tile.barrier<2>
      // CHECK: tile.arrive_expect_tx %[[FULL]][%{{.*}}] bytes 8192 pair : <2>
      tile.arrive_expect_tx %full[%c0] bytes 8192 : !tile.barrier<2>
      %dst = tile.smem_address 0 : !llvm.ptr<3>
      // CHECK: tile.tma_load {{.*}} signals %[[FULL]][%{{.*}}] pair :
      tile.tma_load %k[%c0, %c0, %c0] column 0 to %dst signals %full[%c0]
          : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, !llvm.ptr<3>, !tile.barrier<2>
      // CHECK: %[[ID:.*]] = gpu.block_id x
      // CHECK: %[[N:.*]] = arith.index_cast %[[ID]]
      // CHECK: %[[RANK:.*]] = arith.andi %[[N]], %{{.*}} : i32
      // CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[RANK]], %{{.*}} : i32
      // CHECK: scf.if %[[EVEN]] {
      // CHECK-NEXT: %[[ONE:.*]] = tile.elect
      // CHECK-NEXT: scf.if %[[ONE]] {
      %one = tile.elect
      scf.if %one {
        // CHECK: tile.wait %[[FULL]][%{{.*}}] parity %{{.*}} pair : <2>
        tile.wait %full[%c0] parity %c0 : !tile.barrier<2>
        %d = tile.tmem_address 0 from %base : !llvm.ptr<6>
        %a = tile.tmem_address 64 from %base : !llvm.ptr<6>
        %b = tile.descriptor %dst plus 0 fields 4611756662049538048 : !llvm.ptr<3>
        // CHECK: tile.mma {{.*}} pair
        tile.mma %d, %a, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
        // CHECK: tile.commit %[[S]][%{{.*}}] pair both : <1>
        tile.commit %s[%c0] : !tile.barrier<1>
        // CHECK: tile.commit %[[FREE]][%{{.*}}] pair both : <2>
        tile.commit %free[%c0] : !tile.barrier<2>
        // The role alone waits for it.
        // CHECK: tile.commit %[[PF]][%{{.*}}] pair : <1>
        tile.commit %pfree[%c0] : !tile.barrier<1>
        // CHECK: tile.wait %[[P]][%{{.*}}] parity %{{.*}} pair : <1>
        tile.wait %p[%c0] parity %c0 : !tile.barrier<1>
        // CHECK: tile.wait %[[PF]][%{{.*}}] parity %{{.*}} : <1>
        tile.wait %pfree[%c0] parity %c0 : !tile.barrier<1>
      }
    }
    // CHECK: tile.sync_cluster
    tile.sync_cta
    // CHECK: tile.tmem_dealloc %{{.*}} columns 512 pair
    tile.tmem_dealloc %base columns 512
    gpu.return
  }

  // Other kernels do not change.
  // CHECK-LABEL: gpu.func @alone
  gpu.func @alone(%base: i32, %b: i64) kernel {
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    // CHECK: arrivals 1 : <1>
    %s = tile.barrier "s.full" at 1056 arrivals 1 : !tile.barrier<1>
    // CHECK: tile.sync_cta
    tile.sync_cta
    %one = tile.elect
    // CHECK-NOT: pair
    scf.if %one {
      %d = tile.tmem_address 0 from %base : !llvm.ptr<6>
      tile.mma %d, %d, %b instruction 136316048 accumulate %true : !llvm.ptr<6>, !llvm.ptr<6>, i64
      tile.commit %s[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}
