// RUN: fmha-opt %s --fmha-raise-linalg --remarks-filter-missed=fmha-raise --remark-format=emitRemark --split-input-file 2>&1 | FileCheck %s
// RUN: not fmha-opt %s --fmha-raise-linalg=compute=f8 2>&1 | FileCheck %s --check-prefix=COMPUTE

// check_linalg_refused.py has the other reasons.

// COMPUTE: error: expected compute=f16, bf16 or keep, got f8

// Operands of f32 need the option.

// CHECK: remark: [Missed] needs-compute | Category:fmha-raise | {{.*}}expected the option compute= for operands of f32, got none; compute=bf16 or f16 rounds them, compute=keep does not
// CHECK-LABEL: func @single(
// CHECK: linalg.softmax
func.func @single(%q: tensor<8x4x64xf32>, %k: tensor<8x64x4xf32>, %v: tensor<8x4x64xf32>) -> tensor<8x4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<8x4x4xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x4x64xf32>, tensor<8x64x4xf32>) outs(%zs : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x4x4xf32>) outs(%es : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %eo = tensor.empty() : tensor<8x4x64xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x4x4xf32>, tensor<8x4x64xf32>) outs(%zo : tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
  return %o : tensor<8x4x64xf32>
}

// -----

// Two products with the exponentials of an activation between them are no attention: no remark.

#full = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-NOT: remark
// CHECK-LABEL: func @layers(
// CHECK: math.exp
func.func @layers(%x: tensor<4x8xf16>, %a: tensor<8x16xf16>, %b: tensor<16x8xf16>) -> tensor<4x8xf16> {
  %zero = arith.constant 0.0 : f16
  %one = arith.constant 1.0 : f16
  %e1 = tensor.empty() : tensor<4x16xf16>
  %z1 = linalg.fill ins(%zero : f16) outs(%e1 : tensor<4x16xf16>) -> tensor<4x16xf16>
  %h = linalg.matmul ins(%x, %a : tensor<4x8xf16>, tensor<8x16xf16>) outs(%z1 : tensor<4x16xf16>) -> tensor<4x16xf16>
  %silu = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<4x16xf16>) outs(%e1 : tensor<4x16xf16>) {
  ^bb0(%in: f16, %out: f16):
    %n = arith.negf %in : f16
    %e = math.exp %n : f16
    %d = arith.addf %one, %e : f16
    %y = arith.divf %in, %d : f16
    linalg.yield %y : f16
  } -> tensor<4x16xf16>
  %e2 = tensor.empty() : tensor<4x8xf16>
  %z2 = linalg.fill ins(%zero : f16) outs(%e2 : tensor<4x8xf16>) -> tensor<4x8xf16>
  %o = linalg.matmul ins(%silu, %b : tensor<4x16xf16>, tensor<16x8xf16>) outs(%z2 : tensor<4x8xf16>) -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}
