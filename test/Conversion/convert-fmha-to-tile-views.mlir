// V is the first columns of K where the operands say so: the kernel's fmha.problem ends
// with v_in_k. Each op has a different scale, and so its own kernel.

// RUN: fmha-opt %s --fmha-plan-schedule --convert-fmha-to-tile | grep -o 'module @[a-z_0-9]* {\|fmha.problem = #fmha.problem<[^>]*>' | FileCheck %s

!k = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>>
!v = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>
!fixed = memref<1x16x2x72xbf16>
!part = memref<1x16x2x40xbf16, strided<[2304, 144, 72, 1]>>

// A view with offsets 0 and strides 1, from run-time or compile-time extents, behind a
// cast or not; on tensors; K itself.
// CHECK: module @fmha_fwd_kernel {
// CHECK-NEXT: {{.*}}, v_in_k>
func.func @subview(%q: !k, %k: !k, %o: !v, %b: index, %n: index, %h: index) {
  %v = memref.subview %k[0, 0, 0, 0] [%b, %n, %h, 40] [1, 1, 1, 1] : !k to !v
  fmha.attention ins(%q, %k, %v : !k, !k, !v) outs(%o : !v) {scale = 1.0 : f64}
  return
}
// CHECK: module @fmha_fwd_kernel_0 {
// CHECK-NEXT: {{.*}}, v_in_k>
func.func @casts(%q: !k, %k: !fixed, %o: !v) {
  %dynamic = memref.cast %k : !fixed to !k
  %part = memref.subview %k[0, 0, 0, 0] [1, 16, 2, 40] [1, 1, 1, 1] : !fixed to !part
  %v = memref.cast %part : !part to !v
  fmha.attention ins(%q, %dynamic, %v : !k, !k, !v) outs(%o : !v) {scale = 2.0 : f64}
  return
}
// CHECK: module @fmha_fwd_kernel_1 {
// CHECK-NEXT: {{.*}}, v_in_k>
func.func @slice(%q: tensor<1x16x2x72xbf16>, %k: tensor<1x16x2x72xbf16>, %o: tensor<1x16x2x40xbf16>) -> tensor<1x16x2x40xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [1, 16, 2, 40] [1, 1, 1, 1] : tensor<1x16x2x72xbf16> to tensor<1x16x2x40xbf16>
  %r = fmha.attention ins(%q, %k, %v : tensor<1x16x2x72xbf16>, tensor<1x16x2x72xbf16>, tensor<1x16x2x40xbf16>)
      outs(%o : tensor<1x16x2x40xbf16>) {scale = 3.0 : f64} -> tensor<1x16x2x40xbf16>
  return %r : tensor<1x16x2x40xbf16>
}
// CHECK: module @fmha_fwd_kernel_2 {
// CHECK-NEXT: {{.*}}, v_in_k>
func.func @same(%q: !k, %k: !k, %o: !k) {
  fmha.attention ins(%q, %k, %k : !k, !k, !k) outs(%o : !k) {scale = 4.0 : f64}
  return
}

// Other columns, other keys, every other key, and a view of the query.
// CHECK-COUNT-4: , scale = {{[^,]*}}>
// CHECK-NOT: v_in_k
func.func @offset_columns(%q: !k, %k: !fixed, %o: !v) {
  %dynamic = memref.cast %k : !fixed to !k
  %part = memref.subview %k[0, 0, 0, 32] [1, 16, 2, 40] [1, 1, 1, 1] : !fixed to memref<1x16x2x40xbf16, strided<[2304, 144, 72, 1], offset: 32>>
  fmha.attention ins(%q, %dynamic, %part : !k, !k, memref<1x16x2x40xbf16, strided<[2304, 144, 72, 1], offset: 32>>) outs(%o : !v) {scale = 5.0 : f64}
  return
}
func.func @offset_keys(%q: !k, %k: !k, %o: !v, %b: index, %n: index, %h: index) {
  %v = memref.subview %k[0, %n, 0, 0] [%b, %n, %h, 40] [1, 1, 1, 1] : !k to memref<?x?x?x40xbf16, strided<[?, ?, ?, 1], offset: ?>>
  fmha.attention ins(%q, %k, %v : !k, !k, memref<?x?x?x40xbf16, strided<[?, ?, ?, 1], offset: ?>>) outs(%o : !v) {scale = 6.0 : f64}
  return
}
func.func @strided(%q: !k, %k: !k, %o: !v, %b: index, %n: index, %h: index) {
  %v = memref.subview %k[0, 0, 0, 0] [%b, %n, %h, 40] [1, 2, 1, 1] : !k to !v
  fmha.attention ins(%q, %k, %v : !k, !k, !v) outs(%o : !v) {scale = 7.0 : f64}
  return
}
func.func @of_query(%q: !k, %k: !k, %o: !v, %b: index, %n: index, %h: index) {
  %v = memref.subview %q[0, 0, 0, 0] [%b, %n, %h, 40] [1, 1, 1, 1] : !k to !v
  fmha.attention ins(%q, %k, %v : !k, !k, !v) outs(%o : !v) {scale = 8.0 : f64}
  return
}
