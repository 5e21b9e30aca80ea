// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// What is written besides, each alone and all together.

// CHECK-LABEL: func.func @all
// CHECK: fmha.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%[[O:.*]], %[[L:.*]] : tensor<1x?x4x64xf32>, tensor<1x4x?xf32>) row_max(%[[M:.*]] : tensor<1x4x?xf32>) row_sum(%[[S:.*]] : tensor<1x4x?xf32>) {unnormalised} -> tensor<1x?x4x64xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
func.func @all(%q: tensor<1x?x4x64xbf16>, %k: tensor<1x?x2x64xbf16>, %out: tensor<1x?x4x64xf32>, %row: tensor<1x4x?xf32>)
    -> (tensor<1x?x4x64xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>) {
  %o, %l, %m, %s = fmha.attention
      ins(%q, %k, %k : tensor<1x?x4x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      outs(%out, %row : tensor<1x?x4x64xf32>, tensor<1x4x?xf32>)
      row_max(%row : tensor<1x4x?xf32>) row_sum(%row : tensor<1x4x?xf32>) {unnormalised}
      -> tensor<1x?x4x64xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
  return %o, %l, %m, %s : tensor<1x?x4x64xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
}

// CHECK-LABEL: func.func @sum_alone
// CHECK: outs(%{{.*}} : memref<1x?x4x64xf16>) row_sum(%{{.*}} : memref<1x4x?xf32>)
func.func @sum_alone(%q: memref<1x?x4x64xf16>, %k: memref<1x?x2x64xf16>, %out: memref<1x?x4x64xf16>, %s: memref<1x4x?xf32>) {
  fmha.attention ins(%q, %k, %k : memref<1x?x4x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>)
      outs(%out : memref<1x?x4x64xf16>) row_sum(%s : memref<1x4x?xf32>)
  return
}
