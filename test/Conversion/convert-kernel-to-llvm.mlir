// Arithmetic, math and branches of kernels become LLVM, with indices of 32 bits; the
// host's code is not touched.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernel-to-llvm))' | FileCheck %s

// CHECK-LABEL: func.func @host
// CHECK: arith.addi %{{.*}} : index
// CHECK: cf.br
func.func @host(%a: index) -> index {
  %0 = arith.addi %a, %a : index
  cf.br ^next
^next:
  return %0 : index
}

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK: llvm.func @index(%[[X:.*]]: i32)
  llvm.func @index(%x: i32) {
    %i = arith.index_castui %x : i32 to index
    // CHECK: %[[N:.*]] = llvm.add %[[X]], %[[X]] : i32
    %n = arith.addi %i, %i : index
    // x / 128, rounded up, has no LLVM op; the minimum has, and is one instruction.
    %c128 = arith.constant 128 : index
    // CHECK: llvm.udiv %{{.*}}, %{{.*}} : i32
    // CHECK-NOT: arith.ceildivui
    %d = arith.ceildivui %n, %c128 : index
    // CHECK: llvm.intr.smin(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
    // CHECK-NOT: llvm.select
    %m = arith.minsi %d, %n : index
    %c = arith.cmpi slt, %m, %n : index
    // CHECK: llvm.cond_br
    cf.cond_br %c, ^a, ^a
  ^a:
    llvm.return
  }

  // CHECK: llvm.func @floats(%[[V:.*]]: vector<4xf32>)
  llvm.func @floats(%v: vector<4xf32>) {
    // CHECK: llvm.intr.exp2(%[[V]])
    %0 = math.exp2 %v : vector<4xf32>
    // CHECK: llvm.intr.fma(
    %1 = math.fma %0, %v, %v : vector<4xf32>
    // CHECK: llvm.fptrunc {{.*}} vector<4xf32> to vector<4xbf16>
    %2 = arith.truncf %1 : vector<4xf32> to vector<4xbf16>
    // CHECK-NOT: {{arith|math|cf}}.
    // CHECK: llvm.return
    llvm.return
  }
}
