// Tiles of 64 rows on 128 threads: lanes l and 16 + l of a warp have the left and the
// right half of a row.

// RUN: fmha-opt %S/../../Inputs/half-tiles.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' | FileCheck %s

// softmax: 64 of 128 columns a thread, in two loads of 32; the right half begins 64
// columns on.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[BASE:.*]] = tile.tmem_base
// CHECK: tile.set_registers 216
// CHECK: %[[S0:.*]] = tile.tmem_address 0 from %[[BASE]] of_warp
// CHECK: tile.tmem_load %[[S0]] split 64 : <6> -> vector<32xi32>
// CHECK: %[[S1:.*]] = tile.tmem_address 32 from %[[BASE]] of_warp
// CHECK: tile.tmem_load %[[S1]] split 64 : <6> -> vector<32xi32>
// CHECK: tile.tmem_wait load of {{.*}} to vector<64xi32>
// Row 16 warp + lane mod 16: bits 5 and 6 of the thread go one down. The diagonal is
// that of the row, from the column at which the half begins.
// CHECK: %[[T:.*]] = arith.andi %{{.*}}, %c127_i32
// CHECK: %[[DOWN:.*]] = arith.shrui %[[T]], %c1_i32
// CHECK: %[[WARP:.*]] = arith.andi %[[DOWN]], %c48_i32
// CHECK: %[[LANE:.*]] = arith.andi %[[T]], %c15_i32
// CHECK: %[[ROW:.*]] = arith.ori %[[WARP]], %[[LANE]]
// CHECK: %[[DIAGONAL:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK: %[[LIMIT:.*]] = arith.minsi %{{.*}}, %[[DIAGONAL]]
// CHECK: %[[BIT:.*]] = arith.shrui %[[T]], %c4_i32
// CHECK: %[[HALF:.*]] = arith.andi %[[BIT]], %c1_i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[HALF]], %c64_i32
// CHECK: %[[OWN:.*]] = arith.subi %[[LIMIT]], %[[FIRST]]
// CHECK: arith.cmpi slt, %{{.*}}, %c128_i32
// CHECK: vector.broadcast %[[OWN]] : i32 to vector<64xi32>
// The maximum of both halves.
// CHECK: %[[OTHER:.*]], %{{.*}} = gpu.shuffle  xor %[[MINE:.*]], %c16_i32{{.*}}, %c32_i32{{.*}} : f32
// CHECK-NEXT: arith.maxnumf %[[MINE]], %[[OTHER]]
// The statistic lies where its thread, not its row, says.
// CHECK: arith.muli %[[T]], %c4_i32
// P: 64 elements a thread are 32 words, the right half 32 columns on.
// CHECK: %[[P:.*]] = tile.tmem_address 64 from %[[BASE]] of_warp
// CHECK: tile.tmem_store %{{.*}}, %[[P]] split 32 : vector<32xi32>, <6>
// CHECK-NOT: tile.tmem_store
// The sums of both halves, after the loop.
// CHECK: %[[OTHER:.*]], %{{.*}} = gpu.shuffle  xor %[[SUM:.*]], %c16_i32{{.*}}, %c32_i32{{.*}} : f32
// CHECK-NEXT: arith.addf %[[SUM]], %[[OTHER]]
// Of the two threads of a row one writes the LSE.
// CHECK: %[[THREAD:.*]] = arith.andi %{{.*}}, %c127_i32
// CHECK: arith.andi %[[THREAD]], %c16_i32
// CHECK: %[[LEFT:.*]] = arith.cmpi eq
// CHECK: arith.andi %{{.*}}, %[[LEFT]] : i1
// CHECK: memref.store

// correction: 128 columns of O are 64 a thread, walked 16 at a time in both halves.
// CHECK: scf.for %[[C:.*]] = %c0_i32 to %c64_i32 step %c16_i32
// CHECK: %[[FROM:.*]] = arith.addi %[[BASE]], %[[C]]
// CHECK: %[[O:.*]] = tile.tmem_address 128 from %[[FROM]] of_warp
// CHECK: tile.tmem_load %[[O]] split 64 : <6> -> vector<16xi32>
// CHECK: tile.tmem_store %{{.*}}, %[[O]] split 64 : vector<16xi32>, <6>
// M = 64: 1 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 4 << 24 = 69207184; O of 128 columns,
// V MN-major: + 1 << 16 = 69272720. The query's panels are 8192 bytes.
// CHECK: tile.descriptor %{{.*}} plus 96 fields
// CHECK: tile.descriptor %{{.*}} plus 8192 fields
// CHECK: tile.mma {{.*}} instruction 69207184
// CHECK: tile.mma {{.*}} instruction 69272720

// P in shared memory: the right half is the second panel, 64 x 128 bytes on. O of 80
// columns: 40 a thread, 8 at a time; the right half begins in the middle of a panel,
// and so do the zeros of a CTA without keys.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: tile.smem_address 81920
// CHECK: %[[PANEL:.*]] = arith.divui %[[FIRST:.*]], %c64_i32
// CHECK: arith.remui %[[FIRST]], %c64_i32
// CHECK: arith.muli %[[PANEL]], %c8192_i32
// CHECK: scf.for %{{.*}} = %c0_i32 to %c40_i32 step %c8_i32
// CHECK: tile.tmem_load %{{.*}} split 40 : <6> -> vector<8xi32>
// CHECK: tile.tmem_store %{{.*}} split 40 : vector<8xi32>, <6>
// CHECK: scf.for %[[C:.*]] = %c0_i32 to %c40_i32 step %c8_i32
// CHECK: tile.tmem_load %{{.*}} split 40
// CHECK: %[[HALF:.*]] = arith.muli %{{.*}}, %c40_i32
// CHECK: %[[COLUMN:.*]] = arith.addi %[[HALF]], %[[C]]
// CHECK: arith.divui %[[COLUMN]], %c64_i32
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0_i32 to %c40_i32 step %c8_i32
// CHECK-NOT: tile.tmem_load
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
// CHECK-NEXT: }

// S of 64 columns from lane 16 on, a thread has 32; O of 512 columns in lanes 0 to 15, in
// two MMAs of 256. M = 64: S 64 columns: 1 << 4 | 1 << 7 | 1 << 10 | 8 << 17 | 4 << 24
// = 68158608; O: 1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 32 << 17 | 4 << 24 = 71369872.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[S:.*]] = tile.tmem_address 0 lane 16 from %{{.*}} of_warp
// CHECK-NEXT: %[[X:.*]] = tile.tmem_load %[[S]] split 32 : <6> -> vector<32xi32>
// CHECK-NEXT: tile.tmem_wait load of %[[X]]
// CHECK: scf.for %{{.*}} = %c0_i32 to %c256_i32 step %c16_i32
// CHECK: %[[O:.*]] = tile.tmem_address 0 from %{{.*}} of_warp
// CHECK: tile.tmem_load %[[O]] split 256 : <6> -> vector<16xi32>
// CHECK: %[[D:.*]] = tile.tmem_address 0 lane 16 from %{{[^ ]*}} : <6>
// CHECK: tile.mma %[[D]], {{.*}} instruction 68158608
// CHECK: %[[LEFT:.*]] = tile.tmem_address 0 from %{{[^ ]*}} : <6>
// CHECK: tile.mma %[[LEFT]], {{.*}} instruction 71369872
// CHECK: %[[RIGHT:.*]] = tile.tmem_address 256 from %{{[^ ]*}} : <6>
// CHECK: tile.mma %[[RIGHT]], {{.*}} instruction 71369872
