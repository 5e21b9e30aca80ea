// RUN: fmha-opt %s --allow-unregistered-dialect --fmha-raise-named=compute=keep --split-input-file --verify-diagnostics | FileCheck %s

// Ops that their dialects reject, or that have something the readers do not know. They parse, since the dialects are not loaded.
// CHECK-NOT: fmha.attention

func.func @f0(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %m: !torch.vtensor<[5,5],ui8>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a mask of i1, or of floats that are added, got tensor<5x5xi8>; compare or convert it first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[5,5],ui8>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f1(%q: !torch.vtensor<[2,-5,8,64],f16>, %k: !torch.vtensor<[2,-5,8,64],f16>, %v: !torch.vtensor<[2,-5,8,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected ranked tensors, got !torch.vtensor<[2,-5,8,64],f16>}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,-5,8,64],f16>, !torch.vtensor<[2,-5,8,64],f16>, !torch.vtensor<[2,-5,8,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,-5,8,64],f16>
  return
}

// -----

func.func @f2(%a0: tensor<2x5x8x64xf16, "rows">, %a1: tensor<2x5x8x64xf16, "rows">, %a2: tensor<2x5x8x64xf16, "rows">) {
  // expected-remark @below {{expected tensors without an encoding, got "rows"; drop the encoding first}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16, "rows">, tensor<2x5x8x64xf16, "rows">, tensor<2x5x8x64xf16, "rows">) -> tensor<2x5x8x64xf16, "rows">
  return
}

// -----

func.func @f3(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected attributes among scale, logit_cap, got window; drop the attribute or give it such a value}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "odml.scaled_dot_product_attention", composite_attributes = {window = 16 : i64}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f4(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected logit_cap that f32 has, above 0, got -2.000000}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "odml.scaled_dot_product_attention", composite_attributes = {logit_cap = -2.0 : f32}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f5(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected scale that is a finite number, got 0x7FC00000 : f32}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "odml.scaled_dot_product_attention", composite_attributes = {scale = 0x7FC00000 : f32}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f6(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<1x1x5x5xf16>, %a4: tensor<?xf32>) {
  // expected-remark @below {{expected a scale of one element, got tensor<?xf32> after 4 operands}}
  %o = "stablehlo.composite"(%a0, %a1, %a2, %a3, %a4) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<1x1x5x5xf16>, tensor<?xf32>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f7(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<1x1x5x5xi32>) {
  // expected-remark @below {{expected a mask of i1, or of floats that are added, got tensor<1x1x5x5xi32>}}
  %o = "stablehlo.composite"(%a0, %a1, %a2, %a3) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<1x1x5x5xi32>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f8(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected is_causal that is a finite number, got "true"}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {is_causal = "true"}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f9(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected is_causal that is a finite number, got unit}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {is_causal}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f10(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected attributes among is_causal, scale, got dropout_p}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {dropout_p = 0.5 : f32}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f11(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with a number dropout_rate, got another type}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: \220.5\22, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f12(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with an integer sliding_window_length, got another type}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 1.5, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f13(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with a boolean is_paged_attention, got another type}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22is_paged_attention\22: 1, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f14(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with an integer max_seg_per_batch, got another type}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: \222\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f15(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with dimension numbers}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm2_dot_dimension_numbers\22: {\22rhs_contracting_dimensions\22: [\223\22]}, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f16(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a result of shape 2x8x5, got tensor<9x9x9xf32>}}
  %o:3 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<9x9x9xf32>, tensor<0xui8>)
  return
}

// -----

func.func @f17(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<2xi32>, %a4: tensor<7xi32>) {
  // expected-remark @below {{expected lengths for each sequence of the batch, got 7 and 2}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2, %a3, %a4) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22PADDING\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2xi32>, tensor<7xi32>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f18(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected 1 to 4 results, got 5}}
  %o:5 = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>)
  return
}

// -----

func.func @f19(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected attributes among is_causal, kv_num_heads}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {transpose_q = 1 : si64} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f20(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected softcap that is a finite number, got "50"}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {softcap = "50"} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f21(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected softcap that f32 has, above 0, got 0.000000}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {softcap = 1.0e-60 : f64} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f22(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: tensor<5x5xi32>) {
  // expected-remark @below {{expected a mask of i1, or of floats that are added, got tensor<5x5xi32>}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<5x5xi32>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f23(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: none, %a5: none, %a6: tensor<2xsi64>) {
  // expected-remark @below {{expected nonpad_kv_seqlen of i64 per sequence, got tensor<2xsi64> among the operands}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5, %a6) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, none, none, tensor<2xsi64>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f24(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: none, %a5: none, %a6: tensor<5xi64>) {
  // expected-remark @below {{expected lengths for each sequence of the batch, got 5 and 2}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5, %a6) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, none, none, tensor<5xi64>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f25(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: tensor<3x5x16x32xf16>, %a5: tensor<3x5x16x32xf16>) {
  // expected-remark @below {{expected a past of rank 4 that has the type and the batch, heads and head dim of K and V, got}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, tensor<3x5x16x32xf16>, tensor<3x5x16x32xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f26(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: tensor<2x8x9223372036854775807x64xf16>, %a5: tensor<2x8x9223372036854775807x64xf16>) {
  // expected-remark @below {{expected a past of rank 4 that has the type and the batch, heads and head dim of K and V, got}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, tensor<2x8x9223372036854775807x64xf16>, tensor<2x8x9223372036854775807x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f27(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a result of shape 2x8x5x64, got tensor<2x8x9x64xf16>}}
  %o:3 = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<2x8x9x64xf16>, tensor<2x8x5x64xf16>)
  "test.use"(%o#1) : (tensor<2x8x9x64xf16>) -> ()
  return
}

// -----

func.func @f28(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a cache of the type of K and V, got tensor<2x8x5x64xf32>}}
  %o:3 = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf32>, tensor<2x8x5x64xf16>)
  "test.use"(%o#1) : (tensor<2x8x5x64xf32>) -> ()
  return
}

// -----

func.func @f29(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got a result that is no score}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "my.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f30(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got an index of other types}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.index"() {dim = 1 : i64} : () -> ()
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f31(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got arith.divsi}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %i = "iree_linalg_ext.index"() {dim = 1 : i64} : () -> index
    %zero = arith.constant 0 : index
    %d = arith.divsi %i, %zero : index
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

// No callee.
func.func @f33(%q: tensor<2x5x8x64xf16>) {
  %0 = "stablehlo.custom_call"(%q, %q, %q) <{name = "__cudnn$fmhaSoftmax"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @tm_scale(%q: tensor<6x5x64xf16>) {
  // expected-remark @below {{expected scale that is a finite number, got "one"}}
  %o = "tm_tensor.attention"(%q, %q, %q, %q) {scale = "one"} : (tensor<6x5x64xf16>, tensor<6x5x64xf16>, tensor<6x5x64xf16>, tensor<6x5x64xf16>) -> tensor<6x5x64xf16>
  return
}

// -----

func.func @tm_other(%q: tensor<6x5x64xf16>) {
  // expected-remark @below {{expected attributes among operandSegmentSizes, scale, got is_causal}}
  %o = "tm_tensor.attention"(%q, %q, %q, %q) {is_causal = true} : (tensor<6x5x64xf16>, tensor<6x5x64xf16>, tensor<6x5x64xf16>, tensor<6x5x64xf16>) -> tensor<6x5x64xf16>
  return
}
