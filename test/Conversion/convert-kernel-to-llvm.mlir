// What is left of our kernels becomes LLVM, with indices of 32 bits; other code of the
// module file is not touched.

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

// Another kernel's index may need its 64 bits.
// CHECK-LABEL: gpu.module @other
// CHECK: arith.index_castui %{{.*}} : i64 to index
gpu.module @other {
  llvm.func @f(%x: i64) -> i64 {
    %i = arith.index_castui %x : i64 to index
    %n = arith.addi %i, %i : index
    %r = arith.index_castui %n : index to i64
    llvm.return %r : i64
  }
}

// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: {{arith|math|cf|scf|vector}}.
gpu.module @kernels {
  // CHECK: llvm.func @index(%[[X:[^:]*]]: i32)
  llvm.func @index(%x: i32) -> i32 attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} {
    %i = arith.index_castui %x : i32 to index
    // CHECK: %[[N:.*]] = llvm.add %[[X]], %[[X]] : i32
    %n = arith.addi %i, %i : index
    // n / 128, rounded up, has no LLVM op; the minimum has, and is one instruction.
    %c128 = arith.constant 128 : index
    // CHECK: llvm.udiv %{{.*}}, %{{.*}} : i32
    %d = arith.ceildivui %n, %c128 : index
    // CHECK: %[[M:.*]] = llvm.intr.smin(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
    // CHECK-NOT: llvm.zext
    // CHECK: llvm.return %[[M]] : i32
    %m = arith.minsi %d, %i : index
    %r = arith.index_castui %m : index to i32
    llvm.return %r : i32
  }

  // CHECK: llvm.func @floats(%[[V:[^:]*]]: vector<4xf32>)
  llvm.func @floats(%v: vector<4xf32>) -> vector<4xbf16> attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} {
    // CHECK: %[[E:.*]] = llvm.intr.exp2(%[[V]])
    %0 = math.exp2 %v : vector<4xf32>
    // CHECK: %[[F:.*]] = llvm.intr.fma(%[[E]], %[[V]], %[[V]])
    %1 = math.fma %0, %v, %v : vector<4xf32>
    // CHECK: llvm.fptrunc %[[F]] : vector<4xf32> to vector<4xbf16>
    %2 = arith.truncf %1 : vector<4xf32> to vector<4xbf16>
    llvm.return %2 : vector<4xbf16>
  }

  // A number that goes through vectors is used where it was put in.
  // CHECK: llvm.func @elements(%[[A:[^:]*]]: f32, %[[B:[^:]*]]: f32)
  // CHECK-NEXT: %[[D:.*]] = llvm.fsub %[[B]], %[[A]] : f32
  // CHECK-NEXT: llvm.return %[[D]] : f32
  llvm.func @elements(%a: f32, %b: f32) -> f32 attributes {fmha.schedule = #fmha.schedule<target = "sm_90a">} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %p = llvm.mlir.poison : vector<2xf32>
    %u = llvm.insertelement %a, %p[%c0 : i32] : vector<2xf32>
    %v = llvm.insertelement %b, %u[%c1 : i32] : vector<2xf32>
    %w = llvm.shufflevector %v, %v [1, 2] : vector<2xf32>
    %0 = llvm.extractelement %w[%c0 : i32] : vector<2xf32>
    %1 = llvm.extractelement %w[%c1 : i32] : vector<2xf32>
    %d = llvm.fsub %0, %1 : f32
    llvm.return %d : f32
  }
}
