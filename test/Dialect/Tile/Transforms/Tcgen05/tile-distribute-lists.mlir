// A number from a list of lengths is the same in all threads; ptxas is told so in each
// role that uses it in a loop, by all threads of a warp, before one of them is elected.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @lists
  gpu.func @lists(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xi32>) kernel
      attributes {fmha.schedule = #schedule, fmha.problem = #fmha.problem<kv_lens>} {
    %a = tile.barrier "a" at 65536 arrivals 128 : !tile.barrier<2>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[EXTENT:.*]] = memref.dim
    %extent = memref.dim %k, %c1 : !t
    // CHECK: %[[BLOCK:.*]] = gpu.block_id
    %block = gpu.block_id x
    // CHECK: memref.load
    %entry = memref.load %list[%block] : memref<?xi32>
    // CHECK: %[[LENGTH:.*]] = arith.index_cast
    %length = arith.index_cast %entry : i32 to index
    // CHECK-NOT: tile.uniform
    // CHECK: tile.sync_cta
    tile.warp_specialize {
      // Both the list's number and one that it may meet; no constant and no parameter.
      // CHECK: tile.set_registers 216
      // CHECK-DAG: %[[COUNT:.*]] = tile.uniform %[[LENGTH]]
      // CHECK-DAG: %[[STAGE:.*]] = tile.uniform %[[BLOCK]]
      // CHECK-NOT: tile.uniform
      // CHECK: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1
      // CHECK-NEXT: tile.arrive %{{.*}}[%[[STAGE]]]
      // CHECK-NEXT: tile.arrive %{{.*}}[%[[EXTENT]]]
      // CHECK: tile.arrive %{{.*}}[%[[COUNT]]]
      tile.role "softmax0" warps 0 to 4 registers 216 {
        scf.for %i = %c0 to %length step %c1 {
          tile.arrive %a[%block] : !tile.barrier<2>
          tile.arrive %a[%extent] : !tile.barrier<2>
        }
        tile.arrive %a[%length] : !tile.barrier<2>
      }
      tile.role "softmax1" warps 4 to 8 registers 24 { }
      // Used once: as it is.
      // CHECK-NOT: tile.uniform
      // CHECK: tile.commit %{{.*}}[%[[LENGTH]]]
      tile.role "correction" warps 8 to 12 registers 128 { tile.commit %a[%length] : !tile.barrier<2> }
      // CHECK: %[[COUNT:.*]] = tile.uniform %[[LENGTH]]
      // CHECK-NEXT: tile.elect
      // CHECK-NEXT: scf.if
      // CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        scf.for %i = %c0 to %length step %c1 {
          tile.arrive_expect_tx %a[%c0] bytes 64 : !tile.barrier<2>
        }
      }
      // CHECK-NOT: tile.uniform
      tile.role "mma" warps 13 to 14 registers 136 { tile.fence proxy_async }
      tile.role "store" warps 14 to 15 registers 136 { }
      tile.role "spare" warps 15 to 16 registers 136 { }
    }
    gpu.return
  }

  // Without a list ptxas knows.
  // CHECK-LABEL: gpu.func @none
  // CHECK-NOT: tile.uniform
  gpu.func @none(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %a = tile.barrier "a" at 65536 arrivals 128 : !tile.barrier<2>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %block = gpu.block_id x
    tile.warp_specialize {
      tile.role "softmax0" warps 0 to 4 registers 216 {
        scf.for %i = %c0 to %block step %c1 {
          tile.arrive %a[%c0] : !tile.barrier<2>
        }
      }
      tile.role "mma" warps 13 to 14 registers 136 { tile.fence proxy_async }
    }
    gpu.return
  }
}
