// A kernel of tensor cores that reads tensors by their addresses appends for the rows of its CTA only, as others do.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_80 q-len=2},func.func(fmha-insert-checks))' | FileCheck %s

!q = memref<?x?x8x64xbf16>
!c = memref<?x300x2x64xbf16>
!n = memref<?x?x2x64xbf16>

// CHECK-LABEL: func.func @addresses
// CHECK: (attention.C33) expected at most 16 queries and 4 query heads of a KV head with key_new, as the schedule has in a CTA; append by fmha.append
func.func @addresses(%q: !q, %k: !c, %v: !c, %lens: memref<?xi32>, %kn: !n, %vn: !n, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<?xi32>) append(%kn, %vn : !n, !n)
      outs(%o : !q) {schedule = #fmha.schedule<target = "sm_80", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 64, kv_stages = 2, kv_copy = cp_async, p_placement = registers>}
  return
}
