// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --cse | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func.func @ops
// CHECK:         %[[MAP:.*]] = fmha.tensor_map %{{.*}} sizes[%{{.*}}, %{{.*}}] strides[%{{.*}}] {box = array<i32: 64, 128>, element = bf16, swizzle = 3 : i32}
// CHECK:         fmha.tensor_map %{{.*}} sizes[%{{.*}}] strides[] {box = array<i32: 256>, element = f32, swizzle = 0 : i32}
// CHECK:         fmha.multiprocessor_count
// CHECK:         fmha.compute_capability

// Equal maps are encoded once.
// CSE-LABEL: func.func @ops
// CSE-COUNT-2: fmha.tensor_map
// CSE-NOT:     fmha.tensor_map
func.func @ops(%a: index, %n: index) -> (!llvm.array<16 x i64>, !llvm.array<16 x i64>, !llvm.array<16 x i64>, index, index) {
  %map = fmha.tensor_map %a sizes[%n, %n] strides[%n] {box = array<i32: 64, 128>, element = bf16, swizzle = 3 : i32}
  %same = fmha.tensor_map %a sizes[%n, %n] strides[%n] {box = array<i32: 64, 128>, element = bf16, swizzle = 3 : i32}
  %row = fmha.tensor_map %a sizes[%n] strides[] {box = array<i32: 256>, element = f32, swizzle = 0 : i32}
  %sms = fmha.multiprocessor_count
  %capability = fmha.compute_capability
  return %map, %same, %row, %sms, %capability : !llvm.array<16 x i64>, !llvm.array<16 x i64>, !llvm.array<16 x i64>, index, index
}
