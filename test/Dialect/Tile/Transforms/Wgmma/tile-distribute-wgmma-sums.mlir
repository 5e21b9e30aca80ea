// Each thread sums the exponentials that it has, and the quads add their sums once, after the loop. Maxima are needed in
// each step, and go through the quads there.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-plan-schedule{target=sm_90a q-tiles=1 kv-block=32 kv-stages=4},convert-fmha-to-tile,gpu.module(gpu.func(tile-assign-memory,tile-warp-specialize,tile-lower-channels,tile-distribute,cse)))' \
// RUN:   | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// CHECK-LABEL: gpu.func
// CHECK: tile.wgmma
// Two rows, each over lanes 1 and 2 apart.
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: arith.maxnumf
// CHECK: math.exp2
// CHECK-NOT: gpu.shuffle
// CHECK: scf.for
// CHECK: tile.wgmma
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: math.exp2
// CHECK-NOT: gpu.shuffle
// CHECK: scf.yield
// The sums of all keys.
// CHECK: } else {
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: arith.divf
