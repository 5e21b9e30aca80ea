// Messages of loops inside of loops: message j·3 + i of a load in a loop of three iterations inside of another one, message j
// of a tile that the outer loop makes. A slot is acquired before the op that writes it.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' | FileCheck %s

// CHECK: tile.role "load"
// CHECK: scf.for %[[J:.*]] = %c0 to %[[BLOCKS:.*]] step
// CHECK: scf.for %[[I:.*]] = %c0 to %c3 step
// CHECK: %[[BEFORE:.*]] = arith.muli %[[J]], %c3
// CHECK: %[[N:.*]] = arith.addi %[[I]], %[[BEFORE]]
// CHECK: tile.acquire %{{.*}}[%[[N]]]
// CHECK: tile.role "store"
// CHECK: scf.for %[[J:.*]] = %c0 to %[[BLOCKS]] step
// CHECK-NEXT: tile.receive %[[OUT:.*]][%[[J]]]
// CHECK: tile.store
// CHECK-NEXT: tile.release %[[OUT]][%[[J]]]
// CHECK: tile.role "consumer0"
// CHECK: scf.for %[[J:.*]] = %c0 to %[[BLOCKS]] step
// CHECK: scf.for %[[I:.*]] = %c0 to %c3 step
// CHECK: %[[BEFORE:.*]] = arith.muli %[[J]], %c3
// CHECK: %[[N:.*]] = arith.addi %[[I]], %[[BEFORE]]
// CHECK: tile.receive %[[RING:.*]][%[[N]]]
// CHECK: tile.dot
// CHECK: tile.wait_dots
// CHECK: tile.release %[[RING]][%[[N]]]
// CHECK: tile.acquire %[[OUT]][%[[J]]]
// CHECK: tile.move
// CHECK: tile.publish %[[OUT]][%[[J]]]

!a = memref<?x?x?x160xbf16, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x192xbf16, strided<[?, ?, ?, 1]>>
gpu.module @programs {
  gpu.func @matmul_nest(%a: !a, %b: !a, %o: !o) kernel
      attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %rows = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c1 : !a
    %id = gpu.block_id x
    %row = arith.muli %id, %rows : index
    %blocks = arith.ceildivui %n, %c64 : index
    scf.for %j = %c0 to %blocks step %c1 {
      %column = arith.muli %j, %c64 : index
      %vo = tile.view %o batch %c0 head %c0 rows %m column %column : !o -> <?x192xbf16>
      %zero = tile.fill 0.0 : <64x64xf32>
      %d = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tile.tile<64x64xf32>) {
        %first = arith.muli %i, %c64 : index
        %va = tile.view %a batch %c0 head %c0 rows %m column %first : !a -> <?x160xbf16>
        %vb = tile.view %b batch %c0 head %c0 rows %n column %first : !a -> <?x160xbf16>
        %ta = tile.load %va[%row] : <?x160xbf16> -> <64x64xbf16>
        %tb = tile.load %vb[%column] : <?x160xbf16> -> <64x64xbf16>
        %s = tile.dot %ta, %tb transpose_b plus %acc as !tile.tile<64x64xf32>
            : <64x64xbf16>, <64x64xbf16> -> <64x64xf32>
        scf.yield %s : !tile.tile<64x64xf32>
      }
      %h = tile.cast %d : <64x64xf32> to <64x64xbf16>
      tile.store %h, %vo[%row] : <64x64xbf16>, <?x192xbf16>
    }
    gpu.return
  }
}
