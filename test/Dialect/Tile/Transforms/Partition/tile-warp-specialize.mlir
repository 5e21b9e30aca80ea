// One query tile cut into roles: who waits for what, and who signals it. `kv`
// carries K of block j as message 2j and V as 2j + 1; all else of block j is j.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{q-tiles=1 kv-stages=3 p-placement=tmem p-slices=1},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,cse)))' \
// RUN:   | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// CHECK: gpu.func @fmha_fwd(%[[Q:.*]]: memref<{{.*}}>, %[[K:.*]]: memref<{{.*}}>, %[[V:.*]]: memref<{{.*}}>, %[[O:.*]]: memref<?x?x?x64xbf16, {{.*}}, %[[LSE:.*]]: memref<?x?x?xf32,
// Query blocks of the grid, then KV blocks of this CTA.
// CHECK: arith.ceildivui
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui
// Views stay above the roles, which take them from there.
// CHECK: %[[QV:.*]] = tile.view %[[Q]] batch
// CHECK: %[[KEYS:.*]] = tile.view %[[K]] batch
// CHECK: %[[VALUES:.*]] = tile.view %[[V]] batch
// 128 threads of a warpgroup signal one by one; TMA and MMA signal once.
// CHECK: %[[KV:.*]] = tile.channel "kv" from tma to mma arrivals 1, 1 :
// CHECK: %[[CQ:.*]] = tile.channel "q0" from tma to mma arrivals 1, 1 unreleased :
// S is free again once the MMA has read P, which lies in the same columns.
// CHECK: %[[CS:.*]] = tile.channel "s0" from mma to threads arrivals 1, 128 released_by "p0" :
// CHECK: %[[CP:.*]] = tile.channel "p0" from threads to mma arrivals 128, 1 :
// CHECK: %[[STATS:.*]] = tile.channel "stats0" from threads to threads arrivals 128, 128 :
// CHECK: %[[READY:.*]] = tile.channel "ready0" from threads to mma arrivals 128, 1 unreleased :
// CHECK: %[[DONE:.*]] = tile.channel "done0" from mma to threads arrivals 1, 128 unreleased :
// CHECK: %[[OUT:.*]] = tile.channel "out0" from threads to tma arrivals 128, 1 unreleased :

// CHECK: %[[OV:.*]] = tile.view %[[O]] batch
// CHECK: %[[LV:.*]] = tile.view %[[LSE]] batch
// CHECK: tile.role "softmax0" warps 0 to 4 registers {{[0-9]+}} {
// CHECK: %[[STATE:.*]]:2 = scf.for %[[J:[^ ]*]] = %{{.*}} to %[[BLOCKS]]
// CHECK: tile.receive %[[CS]][%[[J]]]
// CHECK-NOT: tile.release %[[CS]]
// CHECK: tile.row_max
// alpha leaves before the exponentials.
// CHECK: %[[SLOT:.*]] = tile.acquire %[[STATS]][%[[J]]]
// CHECK: tile.move %{{.*}} into %[[SLOT]]
// CHECK: tile.publish %[[STATS]][%[[J]]]
// CHECK: tile.exp2
// CHECK: %[[PSLOT:.*]] = tile.acquire %[[CP]][%[[J]]]
// CHECK: tile.move %{{.*}} into %[[PSLOT]]
// CHECK: tile.publish %[[CP]][%[[J]]]
// CHECK: scf.yield
// The row sum is one message more than there are blocks.
// CHECK: %[[SUM:.*]] = tile.row_total %[[STATE]]#1
// CHECK: tile.acquire %[[STATS]][%[[BLOCKS]]]
// CHECK: tile.publish %[[STATS]][%[[BLOCKS]]]
// CHECK: tile.lse %[[STATE]]#0, %[[SUM]]
// CHECK: tile.store_rows {{.*}}%[[LV]][

// CHECK: tile.role "softmax1"
// CHECK-NOT: tile.receive
// CHECK: tile.role "correction" warps 8 to 12
// CHECK: scf.for %[[J:[^ ]*]] = %{{.*}} to %[[BLOCKS]]
// CHECK: tile.receive %[[STATS]][%[[J]]]
// CHECK: tile.release %[[STATS]][%[[J]]]
// O has no earlier product to rescale before block 0.
// CHECK: %[[LATER:.*]] = arith.cmpi sgt, %[[J]], %c0
// CHECK: scf.if %[[LATER]]
// CHECK: %[[BEFORE:.*]] = arith.addi %[[J]], %c-1
// CHECK: %[[ACC:.*]] = tile.receive %[[DONE]][%[[BEFORE]]]
// CHECK: tile.rescale %[[ACC]]
// CHECK: }
// CHECK: tile.publish %[[READY]][%[[J]]]
// CHECK: tile.receive %[[STATS]][%[[BLOCKS]]]
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[BLOCKS]], %c0
// CHECK: scf.if %[[ANY]]
// CHECK: %[[LAST:.*]] = arith.addi %[[BLOCKS]], %c-1
// CHECK: %[[ACC:.*]] = tile.receive %[[DONE]][%[[LAST]]]
// CHECK: tile.normalize %[[ACC]]
// Without any block O was never written.
// CHECK: } else {
// CHECK-NEXT: tile.fill 0.000000e+00
// CHECK: tile.publish %[[OUT]][%c0

// CHECK: tile.role "load" warps 12 to 13 registers {{[0-9]+}} single_thread
// CHECK: scf.if
// CHECK: %[[SLOT:.*]] = tile.acquire %[[CQ]][%c0
// CHECK: tile.load %[[QV]][%{{.*}}] into %[[SLOT]]
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: %[[EVEN:.*]] = arith.muli %[[J]], %c2
// CHECK: %[[SLOT:.*]] = tile.acquire %[[KV]][%[[EVEN]]]
// CHECK: %[[ROW:.*]] = arith.muli %[[J]], %c128
// CHECK: tile.load %[[KEYS]][%[[ROW]]] into %[[SLOT]]
// CHECK: tile.publish %[[KV]][%[[EVEN]]]
// CHECK: %[[N:.*]] = arith.addi %[[EVEN]], %c1
// CHECK: %[[SLOT:.*]] = tile.acquire %[[KV]][%[[N]]]
// CHECK: tile.load %[[VALUES]][%[[ROW]]] into %[[SLOT]]
// CHECK: tile.publish %[[KV]][%[[N]]]
// Nobody waits for slots that nobody fills again.
// CHECK-NEXT: }
// CHECK-NEXT: }

// CHECK: tile.role "store" warps 14 to 15 registers {{[0-9]+}} single_thread
// CHECK: %[[TILE:.*]] = tile.receive %[[OUT]][%c0
// CHECK: tile.store %[[TILE]], %[[OV]][
// CHECK: tile.role "spare"
// The sequential program is gone.
// CHECK-NOT: tile.{{[a-z]}}
// CHECK: gpu.return
