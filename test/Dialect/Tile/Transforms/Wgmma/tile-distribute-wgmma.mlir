// Fragments as vectors of a thread: of 64 rows and n columns n / 2 elements, two of each row by turns.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=32 kv-stages=4},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' \
// RUN:   | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// CHECK-LABEL: gpu.func
// There is no tensor memory to allocate, and nothing of it to fence.
// CHECK-NOT: tmem
// CHECK-NOT: tcgen05
// The producer's warpgroup gives registers away, consumers take them.
// CHECK: tile.set_registers 40 from 168
// CHECK: tile.set_registers 232 from 168
// K steps of 16 columns: 32 bytes inside the panel of 128-byte rows. Fields without bit 46:
// 0x4000 << 48 | 1024 / 16 << 32 | 16 / 16 << 16.
// CHECK: %[[DB:.*]] = tile.descriptor %{{.*}} plus 0 fields 4611686293305360384 : <3>
// CHECK: %[[S0:.*]] = tile.wgmma %{{.*}} steps [0, 32, 64, 96], %[[DB]] steps [0, 32, 64, 96] of bf16 : i64, i64 -> vector<16xf32>
// CHECK-NEXT: tile.wgmma_commit
// CHECK: %[[S:.*]] = tile.wgmma_wait 0 of %[[S0]] : vector<16xf32>
// The mask is a branch for the whole CTA; a row's maximum goes through its quad.
// CHECK: scf.if
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 4, 5, 8, 9, 12, 13] : vector<16xf32>, vector<16xf32>
// CHECK: arith.maxnumf
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: vector.shuffle {{.*}} [2, 3, 6, 7, 10, 11, 14, 15] : vector<16xf32>, vector<16xf32>
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: math.exp2 {{.*}} : vector<16xf32>
// Two elements of P a word.
// CHECK: arith.truncf {{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: scf.for {{.*}}(vector<2xf32>, vector<2xf32>, vector<8xi32>, vector<32xf32>
// V is MN-major: 16 rows of 128 bytes a K step.
// CHECK: tile.wgmma %{{.*}}, %{{.*}} steps [0, 2048] transpose_b plus {{.*}} : vector<32xf32> of bf16 : vector<8xi32>, i64 -> vector<32xf32>
// CHECK-NEXT: tile.wgmma_commit
// CHECK: tile.wgmma_wait 1 of %{{.*}} : vector<16xf32>
// CHECK: tile.wgmma_wait 0 of %{{.*}}, %{{.*}} : vector<32xf32>, vector<8xi32>
// The output: 16 columns a matrix store, 4 of them for 64.
// CHECK-COUNT-4: tile.store_matrix
// CHECK: tile.fence proxy_async
// CHECK: tile.arrive
// One thread of each quad writes the LSE of both of its rows.
// CHECK-COUNT-2: memref.store
// CHECK-NOT: tmem
