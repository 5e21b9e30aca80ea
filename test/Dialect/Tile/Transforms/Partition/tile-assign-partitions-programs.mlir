// Roles of a program that no attention op made have names of their own on Blackwell, unless its author wrote those of
// attention.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-assign-partitions)))' | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!f = memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>
!x = !tile.tile<128x64xbf16>
!y = !tile.tile<64x64xbf16>
!acc = !tile.tile<128x64xf32>
!row = !tile.tile<128xf32>

// CHECK-LABEL: gpu.func @matmul
// CHECK-SAME: "load", {{.*}}"mma", {{.*}}"store", {{.*}}"spare", {{.*}}"compute0", {{.*}}"accumulator",
// CHECK: tile.dot {{.*}}role = "mma"
// CHECK: tile.move {{.*}}role = "compute0"
// CHECK: tile.cast {{.*}}role = "compute0"
// CHECK: tile.move {{.*}}role = "compute0"
// CHECK: tile.write {{.*}}role = "accumulator"
// CHECK-NOT: softmax
// CHECK-NOT: correction
gpu.module @matmul {
  gpu.func @matmul(%a: !t, %b: !t, %o: !t, %f: !f) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %va = tile.view %a batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vb = tile.view %b batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vo = tile.view %o batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vf = tile.view %f batch %c0 head %c0 rows %n : !f -> <?x64xf32>
    %ta = tile.load %va[%c0] : <?x64xbf16> -> !x
    %tb = tile.load %vb[%c0] : <?x64xbf16> -> !y
    %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
    %h = tile.cast %s : !acc to !x
    tile.store %h, %vo[%c0] : !x, <?x64xbf16>
    %two = tile.fill 2.0 : !row
    tile.write %s over %two : !acc, !row as !acc to %vf[%c0] : <?x64xf32>
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!x = !tile.tile<128x64xbf16>
!y = !tile.tile<64x64xbf16>
!acc = !tile.tile<128x64xf32>

// CHECK-LABEL: gpu.func @written
// CHECK-SAME: "load", {{.*}}"mma", {{.*}}"store", {{.*}}"spare", {{.*}}"softmax0",
// CHECK: tile.move {{.*}}role = "softmax0"
// CHECK: tile.scale {{.*}}role = "softmax0"
// CHECK: tile.cast {{.*}}role = "softmax0"
gpu.module @written {
  gpu.func @written(%a: !t, %b: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %va = tile.view %a batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vb = tile.view %b batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vo = tile.view %o batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %ta = tile.load %va[%c0] : <?x64xbf16> -> !x
    %tb = tile.load %vb[%c0] : <?x64xbf16> -> !y
    %s = tile.dot %ta, %tb transpose_b : !x, !y -> !acc
    %d = tile.scale %s by 2.0 {tile.partition = #tile.partition<role = "softmax0">} : !acc
    %h = tile.cast %d : !acc to !x
    tile.store %h, %vo[%c0] : !x, <?x64xbf16>
    gpu.return
  }
}
