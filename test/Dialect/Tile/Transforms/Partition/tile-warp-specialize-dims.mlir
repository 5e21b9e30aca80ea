// Channels and message numbers of rings that K and V share, have for themselves, or
// fill with one message for both.

// RUN: fmha-opt %S/../../Inputs/head-dims.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' | FileCheck %s

// The ring is that of the larger message.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[KV:.*]] = tile.channel "kv" {{.*}} : <<128x80xbf16, #tile.smem<offset = 65536, stages = 3>>>
// CHECK: tile.role "load"
// CHECK: tile.acquire %[[KV]]{{.*}} -> <128x80xbf16, #tile.smem<offset = 65536, stages = 3>>
// CHECK: tile.acquire %[[KV]]{{.*}} -> <128x48xbf16, #tile.smem<offset = 65536, stages = 3, pitch = 32768>>

// Each in a ring of its own: block j is message j of both. Behind the last nobody
// waits for a free slot.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[K:.*]] = tile.channel "k" {{.*}} : <<128x192xbf16, #tile.smem<offset = 49152, stages = 2>>>
// CHECK: %[[V:.*]] = tile.channel "v" {{.*}} : <<128x128xbf16, #tile.smem<offset = 147456>>>
// CHECK: tile.role "load"
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: tile.acquire %[[K]][%[[J]]]
// CHECK: tile.acquire %[[V]][%[[J]]]
// CHECK: }
// CHECK-NOT: tile.acquire
// CHECK: tile.role "mma"
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: tile.receive %[[V]][%[[J]]]
// CHECK: tile.release %[[V]][%[[J]]]
// CHECK: tile.receive %[[K]][%[[NEXT]]]
// CHECK: tile.release %[[K]][%[[NEXT]]]

// Four messages of K and two of V are six a block; each is released before the next one
// is waited for.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: %[[KV:.*]] = tile.channel "kv" {{.*}} : <<128x128xbf16, #tile.smem<offset = 131072, stages = 2>>>
// CHECK: tile.role "mma"
// CHECK: %[[Q:.*]] = tile.receive
// CHECK: %[[K0:.*]] = tile.receive %[[KV]][%c0]
// CHECK: %[[Q0:.*]] = tile.slice %[[Q]] from 0
// CHECK: %[[S0:.*]] = tile.dot %[[Q0]], %[[K0]] transpose_b :
// CHECK: tile.release %[[KV]][%c0]
// CHECK: %[[K1:.*]] = tile.receive %[[KV]][%c1]
// CHECK: %[[Q1:.*]] = tile.slice %[[Q]] from 128
// CHECK: tile.dot %[[Q1]], %[[K1]] transpose_b plus %[[S0]]
// CHECK: tile.release %[[KV]][%c1]
// CHECK: tile.release %[[KV]][%c2]
// CHECK: tile.publish
// CHECK: tile.release %[[KV]][%c3]
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: %[[TURN:.*]] = arith.muli %[[J]], %c6
// CHECK: %[[N4:.*]] = arith.addi %[[TURN]], %c4
// CHECK: %[[V0:.*]] = tile.receive %[[KV]][%[[N4]]] {{.*}} -> <64x256xbf16
// CHECK: %[[LATER:.*]] = arith.cmpi sgt, %[[J]], %c0
// CHECK: %[[O0:.*]] = tile.dot %{{.*}}, %[[V0]] plus {{.*}} if %[[LATER]]
// CHECK: tile.release %[[KV]][%[[N4]]]
// CHECK: %[[N5:.*]] = arith.addi %[[TURN]], %c5
// CHECK: %[[V1:.*]] = tile.receive %[[KV]][%[[N5]]]
// The second chunk adds to the first in every block.
// CHECK: tile.dot %{{.*}}, %[[V1]] plus %[[O0]] as !tile.tile<128x256xf32, #tile.tmem<column = 128>> :
// CHECK: tile.release %[[KV]][%[[N5]]]
// CHECK: arith.muli %{{.*}}, %c6
// CHECK: tile.dot {{.*}} transpose_b
// Of the last block every chunk of V but the last is released.
// CHECK: }
// CHECK: tile.dot {{.*}} if
// CHECK: tile.release %[[KV]]
// CHECK: tile.dot
// CHECK-NOT: tile.release
// CHECK: tile.role "store"

// Received as K in the turn of block j - 1, as V in that of block j, released then.
// CHECK: gpu.module @fmha_fwd_kernel_4 {
// CHECK: %[[KV:.*]] = tile.channel "kv" {{.*}} : <<128x192xbf16, #tile.smem<offset = 49152, stages = 2>>>
// CHECK: tile.role "load"
// CHECK: scf.for
// CHECK: tile.load {{.*}} into
// CHECK-NOT: tile.load
// CHECK: }
// CHECK: tile.role "mma"
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: %[[K:.*]] = tile.receive %[[KV]][%[[J]]]
// CHECK: %[[V:.*]] = tile.slice %[[K]] from 0
// CHECK: tile.dot %{{.*}}, %[[V]] plus
// CHECK: tile.release %[[KV]][%[[J]]]
// CHECK: %[[K:.*]] = tile.receive %[[KV]][%[[NEXT]]]
// CHECK: tile.dot %{{.*}}, %[[K]] transpose_b
// CHECK-NOT: tile.release
// CHECK: }
