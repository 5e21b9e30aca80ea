// A value that is not a pointer to shared memory may still be an address in it. The pass follows it through casts, or reports an error.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

// A generic pointer has the address of the pointer that it was cast from.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @generic {
  gpu.func @generic(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{Y1: a cp.async of "consumer0" writes bytes [8192, 16384) of shared memory, which threads of "consumer0" reads}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 0
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %next = llvm.getelementptr %generic[16] : (!llvm.ptr) -> !llvm.ptr, i8
    // expected-note@+1 {{the conflicting access}}
    %word = llvm.load %next : !llvm.ptr -> i32
    gpu.return
  }
}

// -----

// A store through a generic pointer while the copies are in flight.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @generic_store {
  gpu.func @generic_store(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+2 {{Y1: a cp.async of "consumer0" writes bytes [8192, 16384) of shared memory, which threads of "consumer0" writes}}
    // expected-note@+1 {{the conflicting access}}
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    %zero = arith.constant 0 : i32
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    // expected-error@+2 {{Y1: threads of "consumer0" writes bytes [8192, 8196), of each 128 from 0 to 32, of shared memory, which a cp.async of "consumer0" writes}}
    // expected-note@+1 {{the conflicting access}}
    llvm.store %zero, %generic : i32, !llvm.ptr
    tile.await_copies 0
    tile.sync_cta
    gpu.return
  }
}

// -----

// A generic pointer that a loop carries is not followed.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @carried {
  gpu.func @carried(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %c1 = arith.constant 1 : index
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %last = scf.for %i = %c0 to %c64 step %c1 iter_args(%at = %generic) -> (!llvm.ptr) {
      // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
      %word = llvm.load %at : !llvm.ptr -> i32
      %next = llvm.getelementptr %at[16] : (!llvm.ptr) -> !llvm.ptr, i8
      scf.yield %next : !llvm.ptr
    }
    gpu.return
  }
}

// -----

// A generic pointer that a select chooses.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @selected {
  gpu.func @selected(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %true = arith.constant true
    %null = llvm.mlir.zero : !llvm.ptr
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %one = arith.select %true, %null, %generic : !llvm.ptr
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = llvm.load %one : !llvm.ptr -> i32
    gpu.return
  }
}

// -----

// Inline PTX takes an address as an integer.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @number {
  gpu.func @number(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %number = llvm.ptrtoint %first : !llvm.ptr<3> to i32
    %c16 = arith.constant 16 : i32
    %next = arith.addi %number, %c16 : i32
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = llvm.inline_asm has_side_effects "ld.shared.b32 $0, [$1];", "=r,r" %next : (i32) -> i32
    gpu.return
  }
}

// -----

// Inline PTX that claims to have no effects.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @pure_code {
  gpu.func @pure_code(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = llvm.inline_asm "ld.shared.b32 $0, [$1];", "=r,l" %first : (!llvm.ptr<3>) -> i32
    gpu.return
  }
}

// -----

// A pointer that is made of an integer.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @from_code {
  gpu.func @from_code(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %number = llvm.ptrtoint %first : !llvm.ptr<3> to i64
    %generic = llvm.inttoptr %number : i64 to !llvm.ptr
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = llvm.load %generic : !llvm.ptr -> i32
    gpu.return
  }
}

// -----

// An address must not be stored, since the pass does not follow memory.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @kept {
  gpu.func @kept(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %local = memref.alloca() : memref<1xi64>
    %number = llvm.ptrtoint %generic : !llvm.ptr to i64
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    memref.store %number, %local[%c0] : memref<1xi64>
    gpu.return
  }
}

// -----

// Nor must a generic pointer to it be stored.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @stored {
  gpu.func @stored(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %stack = llvm.mlir.zero : !llvm.ptr
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    llvm.store %generic, %stack : !llvm.ptr, !llvm.ptr
    gpu.return
  }
}

// -----

// A memref of shared memory.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @memref {
  gpu.func @memref(%q: !t, %k: !t, %v: !t, %o: !t) workgroup(%own : memref<64xi32, #gpu.address_space<workgroup>>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = memref.load %own[%c0] : memref<64xi32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// The address of a memref of shared memory.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @view {
  gpu.func @view(%q: !t, %k: !t, %v: !t, %o: !t) workgroup(%own : memref<64xi32, 3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %place = memref.extract_aligned_pointer_as_index %own : memref<64xi32, 3> -> index
    %number = arith.index_cast %place : index to i64
    %generic = llvm.inttoptr %number : i64 to !llvm.ptr
    // expected-error@+1 {{tile-verify-sync cannot follow this op: it takes an address in shared memory, and its accesses are not known; use llvm.load, llvm.store or nvvm.ldmatrix, or give it SyncOpInterface}}
    %word = llvm.load %generic : !llvm.ptr -> i32
    gpu.return
  }
}

// -----

// Lanes 0 to 7 have the addresses of one matrix: bytes 0 to 127.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @one_matrix {
  gpu.func @one_matrix(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %thread = gpu.thread_id x
    %thread32 = arith.index_cast %thread : index to i32
    %c31 = arith.constant 31 : i32
    %c4 = arith.constant 4 : i32
    %lane = arith.andi %thread32, %c31 : i32
    %row = arith.shli %lane, %c4 : i32
    %own = llvm.getelementptr %first[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %second = tile.smem_address 8304 : <3>
    %zero = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread32, %c5 : i32
    %c1 = arith.constant 1 : i32
    %isNext = arith.cmpi eq, %warp, %c1 : i32
    tile.commit_copies
    // expected-error@+2 {{Y1: threads of "consumer0" reads bytes [8192, 8320) of shared memory, which threads of "consumer0" writes}}
    // expected-note@+1 {{the conflicting access}}
    %words = nvvm.ldmatrix %own {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    scf.if %isNext {
      // expected-error@+2 {{Y1: threads of "consumer0" writes bytes [8304, 8308), of each 128}}
      // expected-note@+1 {{the conflicting access}}
      llvm.store %zero, %second : i32, !llvm.ptr<3>
    }
    gpu.return
  }
}

// -----

// Lanes 0 to 15 have the addresses of two matrices.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @two_matrices {
  gpu.func @two_matrices(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %thread = gpu.thread_id x
    %thread32 = arith.index_cast %thread : index to i32
    %c31 = arith.constant 31 : i32
    %c4 = arith.constant 4 : i32
    %lane = arith.andi %thread32, %c31 : i32
    %row = arith.shli %lane, %c4 : i32
    %own = llvm.getelementptr %first[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %second = tile.smem_address 8432 : <3>
    %zero = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread32, %c5 : i32
    %c1 = arith.constant 1 : i32
    %isNext = arith.cmpi eq, %warp, %c1 : i32
    tile.commit_copies
    // expected-error@+2 {{Y1: threads of "consumer0" reads bytes [8192, 8448) of shared memory, which threads of "consumer0" writes}}
    // expected-note@+1 {{the conflicting access}}
    %words = nvvm.ldmatrix %own {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    scf.if %isNext {
      // expected-error@+2 {{Y1: threads of "consumer0" writes bytes [8432, 8436), of each 128}}
      // expected-note@+1 {{the conflicting access}}
      llvm.store %zero, %second : i32, !llvm.ptr<3>
    }
    gpu.return
  }
}

// -----

// All lanes have the addresses of four matrices.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @four_matrices {
  gpu.func @four_matrices(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %thread = gpu.thread_id x
    %thread32 = arith.index_cast %thread : index to i32
    %c31 = arith.constant 31 : i32
    %c4 = arith.constant 4 : i32
    %lane = arith.andi %thread32, %c31 : i32
    %row = arith.shli %lane, %c4 : i32
    %own = llvm.getelementptr %first[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %second = tile.smem_address 8688 : <3>
    %zero = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread32, %c5 : i32
    %c1 = arith.constant 1 : i32
    %isNext = arith.cmpi eq, %warp, %c1 : i32
    tile.commit_copies
    // expected-error@+2 {{Y1: threads of "consumer0" reads bytes [8192, 8704) of shared memory, which threads of "consumer0" writes}}
    // expected-note@+1 {{the conflicting access}}
    %words = nvvm.ldmatrix %own {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    scf.if %isNext {
      // expected-error@+2 {{Y1: threads of "consumer0" writes bytes [8688, 8692), of each 128}}
      // expected-note@+1 {{the conflicting access}}
      llvm.store %zero, %second : i32, !llvm.ptr<3>
    }
    gpu.return
  }
}
