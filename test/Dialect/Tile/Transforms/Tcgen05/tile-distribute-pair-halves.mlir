// Tiles of 64 rows in each CTA of a pair: threads t and 64 + t have the left and the right half of row t, and exchange numbers through
// shared memory.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s --check-prefix=PLACED
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' | FileCheck %s

!t = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!v = memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>

func.func @halves(%q: !t, %k: !t, %v: !v, %o: !v, %l: !lse) {
  fmha.attention ins(%q, %k, %v : !t, !t, !v) outs(%o, %l : !v, !lse)
      {schedule = #fmha.schedule<q_tiles = 1, q_tile_rows = 64, cta_group = 2, p_placement = smem, key_chunk = 64, value_chunk = 16, kv_stages = 3, v_stages = 2>}
  return
}

// S of 128 keys takes 64 columns, and O of 512 takes 256. A CTA loads 64 keys and 256 columns of V.
// PLACED: tile.fill 0.0{{.*}} : <64x512xf32, #tile.tmem<column = 64, half = 64>>
// PLACED: tile.load {{.*}} -> <64x64xbf16, #tile.smem<
// PLACED: tile.load {{.*}} -> <16x256xbf16, #tile.smem<
// PLACED: %[[S:.*]] = tile.dot {{.*}} pair transpose_b {{.*}} -> <64x128xf32, #tile.tmem<column = 0, half = 64>>
// PLACED: tile.move {{.*}} to <64x128xf32, #tile.registers<half = 64>>

// A thread loads 64 columns of its lane; no load has two halves.
// CHECK: %[[BASE:.*]] = tile.tmem_base
// CHECK: tile.set_registers 216
// CHECK: %[[S0:.*]] = tile.tmem_address 0 from %[[BASE]] of_warp
// CHECK: tile.tmem_load %[[S0]] : <6> -> vector<32xi32>
// CHECK: %[[S1:.*]] = tile.tmem_address 32 from %[[BASE]] of_warp
// CHECK: tile.tmem_load %[[S1]] : <6> -> vector<32xi32>
// CHECK: tile.tmem_wait load of {{.*}} to vector<64xi32>
// The right half begins at key 64.
// CHECK: %[[T:.*]] = arith.andi %{{.*}}, %c127_i32
// CHECK: %[[BIT:.*]] = arith.shrui %[[T]], %c6_i32
// CHECK: %[[HALF:.*]] = arith.andi %[[BIT]], %c1_i32
// CHECK: arith.muli %[[HALF]], %c64_i32
// The maximum of the other half comes from thread t xor 64. The barrier after the load keeps the next exchange from overwriting it.
// CHECK: llvm.store %[[MINE:.*]], %{{.*}} : f32, !llvm.ptr<3>
// CHECK: tile.sync_named 1 threads 128
// CHECK: %[[OTHER:.*]] = arith.xori %[[T]], %c64_i32
// CHECK: %[[READ:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-NEXT: tile.sync_named 1 threads 128
// CHECK-NEXT: arith.maxnumf %[[MINE]], %[[READ]]
// The sums, after the loop; one of the two threads writes the LSE.
// CHECK: llvm.store %[[SUM:[0-9]+#1]], %{{.*}} : f32, !llvm.ptr<3>
// CHECK: tile.sync_named 1 threads 128
// CHECK: %[[READ:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK: tile.sync_named 1 threads 128
// CHECK-NEXT: arith.addf %[[SUM]], %[[READ]]
// CHECK: arith.andi %{{.*}}, %c64_i32
// CHECK: %[[LEFT:.*]] = arith.cmpi eq
// CHECK: memref.store

// correction: a thread has 256 columns of O.
// CHECK: scf.for %[[C:.*]] = %c0_i32 to %c256_i32 step %c16_i32
// CHECK: %[[FROM:.*]] = arith.addi %[[BASE]], %[[C]]
// CHECK: %[[O:.*]] = tile.tmem_address 64 from %[[FROM]] of_warp
// CHECK: tile.tmem_load %[[O]] : <6> -> vector<16xi32>

// M = 128: 1 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 8 << 24 = 136316048; two parts of O of N = 256, V MN-major: 32 << 17 | 1 << 16 in place of
// 16 << 17 are 138478736. A part has 128 columns in D, from its first one, and of this CTA's 256 columns of V: two panels of 16 x 128 bytes on.
// CHECK: tile.mma {{.*}} instruction 136316048 {{.*}} pair
// CHECK: %[[D0:.*]] = tile.tmem_address 64 from %[[BASE]] :
// CHECK: tile.mma %[[D0]], {{.*}} instruction 138478736 {{.*}} pair
// CHECK: %[[D1:.*]] = tile.tmem_address 192 from %[[BASE]] :
// CHECK: tile.descriptor %{{.*}} plus 4096 fields
// CHECK: tile.mma %[[D1]], {{.*}} instruction 138478736 {{.*}} pair
