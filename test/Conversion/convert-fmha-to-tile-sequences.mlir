// Sequences of their own lengths: where they begin and end is read from memory, and kept
// inside the tensors whatever is there.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128 kv-block=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<1x256x2x128xf16>
!b = memref<3x256x2x128xf16>
!l = memref<1x2x256xf32>

func.func @attention(%q: !b, %k: !b, %p: !t, %o: !b, %r: !t, %lse: !l, %lens: memref<3xi32>, %starts: memref<4xi32>) {
  fmha.attention ins(%q, %k, %k : !b, !b, !b) kv_lens(%lens : memref<3xi32>) outs(%o : !b)
  fmha.attention ins(%p, %k, %k : !t, !b, !b) cu_seqlens_q(%starts : memref<4xi32>) outs(%r, %lse : !t, !l) {mask = #fmha.mask<causal>}
  fmha.attention ins(%q, %p, %p : !b, !t, !t) kv_lens(%lens : memref<3xi32>) cu_seqlens_k(%starts : memref<4xi32>) outs(%o : !b)
  return
}

// The list stands behind the tensors; keys of another length are rows [0, KEYS) of the
// sequence's batch for copies, and hidden from there on by the mask.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: gpu.func @fmha_fwd(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>, %[[LENS:[a-z0-9]+]]: memref<?xi32>) kernel
// CHECK: %[[ROWS:.*]] = memref.dim %arg1, %c1
// CHECK: %[[WORD:.*]] = memref.load %[[LENS]][%[[BATCH:[0-9]+]]] : memref<?xi32>
// CHECK: %[[SAID:.*]] = arith.index_cast %[[WORD]] : i32 to index
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[SAID]], %[[ZERO:c0[_0-9]*]]
// CHECK: %[[KEYS:.*]] = arith.minsi %[[LEAST]], %[[ROWS]]
// CHECK: arith.ceildivui %[[KEYS]], %c128
// CHECK: tile.view %arg0 batch %[[BATCH]] head %{{[^ ]*}} rows %{{[^ ]*}} :
// CHECK: %[[KV:.*]] = tile.view %arg1 batch %[[BATCH]] head %{{[^ ]*}} rows %[[KEYS]] from %[[ZERO]] :
// CHECK: tile.load %[[KV]][
// CHECK: tile.mask %{{.*}}, %[[KV]][
// CHECK: %[[OV:.*]] = tile.view %[[O]] batch %[[BATCH]] head %{{[^ ]*}} rows %{{[^ ]*}} :
// CHECK: tile.store %{{.*}}, %[[OV]][

// Packed queries: the grid counts row blocks of the longest sequence, and a CTA behind
// the end of its own visits no keys.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[LSE:arg4]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[STARTS:arg5]]: memref<?xi32>, %[[MOST:arg6]]: i32) kernel
// CHECK: %[[EXTENT:.*]] = memref.dim %arg0, %c1
// CHECK: %[[LONGEST:.*]] = arith.index_castui %[[MOST]] : i32 to index
// CHECK: %[[COUNT:.*]] = arith.ceildivui %[[LONGEST]], %c128
// CHECK: arith.remui %{{.*}}, %[[COUNT]]
// CHECK: memref.load %[[STARTS]][%[[BATCH:[0-9]+]]]
// CHECK: arith.maxsi
// CHECK: %[[START:.*]] = arith.minsi %{{.*}}, %[[EXTENT]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[BATCH]], %c1
// CHECK: memref.load %[[STARTS]][%[[NEXT]]]
// CHECK: arith.maxsi %{{.*}}, %[[START]]
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[EXTENT]]
// CHECK: %[[LENGTH:.*]] = arith.subi %[[END]], %[[START]]
// CHECK: %[[FIRST:.*]] = arith.addi
// CHECK: arith.subi %{{.*}}, %[[LENGTH]]
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[FIRST]], %[[LENGTH]]
// CHECK: %[[KEYS:.*]] = arith.select %[[HAS]], %{{.*}}, %c0
// CHECK: arith.ceildivui %[[KEYS]], %c128
// CHECK: %[[QV:.*]] = tile.view %arg0 batch %[[ZERO:c0[_0-9]*]] head %{{[^ ]*}} rows %[[LENGTH]] from %[[START]] :
// CHECK: tile.load %[[QV]][%[[FIRST]]]
// CHECK: tile.view %arg1 batch %[[BATCH]] head %{{[^ ]*}} rows %{{[^ ]*}} :
// CHECK: %[[OV:.*]] = tile.view %arg3 batch %[[ZERO]] head %{{[^ ]*}} rows %[[LENGTH]] from %[[START]] :
// CHECK: %[[LV:.*]] = tile.view %[[LSE]] batch %[[ZERO]] head %{{[^ ]*}} rows %[[LENGTH]] from %[[START]] :
// CHECK: tile.store %{{.*}}, %[[OV]][%[[FIRST]]]
// CHECK: tile.store_rows %{{.*}}, %[[LV]][%[[FIRST]]]

// Packed keys of which only the first count: the shorter length wins.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[LENS:arg4]]: memref<?xi32>, %[[STARTS:arg5]]: memref<?xi32>) kernel
// CHECK: %[[START:.*]] = arith.minsi
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[ALL:.*]] = arith.subi %[[END]], %[[START]]
// CHECK: memref.load %[[LENS]]
// CHECK: %[[KEYS:.*]] = arith.minsi %{{.*}}, %[[ALL]]
// CHECK: tile.view %arg1 batch %{{c0[_0-9]*}} head %{{[^ ]*}} rows %[[KEYS]] from %[[START]] :
