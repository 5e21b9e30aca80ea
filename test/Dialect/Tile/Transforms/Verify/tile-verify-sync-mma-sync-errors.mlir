// Errors of broken kernels with mma.sync, one for each rule; breaks of real kernels are in tile-verify-sync-mma-sync.test.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

// Each thread awaits its own copies, but those of other warps are visible only after a barrier.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @no_barrier {
  gpu.func @no_barrier(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{Y1: a cp.async of "consumer0" writes bytes [8192, 16384) of shared memory, which threads of "consumer0" reads: expected a barrier, or a channel, between the two}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 0
    // expected-note@+1 {{the conflicting access}}
    %words = nvvm.ldmatrix %first {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    gpu.return
  }
}

// -----

// The wait leaves the one group in flight.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @in_flight {
  gpu.func @in_flight(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-note@+1 {{the conflicting access}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 1
    tile.sync_cta
    // expected-error@+1 {{Y1: threads of "consumer0" reads bytes [8192, 8208), of each 128 from 0 to 32, of shared memory, which a cp.async of "consumer0" writes: expected commit_copies after the copies, await_copies of that group, and a barrier if they are another thread's}}
    %words = nvvm.ldmatrix %first {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    gpu.return
  }
}

// -----

// The stage of the newer group, which is still in flight.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @other_stage {
  gpu.func @other_stage(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %second = tile.smem_address 16384 : <3>
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    // expected-note@+1 {{the conflicting access}}
    tile.copy_rows 64 x 64 of %v batch %c0 head %c0 from %c0 before %c64 to %second warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 1
    tile.sync_cta
    %words = nvvm.ldmatrix %first {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    // expected-error@+1 {{Y1: threads of "consumer0" reads bytes [16384, 16400), of each 128 from 0 to 32, of shared memory, which a cp.async of "consumer0" writes}}
    %others = nvvm.ldmatrix %second {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    gpu.return
  }
}

// -----

// A warp may copy to the stage while others still read it.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @overwritten {
  gpu.func @overwritten(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{Y1: threads of "consumer0" reads bytes [8192, 8208), of each 128 from 0 to 32, of shared memory, which a cp.async of "consumer0" writes}}
    %words = nvvm.ldmatrix %first {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    // expected-note@+1 {{the conflicting access}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 0
    gpu.return
  }
}

// -----

// The queries that all threads store, and the output in their place.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @queries {
  gpu.func @queries(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %to = tile.smem_address 0 : <3>
    tile.commit_copies
    // expected-error@+1 {{Y1: threads of "consumer0" writes bytes [0, 8192) of shared memory, which threads of "consumer0" reads: expected a barrier, or a channel, between the two}}
    tile.rotate_rows 64 x 64 of %q batch %c0 head %c0 members %c1 from %c0 before %c64 heads 1 to %to : !t, <3>
    // expected-note@+1 {{the conflicting access}}
    tile.copy_rows_out 64 x 64 of %to to %o batch %c0 head %c0 members %c1 from %c0 before %c64 heads 1 : <3>, !t
    gpu.return
  }
}

// -----

// What an op does to memory must be known.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @unknown {
  gpu.func @unknown(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %word = arith.constant 0 : i32
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    nvvm.stmatrix %first, %word {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32
    gpu.return
  }
}

// -----

// A load of a bit accesses a byte.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @bit {
  gpu.func @bit(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{Y1: a cp.async of "consumer0" writes bytes [8192, 16384) of shared memory, which threads of "consumer0" reads}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 0
    // expected-note@+1 {{the conflicting access}}
    %b = llvm.load %first : !llvm.ptr<3> -> i1
    gpu.return
  }
}
