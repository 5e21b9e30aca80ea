// In a program without an attention op, each placed tile of rank 2 gets its layout, and each product of wgmma its instruction.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-annotate-layouts)))' | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-annotate-layouts,tile-annotate-layouts)))' | FileCheck %s

!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>

// An accumulator of 64 x 128 has 16 groups of 8 columns, and takes one instruction of 128 columns. It is moved by stmatrix.
// CHECK-LABEL: gpu.func @fragments
// CHECK: tile.fill 0.000000e+00 {tile.layout = #tile.thread_values<((4,8,4),(2,2,16)):((128,1,16),(64,8,512)), (64,128)>}
// CHECK: tile.load {{.*}} {tile.layout = #tile.layout<Sw<3,3,3> o 0 o (64,64):(64,1)>}
// CHECK: tile.load {{.*}} {tile.layout = #tile.layout<Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))>}
// CHECK: tile.dot {{.*}} {tile.layout = #tile.thread_values<((4,8,4),(2,2,16)):((128,1,16),(64,8,512)), (64,128)>, tile.mma = #tile.tiled_mma<wgmma_m64n128k16_f32_bf16, (1,1,1)>}
// CHECK: tile.cast {{.*}} {tile.layout = #tile.thread_values<((4,8,4),(2,2,16)):((128,1,16),(64,8,512)), (64,128)>}
// CHECK: tile.move {{.*}} {tile.copies = [#tile.tiled_copy<stmatrix_x4, ((4,8,4),((2,2),(1,2))):((128,1,16),((64,8),(0,512))), (64,16)>], tile.layout = #tile.layout<Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))>}
gpu.module @wgmma {
  gpu.func @fragments(%a: !t, %b: !t, %c: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !t
    %k = memref.dim %b, %c1 : !t
    %steps = arith.ceildivui %k, %c64 : index
    %bs = tile.view %b batch %c0 head %c0 rows %k : !t -> !tile.view<?x128xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t -> !tile.view<?x128xbf16>
    %zero = tile.fill 0.0 : !tile.tile<64x128xf32>
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!tile.tile<64x128xf32>) {
      %at = arith.muli %i, %c64 : index
      %as = tile.view %a batch %c0 head %c0 rows %m column %at : !t -> !tile.view<?x128xbf16>
      %x = tile.load %as[%c0] : !tile.view<?x128xbf16> -> <64x64xbf16>
      %y = tile.load %bs[%at] : !tile.view<?x128xbf16> -> <64x128xbf16>
      %next = tile.dot %x, %y plus %acc as !tile.tile<64x128xf32> : <64x64xbf16>, <64x128xbf16> -> <64x128xf32>
      scf.yield %next : !tile.tile<64x128xf32>
    }
    %half = tile.cast %sum : <64x128xf32> to <64x128xbf16>
    tile.store %half, %cs[%c0] : <64x128xbf16>, !tile.view<?x128xbf16>
    gpu.return
  }
}

// In tensor memory a row is a lane, and products have no fragments. Tiles of rank 1 have no layout.
// CHECK-LABEL: gpu.func @rows
// CHECK: tile.dot {{.*}} {tile.layout = #tile.layout<(128,64):(65536,1)>} :
// CHECK: tile.move {{.*}} {tile.layout = #tile.thread_values<(128,64):(1,128), (128,64)>}
// CHECK: tile.row_max
// CHECK-NOT: tile.layout
// CHECK: gpu.return
gpu.module @tcgen05 {
  gpu.func @rows(%a: !t, %b: !t, %c: memref<?x?x?xf32, strided<[?, ?, 1]>>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %m : !t -> !tile.view<?x128xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %m : !t -> !tile.view<?x128xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x128xbf16> -> <128x128xbf16>
    %y = tile.load %bs[%c0] : !tile.view<?x128xbf16> -> <64x128xbf16>
    %s = tile.dot %x, %y transpose_b : <128x128xbf16>, <64x128xbf16> -> <128x64xf32>
    %none = tile.fill 0xFF800000 : !tile.tile<128xf32>
    %max, %alpha = tile.row_max %s, %none scale 1.0 threshold 0.0 : <128x64xf32>, <128xf32>
    %cs = tile.view %c batch %c0 head %c0 rows %m : memref<?x?x?xf32, strided<[?, ?, 1]>> -> !tile.view<?xf32>
    tile.store_rows %max, %cs[%c0] : <128xf32>, !tile.view<?xf32>
    gpu.return
  }
}
