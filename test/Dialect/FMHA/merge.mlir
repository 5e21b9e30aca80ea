// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --one-shot-bufferize=bufferize-function-boundaries | FileCheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @plain
// CHECK: fmha.merge ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x1x?x4x64xf32>, memref<4x1x4x?xf32>, memref<4x1x4x?xf32>) outs(%{{.*}} : memref<1x?x4x64xbf16>)
func.func @plain(%o: memref<4x1x?x4x64xf32>, %m: memref<4x1x4x?xf32>, %s: memref<4x1x4x?xf32>, %out: memref<1x?x4x64xbf16>) {
  fmha.merge ins(%o, %m, %s : memref<4x1x?x4x64xf32>, memref<4x1x4x?xf32>, memref<4x1x4x?xf32>)
      outs(%out : memref<1x?x4x64xbf16>)
  return
}

// CHECK-LABEL: func.func @all
// CHECK: fmha.merge ins({{.*}}) sink(%{{.*}} : tensor<4xf32>) outs(%{{.*}}, %{{.*}} : tensor<2x7x4x64xf32>, tensor<2x4x7xf32>) row_max(%{{.*}} : tensor<2x4x7xf32>) row_sum(%{{.*}} : tensor<2x4x7xf32>) {target = "sm_103a", unnormalised} ->
// Destinations are not read: nothing is copied into the buffers.
// BUFFERS-LABEL: func.func @all
// BUFFERS-NOT: memref.copy
// BUFFERS: fmha.merge {{.*}} {target = "sm_103a", unnormalised}
// BUFFERS-NOT: ->
func.func @all(%o: tensor<?x2x7x4x64xf32>, %m: tensor<?x2x4x7xf32>, %s: tensor<?x2x4x7xf32>, %sink: tensor<4xf32>)
    -> (tensor<2x7x4x64xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>) {
  %out = tensor.empty() : tensor<2x7x4x64xf32>
  %a = tensor.empty() : tensor<2x4x7xf32>
  %b = tensor.empty() : tensor<2x4x7xf32>
  %c = tensor.empty() : tensor<2x4x7xf32>
  %r:4 = fmha.merge ins(%o, %m, %s : tensor<?x2x7x4x64xf32>, tensor<?x2x4x7xf32>, tensor<?x2x4x7xf32>) sink(%sink : tensor<4xf32>)
      outs(%out, %a : tensor<2x7x4x64xf32>, tensor<2x4x7xf32>) row_max(%b : tensor<2x4x7xf32>) row_sum(%c : tensor<2x4x7xf32>)
      {unnormalised, target = "sm_103a"} -> tensor<2x7x4x64xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>
  return %r#0, %r#1, %r#2, %r#3 : tensor<2x7x4x64xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>, tensor<2x4x7xf32>
}
