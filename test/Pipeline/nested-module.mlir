// The pipeline works on a nested module, and there alone.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(builtin.module(fmha-to-ptx))' | FileCheck %s
// RUN: not fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx)' 2>&1 | FileCheck %s --check-prefix=OUTER

!t = memref<1x256x2x64xf16>

// Without a second op the file would be the nested module itself.
// CHECK: func.func private @beside
func.func private @beside()

// CHECK: module @inner
// CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK: gpu.binary @fmha_fwd_kernel {fmha.manifest =
// OUTER: nested-module.mlir:[[#@LINE+3]]:5: error: {{.*}}stands in a nested builtin.module
module @inner {
  func.func @attention(%x: !t, %o: !t) {
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
    return
  }
}
