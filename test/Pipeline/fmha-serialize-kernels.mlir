// Serializing takes what an op names as its kernel, and leaves a binary as it is.

// RUN: fmha-opt %s --fmha-serialize-kernels | FileCheck %s

!t = memref<1x256x2x64xf16>

// CHECK-LABEL: func.func @untouched
// CHECK: fmha.attention
func.func @untouched(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @done::@fmha_fwd}
  return
}

// CHECK: gpu.binary @done {fmha.manifest = "{}"} [#gpu.object<#nvvm.target, assembly = "already">]
gpu.binary @done {fmha.manifest = "{}"} [#gpu.object<#nvvm.target, assembly = "already">]

// A module that no op names is somebody else's.
// CHECK: gpu.module @foreign
// CHECK-NOT: gpu.binary
gpu.module @foreign {
  llvm.func @f() attributes {nvvm.kernel} { llvm.return }
}
