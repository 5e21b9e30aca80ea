// RUN: fmha-opt %s --allow-unregistered-dialect --fmha-raise-named --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fmha-opt %s --allow-unregistered-dialect --fmha-raise-named=from=onnx --split-input-file | FileCheck %s --check-prefix=ONNX

// A mask of i1 keeps scores; its last two dimensions are rows and keys.
// CHECK-LABEL: func.func @torch
// ONNX-LABEL: func.func @torch
// ONNX: torch.aten.scaled_dot_product_attention
// CHECK-NOT: torch.constant
func.func @torch(%q: !torch.vtensor<[2,8,?,64],bf16>, %k: !torch.vtensor<[2,8,?,64],bf16>, %m: !torch.vtensor<[?,?],i1>) -> !torch.vtensor<[2,8,?,64],bf16> {
  // CHECK: %[[Q:.*]] = "torch_c.to_builtin_tensor"(%arg0) : (!torch.vtensor<[2,8,?,64],bf16>) -> tensor<2x8x?x64xbf16>
  // CHECK: %[[QT:.*]] = fmha.transpose %[[Q]] [0, 2, 1, 3]
  // CHECK: %[[M:.*]] = "torch_c.to_builtin_tensor"(%arg2) : (!torch.vtensor<[?,?],i1>) -> tensor<?x?xi1>
  // CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<2x8x?x64xbf16>
  // CHECK: %[[ET:.*]] = fmha.transpose %[[E]] [0, 2, 1, 3]
  // CHECK: %[[O:.*]] = fmha.attention ins(%[[QT]], {{.*}} outs(%[[ET]] : tensor<2x?x8x64xbf16>) -> tensor<2x?x8x64xbf16> score(%[[S:.*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
  // CHECK:   %[[SEEN:.*]] = fmha.read %[[M]][%[[I]], %[[J]]]
  // CHECK:   arith.select %[[SEEN]], %[[S]], %{{.*}} : f32
  // CHECK: %[[R:.*]] = fmha.transpose %[[O]] [0, 2, 1, 3]
  // CHECK: "torch_c.from_builtin_tensor"(%[[R]]) : (tensor<2x8x?x64xbf16>) -> !torch.vtensor<[2,8,?,64],bf16>
  // CHECK-NOT: torch.aten
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %f = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %k, %m, %p, %f, %none, %f) : (!torch.vtensor<[2,8,?,64],bf16>, !torch.vtensor<[2,8,?,64],bf16>, !torch.vtensor<[2,8,?,64],bf16>, !torch.vtensor<[?,?],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,?,64],bf16>
  return %o : !torch.vtensor<[2,8,?,64],bf16>
}

// -----

// Conversions at both ends are folded, and the causal mask is aligned top-left.
// CHECK-LABEL: func.func @causal
func.func @causal(%q: tensor<4x5x64xf16>, %k: tensor<2x7x64xf16>) -> tensor<4x5x64xf16> {
  // CHECK-NOT: torch_c
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] output_shape [1, 5, 4, 64]
  // CHECK: fmha.attention {{.*}} {mask = #fmha.mask<causal_top_left>, scale = 5.000000e-01 : f64}
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] : tensor<1x4x5x64xf16> into tensor<4x5x64xf16>
  // CHECK-NOT: torch_c
  %qt = "torch_c.from_builtin_tensor"(%q) : (tensor<4x5x64xf16>) -> !torch.vtensor<[4,5,64],f16>
  %kt = "torch_c.from_builtin_tensor"(%k) : (tensor<2x7x64xf16>) -> !torch.vtensor<[2,7,64],f16>
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %s = "torch.constant.float"() {value = 0.5 : f64} : () -> !torch.float
  %t = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%qt, %kt, %kt, %none, %p, %t, %s, %t) : (!torch.vtensor<[4,5,64],f16>, !torch.vtensor<[2,7,64],f16>, !torch.vtensor<[2,7,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[4,5,64],f16>
  %r = "torch_c.to_builtin_tensor"(%o) : (!torch.vtensor<[4,5,64],f16>) -> tensor<4x5x64xf16>
  return %r : tensor<4x5x64xf16>
}

// -----

// CHECK-LABEL: func.func @tm_tensor
func.func @tm_tensor(%q: tensor<6x5x64xf16>, %k: tensor<6x7x64xf16>, %m: tensor<6x5x7xf16>, %e: tensor<6x5x64xf16>) -> tensor<6x5x64xf16> {
  // CHECK: fmha.attention {{.*}} {scale = 2.500000e-01 : f64}
  // CHECK:   fmha.read %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<6x5x7xf16>
  // CHECK:   arith.addf
  %o = "tm_tensor.attention"(%q, %k, %k, %m, %e) {operandSegmentSizes = array<i32: 4, 1>, scale = 0.25 : f64} : (tensor<6x5x64xf16>, tensor<6x7x64xf16>, tensor<6x7x64xf16>, tensor<6x5x7xf16>, tensor<6x5x64xf16>) -> tensor<6x5x64xf16>
  return %o : tensor<6x5x64xf16>
}

// -----

// Two loops of rows: the first is that of the query heads of a KV head. V has its columns before its keys, and is copied.
#q = affine_map<(b, g, m, v, k, n) -> (b, g, m, k)>
#k = affine_map<(b, g, m, v, k, n) -> (b, n, k)>
#v = affine_map<(b, g, m, v, k, n) -> (b, v, n)>
#s = affine_map<(b, g, m, v, k, n) -> ()>
#m = affine_map<(b, g, m, v, k, n) -> (g, n)>
#o = affine_map<(b, g, m, v, k, n) -> (b, g, m, v)>
// CHECK-LABEL: func.func @iree
func.func @iree(%q: tensor<2x3x?x64xf16>, %k: tensor<2x?x64xf16>, %v: tensor<2x64x?xf16>, %m: tensor<3x?xi1>, %e: tensor<2x3x?x64xf16>) -> tensor<2x3x?x64xf16> {
  // CHECK: linalg.transpose ins(%arg2 : tensor<2x64x?xf16>) {{.*}} permutation = [0, 2, 1]
  // CHECK: fmha.attention ins(%{{.*}} : tensor<2x?x3x64xf16>, tensor<2x?x1x64xf16>, tensor<2x?x1x64xf16>) {{.*}} score(%{{.*}}, %{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
  // CHECK:   arith.cmpi sge, %[[I]], %[[J]]
  // CHECK:   %[[G:.*]] = arith.remui %[[H]], %{{.*}} : index
  // CHECK:   fmha.read %arg3[%[[G]], %[[J]]] : tensor<3x?xi1>
  %c = arith.constant 0.25 : f16
  %o = "iree_linalg_ext.attention"(%q, %k, %v, %c, %m, %e) <{indexing_maps = [#q, #k, #v, #s, #m, #o]}> ({
  ^bb0(%x: f32):
    %i = "iree_linalg_ext.index"() {dim = 2 : i64} : () -> index
    %j = "iree_linalg_ext.index"() {dim = 5 : i64} : () -> index
    %b = arith.cmpi sge, %i, %j : index
    %h = arith.constant 0xFF800000 : f32
    %y = arith.select %b, %x, %h : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x3x?x64xf16>, tensor<2x?x64xf16>, tensor<2x64x?xf16>, f16, tensor<3x?xi1>, tensor<2x3x?x64xf16>) -> tensor<2x3x?x64xf16>
  return %o : tensor<2x3x?x64xf16>
}

// -----

// CHECK-LABEL: func.func @tenstorrent
func.func @tenstorrent(%q: tensor<2x8x5x64xbf16>, %k: tensor<2x4x7x64xbf16>) -> tensor<2x8x5x64xbf16> {
  // CHECK: fmha.attention {{.*}} {mask = #fmha.mask<causal_top_left>, scale = 1.000000e+00 : f64}
  %o = "stablehlo.composite"(%q, %k, %k) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {is_causal = true, scale = 1 : i64}, decomposition = @impl}> : (tensor<2x8x5x64xbf16>, tensor<2x4x7x64xbf16>, tensor<2x4x7x64xbf16>) -> tensor<2x8x5x64xbf16>
  return %o : tensor<2x8x5x64xbf16>
}

// -----

// The scale is a tensor, which the kernel reads.
// CHECK-LABEL: func.func @odml
// CHECK-SAME: %[[SCALE:[a-z0-9]*]]: tensor<f32>
func.func @odml(%scale: tensor<f32>, %q: tensor<2x?x8x64xbf16>, %m: tensor<1x1x?x?xbf16>) -> tensor<2x?x8x64xbf16> {
  // CHECK: fmha.attention ins(%arg1, %arg1, %arg1 : {{.*}} {scale = 1.000000e+00 : f64}
  // CHECK:   %[[F:.*]] = fmha.read %[[SCALE]][] : tensor<f32>
  // CHECK:   arith.mulf %{{.*}}, %[[F]] : f32
  // CHECK:   fmha.read %arg2[
  %o = "stablehlo.composite"(%q, %q, %q, %m, %scale) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<1x1x?x?xbf16>, tensor<f32>) -> tensor<2x?x8x64xbf16>
  return %o : tensor<2x?x8x64xbf16>
}

// -----

// LSE and an empty workspace; the window of 4 includes the row's key.
// CHECK-LABEL: func.func @cudnn
func.func @cudnn(%q: tensor<2x5x4x64xf16>, %ql: tensor<2xi32>, %kl: tensor<2xi32>) -> (tensor<2x4x5x64xf16>, tensor<2x4x5xf32>, tensor<0xui8>) {
  // CHECK: %[[O:.*]]:2 = fmha.attention ins(%arg0, %arg0, %arg0 : {{.*}} kv_lens(%arg2 : tensor<2xi32>) {{.*}} {mask = #fmha.mask<causal_top_left, left = 3>, scale = 1.250000e-01 : f64}
  // CHECK:   %[[ROWS:.*]] = fmha.read %arg1[
  // CHECK: %[[R:.*]] = fmha.transpose %[[O]]#0 [0, 2, 1, 3]
  // CHECK: return %[[R]], %[[O]]#1
  %o, %l, %w = "stablehlo.custom_call"(%q, %q, %q, %ql, %kl) <{call_target_name = "__cudnn$fmhaSoftmax", api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22PADDING_CAUSAL\22, \22sliding_window_length\22: 4, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x4x64xf16>, tensor<2x5x4x64xf16>, tensor<2x5x4x64xf16>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x4x5x64xf16>, tensor<2x4x5xf32>, tensor<0xui8>)
  %e = tensor.empty() : tensor<0xui8>
  return %o, %l, %e : tensor<2x4x5x64xf16>, tensor<2x4x5xf32>, tensor<0xui8>
}

// -----

// The past of other operands comes before the new keys, also as a result.
// CHECK-LABEL: func.func @onnx
// ONNX-LABEL: func.func @onnx
// ONNX-NOT: onnx.Attention
func.func @onnx(%q: tensor<2x5x128xf16>, %k: tensor<2x5x64xf16>, %p: tensor<2x1x?x64xf16>) -> (tensor<2x5x128xf16>, tensor<2x1x?x64xf16>) {
  // CHECK: tensor.insert_slice %arg2 into %{{.*}}[0, 0, 0, 0] [2, 1, %[[PAST:.*]], 64]
  // CHECK: %[[PRESENT:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, %[[PAST]], 0] [2, 1, 5, 64]
  // CHECK: fmha.attention {{.*}} {mask = #fmha.mask<causal>}
  // CHECK:   math.tanh
  // CHECK: %[[Y:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<2x5x2x64xf16> into tensor<2x5x128xf16>
  // CHECK: return %[[Y]], %[[PRESENT]]
  %none = "onnx.NoValue"() {value} : () -> none
  %y:4 = "onnx.Attention"(%q, %k, %k, %none, %p, %p) {is_causal = 1 : si64, q_num_heads = 2 : si64, kv_num_heads = 1 : si64, softcap = 3.0 : f32} : (tensor<2x5x128xf16>, tensor<2x5x64xf16>, tensor<2x5x64xf16>, none, tensor<2x1x?x64xf16>, tensor<2x1x?x64xf16>) -> (tensor<2x5x128xf16>, tensor<2x1x?x64xf16>, tensor<2x1x?x64xf16>, none)
  return %y#0, %y#1 : tensor<2x5x128xf16>, tensor<2x1x?x64xf16>
}

// -----

// Other composites and calls are not attention.
// CHECK-LABEL: func.func @others
func.func @others(%q: tensor<2xf16>) {
  // CHECK: stablehlo.composite
  %0 = "stablehlo.composite"(%q) <{name = "odml.rms_norm", decomposition = @impl}> : (tensor<2xf16>) -> tensor<2xf16>
  // CHECK: stablehlo.custom_call
  %1 = "stablehlo.custom_call"(%q) <{call_target_name = "other"}> : (tensor<2xf16>) -> tensor<2xf16>
  return
}
