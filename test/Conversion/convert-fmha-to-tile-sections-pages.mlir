// The extents of caches of pages do not give the length of a sequence, so their heads come one after the other on sm_100a.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_100a},convert-fmha-to-tile)' | FileCheck %s

!q = memref<2x?x8x128xbf16>
!k = memref<?x64x4x128xbf16>
func.func @pages(%q: !q, %k: !k, %lens: memref<2xi32>, %tables: memref<2x?xi32>, %o: !q) {
  fmha.attention ins(%q, %k, %k : !q, !k, !k) kv_lens(%lens : memref<2xi32>) block_tables(%tables : memref<2x?xi32>) outs(%o : !q) {mask = #fmha.mask<causal>}
  return
}

// CHECK-LABEL: func.func @pages
// CHECK: gpu.func @fmha_fwd
// CHECK-NOT: gpu.grid_dim
