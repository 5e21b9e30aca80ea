// Windows and masks that are aligned to the top left: which keys a CTA visits, and
// what its blocks hide.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128 kv-block=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<1x256x2x128xf16>

func.func @attention(%x: !t, %v: !t, %o: !t) {
  fmha.attention ins(%x, %x, %v : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal, left = 300>}
  fmha.attention ins(%x, %x, %v : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal_top_left>}
  fmha.attention ins(%x, %x, %v : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<none, right = 7>}
  return
}

// The first row of the CTA sits at FIRST + OFFSET and sees no key before that place
// less 300; blocks begin there, rounded down, and K, V and the mask with them.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// With a right bound the first CTAs have the last row block (convert-fmha-to-tile-sections.mlir).
// CHECK: %[[ROWBLOCKS:.*]] = arith.ceildivui
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWBLOCKS]], %c1
// CHECK: %[[SHORTER:.*]] = arith.divui
// CHECK: %[[ROWBLOCK:.*]] = arith.subi %[[LAST]], %[[SHORTER]]
// CHECK: %[[ROWS:.*]] = arith.muli %[[ROWBLOCK]], %c128
// CHECK: %[[FIRST:.*]] = arith.addi %[[ROWS]], %c0
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]], %[[QLEN]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK: %[[LEAST:.*]] = arith.subi %[[PLACE]], %c300
// CHECK: %[[KEY:.*]] = arith.maxsi %[[LEAST]], %c0
// CHECK: %[[BLOCK:.*]] = arith.divui %[[KEY]], %c128
// CHECK: %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK: %[[SEEN:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// CHECK: %[[COUNT:.*]] = arith.subi %[[SEEN]], %[[BEGIN]]
// CHECK: %[[KEYS:.*]] = arith.maxsi %[[COUNT]], %c0
// CHECK: arith.ceildivui %[[KEYS]], %c128
// CHECK: %[[QUERIES:.*]] = tile.view %arg0 batch
// CHECK: %[[KEYVIEW:.*]] = tile.view %arg1 {{.*}} rows %[[KVLEN]] :
// CHECK: %[[VALUES:.*]] = tile.view %arg2 {{.*}} rows %[[KVLEN]] :
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[FROM:.*]] = arith.muli %[[J]], %c128
// CHECK: %[[COLUMN:.*]] = arith.addi %[[FROM]], %[[BEGIN]]
// CHECK: %[[LOWER:.*]] = arith.addi %[[OFFSET]], %c-300
// CHECK: tile.load %[[KEYVIEW]][%[[COLUMN]]]
// CHECK: tile.load %[[VALUES]][%[[COLUMN]]]
// CHECK: tile.mask %{{.*}} at %[[QUERIES]][%[[FIRST]]], %[[KEYVIEW]][%[[COLUMN]]] from %[[LOWER]] to %[[OFFSET]] :

// Row i sits at key i; rows beyond the last key see all of them.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[LAST:.*]] = arith.addi %[[END]], %[[ZERO:c0[_0-9]*]] : index
// CHECK: %[[SEEN:.*]] = arith.minsi %[[LAST]], %[[KVLEN]]
// CHECK: arith.maxsi %[[SEEN]]
// CHECK: %[[KEYVIEW:.*]] = tile.view %arg1 {{.*}} rows %[[KVLEN]] :
// CHECK: tile.mask {{.*}}, %[[KEYVIEW]][%{{.*}}] to %[[ZERO]] :

// What comes after the last row's place counts too, up to the last key.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]],
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c7
// CHECK: arith.minsi %[[LAST]], %[[KVLEN]]
// CHECK: %[[KEYVIEW:.*]] = tile.view %arg1 {{.*}} rows %[[KVLEN]] :
// CHECK: %[[UPPER:.*]] = arith.addi %[[OFFSET]], %c7
// CHECK: tile.mask {{.*}}, %[[KEYVIEW]][%{{.*}}] to %[[UPPER]] :
