// Each capacity that a kernel can exceed in the IR; the rules one by one are in test/Schedule/Rules/CapacitiesTest.cpp.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))'

// Columns beyond the allocation, which is never freed.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @columns {
  gpu.func @columns(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{resources.R1: expected tmem_dealloc of these columns before the CTA exits, got none}}
    tile.tmem_alloc 128 to 231424
    %base = tile.tmem_base at 231424
    // expected-error@+1 {{resources.R2: expected columns [96, 160) inside the 128 columns of tensor memory (32 too many): take one query tile or another P placement}}
    %t = tile.tmem_address 96 from %base of_warp : <6>
    %r = tile.tmem_load %t : !llvm.ptr<6> -> vector<64xi32>
    %w = tile.tmem_wait load of %r : vector<64xi32> to vector<64xi32>
    gpu.return
  }
}

// -----

// Freed by another count.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @freed {
  gpu.func @freed(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-note@+1 {{the other op is here}}
    tile.tmem_alloc 128 to 231424
    %base = tile.tmem_base at 231424
    // expected-error@+1 {{resources.R1: expected to free the 128 columns that are allocated, got 64}}
    tile.tmem_dealloc %base columns 64
    gpu.return
  }
}

// -----

// Barriers in each other's bytes.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @overlap {
  gpu.func @overlap(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-note@+1 {{the other op is here}}
    %a = tile.barrier "a" at 1024 arrivals 1 : !tile.barrier<2>
    // expected-error@+1 {{resources.R4: mbarriers "b" [1032, 1040) overlap "a" [1024, 1040) by 8 bytes; the memory map keeps a region for them}}
    %b = tile.barrier "b" at 1032 arrivals 1 : !tile.barrier<1>
    gpu.return
  }
}

// -----

// More registers than the launch has, and from a count that no thread has.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @registers {
  gpu.func @registers(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{resources.R5: the roles need 81920 registers, 65536 are available (16384 too many): a CTA of 512 threads starts with 128 each; give a role fewer}}
    tile.set_registers 256 from 128
    // expected-error@+1 {{resources.R5: expected set_registers to start from 128 registers, as the launch gives them, got 168}}
    tile.set_registers 128 from 168
    gpu.return
  }
}

// -----

// More threads than a CTA may have.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @threads {
  // expected-error@+1 {{resources.R6: expected at most 1024 threads per CTA, got 2048 (1024 too many)}}
  gpu.func @threads(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule, known_block_size = array<i32: 2048, 1, 1>} {
    tile.sync_cta
    gpu.return
  }
}

// -----

// Barriers in a tile.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @tile {
  gpu.func @tile(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-note@+1 {{the other op is here}}
    %ch = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!tile.tile<128x64xbf16, #tile.smem<offset = 16384>>>
    // expected-error@+1 {{resources.R4: mbarriers "b" [32760, 32768) overlap a tile in bytes [16384, 32768) by 8 bytes}}
    %b = tile.barrier "b" at 32760 arrivals 1 : !tile.barrier<1>
    gpu.return
  }
}
