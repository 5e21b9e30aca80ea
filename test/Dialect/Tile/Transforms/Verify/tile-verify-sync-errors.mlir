// What a broken kernel is told. Every rule at the machine level, on a kernel of three roles' worth of ops; the whole list of
// single breaks is in tile-verify-sync-breaks.test.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @never_initialized {
  gpu.func @never_initialized(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{Y5: uses barrier "b" without init_barrier}}
    tile.arrive %b[%c0] : !tile.barrier<1>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @one_stage {
  gpu.func @one_stage(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 65536 arrivals 1 : !tile.barrier<2>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    scf.if %first {
      tile.init_barrier %b arrivals 1 : !tile.barrier<2>
      tile.fence mbarrier_init
      // Only 8192 of the box's 16384 bytes are announced.
      tile.arrive_expect_tx %b[%c1] bytes 8192 : !tile.barrier<2>
      %p = tile.smem_address 0 : !llvm.ptr<3>
      tile.tma_load %q[%c0, %c0, %c0] column 0 to %p signals %b[%c1] : !t, !llvm.ptr<3>, !tile.barrier<2>
      // expected-error@+1 {{Y2: "softmax0" waits for phase 0 of barrier "b[1]", which never ends: phase 0 got 1 of 1 arrivals, and 8192 bytes more than arrive_expect_tx announced}}
      tile.wait %b[%c1] parity %c0 : !tile.barrier<2>
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @half_the_cta {
  gpu.func @half_the_cta(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c256 = arith.constant 256 : index
    %thread = gpu.thread_id x
    %half = arith.cmpi ult, %thread, %c256 : index
    scf.if %half {
      // expected-error@+1 {{Y2: "softmax0" waits here for threads that never come}}
      tile.sync_cta
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @not_proxied {
  gpu.func @not_proxied(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    // expected-note@+1 {{the conflicting access}}
    llvm.store %zero, %p : f32, !llvm.ptr<3>
    tile.sync_cta
    scf.if %first {
      // expected-error@+1 {{reads bytes [0, 16384) of shared memory, which threads of "softmax0" writes: expected a fence proxy_async by the writing threads before they signal}}
      tile.tma_store %p to %o[%c0, %c0, %c0] column 0 : !llvm.ptr<3>, !t
      tile.tma_store_wait
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @left_under_way {
  gpu.func @left_under_way(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    scf.if %first {
      // expected-error@+1 {{Y6: may read shared memory after the CTA has exited: expected tma_store_wait after it}}
      tile.tma_store %p to %o[%c0, %c0, %c0] column 0 : !llvm.ptr<3>, !t
    }
    gpu.return
  }
}

// -----

// Registers are full only after the wait.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @not_waited {
  gpu.func @not_waited(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %base = tile.tmem_base at 231424
    %t = tile.tmem_address 0 from %base of_warp : <6>
    %r = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    // expected-error@+1 {{Y1: uses registers that tmem_load has not filled yet: expected tile.tmem_wait load of them between}}
    %s = vector.bitcast %r : vector<2xi32> to vector<2xf32>
    gpu.return
  }
}

// -----

// A wait for another load is not counted.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @wait_of_another {
  gpu.func @wait_of_another(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %base = tile.tmem_base at 231424
    %t = tile.tmem_address 0 from %base of_warp : <6>
    // expected-error@+1 {{Y1: fills registers that nothing waits for: expected tile.tmem_wait load of them}}
    %r = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %other = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %s = tile.tmem_wait load of %other : vector<2xi32> to vector<2xi32>
    gpu.return
  }
}

// -----

// The stage comes from data.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @who_knows {
  gpu.func @who_knows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<2>
    %lane = gpu.lane_id
    // expected-error@+1 {{tile-verify-sync cannot determine the stage or phase of this barrier: expected one that follows from lengths, loop counters and the thread index}}
    tile.arrive %b[%lane] : !tile.barrier<2>
    gpu.return
  }
}
