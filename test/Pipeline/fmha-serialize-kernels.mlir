// Serialising takes only what names its kernel.

// RUN: fmha-opt %s --fmha-serialize-kernels | FileCheck %s

!t = memref<1x256x2x64xf16>

// An op that was never compiled, and one whose kernel is already a binary, stay.
// CHECK-LABEL: func.func @untouched
// CHECK-COUNT-2: fmha.attention
func.func @untouched(%x: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t)
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) {fmha.kernel = @gone::@fmha_fwd}
  return
}

// A module that no op names is somebody else's.
// CHECK: gpu.module @foreign
// CHECK-NOT: gpu.binary
gpu.module @foreign {
  llvm.func @f() attributes {nvvm.kernel} { llvm.return }
}
