// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a},fmha-launch-kernels{checks=off},canonicalize,cse)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-dispatch-targets{targets=sm_90a,sm_100a})' | FileCheck %s --check-prefix=DISPATCH
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fmha-place-buffers),canonicalize)' | FileCheck %s --check-prefix=PLACE

// A CTA for each token of key_new or of query, and for four heads of keys or queries: of 2 + 8 heads, three.
// CHECK-LABEL: func.func @append
// CHECK:         gpu.launch_func @fmha_append_kernel::@fmha_append blocks in (%c15, %c3, %c1) threads in (%c128, %c1, %c1)

// DISPATCH-LABEL: func.func @append
// DISPATCH:         fmha.append {{.*}} {target = "sm_90a"}
// DISPATCH:         fmha.append {{.*}} {target = "sm_100a"}

// Caches are copied to the device and back, as their other rows stay; query_out is only copied back.
// PLACE-LABEL: func.func @append
// PLACE-SAME:    %[[KC:[a-z0-9_]+]]: memref<9x16x2x128xbf16>, %[[VC:[a-z0-9_]+]]: memref<9x16x2x128xbf16>
// PLACE-DAG:     gpu.memcpy %[[DK:[a-z0-9_]+]], %[[KC]] :
// PLACE-DAG:     gpu.memcpy %[[DV:[a-z0-9_]+]], %[[VC]] :
// PLACE-NOT:     gpu.memcpy %{{.*}}, %out
// PLACE:         fmha.append {{.*}} outs(%[[DK]], %[[DV]] : {{.*}} query_out(%[[DR:[a-z0-9_]+]] :
// PLACE-DAG:     gpu.memcpy %[[KC]], %[[DK]]
// PLACE-DAG:     gpu.memcpy %{{.*}}, %[[DR]]
!n = memref<3x2x2x128xbf16>
!c = memref<9x16x2x128xbf16>
!q = memref<3x5x8x128xbf16>
!a = memref<64x64xf32>
func.func @append(%keys: !c, %values: !c, %k: !n, %v: !n, %lens: memref<3xi32>, %pages: memref<3x4xi32>, %cos: !a, %sin: !a, %q: !q, %out: !q) {
  fmha.append ins(%k, %v : !n, !n) kv_lens(%lens : memref<3xi32>) block_tables(%pages : memref<3x4xi32>)
      rotary half(%cos, %sin : !a, !a) query(%q : !q) outs(%keys, %values : !c, !c) query_out(%out : !q)
  return
}

// -----

// Nothing is launched without tokens or sequences.
// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[EMPTY:.*]] = arith.cmpi ne
// CHECK:         scf.if %[[EMPTY]]
// CHECK:           gpu.launch_func @fmha_append_kernel::@fmha_append
// DISPATCH-LABEL: func.func @dynamic
// PLACE-LABEL: func.func @dynamic
!n = memref<?x?x2x64xf16>
func.func @dynamic(%k: !n, %keys: !n, %values: !n, %lens: memref<?xi32>) {
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) outs(%keys, %values : !n, !n)
  return
}
