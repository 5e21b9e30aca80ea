// RUN: fmha-opt %s --allow-unregistered-dialect --fmha-raise-named=compute=keep --split-input-file --verify-diagnostics | FileCheck %s

// An op that is refused stays as it is.
// CHECK-NOT: fmha.attention

func.func @f0(%q: !torch.vtensor<*,f16>, %k: !torch.vtensor<*,f16>, %v: !torch.vtensor<*,f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected ranked tensors, got !torch.vtensor<*,f16>; refine the shapes first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<*,f16>, !torch.vtensor<*,f16>, !torch.vtensor<*,f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<*,f16>
  return
}

// -----

// A tensor that is written in place has no value to convert.
func.func @f1(%q: !torch.tensor<[2,8,5,64],f16>, %k: !torch.tensor<[2,8,5,64],f16>, %v: !torch.tensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected ranked tensors, got !torch.tensor<[2,8,5,64],f16>}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.tensor<[2,8,5,64],f16>, !torch.tensor<[2,8,5,64],f16>, !torch.tensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.tensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f2(%q: !torch.vtensor<[2,8,5,64],complex<f32>>, %k: !torch.vtensor<[2,8,5,64],complex<f32>>, %v: !torch.vtensor<[2,8,5,64],complex<f32>>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected ranked tensors, got !torch.vtensor<[2,8,5,64],complex<f32>>}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],complex<f32>>, !torch.vtensor<[2,8,5,64],complex<f32>>, !torch.vtensor<[2,8,5,64],complex<f32>>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],complex<f32>>
  return
}

// -----

func.func @f3(%q: !torch.vtensor<[2,1,8,5,64],f16>, %k: !torch.vtensor<[2,1,8,5,64],f16>, %v: !torch.vtensor<[2,1,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected queries of rank 2 to 4, got rank 5; reshape around the op}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,1,8,5,64],f16>, !torch.vtensor<[2,1,8,5,64],f16>, !torch.vtensor<[2,1,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,1,8,5,64],f16>
  return
}

// -----

func.func @f4(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[8,5,64],f16>, %v: !torch.vtensor<[8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a tensor of rank 4, got rank 3}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[8,5,64],f16>, !torch.vtensor<[8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f5(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],bf16>, %v: !torch.vtensor<[2,8,5,64],bf16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected queries, keys and values of one type, f16, bf16 or f32, got f16, bf16 and bf16; convert them first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],bf16>, !torch.vtensor<[2,8,5,64],bf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f6(%q: !torch.vtensor<[2,8,5,64],f64>, %k: !torch.vtensor<[2,8,5,64],f64>, %v: !torch.vtensor<[2,8,5,64],f64>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{f16, bf16 or f32, got f64, f64 and f64}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f64>, !torch.vtensor<[2,8,5,64],f64>, !torch.vtensor<[2,8,5,64],f64>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f64>
  return
}

// -----

func.func @f7(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected an output of the type of the query or f32, got bf16}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],bf16>
  return
}

// -----

func.func @f8(%q: !torch.vtensor<[2,8,5,?],f16>, %k: !torch.vtensor<[2,8,5,?],f16>, %v: !torch.vtensor<[2,8,5,?],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected static head dims, got ?x?x?; make the last dimension static}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,?],f16>, !torch.vtensor<[2,8,5,?],f16>, !torch.vtensor<[2,8,5,?],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,?],f16>
  return
}

// -----

func.func @f9(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,32],f16>, %v: !torch.vtensor<[2,8,5,32],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected queries and keys of one head dim from 1 to 65536, got 64x32x32; pad or split the heads}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,32],f16>, !torch.vtensor<[2,8,5,32],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

// PyTorch broadcasts the batch; fmha.attention does not.
func.func @f10(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[1,8,5,64],f16>, %v: !torch.vtensor<[1,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected queries and keys of one batch, got 2 and 1; broadcast the operand first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[1,8,5,64],f16>, !torch.vtensor<[1,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f11(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,7,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected keys and values of one length, got 7 and 5}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,7,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f12(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,4,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = true} : () -> !torch.bool
  // expected-remark @below {{expected keys and values of as many heads, got 8 and 4}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,4,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f13(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected an output with the shape of the queries, got 6 and 5}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,6,64],f16>
  return
}

// -----

func.func @f14(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected an output with the head dim of the values, got 32 and 64}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,32],f16>
  return
}

// -----

func.func @f15(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,3,5,64],f16>, %v: !torch.vtensor<[2,3,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = true} : () -> !torch.bool
  // expected-remark @below {{expected query heads that are a multiple of KV heads, got 8 and 3; repeat the KV heads first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,3,5,64],f16>, !torch.vtensor<[2,3,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f16(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,2,5,64],f16>, %v: !torch.vtensor<[2,2,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected as many KV heads as query heads without enable_gqa, got 8 and 2; pass enable_gqa}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,2,5,64],f16>, !torch.vtensor<[2,2,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f17(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %m: !torch.vtensor<[5,5],f64>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a mask or bias of f16, bf16, f32, i1, i8, i32 or i64 of rank 1 to 4, got tensor<5x5xf64>; convert it first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[5,5],f64>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f18(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %m: !torch.vtensor<[5,4],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a mask or bias that fits the scores, got 4 and 5}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[5,4],f16>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f19(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %m: !torch.vtensor<[5],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a mask of rank 2 to that of the query, got rank 1}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[5],f16>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f20(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.1 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected no dropout, got a probability of 0.100000; run it with a probability of 0}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f21(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %p: !torch.float) {
  %none = "torch.constant.none"() : () -> !torch.none
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a constant for dropout_p, got a value that is computed; fold it first}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f22(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>, %m: !torch.vtensor<[5,5],i1>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  // expected-remark @below {{expected a mask or is_causal, got both, which PyTorch rejects, too; add the causal mask to the mask}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %p, %c, %none, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[5,5],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f23(%q: !torch.vtensor<[2,8,5,64],f16>, %k: !torch.vtensor<[2,8,5,64],f16>, %v: !torch.vtensor<[2,8,5,64],f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %c = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %g = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %s = "torch.constant.float"() {value = 1.0e30 : f64} : () -> !torch.float
  // expected-remark @below {{expected a scale from -2^64 to 2^64, got}}
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %c, %s, %g) : (!torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.vtensor<[2,8,5,64],f16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[2,8,5,64],f16>
  return
}

// -----

func.func @f24(%a0: tensor<2x8x5x64xf16>, %a1: tensor<2x8x5x64xf16>, %a2: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected 8 operands and a result, got 3 operands; use a form that docs/raising.md lists}}
  %o = "torch.aten.scaled_dot_product_attention"(%a0, %a1, %a2)  : (tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>, tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f25(%a0: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a forward op, got torch.aten._scaled_dot_product_flash_attention_backward; there are no backward kernels, leave it to the compiler of its dialect}}
  %o = "torch.aten._scaled_dot_product_flash_attention_backward"(%a0)  : (tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f26(%a0: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a forward op, got torch.aten._scaled_dot_product_efficient_attention_backward; there are no backward kernels, leave it to the compiler of its dialect}}
  %o = "torch.aten._scaled_dot_product_efficient_attention_backward"(%a0)  : (tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f27(%a0: tensor<2x8x5x64xf16>) {
  // expected-remark @below {{expected a forward op, got torch.aten._scaled_dot_product_cudnn_attention_backward; there are no backward kernels, leave it to the compiler of its dialect}}
  %o = "torch.aten._scaled_dot_product_cudnn_attention_backward"(%a0)  : (tensor<2x8x5x64xf16>) -> tensor<2x8x5x64xf16>
  return
}

// -----

func.func @f28(%a0: tensor<6x5x64xf16>, %a1: tensor<6x5x64xf16>, %a2: tensor<6x5x64xf16>) {
  // expected-remark @below {{expected 3 or 4 inputs, an output and a result, got 3 operands}}
  %o = "tm_tensor.attention"(%a0, %a1, %a2) {operandSegmentSizes = array<i32: 2, 1>} : (tensor<6x5x64xf16>, tensor<6x5x64xf16>, tensor<6x5x64xf16>) -> tensor<6x5x64xf16>
  return
}

// -----

func.func @f29(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: f16, %a4: tensor<2x5x32xf16>) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{expected a constant for scale, got a value that is computed}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %a3, %a4) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f30(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: f16, %a4: tensor<2x5x32xf16>) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{expected indexing maps of one to two batch dimensions, one to two query dimensions and one key dimension, got loops}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %a3, %a4) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, m, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f31(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: f16, %a4: tensor<2x5x32xf16>) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got none, or maps of other expressions; collapse dimensions first}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %a3, %a4) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m + n, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f32(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{expected a region that yields the score or -inf, got math.tanh; other code is ambiguous, since the op does not fix the base of the exponentials}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %y = math.tanh %x : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f33(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got a result that is no score}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%h) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f34(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got a value from outside}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %b = arith.cmpf ogt, %x, %z : f32
    %y = arith.select %b, %x, %h : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f35(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got arith.cmpf}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %b = arith.cmpf ogt, %x, %h : f32
    %y = arith.select %b, %x, %h : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

// A score of 0 is not hidden.
func.func @f36(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got another select}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %i = "iree_linalg_ext.index"() {dim = 1 : i64} : () -> index
    %b = arith.cmpi sge, %i, %i : index
    %zero = arith.constant 0.0 : f32
    %y = arith.select %b, %x, %zero : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f37(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got the index of another loop}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    %i = "iree_linalg_ext.index"() {dim = 3 : i64} : () -> index
    %b = arith.cmpi sge, %i, %i : index
    %y = arith.select %b, %x, %h : f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f38(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got other blocks or arguments}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32, %y: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f39(%a0: tensor<2x5x64xf16>, %a1: tensor<2x7x64xf16>, %a2: tensor<2x7x32xf16>, %a3: tensor<5x32xf16>, %a4: tensor<2x5x32xf16>, %z: f32) {
  %c = arith.constant 0.5 : f16
  %h = arith.constant 0xFF800000 : f32
  // expected-remark @below {{got a mask of columns}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2, %c, %a3, %a4) <{indexing_maps = [affine_map<(b, m, v, k, n) -> (b, m, k)>, affine_map<(b, m, v, k, n) -> (b, n, k)>, affine_map<(b, m, v, k, n) -> (b, n, v)>, affine_map<(b, m, v, k, n) -> ()>, affine_map<(b, m, v, k, n) -> (m, v)>, affine_map<(b, m, v, k, n) -> (b, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x5x64xf16>, tensor<2x7x64xf16>, tensor<2x7x32xf16>, f16, tensor<5x32xf16>, tensor<2x5x32xf16>) -> tensor<2x5x32xf16>
  return
}

// -----

func.func @f40(%a0: tensor<2x5x64xf16>, %a1: tensor<2x5x64xf16>, %a2: tensor<2x5x64xf16>) {
  // expected-remark @below {{expected 4 or 5 inputs, an output on tensors and a result, got 3 operands}}
  %o = "iree_linalg_ext.attention"(%a0, %a1, %a2)  : (tensor<2x5x64xf16>, tensor<2x5x64xf16>, tensor<2x5x64xf16>) -> tensor<2x5x64xf16>
  return
}

// -----

func.func @f41(%a0: tensor<2x5x64xf16>) {
  // expected-remark @below {{expected a form that docs/raising.md lists, got iree_linalg_ext.online_attention, one step of a loop; decompose it first}}
  %o = "iree_linalg_ext.online_attention"(%a0)  : (tensor<2x5x64xf16>) -> tensor<2x5x64xf16>
  return
}

// -----

func.func @f42(%q: tensor<2x2x3x5x64xf16>, %k: tensor<2x3x7x64xf16>) {
  %c = arith.constant 0.5 : f16
  // expected-remark @below {{got a group of heads before the heads}}
  %o = "iree_linalg_ext.attention"(%q, %k, %k, %c, %q) <{indexing_maps = [affine_map<(b, g, h, m, v, k, n) -> (b, g, h, m, k)>, affine_map<(b, g, h, m, v, k, n) -> (b, h, n, k)>, affine_map<(b, g, h, m, v, k, n) -> (b, h, n, v)>, affine_map<(b, g, h, m, v, k, n) -> ()>, affine_map<(b, g, h, m, v, k, n) -> (b, g, h, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x2x3x5x64xf16>, tensor<2x3x7x64xf16>, tensor<2x3x7x64xf16>, f16, tensor<2x2x3x5x64xf16>) -> tensor<2x2x3x5x64xf16>
  return
}

// -----

func.func @f43(%q: tensor<2x3x?x5x64xf16>, %k: tensor<2x3x7x64xf16>, %m: tensor<3x7xi1>) {
  %c = arith.constant 0.5 : f16
  // expected-remark @below {{got a mask by heads whose number is dynamic}}
  %o = "iree_linalg_ext.attention"(%q, %k, %k, %c, %m, %q) <{indexing_maps = [affine_map<(b, h, g, m, v, k, n) -> (b, h, g, m, k)>, affine_map<(b, h, g, m, v, k, n) -> (b, h, n, k)>, affine_map<(b, h, g, m, v, k, n) -> (b, h, n, v)>, affine_map<(b, h, g, m, v, k, n) -> ()>, affine_map<(b, h, g, m, v, k, n) -> (h, n)>, affine_map<(b, h, g, m, v, k, n) -> (b, h, g, m, v)>]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x3x?x5x64xf16>, tensor<2x3x7x64xf16>, tensor<2x3x7x64xf16>, f16, tensor<3x7xi1>, tensor<2x3x?x5x64xf16>) -> tensor<2x3x?x5x64xf16>
  return
}
