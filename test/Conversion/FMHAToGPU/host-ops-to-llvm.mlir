// Host ops become calls of libfmha_mgpu.so in every upstream conversion to LLVM.
// RUN: fmha-opt %s --convert-to-llvm | FileCheck %s
// RUN: fmha-opt %s --gpu-to-llvm --convert-to-llvm --reconcile-unrealized-casts | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --convert-to-llvm --reconcile-unrealized-casts | FileCheck %s

// CHECK: llvm.func @mgpuFmhaEncodeTensorMap(!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32)

// The memory of a map in a loop is reserved once, at the start of the function.
// CHECK-LABEL: llvm.func @map
// CHECK:       %[[MAP:.*]] = llvm.alloca {{.*}} x !llvm.array<16 x i64> {alignment = 64 : i64}
// CHECK-NOT:   llvm.alloca
// CHECK:       llvm.cond_br
// CHECK-NOT:   llvm.alloca
// CHECK:       %[[BF16:.*]] = llvm.mlir.constant(9 : i32)
// CHECK:       llvm.call @mgpuFmhaEncodeTensorMap(%[[MAP]], %[[BF16]],
// CHECK:       llvm.load %[[MAP]] : !llvm.ptr -> !llvm.array<16 x i64>
func.func @map(%address: index, %size: index, %stride: index, %n: index) {
  %c0 = arith.constant 0 : index
  cf.br ^bb1(%c0 : index)
^bb1(%i: index):
  %more = arith.cmpi ult, %i, %n : index
  cf.cond_br %more, ^bb2, ^bb3
^bb2:
  %map = fmha.tensor_map %address sizes[%size, %size] strides[%stride] {box = array<i32: 64, 128>, element = bf16, swizzle = 3 : i32}
  func.call @use(%map) : (!llvm.array<16 x i64>) -> ()
  cf.br ^bb1(%size : index)
^bb3:
  return
}
func.func private @use(!llvm.array<16 x i64>)

// CHECK-LABEL: llvm.func @queries
// CHECK:       %[[COUNT:.*]] = llvm.call @mgpuFmhaMultiprocessorCount() : () -> i32
// CHECK:       llvm.sext %[[COUNT]] : i32 to i64
// CHECK:       llvm.call @mgpuFmhaComputeCapability() : () -> i32
func.func @queries() -> (index, index) {
  %sms = fmha.multiprocessor_count
  %capability = fmha.compute_capability
  return %sms, %capability : index, index
}
