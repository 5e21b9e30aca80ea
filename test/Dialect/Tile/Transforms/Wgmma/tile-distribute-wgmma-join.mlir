// Joined tiles are the registers of the slices one after the other: here those of the right half of a product, 16 for each
// thread, and then those of the left one.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute)))' \
// RUN:   | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!x = !tile.tile<64x64xbf16>
!acc = !tile.tile<64x64xf32>
!half = !tile.tile<64x32xf32>
gpu.module @programs {
  gpu.func @join(%a: !t, %b: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %va = tile.view %a batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vb = tile.view %b batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %vo = tile.view %o batch %c0 head %c0 rows %n : !t -> <?x64xbf16>
    %ta = tile.load %va[%c0] : <?x64xbf16> -> !x
    %tb = tile.load %vb[%c0] : <?x64xbf16> -> !x
    // CHECK: %[[S:.*]] = tile.wgmma_wait {{.*}} : vector<32xf32>
    %s = tile.dot %ta, %tb transpose_b : !x, !x -> !acc
    // CHECK: %[[LEFT:.*]] = vector.extract_strided_slice %[[S]] {offsets = [0], sizes = [16], strides = [1]}
    // CHECK: %[[RIGHT:.*]] = vector.extract_strided_slice %[[S]] {offsets = [16], sizes = [16], strides = [1]}
    %left = tile.slice %s from 0 : !acc -> !half
    %right = tile.slice %s from 32 : !acc -> !half
    // CHECK: %[[PART:.*]] = vector.insert_strided_slice %[[RIGHT]], %{{.*}} {offsets = [0], strides = [1]}
    // CHECK: %[[ALL:.*]] = vector.insert_strided_slice %[[LEFT]], %[[PART]] {offsets = [16], strides = [1]}
    %all = tile.join %right, %left : !half, !half -> !acc
    // CHECK: vector.extract_strided_slice %[[ALL]]
    %h = tile.cast %all : !acc to !x
    tile.store %h, %vo[%c0] : !x, <?x64xbf16>
    gpu.return
  }
}
