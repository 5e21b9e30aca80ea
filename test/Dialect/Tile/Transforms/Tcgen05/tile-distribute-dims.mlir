// Products of head dims that are no whole panels, and of more than an instruction has.

// RUN: fmha-opt %S/../../Inputs/head-dims.mlir --pass-pipeline='builtin.module(fmha-plan-schedule,convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' | FileCheck %s

// Scores of 72 columns: five steps of 16; the fifth begins a panel of 16384 bytes on.
// O of 48 columns (instruction descriptor: N / 8 = 6 in bits 17-22): 8 steps of 16 keys.
//   1 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 8 << 24 = 136316048
//   1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 6 << 17 | 8 << 24 = 135070864
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: tile.descriptor %{{.*}} plus 96 fields
// CHECK: tile.mma {{.*}} instruction 136316048
// CHECK: tile.descriptor %{{.*}} plus 16384 fields
// CHECK: tile.mma {{.*}} instruction 136316048
// CHECK: scf.for
// CHECK-COUNT-8: tile.mma {{.*}} instruction 135070864
// CHECK-COUNT-5: tile.mma {{.*}} instruction 136316048

// 256 columns of O in one instruction: N / 8 = 32.
//   1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 32 << 17 | 8 << 24 = 138478736
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: tile.mma {{.*}} instruction 138478736

// Eight steps for each of four messages of K, four for each of two of V: 64 keys, whose
// panels of 64 x 128 = 8192 bytes are the leading dimension byte offset.
//   2 << 61 | 1 << 46 | 64 << 32 | 512 << 16 = 4611756662083026944
// CHECK: gpu.module @fmha_fwd_kernel_2 {
// CHECK-COUNT-32: tile.mma {{.*}} instruction 136316048
// CHECK: scf.for
// CHECK: tile.descriptor %{{.*}} plus 0 fields 4611756662083026944
// CHECK-COUNT-8: tile.mma {{.*}} instruction 138478736
// CHECK-COUNT-32: tile.mma {{.*}} instruction 136316048
// P in tensor memory: a chunk of 32 keys is 16 columns.
// CHECK: gpu.module @fmha_fwd_kernel_3 {
// CHECK: scf.for
// CHECK: tile.tmem_address 64 from
// CHECK: tile.tmem_address 72 from
// CHECK: tile.tmem_address 80 from
// CHECK: tile.tmem_address 120 from
