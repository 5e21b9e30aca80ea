// What has no NVVM counterpart, because an earlier pass has not run or the kernel is
// none of ours.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))'

// A module without kernels of ours is left alone.
gpu.module @other {
  gpu.func @other() kernel {
    %0 = gpu.thread_id y
    gpu.return
  }
}

// -----

// Only launches of such kernels pass the strides that gathered rows need.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @gather {
  gpu.func @gather(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c0 = arith.constant 0 : index
    %p = tile.smem_address 1024 : !llvm.ptr<3>
    %b = tile.barrier "b" at 0 arrivals 1 : !tile.barrier<1>
    // expected-error@+2 {{expected k or v of a kernel whose schedule has kv_copy = gather4, whose launch passes the strides, got another tensor}}
    // expected-error@+1 {{failed to legalize operation 'tile.tma_gather'}}
    tile.tma_gather %k[%c0, %c0, %c0, %c0] rows [%c0, %c0, %c0, %c0] head %c0 column 0 to %p signals %b[%c0] : !t, !llvm.ptr<3>, !tile.barrier<1>
    gpu.return
  }
}

// -----

// Other kernels have no operands with new rows.
!k = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @append {
  gpu.func @append(%k: !k, %v: !k, %kn: !k, %vn: !k) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">, known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error@+2 {{expected arguments of a kernel of fmha.attention with key_new, got other values; pass the kernel's arguments to the op}}
    // expected-error@+1 {{failed to legalize operation 'tile.append_rows'}}
    tile.append_rows %kn, %vn[%c0] to %k, %v head %c0 from %c0 to %c0 before %c0 : !k, !k, !k, !k
    gpu.return
  }
}

// -----

// Nor do they have queries to rotate.
!k = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!a = memref<?x8xf32, strided<[?, 1]>, #gpu.address_space<global>>
gpu.module @rotate {
  gpu.func @rotate(%q: !k, %k: !k, %cos: !a) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">, known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    // expected-error@+2 {{expected src to be the argument q of a kernel of fmha.attention with rotary, got another value; pass the kernel's argument}}
    // expected-error@+1 {{failed to legalize operation 'tile.rotate_rows'}}
    tile.rotate_rows 64 x 64 of %q batch %c0 head %c0 members %c0 from %c0 before %c0 heads 1 at %c0 by %cos, %cos to %p : !k, !llvm.ptr<3>, !a, !a
    gpu.return
  }
}

// -----

// A kernel without pages has no factors of pages.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 2, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factors {
  gpu.func @factors(%q: !t, %k: memref<?x16x?x64xbf16>, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %table = builtin.unrealized_conversion_cast to memref<?xi32>
    %scales = builtin.unrealized_conversion_cast to memref<?xf32>
    // expected-error@+2 {{expected src to be a cache argument of a kernel of fmha.attention with block_tables, got another value; pass the kernel's argument}}
    // expected-error@+1 {{failed to legalize operation 'tile.read_factors'}}
    %ks, %vs = tile.read_factors 64 of %scales, %scales in %k pages %table[%c0] from %c0 before %c0 warps from 4 : memref<?xf32>, memref<?x16x?x64xbf16>, memref<?xi32>
    gpu.return
  }
}

// -----

// The batch is no parameter: nothing in a kernel depends on it.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @extent {
  gpu.func @extent(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{failed to legalize operation 'memref.dim'}}
    %0 = memref.dim %q, %c0 : !t
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
gpu.module @dimension {
  gpu.func @dimension(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    // expected-error@+1 {{failed to legalize operation 'gpu.block_id'}}
    %0 = gpu.block_id y
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
gpu.module @wide {
  gpu.func @wide(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c = gpu.block_id x
    %i = arith.index_cast %c : index to i32
    %0 = arith.uitofp %i : i32 to f64
    // expected-error@+1 {{failed to legalize operation 'math.log2'}}
    %1 = math.log2 %0 : f64
    gpu.return
  }
}

// -----

// Threads exchange with one of the whole warp.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @narrow {
  gpu.func @narrow(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    // expected-error@+1 {{failed to legalize operation 'gpu.shuffle'}}
    %0, %valid = gpu.shuffle xor %i, %c8, %c16 : i32
    gpu.return
  }
}

// -----

// The registers at launch follow from the block's size.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @block {
  // expected-error@+1 {{expected a known_block_size of whole warps in x, got another one}}
  gpu.func @block(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
gpu.module @few {
  // expected-error@+1 {{expected memrefs q, k, v, o of rank 4}}
  gpu.func @few(%q: memref<4xf32>) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} { gpu.return }
}

// -----

// New keys in a kernel whose problem has none.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!p = memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @no_new_keys {
  gpu.func @no_new_keys(%q: !t, %k: !t, %v: !t, %o: !t, %lens: memref<?xi32>) kernel attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, scale = 1.0, kv_lens>} {
    %i = gpu.block_id x
    // expected-error@+1 {{expected a kernel with the parameter 'new_len', which follows from its problem, got one without; use the op in a kernel whose problem has it}}
    tile.append_rows %q, %q[%i] to %k, %v head %i from %i to %i before %i : !t, !t, !t, !t
    gpu.return
  }
}

// -----

// New keys that go to another operand than the caches.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!p = memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @no_cache {
  gpu.func @no_cache(%q: !t, %k: !t, %v: !t, %o: !t, %lens: memref<?xi32>, %kn: !g, %vn: !g) kernel attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, scale = 1.0, kv_lens, key_new>} {
    %i = gpu.block_id x
    // expected-error@+2 {{expected the caches k and v of the kernel, got o and v}}
    // expected-error@+1 {{failed to legalize}}
    tile.append_rows %kn, %vn[%i] to %o, %v head %i from %i to %i before %i : !g, !g, !t, !t
    gpu.return
  }
}

// -----

// Pages in a kernel without block_tables.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!p = memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @no_pages {
  gpu.func @no_pages(%q: !t, %k: !p, %v: !p, %o: !t, %lens: memref<?xi32>, %kn: !g, %vn: !g) kernel attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, page_size = 16, scale = 1.0, kv_lens, key_new>} {
    %i = gpu.block_id x
    // expected-error@+1 {{expected a kernel with the parameter 'pages', which follows from its problem, got one without}}
    tile.append_rows %kn, %vn[%i] to %k, %v pages %lens[%i] : memref<?xi32> head %i from %i to %i before %i : !g, !g, !p, !p
    gpu.return
  }
}

// -----

// A dimension that the tensor does not have.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 80, kv_stages = 3, p_placement = registers, roles = [#fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,   #fmha.role<"gather", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!g = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!p = memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @no_dimension {
  gpu.func @no_dimension(%q: !t, %k: !t, %v: !t, %o: !t, %lens: memref<?xi32>) kernel attributes {fmha.schedule = #schedule, known_block_size = array<i32: 256, 1, 1>,
      fmha.problem = #fmha.problem<dtype = bf16, head_dim = 64, head_dim_v = 64, scale = 1.0, kv_lens>} {
    %i = gpu.block_id x
    %c7 = arith.constant 7 : index
    // expected-error@+2 {{expected a constant dimension of a parameter of the kernel, from 0 to 3, got another one; write the index as arith.constant}}
    // expected-error@+1 {{failed to legalize}}
    %d = memref.dim %q, %c7 : !t
    gpu.return
  }
}
