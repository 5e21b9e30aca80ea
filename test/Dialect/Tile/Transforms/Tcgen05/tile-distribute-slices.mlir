// Slices of P in instructions.

// RUN: fmha-opt %S/../../Inputs/slices.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,canonicalize,cse)))' | FileCheck %s

// Each store is complete, and signalled, before the next exponentials are made. The
// scores that softmax has say that P's columns are free.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[FULL0:.*]] = tile.barrier "p0.0.full"
// CHECK: %[[FULL1:.*]] = tile.barrier "p0.1.full"
// CHECK: %[[FREE:.*]] = tile.barrier "p0.1.free"
// CHECK: %[[X0:.*]] = vector.extract_strided_slice %[[X:.*]] {offsets = [0], sizes = [64], {{.*}} : vector<128xf32>
// CHECK-NOT: tile.wait
// CHECK: math.exp2 {{.*}} : vector<64xf32>
// CHECK: tile.tmem_store
// CHECK-NEXT: tile.tmem_wait store
// CHECK-NEXT: tile.fence tcgen05_before
// CHECK-NEXT: tile.arrive %[[FULL0]]
// CHECK: vector.extract_strided_slice %[[X]] {offsets = [64], sizes = [64]
// CHECK-NOT: tile.wait
// CHECK: math.exp2 {{.*}} : vector<64xf32>
// CHECK: tile.tmem_store
// CHECK-NEXT: tile.tmem_wait store
// CHECK-NEXT: tile.fence tcgen05_before
// CHECK-NEXT: tile.arrive %[[FULL1]]
// The second product begins at row 64 of V, 4 steps of 2048 bytes further.
// CHECK: scf.for
// CHECK: tile.wait %[[FULL0]]
// CHECK: tile.descriptor %[[V:.*]] plus 6144 fields
// CHECK: tile.mma
// CHECK-NEXT: tile.wait %[[FULL1]]
// CHECK-NEXT: tile.fence tcgen05_after
// CHECK: tile.descriptor %[[V]] plus 8192 fields
// CHECK: tile.descriptor %[[V]] plus 14336 fields

// In shared memory each slice has its proxy fence; the one wait for P's space is
// that of the first. Slice 1 begins in the middle of the first panel: the swizzle acts
// on the column in the panel.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[FREE:.*]] = tile.barrier "p0.3.free"
// CHECK: math.exp2 {{.*}} : vector<32xf32>
// CHECK: tile.wait %[[FREE]]
// CHECK: tile.smem_address 49152
// CHECK-NOT: tile.wait
// CHECK-COUNT-4: tile.fence proxy_async
// CHECK: tile.smem_address 49216

// Threads l and 16 + l have 32 columns of each slice of 64: theirs are 0 to 31, and 64
// to 95 of the row, from their first one on.
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK: arith.constant dense<[0, 1, {{.*}} 31, 64, 65, {{.*}} 95]>
// CHECK: tile.tmem_load {{.*}} split 32 : <6> -> vector<32xi32>
// CHECK: tile.tmem_load {{.*}} split 32 : <6> -> vector<32xi32>
// CHECK: tile.tmem_wait load
// CHECK: tile.tmem_store {{.*}} split 16 : vector<16xi32>
// CHECK: tile.tmem_store {{.*}} split 16 : vector<16xi32>
