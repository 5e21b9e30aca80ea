// LLVM does not copy tcgen05.ld.red to the paths that lead to it, since the whole warp executes it: without the attribute
// it threads both paths through the block.

// RUN: fmha-opt %s --tcgen05-to-ptx | tr ';' '\n' | FileCheck %s
// CHECK-COUNT-1: tcgen05.ld.red
// CHECK-NOT: tcgen05.ld.red
// RUN: fmha-opt %s --convert-tcgen05-to-nvvm | sed 's/{tcgen05.convergent}//' > %t.mlir
// RUN: fmha-opt %t.mlir --tcgen05-to-ptx | tr ';' '\n' | FileCheck %s --check-prefix=WITHOUT
// WITHOUT-COUNT-2: tcgen05.ld.red

gpu.module @kernels [#nvvm.target<chip = "sm_101a">] {
  llvm.func @threads(%t: !llvm.ptr<6>, %out: !llvm.ptr<1>, %p: i1) attributes {nvvm.kernel} {
    %yes = llvm.mlir.constant(1 : i1) : i1
    %no = llvm.mlir.constant(0 : i1) : i1
    %one = llvm.mlir.constant(1 : i32) : i32
    %two = llvm.mlir.constant(2 : i32) : i32
    llvm.cond_br %p, ^a, ^b
  ^a:
    llvm.store volatile %one, %out : i32, !llvm.ptr<1>
    llvm.br ^join(%yes : i1)
  ^b:
    llvm.store volatile %two, %out : i32, !llvm.ptr<1>
    llvm.br ^join(%no : i1)
  ^join(%q: i1):
    %v, %m = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
    llvm.cond_br %q, ^c, ^d
  ^c:
    llvm.store volatile %m, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^d:
    llvm.store volatile %two, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }
}
