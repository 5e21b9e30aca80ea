// Factors of columns: each op parses, prints and comes back from its own text and from bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!cache = memref<?x16x?x64xf8E4M3FN, strided<[?, ?, ?, 1]>>
!slot = !tile.tile<128xf32, #tile.smem<offset = 512, stages = 4>>

// CHECK-LABEL: func.func @tiled
func.func @tiled(%k: !cache, %table: memref<?xi32>, %topk: memref<?xi32>, %scales: memref<?xf32>, %s: !tile.tile<64x64xf32>, %slot: !slot, %i: index) {
  %v = tile.view %k pages %table[%i] head %i rows %i : !cache, memref<?xi32> -> !tile.view<?x64xf8E4M3FN>
  // CHECK: %[[FACTORS:.*]] = tile.load_factors %{{.*}}, %{{.*}} of %{{.*}}[%{{.*}}] : memref<?xf32>, <?x64xf8E4M3FN> -> <128xf32>
  %f = tile.load_factors %scales, %scales of %v[%i] : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<128xf32>
  // CHECK: tile.load_factors %{{.*}}, %{{.*}} of %{{.*}}[%{{.*}}] into %{{.*}} as !tile.tile<128xf32, #tile.smem<offset = 512, stages = 4>> : memref<?xf32>
  %g = tile.load_factors %scales, %scales of %v[%i] into %slot as !slot : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !slot
  // CHECK: tile.scale_columns %{{.*}} by %[[FACTORS]] from 64 : <64x64xf32>, <128xf32>
  %t = tile.scale_columns %s by %f from 64 : !tile.tile<64x64xf32>, !tile.tile<128xf32>
  return
}

// CHECK-LABEL: func.func @machine
func.func @machine(%k: !cache, %table: memref<?xi32>, %topk: memref<?xi32>, %scales: memref<?xf32>, %p: !llvm.ptr<3>, %i: index) {
  // CHECK: %[[K:.*]], %[[V:.*]] = tile.read_factors 64 of %{{.*}}, %{{.*}} in %{{.*}} pages %{{.*}}[%{{.*}}] from %{{.*}} before %{{.*}} warps from 4 : memref<?xf32>, memref<?x16x?x64xf8E4M3FN, {{.*}}>, memref<?xi32>
  %ks, %vs = tile.read_factors 64 of %scales, %scales in %k pages %table[%i] from %i before %i warps from 4 : memref<?xf32>, !cache, memref<?xi32>
  // CHECK: tile.read_factors 128 of {{.*}} list %{{.*}}[%{{.*}}] below %{{.*}} : memref<?xi32> from
  %kl, %vl = tile.read_factors 128 of %scales, %scales in %k pages %table[%i] list %topk[%i] below %i : memref<?xi32> from %i before %i warps from 4
      : memref<?xf32>, !cache, memref<?xi32>
  // CHECK: tile.write_factors %[[K]], %[[V]] of 64 to %{{.*}} warps from 4 : <3>
  tile.write_factors %ks, %vs of 64 to %p warps from 4 : !llvm.ptr<3>
  return
}
