// Places of tiles that are no whole panels, of messages of different sizes and of
// slices. A panel of n rows is n x 128 bytes.

// RUN: fmha-opt %S/../../Inputs/head-dims.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s

// 80 columns are two panels: queries at 0 and 32768, stages of 32768 from 65536 on; V
// has one panel and lies in the same stages. O: 256, and 48 columns on.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[Q:.*]] = tile.view %arg0
// CHECK: tile.load %[[Q]][{{.*}} -> <128x80xbf16, #tile.smem<offset = 0>>
// CHECK: tile.load %[[Q]][{{.*}} -> <128x80xbf16, #tile.smem<offset = 32768>>
// CHECK: %[[K:.*]] = tile.view %arg1
// CHECK: %[[V:.*]] = tile.view %arg2
// CHECK: tile.load %[[K]][{{.*}} -> <128x80xbf16, #tile.smem<offset = 65536, stages = 3>>
// CHECK: tile.load %[[V]][{{.*}} -> <128x48xbf16, #tile.smem<offset = 65536, stages = 3, pitch = 32768>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <128x48xf32, #tile.tmem<column = 256>>
// CHECK: tile.dot {{.*}} plus {{.*}} -> <128x48xf32, #tile.tmem<column = 304>>
// CHECK: tile.normalize {{.*}} to <128x48xbf16, #tile.smem<offset = 0>>

// Rings of their own: three panels of Q, two stages of three of K, one of two of V.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[K:.*]] = tile.view %arg1
// CHECK: %[[V:.*]] = tile.view %arg2
// CHECK: tile.load %[[K]][{{.*}} -> <128x192xbf16, #tile.smem<offset = 49152, stages = 2>>
// CHECK: tile.load %[[V]][{{.*}} -> <128x128xbf16, #tile.smem<offset = 147456>>
// CHECK: tile.move {{.*}} to <128x128xbf16, #tile.smem<offset = 180224>>

// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: tile.fill {{.*}} : <128x256xf32, #tile.tmem<column = 128>>

// The query's slices begin two panels of 16384 bytes apart, those of P one; both
// messages fill a stage. Only the last dot of a chain goes to registers.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: %[[K:.*]] = tile.view %arg1
// CHECK: %[[V:.*]] = tile.view %arg2
// CHECK: tile.load %[[K]][{{.*}} -> <128x128xbf16, #tile.smem<offset = 131072, stages = 2>>
// CHECK: tile.load %[[V]][{{.*}} -> <64x256xbf16, #tile.smem<offset = 131072, stages = 2>>
// CHECK: tile.slice {{.*}} from 0 {{.*}} -> <128x128xbf16, #tile.smem<offset = 0>>
// CHECK: tile.slice {{.*}} from 128 {{.*}} -> <128x128xbf16, #tile.smem<offset = 32768>>
// CHECK-NOT: #tile.registers
// CHECK: tile.slice {{.*}} from 384 {{.*}} -> <128x128xbf16, #tile.smem<offset = 98304>>
// CHECK-NEXT: %[[S:.*]] = tile.dot
// CHECK-NEXT: tile.move %[[S]] {{.*}} to <128x128xf32, #tile.registers>
// CHECK: %[[P:.*]] = tile.move {{.*}} to <128x128xbf16, #tile.smem<offset = 196608>>
// CHECK: tile.slice %[[P]] from 0 {{.*}} -> <128x64xbf16, #tile.smem<offset = 196608>>
// CHECK: tile.slice %[[P]] from 64 {{.*}} -> <128x64xbf16, #tile.smem<offset = 212992>>

// Nine panels of Q; the last chunk of K and those of V are half a stage. 32 columns of P
// are 16 of tensor memory.
// CHECK: gpu.module @fmha_fwd_kernel_3 {
// CHECK: %[[K:.*]] = tile.view %arg1
// CHECK: %[[LAST:.*]] = tile.view %arg1 {{.*}} column %c512
// CHECK: %[[V:.*]] = tile.view %arg2
// CHECK: tile.load %[[K]][{{.*}} -> <128x128xbf16, #tile.smem<offset = 147456, stages = 2>>
// CHECK: tile.load %[[LAST]][{{.*}} -> <128x64xbf16, #tile.smem<offset = 147456, stages = 2, pitch = 32768>>
// CHECK: tile.load %[[V]][{{.*}} -> <32x256xbf16, #tile.smem<offset = 147456, stages = 2, pitch = 32768>>
// CHECK: tile.slice {{.*}} from 512 {{.*}} -> <128x64xbf16, #tile.smem<offset = 131072>>
// CHECK: tile.slice {{.*}} from 96 {{.*}} -> <128x32xbf16, #tile.tmem<column = 112>>

// V where K is, stages as far apart as K's.
// CHECK: gpu.module @fmha_fwd_kernel_4 {
// CHECK: tile.slice {{.*}} from 0 : {{.*}} -> <128x128xbf16, #tile.smem<offset = 49152, stages = 2, pitch = 49152>>
