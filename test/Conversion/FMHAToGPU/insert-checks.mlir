// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fmha-insert-checks),canonicalize)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --generate-runtime-verification --canonicalize | FileCheck %s --check-prefix=UPSTREAM

// The checks read varlen metadata, entry by entry.
// CHECK-LABEL: func.func @lists
// CHECK:         (attention.C23) expected kv_lens to have one entry per sequence
// CHECK:         %[[FIRST:.*]] = memref.load %[[STARTS:.*]][%c0]
// CHECK:         (attention.C23) expected the first entry of cu_seqlens_q to be 0
// CHECK:         scf.for
// CHECK:           (attention.C23) expected no entry of cu_seqlens_q below the one before it
// CHECK:           (attention.C23) expected no entry of cu_seqlens_q above the total length
// CHECK:         scf.for
// CHECK:           (attention.C23) expected every entry of kv_lens to be from 0 to the number of keys
// CHECK:         scf.for
// CHECK:           arith.cmpf olt
// CHECK:           (attention.C24) expected every entry of sink to be a number below infinity
// CHECK:         fmha.attention

// UPSTREAM-LABEL: func.func @lists
// UPSTREAM:         cf.assert %{{.*}}, "{{.*}}(attention.C23) expected kv_lens to have one entry per sequence
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
// CHECK:         (attention.C29) expected a length of query of at most 1073741312; split the sequence
// CHECK-NOT:     (attention.C21)
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
// CHECK:         (merge.M5) expected dimension 2 of parts to equal dimension 1 of output
// CHECK:         (merge.M7) expected output and parts to share no memory
// CHECK:         fmha.merge
func.func @merge(%o: memref<3x1x?x2x64xf32>, %m: memref<3x1x2x?xf32>, %s: memref<3x1x2x?xf32>, %out: memref<1x?x2x64xbf16>) {
  fmha.merge ins(%o, %m, %s : memref<3x1x?x2x64xf32>, memref<3x1x2x?xf32>, memref<3x1x2x?xf32>) outs(%out : memref<1x?x2x64xbf16>)
  return
}

// -----

// A capture must not lie in a destination; both may be parts of one buffer.
// CHECK-LABEL: func.func @capture
// CHECK:         (attention.C21) expected lse and capture 0 to share no memory; give lse a separate buffer
// CHECK:         (attention.C21) expected output and capture 0 to share no memory
// CHECK:         fmha.attention
// UPSTREAM-LABEL: func.func @capture
// UPSTREAM:         (attention.C21) expected lse and capture 0 to share no memory
!t = memref<1x64x2x64xbf16>
func.func @capture(%q: !t, %o: !t, %lse: memref<1x2x64xf32>, %bias: memref<2x64xf32>) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o, %lse : !t, memref<1x2x64xf32>)
    score(%s, %b, %h, %i, %j, %m, %n) {
      %e = fmha.read %bias[%h, %j] : memref<2x64xf32>
      %x = arith.addf %s, %e : f32
      fmha.yield %x : f32
    }
  return
}

// -----

// No two elements of a destination share memory; inputs may be broadcast.
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT:     stride of dimension {{.}} of query not to be 0
// CHECK:         (attention.C21) expected the stride of dimension 0 of output not to be 0; give output a separate buffer
// CHECK:         (attention.C21) expected the stride of dimension 2 of output not to be 0
// CHECK-NOT:     stride of dimension {{.}} of query not to be 0
// CHECK:         fmha.attention
!s = memref<2x?x2x64xbf16, strided<[?, ?, ?, 1]>>
func.func @broadcast(%q: !s, %o: !s) {
  fmha.attention ins(%q, %q, %q : !s, !s, !s) outs(%o : !s)
  return
}

// -----

// Caches of pages: the checks read the entries of pages that hold keys, ceil(length / 16) of each sequence, and no others.
// CHECK-LABEL: func.func @pages
// CHECK-SAME:    %{{.*}}: memref<?x16x2x64xbf16>, %{{.*}}: memref<?x16x2x64xbf16>, %{{.*}}: memref<3x8x2x64xbf16>, %[[LENS:.*]]: memref<3xi32>, %[[TABLE:.*]]: memref<?x?xi32>)
// CHECK-DAG:     %[[C15:.*]] = arith.constant 15 : index
// CHECK-DAG:     %[[MOST:.*]] = arith.constant 134217696 : index
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         %{{.*}}, %{{.*}}, %[[CACHE:.*]]:4, %{{.*}}:4 = memref.extract_strided_metadata %{{.*}} : memref<?x16x2x64xbf16>
// CHECK:         %{{.*}}, %{{.*}}, %[[ROWS:.*]]:2, %{{.*}}:2 = memref.extract_strided_metadata %[[TABLE]]
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[ROWS]]#0, %[[C3]]
// CHECK:         cf.assert %[[SAME]], "{{.*}}(attention.C30) expected block_tables to have one row per sequence
// (2^31 - 512) / 16 = 134217696 pages at most.
// CHECK:         %[[SHORT:.*]] = arith.cmpi ule, %[[ROWS]]#1, %[[MOST]]
// CHECK:         cf.assert %[[SHORT]], "{{.*}}(attention.C29) expected a length of key of at most 2147483136; split the sequence
// CHECK:         (attention.C30) expected the rows of block_tables to follow each other; copy it to a contiguous buffer
// The keys of a sequence fit the pages that it has entries for.
// CHECK:         %[[KEYS:.*]] = arith.muli %[[ROWS]]#1, %[[C16]]
// CHECK:         scf.for %[[I:.*]] = %[[C0]] to %[[C3]] step %[[C1]]
// CHECK:           %[[N:.*]] = memref.load %[[LENS]][%[[I]]]
// CHECK:           %[[LENGTH:.*]] = arith.index_cast %[[N]]
// CHECK:           %[[FITS:.*]] = arith.cmpi ule, %[[LENGTH]], %[[KEYS]]
// CHECK:           cf.assert %[[FITS]], "{{.*}}(attention.C23) expected every entry of kv_lens to be from 0 to the number of keys
// CHECK:         scf.for %[[I:.*]] = %[[C0]] to %[[C3]] step %[[C1]]
// CHECK:           %[[N:.*]] = memref.load %[[LENS]][%[[I]]]
// CHECK:           %[[LENGTH:.*]] = arith.index_cast %[[N]]
// CHECK:           %[[UP:.*]] = arith.addi %[[LENGTH]], %[[C15]]
// CHECK:           %[[USED:.*]] = arith.divui %[[UP]], %[[C16]]
// CHECK:           scf.for %[[J:.*]] = %[[C0]] to %[[USED]] step %[[C1]]
// CHECK:             %[[ENTRY:.*]] = memref.load %[[TABLE]][%[[I]], %[[J]]]
// CHECK:             %[[PAGE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[PAGE]], %[[CACHE]]#0
// CHECK:             cf.assert %[[EXISTS]], "{{.*}}(attention.C30) expected every entry of block_tables for a page with keys to be from 0 to the number of pages less 1
// CHECK:         fmha.attention
!q = memref<3x8x2x64xbf16>
!p = memref<?x16x2x64xbf16>
func.func @pages(%k: !p, %v: !p, %q: !q, %lens: memref<3xi32>, %table: memref<?x?xi32>) {
  %o = memref.alloc() : !q
  fmha.attention ins(%q, %k, %v : !q, !p, !p) kv_lens(%lens : memref<3xi32>) block_tables(%table : memref<?x?xi32>) outs(%o : !q)
  memref.dealloc %o : !q
  return
}

// -----

// Scales of caches of 8 bits: one per KV head, and one for the queries.
// CHECK-LABEL: func.func @scales_of_heads
// CHECK-SAME:    %{{.*}}: memref<3x1x8x64xf8E4M3FN>, %[[K:.*]]: memref<3x9x?x64xf8E4M3FN>, %[[KS:.*]]: memref<?xf32>, %[[QS:.*]]: memref<?xf32>
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK:         %{{.*}}, %{{.*}}, %[[KEYS:.*]]:4, %{{.*}}:4 = memref.extract_strided_metadata %[[K]]
// CHECK:         %{{.*}}, %{{.*}}, %[[SCALES:.*]], %{{.*}} = memref.extract_strided_metadata %[[KS]]
// CHECK:         %{{.*}}, %{{.*}}, %[[QUERIES:.*]], %{{.*}} = memref.extract_strided_metadata %[[QS]]
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[SCALES]], %[[KEYS]]#2
// CHECK:         cf.assert %[[SAME]], "{{.*}}(attention.C32) expected k_scale to have an entry per KV head
// CHECK:         (attention.C32) expected v_scale to have an entry per KV head
// CHECK:         %[[ONE:.*]] = arith.cmpi eq, %[[QUERIES]], %[[C1]]
// CHECK:         cf.assert %[[ONE]], "{{.*}}(attention.C32) expected q_scale to have one entry
!q = memref<3x1x8x64xf8E4M3FN>
!c = memref<3x9x?x64xf8E4M3FN>
func.func @scales_of_heads(%q: !q, %k: !c, %s: memref<?xf32>, %qs: memref<?xf32>, %o: memref<3x1x8x64xbf16>) {
  fmha.attention ins(%q, %k, %k : !q, !c, !c) k_scale(%s : memref<?xf32>) v_scale(%s : memref<?xf32>) q_scale(%qs : memref<?xf32>)
      outs(%o : memref<3x1x8x64xbf16>) {scale_per_head}
  return
}

// -----

// One per page of the caches.
// CHECK-LABEL: func.func @scales_of_pages
// CHECK:         (attention.C32) expected k_scale to have an entry per page of key
// CHECK:         (attention.C32) expected v_scale to have an entry per page of key
!p = memref<?x16x2x64xf8E4M3FN>
func.func @scales_of_pages(%q: memref<3x1x8x64xf16>, %k: !p, %lens: memref<3xi32>, %table: memref<?x?xi32>, %s: memref<?xf32>, %o: memref<3x1x8x64xf16>) {
  fmha.attention ins(%q, %k, %k : memref<3x1x8x64xf16>, !p, !p) kv_lens(%lens : memref<3xi32>) block_tables(%table : memref<?x?xi32>)
      k_scale(%s : memref<?xf32>) v_scale(%s : memref<?xf32>) outs(%o : memref<3x1x8x64xf16>) {scale_per_page}
  return
}
