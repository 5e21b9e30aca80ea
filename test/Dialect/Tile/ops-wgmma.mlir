// The ops that targets with wgmma have of their own, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!s = !tile.tile<64x128xf32, #tile.fragment>
!p = !tile.tile<64x128xbf16, #tile.fragment>

// CHECK-LABEL: func.func @tiles
func.func @tiles(%s: !s, %p: !p) -> !s {
  // CHECK: %[[W:.*]]:2 = tile.wait_dots %{{.*}}, %{{.*}} pending 1 : !tile.tile<64x128xf32, #tile.fragment>, !tile.tile<64x128xbf16, #tile.fragment>
  %0:2 = tile.wait_dots %s, %p pending 1 : !s, !p
  // CHECK: return %[[W]]#0
  return %0#0 : !s
}

// CHECK-LABEL: func.func @products
func.func @products(%a: i64, %b: i64, %p: vector<4xi32>, %p2: vector<8xi32>, %acc: vector<32xf32>) {
  // CHECK: %[[S:.*]] = tile.wgmma %{{.*}}, %{{.*}} of bf16 : i64, i64 -> vector<64xf32>
  %s = tile.wgmma %a, %b of bf16 : i64, i64 -> vector<64xf32>
  // CHECK: tile.wgmma %{{.*}}, %{{.*}} negate plus %[[S]] : vector<64xf32> of f16 : i64, i64 -> vector<64xf32>
  %t = tile.wgmma %a, %b negate plus %s : vector<64xf32> of f16 : i64, i64 -> vector<64xf32>
  // CHECK: tile.wgmma %{{.*}}, %{{.*}} transpose_b plus %{{.*}} : vector<32xf32> of bf16 : vector<4xi32>, i64 -> vector<32xf32>
  %o = tile.wgmma %p, %b transpose_b plus %acc : vector<32xf32> of bf16 : vector<4xi32>, i64 -> vector<32xf32>
  // CHECK: tile.wgmma %{{.*}} steps [0, 32], %{{.*}} steps [0, 48] of bf16 : i64, i64 -> vector<32xf32>
  %u = tile.wgmma %a steps [0, 32], %b steps [0, 48] of bf16 : i64, i64 -> vector<32xf32>
  // CHECK: tile.wgmma %{{.*}}, %{{.*}} steps [0, 2048] transpose_b plus %{{.*}} : vector<32xf32> of bf16 : vector<8xi32>, i64 -> vector<32xf32>
  %v = tile.wgmma %p2, %b steps [0, 2048] transpose_b plus %acc : vector<32xf32> of bf16 : vector<8xi32>, i64 -> vector<32xf32>
  // CHECK: tile.wgmma_commit
  tile.wgmma_commit
  // CHECK: tile.wgmma_wait 1 of %{{.*}} : vector<64xf32>
  %w = tile.wgmma_wait 1 of %t : vector<64xf32>
  // CHECK: tile.wgmma_wait 0 rescales of %{{.*}} : vector<32xf32>
  %x = tile.wgmma_wait 0 rescales of %o : vector<32xf32>
  // CHECK: tile.wgmma_wait 0{{$}}
  tile.wgmma_wait 0
  return
}

// CHECK-LABEL: func.func @others
func.func @others(%v: vector<4xi32>, %p: !llvm.ptr<3>, %n: i32) {
  // CHECK: tile.store_matrix %{{.*}}, %{{.*}} : vector<4xi32>, <3>
  tile.store_matrix %v, %p : vector<4xi32>, !llvm.ptr<3>
  // CHECK: tile.sync_named 1 threads 256
  tile.sync_named 1 threads 256
  // CHECK: tile.arrive_named 2 threads 256
  tile.arrive_named 2 threads 256
  // CHECK: tile.barrier "q0.full" at 65536 plus %{{.*}} arrivals 1 : <1>
  %q = tile.barrier "q0.full" at 65536 plus %n arrivals 1 : !tile.barrier<1>
  // CHECK: tile.sync_named 1 plus %{{.*}} threads 384
  tile.sync_named 1 plus %n threads 384
  // CHECK: tile.arrive_named 2 plus %{{.*}} threads 384
  tile.arrive_named 2 plus %n threads 384
  return
}
