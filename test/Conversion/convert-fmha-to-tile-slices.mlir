// P in slices of keys: exponentials, rounding and products slice by slice, maximum
// and sum over the whole row.

// RUN: fmha-opt %S/../Dialect/Tile/Inputs/slices.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile)' | FileCheck %s

// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[VALUES:.*]] = tile.view %arg2
// CHECK: %[[V:.*]] = tile.load %[[VALUES]][
// CHECK: %[[X:.*]] = tile.mask
// CHECK: %[[M:.*]], %[[ALPHA:.*]] = tile.row_max %[[X]], {{.*}} : <128x128xf32>
// CHECK: %[[X0:.*]] = tile.slice %[[X]] from 0 : <128x128xf32> -> <128x64xf32>
// CHECK: %[[E0:.*]] = tile.exp2 %[[X0]], %[[M]]
// CHECK: %[[P0:.*]] = tile.cast %[[E0]] {tile.region = #tile.region<name = "P0">} :
// CHECK: %[[X1:.*]] = tile.slice %[[X]] from 64
// CHECK: %[[E1:.*]] = tile.exp2 %[[X1]], %[[M]]
// CHECK: %[[P1:.*]] = tile.cast %[[E1]] {tile.region = #tile.region<name = "P0", column = 64>} :
// CHECK: %[[P:.*]] = tile.join %[[E0]], %[[E1]] : {{.*}} -> <128x128xf32>
// CHECK: tile.row_sum %[[P]], %{{.*}}, %[[ALPHA]]
// CHECK: %[[ACC:.*]] = tile.rescale
// CHECK: %[[O:.*]] = tile.dot %[[P0]], %[[V]] rows 0 plus %[[ACC]]
// CHECK: tile.dot %[[P1]], %[[V]] rows 64 plus %[[O]]

// Four of 32 keys.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: tile.join %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} :
// CHECK: tile.dot {{.*}} rows 32 {{.*}} : <128x32xbf16>, <128x64xbf16>
// CHECK: tile.dot {{.*}} rows 64
// CHECK: tile.dot {{.*}} rows 96

// A message of 32 keys takes half of a slice of 64, and all of its own rows.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[P0:.*]] = tile.cast {{.*}} to <128x64xbf16>
// CHECK: %[[P1:.*]] = tile.cast
// CHECK: %[[A:.*]] = tile.slice %[[P0]] from 0 {{.*}} -> <128x32xbf16>
// CHECK: tile.dot %[[A]], %{{[0-9]+}} plus {{.*}} : <128x32xbf16>, <32x64xbf16>
// CHECK: tile.slice %[[P0]] from 32
// CHECK: tile.slice %[[P1]] from 0
// CHECK: tile.slice %[[P1]] from 32
