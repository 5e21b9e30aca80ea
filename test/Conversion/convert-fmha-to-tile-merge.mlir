// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_103a' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_103a})' | FileCheck %s --check-prefix=PTX

// A merge becomes a kernel of plain threads, with a launch manifest of its own.

// CHECK: fmha.merge {{.*}}fmha.kernel = @fmha_merge_kernel::@fmha_merge, target = "sm_103a"
// CHECK: gpu.module @fmha_merge_kernel
// CHECK: llvm.func @fmha_merge(
// CHECK-SAME: fmha.merge = {head_dim = 64 : i64, lse, output = "f16"}
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// Of four warps each has a row.
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// The maximum of the maxima, the sum of the weighted sums, and per four columns that of the weighted outputs.
// CHECK: scf.for
// CHECK: arith.maxnumf
// CHECK: scf.for
// CHECK: math.exp2
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: arith.truncf {{.*}} : vector<4xf32> to vector<4xf16>
// CHECK: llvm.store {{.*}} {alignment = 8 : i64}

// PTX: gpu.binary @fmha_merge_kernel
// PTX-SAME: \22kernel\22: \22fmha_merge\22
// PTX-SAME: \22out_dtype\22: \22f16\22
// PTX-SAME: .target sm_103a
// PTX-SAME: .visible .entry fmha_merge(
// PTX-SAME: ld.global.v{{[24]}}
func.func @merge(%p: memref<?x1x?x4x64xf32>, %m: memref<?x1x4x?xf32>, %s: memref<?x1x4x?xf32>, %o: memref<1x?x4x64xf16>, %l: memref<1x4x?xf32>) {
  fmha.merge ins(%p, %m, %s : memref<?x1x?x4x64xf32>, memref<?x1x4x?xf32>, memref<?x1x4x?xf32>)
      outs(%o, %l : memref<1x?x4x64xf16>, memref<1x4x?xf32>)
  return
}
