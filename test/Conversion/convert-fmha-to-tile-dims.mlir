// Tiles of head dims that are no whole steps, chunks and passes. The schedules say
// what is cut; the ops are those of test/Dialect/Tile/Inputs/head-dims.mlir.

// RUN: fmha-opt %S/../Dialect/Tile/Inputs/head-dims.mlir --fmha-plan-schedule --convert-fmha-to-tile --cse | FileCheck %s

// 72 columns are 80, the next multiple of 16, and 40 are 48.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[QV:.*]] = tile.view %arg0 {{.*}} : memref<?x?x?x72xbf16, {{.*}} -> <?x72xbf16>
// CHECK: %[[Q0:.*]] = tile.load %[[QV]][{{.*}} -> <128x80xbf16>
// CHECK: tile.load %[[QV]][{{.*}} -> <128x80xbf16>
// CHECK: %[[KV:.*]] = tile.view %arg1 {{.*}} : memref<?x?x?x72xbf16, {{.*}} -> <?x72xbf16>
// CHECK: %[[VV:.*]] = tile.view %arg2 {{.*}} : memref<?x?x?x40xbf16, {{.*}} -> <?x40xbf16>
// CHECK: scf.for
// CHECK: %[[K:.*]] = tile.load %[[KV]][{{.*}}] {tile.region = #tile.region<name = "KV">} : <?x72xbf16> -> <128x80xbf16>
// CHECK: %[[V:.*]] = tile.load %[[VV]][{{.*}}] {tile.region = #tile.region<name = "KV">} : <?x40xbf16> -> <128x48xbf16>
// CHECK-NOT: tile.slice
// CHECK: tile.dot %[[Q0]], %[[K]] transpose_b {{.*}} -> <128x128xf32>
// CHECK: tile.dot %{{.*}}, %[[V]] plus {{.*}} -> <128x48xf32>
// CHECK: %[[OV:.*]] = tile.view %arg3 {{.*}} -> <?x40xbf16>
// CHECK: tile.store %{{.*}}, %[[OV]][{{.*}}] : <128x48xbf16>, <?x40xbf16>

// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[KV:.*]] = tile.view %arg1
// CHECK: %[[VV:.*]] = tile.view %arg2
// A ring for K and one for V.
// CHECK: tile.load %[[KV]][{{.*}} {tile.region = #tile.region<name = "KV">} {{.*}} -> <128x192xbf16>
// CHECK: tile.load %[[VV]][{{.*}} {tile.region = #tile.region<name = "V">} {{.*}} -> <128x128xbf16>

// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: tile.dot {{.*}} -> <128x256xf32>

// 512 columns of O are two passes of 256, neighbors in the grid; only the first, whose
// column is 0, has rows of LSE to write.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: %[[LENGTH:.*]] = memref.dim %arg0, %c1
// CHECK: %[[ID:.*]] = gpu.block_id x
// CHECK: %[[PASS:.*]] = arith.remui %[[ID]], %c2
// CHECK: %[[FIRST:.*]] = arith.muli %[[PASS]], %c256
// CHECK: %[[REST:.*]] = arith.divui %[[ID]], %c2
// CHECK: arith.remui %[[REST]], %{{.*}}
// CHECK: %[[QV:.*]] = tile.view %arg0
// CHECK: %[[Q:.*]] = tile.load %[[QV]][{{.*}} -> <128x512xbf16>
// CHECK: %[[KV0:.*]] = tile.view %arg1 batch %{{[^ ]*}} head %{{[^ ]*}} rows %{{[^ ]*}} :
// CHECK: %[[KV1:.*]] = tile.view %arg1 {{.*}} column %c128 :
// CHECK: %[[KV2:.*]] = tile.view %arg1 {{.*}} column %c256 :
// CHECK: %[[KV3:.*]] = tile.view %arg1 {{.*}} column %c384 :
// CHECK: %[[VV:.*]] = tile.view %arg2 {{.*}} column %[[FIRST]] :
// CHECK: scf.for
// Four messages of 128 columns of K, two of 64 keys of V.
// CHECK: %[[KEYS:.*]] = arith.muli %{{.*}}, %c128
// CHECK: %[[K0:.*]] = tile.load %[[KV0]][%[[KEYS]]] {tile.region = #tile.region<name = "KV">} : {{.*}} -> <128x128xbf16>
// CHECK: %[[K1:.*]] = tile.load %[[KV1]][%[[KEYS]]] {tile.region = #tile.region<name = "KV">} : {{.*}} -> <128x128xbf16>
// CHECK: tile.load %[[KV2]][%[[KEYS]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: %[[K3:.*]] = tile.load %[[KV3]][%[[KEYS]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: %[[V0:.*]] = tile.load %[[VV]][%[[KEYS]]] {tile.region = #tile.region<name = "KV">} : {{.*}} -> <64x256xbf16>
// CHECK: %[[LATER:.*]] = arith.addi %[[KEYS]], %c64
// CHECK: %[[V1:.*]] = tile.load %[[VV]][%[[LATER]]] {tile.region = #tile.region<name = "KV">} : {{.*}} -> <64x256xbf16>
// Their products add up.
// CHECK: %[[Q0:.*]] = tile.slice %[[Q]] from 0 {{.*}} -> <128x128xbf16>
// CHECK: %[[S0:.*]] = tile.dot %[[Q0]], %[[K0]] transpose_b {tile.region = #tile.region<name = "S0">} :
// CHECK: %[[Q1:.*]] = tile.slice %[[Q]] from 128 {{.*}} -> <128x128xbf16>
// CHECK: %[[S1:.*]] = tile.dot %[[Q1]], %[[K1]] transpose_b plus %[[S0]] as !tile.tile<128x128xf32> :
// CHECK: tile.slice %[[Q]] from 256
// CHECK: tile.dot
// CHECK: %[[Q3:.*]] = tile.slice %[[Q]] from 384
// CHECK: %[[S:.*]] = tile.dot %[[Q3]], %[[K3]] transpose_b plus
// CHECK: tile.mask %[[S]]
// CHECK: %[[P:.*]] = tile.cast
// CHECK: %[[ACC:.*]] = tile.rescale
// CHECK: %[[P0:.*]] = tile.slice %[[P]] from 0 {{.*}} -> <128x64xbf16>
// CHECK: %[[O0:.*]] = tile.dot %[[P0]], %[[V0]] plus %[[ACC]] {{.*}} -> <128x256xf32>
// CHECK: %[[P1:.*]] = tile.slice %[[P]] from 64 {{.*}} -> <128x64xbf16>
// CHECK: %[[O:.*]] = tile.dot %[[P1]], %[[V1]] plus %[[O0]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %[[O]]
// CHECK: %[[OV:.*]] = tile.view %arg3 {{.*}} column %[[FIRST]] : {{.*}} -> <?x512xbf16>
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[FIRST]], %c0
// CHECK: %[[ROWS:.*]] = arith.select %[[IS_FIRST]], %[[LENGTH]], %c0
// CHECK: %[[LV:.*]] = tile.view %arg4 {{.*}} rows %[[ROWS]] :
// CHECK: tile.store %{{.*}}, %[[OV]][{{.*}}] : <128x256xbf16>, <?x512xbf16>
// CHECK: tile.store_rows %{{.*}}, %[[LV]][

// 576 columns in messages of 128 leave 64 for the last. V inside K of another size of
// message is loaded by itself, and the kernel says that it lies there.
// CHECK: gpu.module @fmha_fwd_kernel_3 {
// CHECK: gpu.func {{.*}}fmha.problem = #fmha.problem<{{.*}}v_in_k>
// CHECK-COUNT-4: tile.view %arg1
// CHECK: %[[LASTVIEW:.*]] = tile.view %arg1 {{.*}} column %c512 :
// CHECK: %[[VV:.*]] = tile.view %arg2
// CHECK-COUNT-4: tile.load %{{.*}} -> <128x128xbf16>
// CHECK: tile.load %[[LASTVIEW]][{{.*}} -> <128x64xbf16>
// CHECK-COUNT-4: tile.load %[[VV]][{{.*}} -> <32x256xbf16>

// One message for both: V is columns of K.
// CHECK: gpu.module @fmha_fwd_kernel_4 {
// CHECK: %[[KV:.*]] = tile.view %arg1
// CHECK-NOT: tile.view
// CHECK: scf.for
// CHECK: %[[K:.*]] = tile.load %[[KV]][{{.*}} -> <128x192xbf16>
// CHECK: %[[V:.*]] = tile.slice %[[K]] from 0 : <128x192xbf16> -> <128x128xbf16>
// CHECK-NOT: tile.load
// CHECK: tile.dot %{{.*}}, %[[K]] transpose_b
// CHECK: tile.dot %{{.*}}, %[[V]] plus
