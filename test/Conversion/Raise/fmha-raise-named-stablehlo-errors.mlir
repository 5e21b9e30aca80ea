// RUN: fmha-opt %s --allow-unregistered-dialect --fmha-raise-named=compute=keep --split-input-file --verify-diagnostics | FileCheck %s

// An op that is refused stays as it is.
// CHECK-NOT: fmha.attention

func.func @f44(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected 3 or 4 operands and a result, got 2 operands}}
  %o = "stablehlo.composite"(%a0, %a1) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f45(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<8x8xf16>) {
  // expected-remark @below {{expected a mask or is_causal, got both}}
  %o = "stablehlo.composite"(%a0, %a1, %a2, %a3) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {is_causal = true}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<8x8xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f46(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected scale that is a finite number, got "one"}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "tenstorrent.scaled_dot_product_attention", composite_attributes = {scale = "one"}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f47(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<2x5x8x64xf16>, %a4: tensor<2x5x8x64xf16>, %a5: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected 3 to 5 operands and a result, got 6 operands}}
  %o = "stablehlo.composite"(%a0, %a1, %a2, %a3, %a4, %a5) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f48(%a0: tensor<5x8x64xf16>, %a1: tensor<5x8x64xf16>, %a2: tensor<5x8x64xf16>) {
  // expected-remark @below {{expected a tensor of rank 4, got rank 3}}
  %o = "stablehlo.composite"(%a0, %a1, %a2) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<5x8x64xf16>, tensor<5x8x64xf16>, tensor<5x8x64xf16>) -> tensor<5x8x64xf16>
  return
}

// -----

func.func @f49(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<1x1x5x5xf16>, %a4: tensor<2xf32>) {
  // expected-remark @below {{expected a scale of one element, got tensor<2xf32> after 4 operands}}
  %o = "stablehlo.composite"(%a0, %a1, %a2, %a3, %a4) <{name = "odml.scaled_dot_product_attention", composite_attributes = {}, decomposition = @impl}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<1x1x5x5xf16>, tensor<2xf32>) -> tensor<2x5x8x64xf16>
  return
}

// -----

func.func @f50(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with JSON in a string, got none; emit the call as JAX does}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f51(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with JSON, got}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f52(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with cudnn_fmha_backend_config, got none}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f53(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with fmha_scale, got none}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f54(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with dimension numbers of [batch, length, heads, dim] or [batch, heads, length, dim], got others}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\221\22, \222\22], \22rhs_batch_dimensions\22: [\221\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f55(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a backend_config with one sequence per batch and no pages, got others}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 2, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f56(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected no dropout, got a probability of 0.100000}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.1, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f57(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected mask_type NO_MASK, PADDING, CAUSAL or PADDING_CAUSAL, got ALIBI; pass a bias}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22ALIBI\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f58(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a sliding window of at most 2^30 keys, in cuDNN's calls with a causal mask, got a length of 4 and NO_MASK; pass a bias}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 4, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f59(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected 3 operands, got 4 operands}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2, %a3) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f60(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected 5 operands, got 3 operands}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22PADDING\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f61(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<2xi64>, %a4: tensor<2xi64>) {
  // expected-remark @below {{expected lengths of i32 per sequence, got tensor<2xi64> among the operands}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2, %a3, %a4) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22PADDING\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f62(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>, %a3: tensor<5x5xf16>) {
  // expected-remark @below {{expected a tensor of rank 4, got rank 2}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2, %a3) <{call_target_name = "__cudnn$fmhaScaleBiasSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<5x5xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f63(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected the output, LSE or none, and a workspace, got 1 results}}
  %o = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f64(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected the output, LSE or none, and a workspace, got a workspace that is used}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  "test.use"(%o#1) : (tensor<0xui8>) -> ()
  return
}

// -----

func.func @f65(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected the output, LSE or none, and a workspace, got tensor<2x8x5x5xf32>}}
  %o:3 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<2x8x5x5xf32>, tensor<0xui8>)
  return
}

// -----

func.func @f66(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected 3 operands or more, got 2 operands}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.125, \22dropout_rate\22: 0.0, \22mask_type\22: \22NO_MASK\22, \22sliding_window_length\22: 0, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f67(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected no dropout, got __cudnn$fmhaSoftmaxDropout}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmaxDropout"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f68(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected no dropout}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaScaleBiasSoftmaxDropout"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f69(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a forward op, got __cudnn$fmhaSoftmaxBackward}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f70(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a forward op}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaScaleBiasSoftmaxBackward"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f71(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a forward op}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmaxDropoutBackward"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f72(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a forward op}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaScaleBiasSoftmaxDropoutBackward"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f73(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a form that docs/raising.md lists, got __cudnn$fmhaSoftmaxF8}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmaxF8"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f74(%a0: tensor<2x5x8x64xf16>, %a1: tensor<2x5x8x64xf16>, %a2: tensor<2x5x8x64xf16>) {
  // expected-remark @below {{expected a forward op}}
  %o:2 = "stablehlo.custom_call"(%a0, %a1, %a2) <{call_target_name = "__cudnn$fmhaSoftmaxBackwardF8"}> : (tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>, tensor<2x5x8x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<0xui8>)
  return
}

// -----

func.func @f75(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected 3 to 7 operands, got 2 operands}}
  %o = "onnx.Attention"(%a0, %a1) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f76(%a0: tensor<5x64xf16>, %a1: tensor<5x64xf16>, %a2: tensor<5x64xf16>) {
  // expected-remark @below {{expected rank 3 or 4, got rank 2}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<5x64xf16>, tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return
}

// -----

func.func @f77(%a0: tensor<2x5x512xf16>, %a1: tensor<2x5x512xf16>, %a2: tensor<2x5x512xf16>) {
  // expected-remark @below {{expected q_num_heads and kv_num_heads that divide the hidden sizes of 3-D inputs, got q_num_heads = none for 512; set the attributes}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<2x5x512xf16>, tensor<2x5x512xf16>, tensor<2x5x512xf16>) -> tensor<2x5x512xf16>
  return
}

// -----

func.func @f78(%a0: tensor<2x5x512xf16>, %a1: tensor<2x5x512xf16>, %a2: tensor<2x5x512xf16>) {
  // expected-remark @below {{got kv_num_heads = 3 for 512}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {q_num_heads = 8 : si64, kv_num_heads = 3 : si64} : (tensor<2x5x512xf16>, tensor<2x5x512xf16>, tensor<2x5x512xf16>) -> tensor<2x5x512xf16>
  return
}

// -----

func.func @f79(%a0: tensor<2x5x?xf16>, %a1: tensor<2x5x?xf16>, %a2: tensor<2x5x?xf16>) {
  // expected-remark @below {{expected static head dims, got 2x5x?}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {q_num_heads = 8 : si64, kv_num_heads = 8 : si64} : (tensor<2x5x?xf16>, tensor<2x5x?xf16>, tensor<2x5x?xf16>) -> tensor<2x5x?xf16>
  return
}

// -----

func.func @f80(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected no use of qk_matmul_output, got one; the scores are not stored}}
  %o:4 = "onnx.Attention"(%a0, %a1, %a2) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x5xf16>)
  "test.use"(%o#3) : (tensor<2x8x5x5xf16>) -> ()
  return
}

// -----

func.func @f81(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a softmax in f32 or less, got softmax_precision = 11; set softmax_precision to 1}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {softmax_precision = 11 : si64} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f82(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected past_key and past_value together, got one of them; ONNX rejects this, too}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f83(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: tensor<2x8x5x64xf16>, %a5: tensor<2x8x5x64xf16>, %a6: tensor<2xi64>) {
  // expected-remark @below {{expected a past or nonpad_kv_seqlen, got both}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5, %a6) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2xi64>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f84(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: tensor<2x5x64xf16>, %a5: tensor<2x5x64xf16>) {
  // expected-remark @below {{expected a past of rank 4 that has the type and the batch, heads and head dim of K and V, got tensor<2x5x64xf16> and tensor<2x5x64xf16>; ONNX rejects this, too}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, tensor<2x5x64xf16>, tensor<2x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f85(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: none, %a4: none, %a5: none, %a6: tensor<2x1xi64>) {
  // expected-remark @below {{expected nonpad_kv_seqlen of i64 per sequence, got tensor<2x1xi64> among the operands}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5, %a6) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, none, none, none, tensor<2x1xi64>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f86(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: tensor<5x6xf16>) {
  // expected-remark @below {{expected a mask of at most as many columns as keys, got 6 and 5}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<5x6xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f87(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>, %a3: tensor<1x1x1x5x5xf16>) {
  // expected-remark @below {{expected a mask of rank 1 to 4, got rank 5}}
  %o = "onnx.Attention"(%a0, %a1, %a2, %a3) {} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<1x1x1x5x5xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f88(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x7x64xf16>, %a2: tensor<2x8x7x64xf16>) {
  // expected-remark @below {{expected windows with as many rows as new keys, both static, got 5x7}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {left_window_size = 2 : si64} : (tensor<2x8x5x64xf16>, tensor<2x8x7x64xf16>, tensor<2x8x7x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f89(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a sliding window of at most 2^30 keys, in cuDNN's calls with a causal mask, got 2147483648}}
  %o = "onnx.Attention"(%a0, %a1, %a2) {left_window_size = 2147483648 : si64} : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}
