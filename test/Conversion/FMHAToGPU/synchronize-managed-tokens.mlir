// RUN: fmha-opt %s --pass-pipeline='builtin.module(func.func(fmha-synchronize-managed))' | FileCheck %s

// Several tokens become one, none becomes a new one; asynchronous memory stays.
// CHECK-LABEL: func.func @tokens
// CHECK-SAME:    %[[A:[a-z0-9]+]]: !gpu.async.token, %[[B:[a-z0-9]+]]: !gpu.async.token
// CHECK:         %[[BOTH:.*]] = gpu.wait async [%[[A]], %[[B]]]
// CHECK-NEXT:    gpu.alloc host_shared () : memref<64xf32>
// CHECK-NEXT:    %[[NEW:.*]] = gpu.wait async
// CHECK-NEXT:    gpu.alloc host_shared () : memref<32xf32>
// CHECK-NEXT:    %{{.*}}, %[[D:.*]] = gpu.alloc async [%[[A]]] () : memref<16xf32>
// CHECK-NEXT:    gpu.wait [%[[BOTH]], %[[NEW]], %[[D]]]
func.func @tokens(%a: !gpu.async.token, %b: !gpu.async.token) {
  %m, %t = gpu.alloc async [%a, %b] host_shared () : memref<64xf32>
  %n, %u = gpu.alloc async host_shared () : memref<32xf32>
  %d, %v = gpu.alloc async [%a] () : memref<16xf32>
  gpu.wait [%t, %u, %v]
  return
}
