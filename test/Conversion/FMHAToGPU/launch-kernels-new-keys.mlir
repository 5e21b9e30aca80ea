// Attention that appends: the kernel takes the caches as tensor maps and as pointers, with strides.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a},fmha-launch-kernels{checks=off},canonicalize,cse)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a q-len=2},func.func(fmha-insert-checks))' | FileCheck %s --check-prefix=CHECKS

!q = memref<3x1x8x64xbf16>
!c = memref<9x16x2x64xbf16>
!n = memref<3x2x2x64xbf16>

// CHECK-LABEL: func.func @append
// CHECK-SAME: %{{.*}}: memref<3x1x8x64xbf16>, %[[K:[a-z0-9]+]]: memref<9x16x2x64xbf16>, %[[V:[a-z0-9]+]]: memref<9x16x2x64xbf16>
// CHECK-DAG: %[[KP:.*]] = memref.extract_aligned_pointer_as_index %[[K]]
// CHECK-DAG: %[[VP:.*]] = memref.extract_aligned_pointer_as_index %[[V]]
// CHECK-DAG: %[[KA:.*]] = arith.index_cast{{(ui)?}} %[[KP]] : index to i64
// CHECK-DAG: %[[VA:.*]] = arith.index_cast{{(ui)?}} %[[VP]] : index to i64
// CHECK: gpu.launch_func @fmha_fwd_kernel::@fmha_fwd {{.*}} args({{.*}}, %[[KA]] : i64, %[[VA]] : i64,
// CHECKS-LABEL: func.func @append
func.func @append(%q: !q, %k: !c, %v: !c, %lens: memref<3xi32>, %t: memref<3x9xi32>, %kn: !n, %vn: !n, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<3xi32>) block_tables(%t : memref<3x9xi32>) append(%kn, %vn : !n, !n)
      outs(%o : !q) {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 64, kv_stages = 2, p_placement = registers>}
  return
}

// -----

!q = memref<?x?x8x64xbf16>
!c = memref<?x300x2x64xbf16>
!n = memref<?x?x2x64xbf16>

// A launch with more rows than the CTA's is refused.
// CHECK-LABEL: func.func @dynamic
// CHECKS-LABEL: func.func @dynamic
// CHECKS: (attention.C33) expected at most 16 queries and 4 query heads of a KV head with key_new, as the schedule has in a CTA; append by fmha.append
func.func @dynamic(%q: !q, %k: !c, %v: !c, %lens: memref<?xi32>, %kn: !n, %vn: !n, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<?xi32>) append(%kn, %vn : !n, !n)
      outs(%o : !q) {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 64, kv_stages = 2, p_placement = registers>}
  return
}

// -----

!q = memref<?x2x8x64xbf16>
!c = memref<?x300x2x64xbf16>
!n = memref<?x2x2x64xbf16>
!a = memref<?x8xf32, strided<[?, ?]>>

// A kernel that rotates takes the queries and the tables of angles by address.
// CHECK-LABEL: func.func @rotary
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x2x8x64xbf16>, {{.*}} %[[COS:[a-z0-9]+]]: memref<?x8xf32, strided<[?, ?]>>, %[[SIN:[a-z0-9]+]]: memref<?x8xf32
// CHECK-DAG: %[[QP:.*]] = memref.extract_aligned_pointer_as_index %[[Q]]
// CHECK-DAG: %[[QA:.*]] = arith.index_cast{{(ui)?}} %[[QP]] : index to i64
// CHECK-DAG: %{{.*}}, %{{.*}}, %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[COS]]
// CHECK-DAG: %[[ROW:.*]] = arith.index_cast{{(ui)?}} %[[STRIDES]]#0 : index to i64
// CHECK-DAG: %[[COUNT:.*]] = arith.index_cast{{(ui)?}} %[[SIZES]]#0 : index to i32
// CHECK: gpu.launch_func @fmha_fwd_kernel::@fmha_fwd {{.*}} args(%[[QA]] : i64, {{.*}} %[[ROW]] : i64, {{.*}} %[[COUNT]] : i32
// CHECKS-LABEL: func.func @rotary
// CHECKS: (attention.C35) expected dimension 0 of sin to equal dimension 0 of cos
// CHECKS: (attention.C35) expected the last dimension of cos to be contiguous; copy it to a separate buffer
// CHECKS: (attention.C35) expected no entry of kv_lens above the number of rows of cos and sin
func.func @rotary(%q: !q, %k: !c, %v: !c, %lens: memref<?xi32>, %kn: !n, %vn: !n, %cos: !a, %sin: !a, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<?xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : !a, !a)
      outs(%o : !q) {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, pack_heads = 4, kv_block = 64, kv_stages = 2, p_placement = registers>}
  return
}
