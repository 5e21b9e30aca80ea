// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --one-shot-bufferize=bufferize-function-boundaries | FileCheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @dense
// CHECK: fmha.append ins(%{{.*}}, %{{.*}} : memref<?x1x8x128xbf16>, memref<?x1x8x64xbf16>) kv_lens(%{{.*}} : memref<?xi32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : memref<?x4096x8x128xbf16>, memref<?x4096x8x64xbf16>) {target = "sm_90a"}
func.func @dense(%k: memref<?x1x8x128xbf16>, %v: memref<?x1x8x64xbf16>, %lens: memref<?xi32>,
                 %keys: memref<?x4096x8x128xbf16>, %values: memref<?x4096x8x64xbf16>) {
  fmha.append ins(%k, %v : memref<?x1x8x128xbf16>, memref<?x1x8x64xbf16>) kv_lens(%lens : memref<?xi32>)
      outs(%keys, %values : memref<?x4096x8x128xbf16>, memref<?x4096x8x64xbf16>) {target = "sm_90a"}
  return
}

// The caches of keys and values are slices of one buffer.
// CHECK-LABEL: func.func @slices
// CHECK: fmha.append {{.*}} block_tables(%{{.*}} : memref<?x?xi32>) outs(
func.func @slices(%k: memref<2x3x8x64xf16, strided<[?, ?, 192, 1], offset: ?>>, %lens: memref<2xi32>, %pages: memref<?x?xi32>,
                  %cache: memref<?x32x8x64xf16>) {
  %keys = memref.subview %cache[0, 0, 0, 0] [9, 16, 8, 64] [1, 1, 1, 1] : memref<?x32x8x64xf16> to memref<9x16x8x64xf16, strided<[16384, 512, 64, 1]>>
  %values = memref.subview %cache[0, 16, 0, 0] [9, 16, 8, 64] [1, 1, 1, 1] : memref<?x32x8x64xf16> to memref<9x16x8x64xf16, strided<[16384, 512, 64, 1], offset: 8192>>
  fmha.append ins(%k, %k : memref<2x3x8x64xf16, strided<[?, ?, 192, 1], offset: ?>>, memref<2x3x8x64xf16, strided<[?, ?, 192, 1], offset: ?>>)
      kv_lens(%lens : memref<2xi32>) block_tables(%pages : memref<?x?xi32>)
      outs(%keys, %values : memref<9x16x8x64xf16, strided<[16384, 512, 64, 1]>>, memref<9x16x8x64xf16, strided<[16384, 512, 64, 1], offset: 8192>>)
  return
}

// Caches are updated in place; the result of a rotation of queries needs no old contents.
// CHECK-LABEL: func.func @rotary
// CHECK: fmha.append {{.*}} rotary interleaved(%{{.*}}, %{{.*}} : tensor<50x16xf32>, tensor<50x16xf32>) query(%{{[a-z0-9]*}} : tensor<2x3x4x64xf16>)
// CHECK-SAME: query_out(%{{.*}} : tensor<2x3x4x64xf16>) -> tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>, tensor<2x3x4x64xf16>
// BUFFERS-LABEL: func.func @rotary
// BUFFERS-SAME: %[[K:[a-z0-9]+]]: memref<9x16x2x64xf16, strided{{[^%]*}}, %[[V:[a-z0-9]+]]: memref<9x16x2x64xf16
// BUFFERS: %[[R:.*]] = memref.alloc()
// BUFFERS-NOT: memref.copy
// BUFFERS: fmha.append {{.*}} outs(%[[K]], %[[V]] : {{.*}} query_out(%[[R]] :
// BUFFERS-NOT: memref.copy
// BUFFERS: return %[[K]], %[[V]], %[[R]]
func.func @rotary(%keys: tensor<9x16x2x64xf16>, %values: tensor<9x16x2x64xf16>, %k: tensor<2x3x2x64xf16>, %v: tensor<2x3x2x64xf16>,
                  %lens: tensor<2xi32>, %pages: tensor<2x4xi32>, %cos: tensor<50x16xf32>, %sin: tensor<50x16xf32>, %q: tensor<2x3x4x64xf16>)
    -> (tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>, tensor<2x3x4x64xf16>) {
  %empty = tensor.empty() : tensor<2x3x4x64xf16>
  %r:3 = fmha.append ins(%k, %v : tensor<2x3x2x64xf16>, tensor<2x3x2x64xf16>) kv_lens(%lens : tensor<2xi32>) block_tables(%pages : tensor<2x4xi32>)
      rotary interleaved(%cos, %sin : tensor<50x16xf32>, tensor<50x16xf32>) query(%q : tensor<2x3x4x64xf16>)
      outs(%keys, %values : tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>) query_out(%empty : tensor<2x3x4x64xf16>)
      -> tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>, tensor<2x3x4x64xf16>
  return %r#0, %r#1, %r#2 : tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>, tensor<2x3x4x64xf16>
}

// The old contents are read afterwards: the new ones go to a copy.
// BUFFERS-LABEL: func.func @old_contents
// BUFFERS: memref.copy
// BUFFERS: fmha.append
func.func @old_contents(%keys: tensor<1x8x2x64xf16>, %values: tensor<1x8x2x64xf16>, %k: tensor<1x1x2x64xf16>, %lens: tensor<1xi32>)
    -> (tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>) {
  %r:2 = fmha.append ins(%k, %k : tensor<1x1x2x64xf16>, tensor<1x1x2x64xf16>) kv_lens(%lens : tensor<1xi32>)
      outs(%keys, %values : tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>
  return %keys, %r#0 : tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>
}
