// The attribute is for inline PTX alone.

// RUN: not fmha-opt %s --tcgen05-to-ptx 2>&1 | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_101a">] {
  llvm.func @store(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    // CHECK: error: expected "tcgen05.convergent" on an llvm.inline_asm, got "tcgen05.convergent" on llvm.store
    llvm.store %one, %out {tcgen05.convergent} : i32, !llvm.ptr<1>
    llvm.return
  }
}
