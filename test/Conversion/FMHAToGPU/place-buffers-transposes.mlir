// Transposed memrefs are views: buffers in [batch, heads, length, dim] order are copied as they are.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-place-buffers,cse)' | FileCheck %s

// The copies are outside of the loop, and nothing is copied on the host.
// CHECK-LABEL: func.func @bhsd
// CHECK-SAME:    (%[[Q:[a-z0-9]+]]: memref<1x2x64x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x2x64x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x2x64x64xbf16>
// CHECK-NOT:     memref.copy
// CHECK-DAG:     gpu.memcpy %[[DQ:.*]], %[[Q]] :
// CHECK-DAG:     gpu.memcpy %[[DK:.*]], %[[K]] :
// CHECK:         scf.for
// CHECK-NOT:     copy
// CHECK-DAG:       %[[QT:.*]] = memref.transpose %[[DQ]]
// CHECK-DAG:       %[[KT:.*]] = memref.transpose %[[DK]]
// CHECK-DAG:       %[[OT:.*]] = memref.transpose %[[DO:[a-z0-9_]+]] (
// CHECK:           fmha.attention ins(%[[QT]], %[[KT]], %[[KT]] : {{.*}}) outs(%[[OT]] :
// CHECK-NOT:     memref.copy
// CHECK:         gpu.memcpy %[[O]], %[[DO]] :
!b = memref<1x2x64x64xbf16>
!t = memref<1x64x2x64xbf16, strided<[8192, 64, 4096, 1]>>
func.func @bhsd(%q: !b, %k: !b, %o: !b, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qt = memref.transpose %q (a,b,c,d)->(a,c,b,d) : !b to !t
  %kt = memref.transpose %k (a,b,c,d)->(a,c,b,d) : !b to !t
  %ot = memref.transpose %o (a,b,c,d)->(a,c,b,d) : !b to !t
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%qt, %kt, %kt : !t, !t, !t) outs(%ot : !t)
  }
  return
}

// -----

// What is on the device already stays there.
// CHECK-LABEL: func.func @device
// CHECK-NOT:     {{copy|memcpy|memref.alloc}}
// CHECK:         fmha.attention
// CHECK-NOT:     {{copy|memcpy}}
!b = memref<1x2x64x64xbf16>
!s = memref<1x64x2x64xbf16>
!t = memref<1x64x2x64xbf16, strided<[8192, 64, 4096, 1]>>
func.func @device() {
  %d = gpu.alloc () : !b
  %o = gpu.alloc () : !s
  %q = memref.transpose %d (a,b,c,d)->(a,c,b,d) : !b to !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !s)
  gpu.dealloc %o : !s
  gpu.dealloc %d : !b
  return
}

// -----

// The host reads what kernels wrote by another name of the buffer.
// CHECK-LABEL: func.func @read
// CHECK:         %[[M:.*]] = memref.alloc() : memref<1x2x64x64xbf16>
// CHECK:         fmha.attention
// CHECK:         gpu.memcpy %[[M]], %
// CHECK:         memref.load %[[M]]
!b = memref<1x2x64x64xbf16>
!s = memref<1x64x2x64xbf16>
!t = memref<1x64x2x64xbf16, strided<[8192, 64, 4096, 1]>>
func.func @read(%q: !s) -> bf16 {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : !b
  %mt = memref.transpose %m (a,b,c,d)->(a,c,b,d) : !b to !t
  fmha.attention ins(%q, %q, %q : !s, !s, !s) outs(%mt : !t)
  %e = memref.load %m[%c0, %c0, %c0, %c0] : !b
  memref.dealloc %m : !b
  return %e : bf16
}
