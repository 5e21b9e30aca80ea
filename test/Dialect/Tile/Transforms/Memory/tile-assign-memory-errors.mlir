// Kernels whose places cannot be found.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

// A function without a schedule is no kernel of ours, whatever it holds.
gpu.module @other {
  gpu.func @other(%s: !tile.tile<128x128xf32>) kernel {
    %0 = tile.scale %s by 2.0 : !tile.tile<128x128xf32>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
gpu.module @few {
  // expected-error@+1 {{expected memrefs q, k, v, o of rank 4 and perhaps lse of rank 3 as operands, got '(memref<4xf32>) -> ()'}}
  gpu.func @few(%q: memref<4xf32>) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @scalar {
  // expected-error@+1 {{expected memrefs q, k, v, o of rank 4}}
  gpu.func @scalar(%q: !t, %k: !t, %v: !t, %o: index) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x64xbf16>
gpu.module @rank {
  // expected-error@+1 {{expected memrefs q, k, v, o of rank 4}}
  gpu.func @rank(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

// The query takes 64 KiB and each stage of the ring as much.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x256xbf16>
gpu.module @wide {
  // expected-error@+1 {{plan.C6: 1 query tile of 65536 bytes, 3 KV stages of 65536 bytes and the small regions need 263184 bytes of shared memory, 232448 are available (30736 too many); take fewer KV stages, a smaller key_chunk or a smaller value_chunk}}
  gpu.func @wide(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} { gpu.return }
}

// -----

// What works in memory names a region of the memory map.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @unnamed {
  gpu.func @unnamed(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, KV, out0, stats0, barriers, tmem_address), got none}}
    %0 = tile.load %qs[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    gpu.return
  }
}

// -----

// The schedule has one query tile.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @beyond {
  gpu.func @beyond(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, KV, out0, stats0, barriers, tmem_address), got Q1}}
    %0 = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q1">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    gpu.return
  }
}

// -----

// A product that begins an accumulator lies in a region, too.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @product {
  gpu.func @product(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %a = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q0">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %b = tile.load %qs[%c0] {tile.region = #tile.region<name = "KV">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (S0, O0, P0), got none}}
    %s = tile.dot %a, %b transpose_b : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// The fill of an accumulator is in tensor memory as well; another one is in registers.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @accumulator {
  gpu.func @accumulator(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %a = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q0">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %b = tile.load %qs[%c0] {tile.region = #tile.region<name = "KV">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %m = tile.fill 0.0 : !tile.tile<128xf32>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (S0, O0, P0), got none}}
    %acc = tile.fill 0.0 : !tile.tile<128x128xf32>
    %s = tile.dot %a, %b transpose_b plus %acc as !tile.tile<128x128xf32> : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// Numbers of rows reach an accumulator through a region that `rows` names.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @rows {
  gpu.func @rows(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %a = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q0">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %b = tile.load %qs[%c0] {tile.region = #tile.region<name = "KV">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %s = tile.dot %a, %b transpose_b {tile.region = #tile.region<name = "S0">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    %none = tile.fill 0.0 : !tile.tile<128xf32>
    %max, %m = tile.row_max %s, %none scale 1.0 threshold 0.0 : <128x128xf32>, <128xf32>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, KV, out0, stats0, barriers, tmem_address), got none}}
    %r = tile.rescale %s, %m {tile.region = #tile.region<name = "stats0">} : <128x128xf32>, <128xf32>
    %u = tile.dot %a, %b transpose_b plus %r as !tile.tile<128x128xf32> : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// The first factor of a product goes to memory.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor {
  gpu.func @factor(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %a = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q0">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %b = tile.load %qs[%c0] {tile.region = #tile.region<name = "KV">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %s = tile.dot %a, %b transpose_b {tile.region = #tile.region<name = "S0">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, KV, out0, stats0, barriers, tmem_address, S0, O0, P0), got none}}
    %p = tile.cast %s : <128x128xf32> to <128x128xbf16>
    %u = tile.dot %p, %b {tile.region = #tile.region<name = "O0">} : <128x128xbf16>, <128x64xbf16> -> <128x64xf32>
    gpu.return
  }
}

// -----

// TMA stores from shared memory.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @stored {
  gpu.func @stored(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %a = tile.load %qs[%c0] {tile.region = #tile.region<name = "Q0">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %b = tile.load %qs[%c0] {tile.region = #tile.region<name = "KV">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %s = tile.dot %a, %b transpose_b {tile.region = #tile.region<name = "S0">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    %h = tile.cast %s : <128x128xf32> to <128x128xbf16>
    %x = tile.slice %h from 0 : <128x128xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (Q0, KV, out0, stats0, barriers, tmem_address), got none}}
    tile.store %x, %qs[%c0] : <128x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }
}

// -----

// Products of tcgen05 have 64 or 128 rows.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @size {
  gpu.func @size(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{expected tiles of 64 or 128 rows and a multiple of 16 columns, as the target's products have them, got '!tile.tile<96x64xf32>'}}
    %0 = tile.fill 0.0 : !tile.tile<96x64xf32>
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
gpu.module @step {
  gpu.func @step(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{expected tiles of 64 or 128 rows and a multiple of 16 columns, as the target's products have them, got '!tile.tile<128x24xf32>'}}
    %0 = tile.fill 0.0 : !tile.tile<128x24xf32>
    gpu.return
  }
}
