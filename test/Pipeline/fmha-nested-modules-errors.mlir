// RUN: not fmha-opt %s --pass-pipeline='builtin.module(fmha-nested-modules{pipeline=no-such-pass})' 2>&1 | FileCheck %s
// RUN: not fmha-opt %s --pass-pipeline='builtin.module(fmha-nested-modules{pipeline=fmha-plan-schedule{target=sm_90}})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FAILS

// CHECK: 'no-such-pass' does not refer to a registered pass or pass pipeline
// CHECK: expected a pipeline for builtin.module, got "no-such-pass"

func.func private @beside()

module @nested {
  func.func @attention(%x: memref<1x256x2x64xf16>, %o: memref<1x256x2x64xf16>) {
    // FAILS: fmha-nested-modules-errors.mlir:[[#@LINE+1]]:5: error: {{.*}}sm_90
    fmha.attention ins(%x, %x, %x : memref<1x256x2x64xf16>, memref<1x256x2x64xf16>, memref<1x256x2x64xf16>)
        outs(%o : memref<1x256x2x64xf16>)
    return
  }
}
