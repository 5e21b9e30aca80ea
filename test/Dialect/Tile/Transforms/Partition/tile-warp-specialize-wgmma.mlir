// Two consumers of 64 rows, which take turns to begin; K, V, K, V, ... in one ring that 4 warps of each of them free.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' \
// RUN:   | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=1 p-placement=smem},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=128 scheduler=static},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize)))' \
// RUN:   | FileCheck %s --check-prefix=TILES

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return
}

// CHECK-LABEL: gpu.func
// CHECK: %[[KEYS:.*]] = tile.view %arg1
// CHECK: %[[VALUES:.*]] = tile.view %arg2
// CHECK: %[[KV:.*]] = tile.channel "kv" from tma to threads arrivals 1, 8 :
// CHECK: %[[Q0:.*]] = tile.channel "q0" from tma to threads arrivals 1, 128 unreleased
// CHECK: %[[O0:.*]] = tile.channel "out0" from threads to tma arrivals 128, 1 unreleased
// CHECK: tile.role "load" warps 0 to 1 {{.*}} single_thread
// CHECK: scf.for %[[J:.*]] =
// CHECK: tile.acquire %[[KV]]
// CHECK: tile.load %[[KEYS]][
// CHECK: tile.acquire %[[KV]]
// CHECK: tile.load %[[VALUES]][
// CHECK: tile.role "store" warps 1 to 2
// CHECK: tile.receive %[[O0]]
// CHECK: tile.store
// CHECK: tile.role "spare" warps 2 to 4
// CHECK: tile.role "consumer0" warps 4 to 8 registers 232
// CHECK: scf.if
// The first consumer needs no leave to begin, and passes its turn on at once.
// CHECK: %[[NO:.*]] = arith.constant false
// CHECK-NEXT: scf.if %[[NO]] {
// CHECK-NEXT: tile.sync_named 1 threads 256
// CHECK-NEXT: }
// CHECK-NOT: tile.sync_named
// CHECK: tile.dot {{.*}} transpose_b
// CHECK-NEXT: tile.arrive_named 2 threads 256
// CHECK: tile.wait_dots {{.*}} pending 0
// CHECK: tile.elect
// CHECK: tile.release %[[KV]]
// CHECK: %[[P:.*]] = tile.cast
// Scores of the next block begin before the product of this one, and are awaited first.
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[PJ:[^ ]*]] = %[[P]], %[[ACC:[^ ]*]] = {{.*}})
// CHECK: tile.sync_named 1 threads 256
// CHECK: %[[S:.*]] = tile.dot {{.*}} transpose_b
// CHECK: %[[PV:.*]] = tile.dot %[[PJ]], {{.*}} plus %[[ACC]]
// CHECK: tile.arrive_named 2 threads 256
// CHECK: tile.wait_dots %[[S]] pending 1
// CHECK: tile.release %[[KV]]
// CHECK: tile.row_max
// CHECK: tile.exp2
// CHECK: tile.cast
// CHECK: %[[DONE:.*]]:2 = tile.wait_dots %[[PV]], %[[PJ]] pending 0
// CHECK: tile.release %[[KV]]
// CHECK: tile.rescale %[[DONE]]#0
// CHECK: scf.yield
// It takes the turn that the other one passes on last, so that no arrival is left.
// CHECK: %[[LAST:.*]] = arith.constant true
// CHECK-NEXT: scf.if %[[LAST]] {
// CHECK-NEXT: tile.sync_named 1 threads 256
// CHECK-NEXT: }
// CHECK: tile.dot
// CHECK: tile.wait_dots {{.*}} pending 0
// CHECK: tile.normalize
// CHECK: tile.publish %[[O0]]
// CHECK: tile.role "consumer1" warps 8 to 12
// CHECK: %[[YES:.*]] = arith.constant true
// CHECK-NEXT: scf.if %[[YES]] {
// CHECK-NEXT: tile.sync_named 2 threads 256
// CHECK-NEXT: }
// CHECK: tile.dot {{.*}} transpose_b
// CHECK-NEXT: tile.arrive_named 1 threads 256

// Alone it takes no turns. P in shared memory is there for all warps behind a fence and a barrier of the consumer.
// ONE-LABEL: gpu.func
// ONE: tile.role "consumer0"
// ONE-NOT: tile.arrive_named
// ONE: %[[HALF:.*]] = tile.cast
// ONE: %[[SHARED:.*]] = tile.move %[[HALF]]
// ONE-NEXT: tile.fence proxy_async
// ONE-NEXT: tile.sync_named 2 threads 128
// ONE-NOT: tile.arrive_named

// From tile to tile messages are counted on. Queries are asked for behind the first block, and freed behind the last
// scores, outputs when they are stored.
// TILES-LABEL: gpu.func
// TILES: tile.channel "q0" from tma to threads arrivals 1, 4 :
// TILES: %[[OUT:.*]] = tile.channel "out0" from threads to tma arrivals 128, 1 :
// TILES: tile.role "load"
// TILES: tile.tile_count
// TILES: scf.while (%{{.*}} = %block_id_x{{[^,]*}}, %{{.*}} = %[[ZERO:.*]], %{{.*}} = %[[ZERO]])
// A role makes the views of its tile, of the numbers that it reads.
// TILES: ^bb0(%[[TILE:[a-z0-9]+]]: index,
// TILES-NEXT: %[[REST:.*]] = arith.divui %[[TILE]]
// TILES-NEXT: %[[BATCH:.*]] = arith.divui %[[REST]]
// TILES-DAG: %[[QUERIES:.*]] = tile.view %arg0 batch %[[BATCH]]
// TILES-DAG: %[[KEYS:.*]] = tile.view %arg1 batch %[[BATCH]]
// TILES-DAG: %[[VALUES:.*]] = tile.view %arg2 batch %[[BATCH]]
// TILES: scf.if
// TILES: tile.load %[[KEYS]][
// TILES: tile.load %[[VALUES]][
// TILES: tile.load %[[QUERIES]][
// TILES: tile.load %[[QUERIES]][
// TILES: scf.for
// TILES: tile.role "store"
// TILES: scf.while
// TILES: %[[STORED:.*]] = tile.receive %[[OUT]][%[[N:.*]]]
// TILES: tile.store %[[STORED]]
// TILES-NEXT: tile.release %[[OUT]][%[[N]]]
// TILES: tile.role "spare"
// TILES-NEXT: }
// TILES: tile.role "consumer0"
// TILES: scf.while
// TILES: tile.receive
// TILES: scf.if
