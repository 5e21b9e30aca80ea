// Control flow and comparisons in which a break could hide: they are followed, or an error.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

// Blocks after the first one would not be looked at.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @blocks {
  // expected-error@+1 {{expected a kernel of one block, got 2; run tile-verify-sync ahead of convert-scf-to-cf}}
  gpu.func @blocks(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    cf.br ^next
  ^next:
    tile.arrive %b[%c0] : !tile.barrier<1>
    gpu.return
  }
}

// -----

// What a function that is called does is not followed.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @call {
  func.func @hidden() {
    %p = tile.smem_address 8192 : <3>
    %word = llvm.load %p : !llvm.ptr<3> -> i32
    llvm.store %word, %p : i32, !llvm.ptr<3>
    return
  }
  gpu.func @call(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{tile-verify-sync cannot follow this op: expected a call of a function without effects that it can see; inline the function first}}
    func.call @hidden() : () -> ()
    tile.sync_cta
    gpu.return
  }
}

// -----

// Nor what is not there.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @declared {
  func.func private @elsewhere()
  gpu.func @declared(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{tile-verify-sync cannot follow this op}}
    func.call @elsewhere() : () -> ()
    tile.sync_cta
    gpu.return
  }
}

// -----

// A function without effects changes nothing.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @pure {
  func.func @sum(%n: index) -> index {
    %sum = arith.addi %n, %n : index
    return %sum : index
  }
  gpu.func @pure(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c1 = arith.constant 1 : index
    %two = func.call @sum(%c1) : (index) -> index
    tile.sync_cta
    gpu.return
  }
}

// -----

// A negative number is the largest without a sign: the branch is taken.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @unsigned_less {
  gpu.func @unsigned_less(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    %thread = gpu.thread_id x
    %most = arith.constant -1 : index
    %all = arith.cmpi ult, %thread, %most : index
    scf.if %all {
      // expected-error@+1 {{Y5: uses barrier "b" without init_barrier}}
      tile.arrive %b[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

// Likewise the other order.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @unsigned_greater {
  gpu.func @unsigned_greater(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    %most = arith.constant -1 : i32
    %five = arith.constant 5 : i32
    %all = arith.cmpi uge, %most, %five : i32
    scf.if %all {
      // expected-error@+1 {{Y5: uses barrier "b" without init_barrier}}
      tile.arrive %b[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

// And the lesser of two.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @unsigned_least {
  gpu.func @unsigned_least(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    %most = arith.constant -1 : index
    %thread = gpu.thread_id x
    %least = arith.minui %thread, %most : index
    %some = arith.cmpi uge, %least, %c0 : index
    scf.if %some {
      // expected-error@+1 {{Y5: uses barrier "b" without init_barrier}}
      tile.arrive %b[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}

// -----

// The counter of a loop up to the largest number does not begin again below.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @last_trip {
  gpu.func @last_trip(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = tile.barrier "b" at 0 arrivals 512 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    %first = arith.constant 9223372036854775797 : index
    %last = arith.constant 9223372036854775807 : index
    %step = arith.constant 7 : index
    scf.for %i = %first to %last step %step {
      // expected-error@+1 {{Y5: uses barrier "b" without init_barrier}}
      tile.arrive %b[%c0] : !tile.barrier<1>
    }
    gpu.return
  }
}
