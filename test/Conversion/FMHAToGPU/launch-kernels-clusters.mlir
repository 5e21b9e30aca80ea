// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_100a},fmha-launch-kernels{checks=off},canonicalize,cse)' | FileCheck %s

// Clusters of two CTAs: the grid has whole clusters.
// CHECK-LABEL: func.func @clusters
// CHECK:         %[[SMS:.*]] = fmha.multiprocessor_count
// CHECK:         %[[CLUSTERS:.*]] = arith.divui %[[SMS]], %c2
// CHECK:         %[[WHOLE:.*]] = arith.muli %[[CLUSTERS]], %c2
// CHECK:         %[[MOST:.*]] = arith.maxui %[[WHOLE]], %c2
// CHECK:         %[[CTAS:.*]] = arith.minui %[[MOST]], %c16
// CHECK:         gpu.launch_func @fmha_fwd_kernel::@fmha_fwd clusters in (%c2, %c1, %c1) blocks in (%[[CTAS]], %c1, %c1)
!q = memref<2x1024x2x64xbf16>
func.func @clusters(%q: !q, %k: !q, %v: !q, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
    {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, cta_group = 2, kv_stages = 4, scheduler = static>}
  return
}
