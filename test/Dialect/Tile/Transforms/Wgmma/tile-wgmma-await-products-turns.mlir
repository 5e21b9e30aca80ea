// Consumers take turns if their loops have the same bounds: values of equal ops, which may have regions but no effects.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-await-products)))' | FileCheck %s

// A branch with equal regions is the same number in both.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @branches
// CHECK: tile.role "consumer0"
// CHECK: tile.sync_named 1 threads 256
// CHECK: tile.arrive_named 2 threads 256
// CHECK: tile.role "consumer1"
// CHECK: tile.sync_named 2 threads 256
// CHECK: tile.arrive_named 1 threads 256
gpu.module @branches {
  gpu.func @branches(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c1 : index
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c1 : index
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// The results of two loops are the same number as well, though each loop carries values of its own.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @loops
// CHECK: tile.role "consumer0"
// CHECK: tile.sync_named 1 threads 256
// CHECK: tile.arrive_named 2 threads 256
// CHECK: tile.role "consumer1"
// CHECK: tile.sync_named 2 threads 256
// CHECK: tile.arrive_named 1 threads 256
gpu.module @loops {
  gpu.func @loops(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.for %j = %c0 to %n step %c2 iter_args(%m = %c1) -> (index) {
          %p = arith.addi %m, %j : index
          scf.yield %p : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.for %j = %c0 to %n step %c2 iter_args(%m = %c1) -> (index) {
          %p = arith.addi %m, %j : index
          scf.yield %p : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// Regions that compute different values give different numbers.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @other_branch
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @other_branch {
  gpu.func @other_branch(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c1 : index
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c2 : index
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// Regions that yield different values give different numbers.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @other_yield
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @other_yield {
  gpu.func @other_yield(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c1 : index
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = arith.addi %n, %c1 : index
          scf.yield %m : index
        } else {
          scf.yield %c1 : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// One loop adds its counter, and the other one adds what it carries.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @other_argument
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @other_argument {
  gpu.func @other_argument(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.for %j = %c0 to %n step %c2 iter_args(%m = %c1) -> (index) {
          %p = arith.addi %m, %j : index
          scf.yield %p : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.for %j = %c0 to %n step %c2 iter_args(%m = %c1) -> (index) {
          %p = arith.addi %m, %m : index
          scf.yield %p : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// Two loads may differ, since another op may write between them.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @loads
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @loads {
  gpu.func @loads(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = memref.load %list[%c0] : memref<?xindex>
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = memref.load %list[%c0] : memref<?xindex>
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// Two branches with a load inside may differ as well.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @nested_loads
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @nested_loads {
  gpu.func @nested_loads(%q: !t, %k: !t, %v: !t, %o: !t, %list: memref<?xindex>, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = memref.load %list[%c0] : memref<?xindex>
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %end = scf.if %some -> (index) {
          %m = memref.load %list[%c0] : memref<?xindex>
          scf.yield %m : index
        } else {
          scf.yield %n : index
        }
        scf.for %i = %c0 to %end step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
      }
    }
    gpu.return
  }
}

// -----

// Consumers that compute different numbers of all blocks pass a turn in each block that they skip: the others wait for it.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @skipped
// CHECK: tile.role "consumer0"
// CHECK: scf.for %{{.*}} to %computed{{.*}} step
// CHECK-NEXT: tile.sync_named 1 threads 256
// CHECK: tile.arrive_named 2 threads 256
// CHECK: scf.for %{{.*}} to %skipped{{.*}} step
// CHECK-NEXT: %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT: scf.if %[[FALSE]] {
// CHECK-NEXT: tile.sync_named 1 threads 256
// CHECK-NEXT: }
// CHECK-NEXT: tile.arrive_named 2 threads 256
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: scf.if %[[TRUE]] {
// CHECK-NEXT: tile.sync_named 1 threads 256
// CHECK-NEXT: }
// CHECK-NEXT: tile.receive
// CHECK-NEXT: tile.sync_warp
// CHECK-NEXT: %[[ELECTED:.*]] = tile.elect
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK-NEXT: tile.release
// CHECK: tile.role "consumer1"
// CHECK: scf.for %{{.*}} to %skipped{{.*}} step
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: scf.if %[[TRUE]] {
// CHECK-NEXT: tile.sync_named 2 threads 256
// CHECK-NEXT: }
// CHECK-NEXT: tile.arrive_named 1 threads 256
// CHECK-NEXT: %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT: scf.if %[[FALSE]]
gpu.module @skipped {
  gpu.func @skipped(%q: !t, %k: !t, %v: !t, %o: !t, %own0: index, %own1: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %trips:2 = tile.split_trips %own0 of %n
        scf.for %i = %c0 to %trips#0 step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
        scf.for %i = %c0 to %trips#1 step %c1 {
          %y = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          tile.release %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %trips:2 = tile.split_trips %own1 of %n
        scf.for %i = %c0 to %trips#0 step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
        scf.for %i = %c0 to %trips#1 step %c1 {
          %y = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          tile.release %kv[%i] : !tile.channel<!k>
        }
      }
    }
    gpu.return
  }
}

// -----

// If only one of them skips blocks, or if they divide different numbers of blocks, they take no turns.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 4, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>, #fmha.role<"consumer1", first_warp = 8, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16>
!k = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
!q = !tile.tile<64x64xbf16, #tile.smem<offset = 0>>
!s = !tile.tile<64x128xf32, #tile.fragment>

// CHECK-LABEL: gpu.func @other_numbers
// CHECK-NOT: tile.sync_named
// CHECK-NOT: tile.arrive_named
gpu.module @other_numbers {
  gpu.func @other_numbers(%q: !t, %k: !t, %v: !t, %o: !t, %own: index, %all: index) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %kv = tile.channel "kv" from tma to threads arrivals 1, 8 : !tile.channel<!k>
    tile.warp_specialize {
      tile.role "consumer0" warps 4 to 8 registers 232 {
        %a = tile.slot %c0 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %trips:2 = tile.split_trips %own of %n
        scf.for %i = %c0 to %trips#0 step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
        scf.for %i = %c0 to %trips#1 step %c1 {
          %y = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          tile.release %kv[%i] : !tile.channel<!k>
        }
      }
      tile.role "consumer1" warps 8 to 12 registers 232 {
        %a = tile.slot %c1 : !q
        %x = tile.receive %kv[%c0] : !tile.channel<!k> -> !k
        %before = tile.dot %a, %x transpose_b : !q, !k -> !s
        %trips:2 = tile.split_trips %own of %all
        scf.for %i = %c0 to %trips#0 step %c1 {
          %inside = tile.dot %a, %x transpose_b : !q, !k -> !s
        }
        %after = tile.dot %a, %x transpose_b : !q, !k -> !s
        scf.for %i = %c0 to %trips#1 step %c1 {
          %y = tile.receive %kv[%i] : !tile.channel<!k> -> !k
          tile.release %kv[%i] : !tile.channel<!k>
        }
      }
    }
    gpu.return
  }
}
