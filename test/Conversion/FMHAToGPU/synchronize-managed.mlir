// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(gpu-async-region,fmha-synchronize-managed),gpu-to-llvm)' | FileCheck %s --check-prefix=LLVM
// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(gpu-async-region,fmha-synchronize-managed))' | FileCheck %s

// CHECK-LABEL: func.func @managed
// CHECK:         %[[TOKEN:.*]] = gpu.wait async
// CHECK:         %[[M:.*]] = gpu.alloc host_shared () : memref<64xf32>
// CHECK:         %{{.*}}, %[[NEXT:.*]] = gpu.alloc async [%[[TOKEN]]] () : memref<64xf32>

// LLVM-LABEL: llvm.func @managed
// LLVM:         llvm.call @mgpuMemAlloc
// LLVM-NOT:     gpu.alloc
// LLVM-NOT:     unrealized_conversion_cast
func.func @managed() {
  %m = gpu.alloc host_shared () : memref<64xf32>
  %d = gpu.alloc () : memref<64xf32>
  gpu.memcpy %d, %m : memref<64xf32>, memref<64xf32>
  gpu.dealloc %d : memref<64xf32>
  gpu.dealloc %m : memref<64xf32>
  return
}
