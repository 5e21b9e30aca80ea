// The pass follows these addresses in shared memory. It does not verify accesses to device memory.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))' | FileCheck %s
// CHECK-LABEL: gpu.func @generic
// CHECK-LABEL: gpu.func @device
// CHECK-LABEL: gpu.func @one_matrix
// CHECK-LABEL: gpu.func @two_matrices

// A generic pointer to shared memory is read after the barrier.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @generic {
  gpu.func @generic(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    tile.copy_rows 64 x 64 of %k batch %c0 head %c0 from %c0 before %c64 to %first warps 4 from 0 : !t, <3>
    tile.commit_copies
    tile.await_copies 0
    tile.sync_cta
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %word = llvm.load %generic : !llvm.ptr -> i32
    // Bytes after those of the copy.
    %next = llvm.getelementptr %generic[8192] : (!llvm.ptr) -> !llvm.ptr, i8
    %other = llvm.load %next : !llvm.ptr -> i32
    gpu.return
  }
}

// -----

// Accesses to device memory are not verified, even in kernels with generic pointers to shared memory.
#schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers,
  roles = [#fmha.role<"consumer0", first_warp = 0, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @device {
  gpu.func @device(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %first = tile.smem_address 8192 : <3>
    %generic = llvm.addrspacecast %first : !llvm.ptr<3> to !llvm.ptr
    %place = memref.extract_aligned_pointer_as_index %q : !t -> index
    %number = arith.index_cast %place : index to i64
    %pointer = llvm.inttoptr %number : i64 to !llvm.ptr
    %word = llvm.load %pointer : !llvm.ptr -> i32
    %read = llvm.inline_asm has_side_effects "ld.global.b32 $0, [$1];", "=r,l" %number : (i64) -> i32
    gpu.return
  }
}

// -----

// Lanes 8 to 31 have addresses that one matrix does not read.
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
    %second = tile.smem_address 8320 : <3>
    %zero = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread32, %c5 : i32
    %c1 = arith.constant 1 : i32
    %isNext = arith.cmpi eq, %warp, %c1 : i32
    tile.commit_copies
    %words = nvvm.ldmatrix %own {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    scf.if %isNext {
      llvm.store %zero, %second : i32, !llvm.ptr<3>
    }
    gpu.return
  }
}

// -----

// Two matrices do not read the addresses of lanes 16 to 31.
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
    %second = tile.smem_address 8448 : <3>
    %zero = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread32, %c5 : i32
    %c1 = arith.constant 1 : i32
    %isNext = arith.cmpi eq, %warp, %c1 : i32
    tile.commit_copies
    %words = nvvm.ldmatrix %own {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    scf.if %isNext {
      llvm.store %zero, %second : i32, !llvm.ptr<3>
    }
    gpu.return
  }
}
