// The pipeline runs on each nested module, but not on the outer one.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-nested-modules{pipeline=symbol-dce,cse})' | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-nested-modules)' | FileCheck %s --check-prefix=KEPT
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx)' --dump-pass-pipeline -o %t.mlir 2> %t.pipeline
// RUN: FileCheck %s --check-prefix=TEXT < %t.pipeline

// The textual form of the pass contains its pipeline.
// TEXT: fmha-nested-modules{pipeline=
// TEXT-SAME: fmha-serialize-kernels

// CHECK: func.func private @unused_of_root
// KEPT: func.func private @unused_of_root
func.func private @unused_of_root()

// CHECK: module @a {
// CHECK-NEXT: module @b {
// CHECK-NEXT: }
// CHECK-NEXT: }
// KEPT: @unused_of_b
// KEPT: @unused_of_a
module @a {
  module @b {
    func.func private @unused_of_b()
  }
  func.func private @unused_of_a()
}
