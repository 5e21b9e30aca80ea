// What a broken kernel with wgmma is told, a rule at a time; breaks of real kernels are in tile-verify-sync-wgmma.test.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

// Registers are full only after the wait.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @touched {
  gpu.func @touched(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      // expected-error@+1 {{Y1: uses registers that a product may still write: expected tile.wgmma_wait of them between}}
      %t = arith.negf %s : vector<16xf32>
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// Nor may a part of them be taken.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @half_touched {
  gpu.func @half_touched(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      %t = vector.extract_strided_slice %s {offsets = [0], sizes = [4], strides = [1]} : vector<16xf32> to vector<4xf32>
      // expected-error@+1 {{Y1: uses registers that a product may still write: expected tile.wgmma_wait of them between}}
      %u = arith.addf %t, %t : vector<4xf32>
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// Warps 4 and 5 alone.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @half_a_group {
  gpu.func @half_a_group(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %c192 = arith.constant 192 : index
    %below = arith.cmpi ult, %thread, %c192 : index
    %half = arith.andi %consumer, %below : i1
    scf.if %half {
      // expected-error@+1 {{Y9: expected the 128 threads of a warpgroup, or of several, to carry this out together, got 64 of 2 warps}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      // expected-error@+1 {{Y9: expected the 128 threads of a warpgroup}}
      tile.wgmma_commit
      // expected-error@+1 {{Y9: expected the 128 threads of a warpgroup}}
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// The wait lets the one group run on.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @too_early {
  gpu.func @too_early(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-note@+1 {{the conflicting access}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      // expected-error@+1 {{Y1: threads of "consumer0" writes its registers, which a wgmma of "consumer0" writes: expected wgmma_commit after the wgmma, and a wgmma_wait that leaves fewer groups in flight}}
      %w = tile.wgmma_wait 1 of %s : vector<16xf32>
      tile.wgmma_wait 0
    }
    gpu.return
  }
}

// -----

// A wait is for groups, and this product is of none.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @uncommitted {
  gpu.func @uncommitted(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-note@+2 {{the conflicting access}}
      // expected-error@+1 {{Y6: this wgmma may run on after the CTA has exited: expected wgmma_commit after it and a wgmma_wait for its group}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      // expected-error@+1 {{Y1: threads of "consumer0" writes its registers, which a wgmma of "consumer0" writes}}
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// No thread waits.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @left {
  gpu.func @left(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-error@+1 {{Y6: this wgmma may run on after the CTA has exited}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
    }
    gpu.return
  }
}

// -----

// wgmma reads shared memory by the asynchronous proxy.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @not_proxied {
  gpu.func @not_proxied(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %zero = arith.constant 0.0 : f32
    // expected-note@+1 {{the conflicting access}}
    llvm.store %zero, %p : f32, !llvm.ptr<3>
    tile.sync_cta
    scf.if %consumer {
      // expected-error@+1 {{Y1: a wgmma of "consumer0" reads bytes [0, 8192), of each 128 from 0 to 32, of shared memory, which threads of "load" writes: expected a fence proxy_async by the writing threads before they signal}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// P of one warp is read by the others: a fence does not bring them.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @alone {
  gpu.func @alone(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %words = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      // expected-note@+1 {{the conflicting access}}
      tile.store_matrix %words, %p : vector<4xi32>, !llvm.ptr<3>
      tile.fence proxy_async
      tile.sync_warp
      // expected-error@+1 {{Y1: a wgmma of "consumer0" reads bytes [0, 8192), of each 128 from 0 to 32, of shared memory, which threads of "consumer0" writes: expected a barrier, or a channel, between the two}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// A slot is free when the product that reads it is complete.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @slot {
  gpu.func @slot(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %b = tile.barrier "free" at 65536 arrivals 128 : !tile.barrier<1>
    %full = tile.barrier "full" at 65544 arrivals 1 : !tile.barrier<1>
    %first = arith.cmpi eq, %thread, %c0 : index
    scf.if %first {
      tile.init_barrier %b arrivals 128 : !tile.barrier<1>
      tile.init_barrier %full arrivals 1 : !tile.barrier<1>
      tile.fence mbarrier_init
    }
    tile.sync_cta
    scf.if %consumer {
      // expected-note@+1 {{the conflicting access}}
      %s = tile.wgmma %d, %d of bf16 : i64, i64 -> vector<16xf32>
      tile.wgmma_commit
      tile.arrive %b[%c0] : !tile.barrier<1>
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    scf.if %first {
      tile.wait %b[%c0] parity %c0 : !tile.barrier<1>
      tile.arrive_expect_tx %full[%c0] bytes 8192 : !tile.barrier<1>
      // expected-error@+1 {{Y1: a TMA load of "load" writes bytes [0, 8192) of shared memory, which a wgmma of "consumer0" reads: expected a wgmma_wait of those threads before they signal}}
      tile.tma_load %q[%c0, %c0, %c0] column 0 to %p signals %full[%c0] : !t, !llvm.ptr<3>, !tile.barrier<1>
      tile.wait %full[%c0] parity %c0 : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

// A hundred and twenty-eight threads wait for as many others.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @never_met {
  gpu.func @never_met(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-error@+1 {{Y2: "consumer0" waits at named barrier 1 for threads that never come: got 128 of 256}}
      tile.sync_named 1 threads 256
    }
    gpu.return
  }
}

// -----

// What only arrives must be met: the next tile of the CTA would count it.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @unmet {
  gpu.func @unmet(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-error@+1 {{Y6: named barrier 2 is left with 128 of 256 threads: expected each arrival to be met before the CTA exits}}
      tile.arrive_named 2 threads 256
    }
    gpu.return
  }
}

// -----

// Both sides say how many they are.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @counts {
  gpu.func @counts(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      // expected-note@+1 {{the conflicting access}}
      tile.sync_named 1 threads 256
    } else {
      // expected-error@+1 {{Y3: expects 160 threads at named barrier 1, of which others expect 256}}
      tile.arrive_named 1 threads 160
    }
    gpu.return
  }
}

// -----

// Nothing keeps the second arrival from being counted in the place of a consumer that is late.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @again {
  gpu.func @again(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    scf.if %consumer {
      tile.sync_named 1 threads 256
      tile.sync_named 1 threads 256
    } else {
      tile.arrive_named 1 threads 256
      // expected-error@+1 {{Y3: may come to named barrier 1 before those of the time before are through, and so count with them}}
      tile.arrive_named 1 threads 256
    }
    gpu.return
  }
}

// -----

// A computed place is several barriers at once.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @shared {
  gpu.func @shared(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %n = llvm.mlir.constant(8 : i32) : i32
    // expected-error@+1 {{expected a barrier in a fixed place, got a computed one; run tile-verify-sync ahead of tile-share-consumers}}
    %b = tile.barrier "q0.full" at 1024 plus %n arrivals 1 : !tile.barrier<1>
    gpu.return
  }
}
