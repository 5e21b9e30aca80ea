// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fmha-insert-checks),canonicalize)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --generate-runtime-verification --canonicalize | FileCheck %s --check-prefix=UPSTREAM

// The checks read varlen metadata, entry by entry.
// CHECK-LABEL: func.func @lists
// CHECK:         (C23) expected kv_lens to have one entry per sequence
// CHECK:         %[[FIRST:.*]] = memref.load %[[STARTS:.*]][%c0]
// CHECK:         (C23) expected the first entry of cu_seqlens_q to be 0
// CHECK:         scf.for
// CHECK:           (C23) expected no entry of cu_seqlens_q below the one before it
// CHECK:           (C23) expected no entry of cu_seqlens_q beyond the length that it cuts
// CHECK:         scf.for
// CHECK:           (C23) expected every entry of kv_lens to be from 0 to the keys there are
// CHECK:         scf.for
// CHECK:           arith.cmpf olt
// CHECK:           (C24) expected every entry of sink to be a number below infinity
// CHECK:         fmha.attention

// UPSTREAM-LABEL: func.func @lists
// UPSTREAM:         cf.assert %{{.*}}, "{{.*}}(C23) expected kv_lens to have one entry per sequence
!q = memref<1x?x2x64xbf16>
!k = memref<?x64x2x64xbf16>
func.func @lists(%q: !q, %k: !k, %o: !q, %starts: memref<?xi32>, %lens: memref<?xi32>, %sink: memref<2xf32>) {
  fmha.attention ins(%q, %k, %k : !q, !k, !k) kv_lens(%lens : memref<?xi32>) cu_seqlens_q(%starts : memref<?xi32>)
    sink(%sink : memref<2xf32>) outs(%o : !q)
  return
}

// -----

// With a window, fewer rows fit 32 bits; allocations never overlap.
// CHECK-LABEL: func.func @window
// CHECK:         (C29) expected a length of query of at most 1073741312; split the sequence
// CHECK-NOT:     (C21)
// CHECK:         fmha.attention
!t = memref<1x?x2x64xbf16>
func.func @window(%q: !t, %n: index) {
  %o = memref.alloc(%n) : !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal, left = 8>}
  memref.dealloc %o : !t
  return
}

// -----

// CHECK-LABEL: func.func @merge
// CHECK:         (M5) expected dimension 2 of parts to equal dimension 1 of output
// CHECK:         (M7) expected output and parts to share no memory
// CHECK:         fmha.merge
func.func @merge(%o: memref<3x1x?x2x64xf32>, %m: memref<3x1x2x?xf32>, %s: memref<3x1x2x?xf32>, %out: memref<1x?x2x64xbf16>) {
  fmha.merge ins(%o, %m, %s : memref<3x1x?x2x64xf32>, memref<3x1x2x?xf32>, memref<3x1x2x?xf32>) outs(%out : memref<1x?x2x64xbf16>)
  return
}
