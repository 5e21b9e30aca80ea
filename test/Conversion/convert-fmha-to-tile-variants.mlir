// The causal mask, negative and zero scales, and several ops in one module.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<1x256x2x128xf16>

// CHECK: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_0::@fmha_fwd
// CHECK: fmha.kernel = @fmha_fwd_kernel_1::@fmha_fwd
func.func @attention(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal>}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {scale = -0.5 : f64}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {scale = 0.0 : f64}
  return
}

// The mask is aligned to the bottom right: row i sees keys up to i + kv_len - q_len.
// A CTA visits blocks up to that of its last row, min(first + 128, q_len) - 1, and
// none if even that one sees no key.
// CHECK: gpu.module @fmha_fwd_kernel {
// CHECK: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %c0
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c128
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]], %[[QLEN]]
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[END]], %[[QLEN]]
// CHECK: %[[SEEN:.*]] = arith.addi %[[INSIDE]], %[[OFFSET]]
// CHECK: %[[KEYS:.*]] = arith.maxsi %[[SEEN]], %c0
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[KEYS]], %c128
// CHECK: %[[KEYVIEW:.*]] = tile.view %arg1 {{.*}} rows %[[KVLEN]] :
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[BLOCKS]]
// CHECK: tile.mask {{.*}}, %[[KEYVIEW]][%{{.*}}] to %[[OFFSET]] :
// No LSE is asked for.
// CHECK-NOT: tile.lse

// A negative scale turns the order of scores round: the product takes the sign and
// the softmax the magnitude, 0.5 x log2 e = 0.72134752.
// CHECK: gpu.module @fmha_fwd_kernel_0 {
// CHECK: tile.dot {{.*}} transpose_b negate
// CHECK-NOT: tile.scale
// CHECK: tile.row_max {{.*}} scale 0.72134
// CHECK: tile.exp2 {{.*}} scale 0.72134

// With scale 0 all keys weigh the same, whatever their products: they are made 0
// first, and the softmax's own factor is 1, so that the mask's -inf x 0 never occurs.
// CHECK: gpu.module @fmha_fwd_kernel_1 {
// CHECK: %[[S:.*]] = tile.dot {{.*}} transpose_b {tile
// CHECK: %[[Z:.*]] = tile.scale %[[S]] by 0.000000e+00
// CHECK: tile.mask %[[Z]]
// CHECK: tile.row_max {{.*}} scale 1.000000e+00
