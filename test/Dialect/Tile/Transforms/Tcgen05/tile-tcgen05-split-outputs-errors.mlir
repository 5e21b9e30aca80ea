// Outputs that are stored at once: those with memory of their own, of one panel, of 64 rows, with other uses, or without a place.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-split-outputs)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1>
!t = memref<?x?x?x128xbf16>
!w = !tile.view<?x128xbf16>
!row = !tile.tile<128xf32, #tile.registers>

// CHECK-LABEL: @own_memory(
// CHECK-NOT: tile.slice
// CHECK: tile.normalize {{.*}} to <128x128xbf16, #tile.smem<offset = 0>>
// CHECK: tile.store
// CHECK: tile.normalize {{.*}} to <128x128xbf16, #tile.smem<offset = 32768>>
// CHECK: tile.store
// CHECK-NOT: tile.slice
// CHECK: gpu.return
gpu.module @own_memory {
  gpu.func @own_memory(%o: !t, %n: index) kernel attributes {fmha.schedule = #schedule} {
    %one = tile.fill 1.0 : !row
    %x = tile.fill 0.0 : !tile.tile<128x128xf32, #tile.tmem<column = 0>>
    %y = tile.fill 0.0 : !tile.tile<128x128xf32, #tile.tmem<column = 128>>
    %os = tile.view %o batch %n head %n rows %n : !t -> !w
    %out0 = tile.normalize %x, %one : !tile.tile<128x128xf32, #tile.tmem<column = 0>>, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
    tile.store %out0, %os[%n] : !tile.tile<128x128xbf16, #tile.smem<offset = 0>>, !w
    %out1 = tile.normalize %y, %one : !tile.tile<128x128xf32, #tile.tmem<column = 128>>, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 32768>>
    tile.store %out1, %os[%n] : !tile.tile<128x128xbf16, #tile.smem<offset = 32768>>, !w
    gpu.return
  }

  // CHECK-LABEL: gpu.func @one_panel(
  // CHECK-NOT: tile.slice
  // CHECK-COUNT-2: tile.normalize {{.*}} to <128x64xbf16, #tile.smem<offset = 0>>
  // CHECK-NOT: tile.slice
  // CHECK: gpu.return
  gpu.func @one_panel(%o: !t, %n: index) kernel attributes {fmha.schedule = #schedule} {
    %one = tile.fill 1.0 : !row
    %x = tile.fill 0.0 : !tile.tile<128x64xf32, #tile.tmem<column = 0>>
    %os = tile.view %o batch %n head %n rows %n : !t -> !w
    %out0 = tile.normalize %x, %one : !tile.tile<128x64xf32, #tile.tmem<column = 0>>, !row to !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
    %out1 = tile.normalize %x, %one : !tile.tile<128x64xf32, #tile.tmem<column = 0>>, !row to !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
    tile.store %out0, %os[%n] : !tile.tile<128x64xbf16, #tile.smem<offset = 0>>, !w
    tile.store %out1, %os[%n] : !tile.tile<128x64xbf16, #tile.smem<offset = 0>>, !w
    gpu.return
  }

  // Two threads share each of 64 rows.
  // CHECK-LABEL: gpu.func @shared_rows(
  // CHECK-NOT: tile.slice
  // CHECK-COUNT-2: tile.normalize {{.*}} to <64x128xbf16, #tile.smem<offset = 0>>
  // CHECK-NOT: tile.slice
  // CHECK: gpu.return
  gpu.func @shared_rows(%o: !t, %n: index) kernel attributes {fmha.schedule = #schedule} {
    %one = tile.fill 1.0 : !tile.tile<64xf32, #tile.registers>
    %x = tile.fill 0.0 : !tile.tile<64x128xf32, #tile.tmem<column = 0>>
    %os = tile.view %o batch %n head %n rows %n : !t -> !w
    %out0 = tile.normalize %x, %one : !tile.tile<64x128xf32, #tile.tmem<column = 0>>, !tile.tile<64xf32, #tile.registers> to !tile.tile<64x128xbf16, #tile.smem<offset = 0>>
    %out1 = tile.normalize %x, %one : !tile.tile<64x128xf32, #tile.tmem<column = 0>>, !tile.tile<64xf32, #tile.registers> to !tile.tile<64x128xbf16, #tile.smem<offset = 0>>
    tile.store %out0, %os[%n] : !tile.tile<64x128xbf16, #tile.smem<offset = 0>>, !w
    tile.store %out1, %os[%n] : !tile.tile<64x128xbf16, #tile.smem<offset = 0>>, !w
    gpu.return
  }

  // An output that is stored twice, and one that is stored in a branch.
  // CHECK-LABEL: gpu.func @other_uses(
  // CHECK-NOT: tile.slice
  // CHECK-COUNT-2: tile.normalize {{.*}} to <128x128xbf16, #tile.smem<offset = 0>>
  // CHECK-NOT: tile.slice
  // CHECK: gpu.return
  gpu.func @other_uses(%o: !t, %n: index, %some: i1) kernel attributes {fmha.schedule = #schedule} {
    %one = tile.fill 1.0 : !row
    %x = tile.fill 0.0 : !tile.tile<128x128xf32, #tile.tmem<column = 0>>
    %os = tile.view %o batch %n head %n rows %n : !t -> !w
    %out0 = tile.normalize %x, %one : !tile.tile<128x128xf32, #tile.tmem<column = 0>>, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
    %out1 = tile.normalize %x, %one : !tile.tile<128x128xf32, #tile.tmem<column = 0>>, !row to !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
    tile.store %out0, %os[%n] : !tile.tile<128x128xbf16, #tile.smem<offset = 0>>, !w
    tile.store %out0, %os[%n] : !tile.tile<128x128xbf16, #tile.smem<offset = 0>>, !w
    scf.if %some {
      tile.store %out1, %os[%n] : !tile.tile<128x128xbf16, #tile.smem<offset = 0>>, !w
    }
    gpu.return
  }

  // Tiles without a place, before tile-assign-memory.
  // CHECK-LABEL: gpu.func @unplaced(
  // CHECK-NOT: tile.slice
  // CHECK: gpu.return
  gpu.func @unplaced(%o: !t, %n: index) kernel attributes {fmha.schedule = #schedule} {
    %one = tile.fill 1.0 : !tile.tile<128xf32>
    %x = tile.fill 0.0 : !tile.tile<128x128xf32>
    %os = tile.view %o batch %n head %n rows %n : !t -> !w
    %out = tile.normalize %x, %one : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<128x128xbf16>
    tile.store %out, %os[%n] : !tile.tile<128x128xbf16>, !w
    gpu.return
  }
}

// Without a schedule nothing happens.
// CHECK-LABEL: gpu.func @other()
gpu.module @other {
  gpu.func @other() kernel { gpu.return }
}
