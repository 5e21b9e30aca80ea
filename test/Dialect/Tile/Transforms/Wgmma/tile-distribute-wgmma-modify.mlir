// Code on fragments with a condition is in a branch, where up to 64 keys have a basic block of their own if they have one load each. With more
// loads a basic block has 8 keys.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=2 kv-block=32 kv-stages=4},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' \
// RUN:   | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
func.func @attention(%q: !t, %k: !t, %o: !t, %n: memref<?x?x?xi32>, %l: memref<?x?x?x?xi32>) {
  fmha.attention ins(%q, %k, %k : !t, !t, !t)
      blocks[128, 32](%n, %l, %n, %l : memref<?x?x?xi32>, memref<?x?x?x?xi32>, memref<?x?x?xi32>, memref<?x?x?x?xi32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %none = arith.constant 0xFF800000 : f32
        %causal = arith.cmpi ule, %j, %i : index
        %seen = arith.ori %causal, %is_full : i1
        %z = arith.select %seen, %s, %none : f32
        fmha.yield %z : f32
      }
  return
}

func.func @loads(%q: !t, %k: !t, %o: !t, %n: memref<?x?x?xi32>, %l: memref<?x?x?x?xi32>, %m: memref<?x?xi32>) {
  fmha.attention ins(%q, %k, %k : !t, !t, !t)
      blocks[128, 32](%n, %l, %n, %l : memref<?x?x?xi32>, memref<?x?x?x?xi32>, memref<?x?x?xi32>, memref<?x?x?x?xi32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
        %none = arith.constant 0xFF800000 : f32
        %zero = arith.constant 0 : i32
        %e = fmha.read %m[%i, %j] : memref<?x?xi32>
        %is = arith.cmpi ne, %e, %zero : i32
        %seen = arith.ori %is, %is_full : i1
        %z = arith.select %seen, %s, %none : f32
        fmha.yield %z : f32
      }
  return
}

// The producer reads the entries itself.
// CHECK-LABEL: gpu.func
// CHECK-COUNT-2: tile.list_entry
// CHECK: tile.tma_load
// A consumer reads them as well.
// CHECK-COUNT-2: tile.list_entry
// CHECK: tile.wgmma
// CHECK: %[[S:.*]] = tile.wgmma_wait 0 of %{{.*}} : vector<16xf32>
// CHECK: scf.if %{{.*}} -> (vector<16xf32>) {
// CHECK: scf.if %{{.*}} -> (vector<16xf32>) {
// CHECK: arith.select
// CHECK: } else {
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[S]] : vector<16xf32>

// CHECK-LABEL: gpu.func
// CHECK: %[[S:.*]] = tile.wgmma_wait 0 of %{{.*}} : vector<16xf32>
// CHECK: scf.if %{{.*}} -> (vector<16xf32>) {
// CHECK: scf.if %{{.*}} -> (vector<4xf32>) {
// CHECK-COUNT-2: tile.gather %{{.*}} overlapped : {{.*}} -> vector<2xi32>
// CHECK: scf.if %{{.*}} -> (vector<4xf32>) {
