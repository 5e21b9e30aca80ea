// Two consumers share the columns of O: each has an accumulator, a slice of V and columns of the output, and the second
// one has a role that the passes keep.

// RUN: fmha-opt %S/../Dialect/Tile/Inputs/two-consumers.mlir \
// RUN:   --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a o-columns=512 kv-block=64 share-kv=true p-placement=smem},convert-fmha-to-tile)' | FileCheck %s
// RUN: fmha-opt %S/../Dialect/Tile/Inputs/two-consumers.mlir \
// RUN:   --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a},convert-fmha-to-tile)' | FileCheck %s --check-prefix=PLANNED

// The planner shares the columns of wide heads.
// PLANNED: kv_block = 64,{{.*}} share_kv = true, o_columns = 512, s_stages = 1, p_placement = smem

// CHECK-LABEL: gpu.func
// CHECK: %[[O0:.*]] = tile.fill 0.0{{.*}} {tile.region = #tile.region<name = "O0">} : <64x256xf32>
// CHECK: %[[O1:.*]] = tile.fill 0.0{{.*}} {tile.partition = #tile.partition<role = "consumer1">, tile.region = #tile.region<name = "O0">} : <64x256xf32>
// CHECK: %[[R:.*]]:4 = scf.for {{.*}} = %[[O0]], %[[A1:[^ ]*]] = %[[O1]])
// K is loaded once, and V not at all.
// CHECK: %[[K:.*]] = tile.load {{.*}} -> <64x576xbf16>
// CHECK-NOT: tile.load
// CHECK: %{{.*}}, %[[ALPHA:.*]] = tile.row_max
// CHECK: %[[P:.*]] = tile.cast
// CHECK: %[[V0:.*]] = tile.slice %[[K]] from 0 : <64x576xbf16> -> <64x256xbf16>
// CHECK: tile.dot %[[P]], %[[V0]]
// CHECK: %[[S1:.*]] = tile.rescale %[[A1]], %[[ALPHA]] {tile.partition = #tile.partition<role = "consumer1">
// CHECK: %[[V1:.*]] = tile.slice %[[K]] from 256 : <64x576xbf16> -> <64x256xbf16>
// CHECK: tile.dot %[[P]], %[[V1]] plus %[[S1]] as {{.*}}role = "consumer1"
// CHECK: %[[C:.*]] = arith.constant 256 : index
// CHECK: %[[VIEW1:.*]] = tile.view %arg3 {{.*}} column %[[C]]
// CHECK: %[[TOTAL:.*]] = tile.row_total %[[R]]#1
// CHECK: tile.normalize %[[R]]#2, %[[TOTAL]] {tile.region = #tile.region<name = "out0", rows = "stats0">}
// CHECK: %[[OUT1:.*]] = tile.normalize %[[R]]#3, %[[TOTAL]] {tile.partition = #tile.partition<role = "consumer1">, tile.region = #tile.region<name = "out0", column = 256, rows = "stats0">}
// CHECK: tile.store %[[OUT1]], %[[VIEW1]]
// The first consumer alone has numbers of rows to write.
// CHECK: tile.lse
// CHECK-NOT: consumer1
