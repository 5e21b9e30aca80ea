// The rotation of the MMA role: scores of block j + 1 are issued right after the
// product of block j, so that softmax has a tile to work on while O grows.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=1 s-stages=1 kv-stages=3 p-placement=tmem p-slices=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' \
// RUN:   | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=2 kv-stages=3 p-placement=tmem p-slices=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: sed s/x64xbf16/x128xbf16/ %s | fmha-opt --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=2 kv-stages=3 kv-block=128 p-placement=tmem p-slices=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' \
// RUN:   | FileCheck %s --check-prefix=WIDE
// RUN: sed s/x64xbf16/x128xbf16/ %s | fmha-opt --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=2 kv-stages=3 kv-block=80 p-placement=tmem p-slices=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' \
// RUN:   | FileCheck %s --check-prefix=TURNS

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return
}

// Query blocks of the grid, then KV blocks of this CTA.
// CHECK: arith.ceildivui
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui
// CHECK: %[[KV:.*]] = tile.channel "kv"
// CHECK: %[[Q:.*]] = tile.channel "q0"
// CHECK: %[[S:.*]] = tile.channel "s0"
// CHECK: %[[P:.*]] = tile.channel "p0"
// CHECK: %[[READY:.*]] = tile.channel "ready0"
// CHECK: %[[DONE:.*]] = tile.channel "done0"
// CHECK: tile.role "mma" warps 13 to 14 registers {{[0-9]+}} single_thread
// CHECK: scf.if
// Before the loop: scores of block 0, from message 0 of the ring.
// CHECK: %[[QUERY:.*]] = tile.receive %[[Q]][%c0
// CHECK: %[[KEY:.*]] = tile.receive %[[KV]][%c0
// CHECK: tile.acquire %[[S]][%c0
// CHECK: tile.dot %[[QUERY]], %[[KEY]] transpose_b
// CHECK: tile.publish %[[S]][%c0
// CHECK: tile.release %[[KV]][%c0
// CHECK: %[[LAST:.*]] = arith.addi %[[BLOCKS]], %c-1
// CHECK: scf.for %[[J:[^ ]*]] = %{{.*}} to %[[LAST]]
// V of block j is message 2j + 1.
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: %[[EVEN:.*]] = arith.muli %[[J]], %c2
// CHECK: %[[NV:.*]] = arith.addi %[[EVEN]], %c1
// CHECK: %[[VALUE:.*]] = tile.receive %[[KV]][%[[NV]]]
// CHECK: %[[HALF:.*]] = tile.receive %[[P]][%[[J]]]
// CHECK: %[[ACC:.*]] = tile.receive %[[READY]][%[[J]]]
// O is overwritten by the product of block 0.
// CHECK: %[[LATER:.*]] = arith.cmpi sgt, %[[J]], %c0
// CHECK: tile.dot %[[HALF]], %[[VALUE]] plus %[[ACC]] {{.*}} if %[[LATER]]
// CHECK: tile.publish %[[DONE]][%[[J]]]
// CHECK: tile.release %[[P]][%[[J]]]
// No other role reads this V.
// CHECK: tile.release %[[KV]][%[[NV]]]
// K of block j + 1 is message 2(j + 1); its scores are message j + 1.
// CHECK: %[[NK:.*]] = arith.muli %[[NEXT]], %c2
// CHECK: %[[KEY:.*]] = tile.receive %[[KV]][%[[NK]]]
// CHECK: tile.acquire %[[S]][%[[NEXT]]]
// CHECK: tile.dot %[[QUERY]], %[[KEY]] transpose_b
// CHECK: tile.publish %[[S]][%[[NEXT]]]
// CHECK: tile.release %[[KV]][%[[NK]]]
// CHECK: }
// After it: the product of the last block, and no more scores.
// CHECK: %[[EVEN:.*]] = arith.muli %[[LAST]], %c2
// CHECK: %[[NV:.*]] = arith.addi %[[EVEN]], %c1
// CHECK: %[[VALUE:.*]] = tile.receive %[[KV]][%[[NV]]]
// CHECK: tile.receive %[[P]][%[[LAST]]]
// CHECK: tile.dot %{{.*}}, %[[VALUE]] plus
// CHECK: tile.publish %[[DONE]][%[[LAST]]]
// No role takes these slots again, and no signal may reach a CTA that has left.
// CHECK-NOT: tile.release
// CHECK-NOT: transpose_b
// CHECK: tile.role "store"

// Two tiles share each K and V; where the second has no rows, only the first runs.
// Both queries are received: one without rows is loaded as zeros. P does not lie
// over S, so scores of both tiles come first, and the branch is two.
// TWO: %[[ACTIVE:.*]] = arith.cmpi slt
// TWO: tile.role "softmax1"
// TWO-NEXT: scf.if %[[ACTIVE]]
// TWO: tile.role "mma"
// TWO: scf.if
// TWO-COUNT-3: tile.receive
// TWO: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// TWO: scf.if %[[ACTIVE]] {
// TWO: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 128>>
// TWO: scf.for %[[J:[^ ]*]] =
// TWO: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// TWO: scf.if %[[ACTIVE]] {
// TWO: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 128>>
// TWO: }
// K is released for both, and then V.
// TWO: tile.release
// TWO: tile.dot {{.*}} -> <128x64xf32, #tile.tmem<column = 256>>
// TWO: scf.if %[[ACTIVE]] {
// TWO: tile.dot {{.*}} -> <128x64xf32, #tile.tmem<column = 320>>
// TWO: }
// TWO: tile.release
// TWO: }
// TWO: tile.dot {{.*}} -> <128x64xf32, #tile.tmem<column = 256>>
// TWO: scf.if %[[ACTIVE]] {
// TWO: tile.dot {{.*}} -> <128x64xf32, #tile.tmem<column = 320>>
// TWO-NOT: tile.dot
// TWO: tile.role "store"

// P lies over S where there is no room, and scores wait for its product.
// WIDE: %[[ACTIVE:.*]] = arith.cmpi slt
// WIDE: tile.role "softmax1"
// WIDE-NEXT: scf.if %[[ACTIVE]]
// WIDE: tile.role "mma"
// WIDE: scf.if
// WIDE-COUNT-3: tile.receive
// WIDE: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// WIDE: scf.if %[[ACTIVE]] {
// WIDE: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 128>>
// WIDE: scf.for %[[J:[^ ]*]] =
// WIDE: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 256>>
// WIDE: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// WIDE: scf.if %[[ACTIVE]] {
// WIDE: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 384>>
// WIDE: tile.dot {{.*}} transpose_b {{.*}} -> <128x128xf32, #tile.tmem<column = 128>>
// WIDE: }
// K and V are released for both.
// WIDE-COUNT-2: tile.release
// WIDE: }
// WIDE: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 256>>
// WIDE: scf.if %[[ACTIVE]] {
// WIDE: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 384>>
// WIDE-NOT: tile.dot
// WIDE: tile.role "store"

// With blocks of 80 keys P has columns of its own, and scores do not wait for it. At
// head dim 128 the tensor core bounds the loop: the tiles take turns, each with its
// scores of the next block and its product of this one.
// TURNS: %[[ACTIVE:.*]] = arith.cmpi slt
// TURNS: tile.role "mma"
// TURNS: tile.dot {{.*}} transpose_b {{.*}} -> <128x80xf32, #tile.tmem<column = 0>>
// TURNS: scf.if %[[ACTIVE]] {
// TURNS: tile.dot {{.*}} transpose_b {{.*}} -> <128x80xf32, #tile.tmem<column = 80>>
// TURNS: scf.for %[[J:[^ ]*]] =
// TURNS: tile.dot {{.*}} transpose_b {{.*}} -> <128x80xf32, #tile.tmem<column = 0>>
// TURNS: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 160>>
// TURNS: scf.if %[[ACTIVE]] {
// TURNS: tile.dot {{.*}} transpose_b {{.*}} -> <128x80xf32, #tile.tmem<column = 80>>
// TURNS: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 288>>
// TURNS: }
// K and V are released for both.
// TURNS-COUNT-2: tile.release
// TURNS: }
// TURNS: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 160>>
// TURNS: scf.if %[[ACTIVE]] {
// TURNS: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 288>>
// TURNS-NOT: tile.dot
// TURNS: tile.role "store"
