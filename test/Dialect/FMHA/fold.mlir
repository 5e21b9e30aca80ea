// RUN: fmha-opt %s --fmha-fold --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --split-input-file \
// RUN:   --pass-pipeline='builtin.module(fmha-fold)' | FileCheck %s
// A second run finds nothing more to do.
// RUN: fmha-opt %s --fmha-fold --split-input-file -o %t.once
// RUN: fmha-opt %t.once --fmha-fold --split-input-file | diff - %t.once

// Transposes before and after, into a destination that the caller passes.

// CHECK-LABEL: func.func @bhsd
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x8x?x64xf16>, %[[K:[a-z0-9]+]]: tensor<2x4x?x64xf16>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<2x4x?x64xf16>, %[[OUT:[a-z0-9]+]]: tensor<2x8x?x64xf16>
// CHECK-NOT: linalg
// CHECK-DAG: %[[QT:.*]] = fmha.transpose %[[Q]] [0, 2, 1, 3] : tensor<2x8x?x64xf16> -> tensor<2x?x8x64xf16>
// CHECK-DAG: %[[KT:.*]] = fmha.transpose %[[K]] [0, 2, 1, 3]
// CHECK-DAG: %[[VT:.*]] = fmha.transpose %[[V]] [0, 2, 1, 3]
// CHECK-DAG: %[[OT:.*]] = fmha.transpose %[[OUT]] [0, 2, 1, 3]
// CHECK: %[[O:.*]] = fmha.attention ins(%[[QT]], %[[KT]], %[[VT]] :
// CHECK-SAME: outs(%[[OT]] :
// CHECK: %[[R:.*]] = fmha.transpose %[[O]] [0, 2, 1, 3]
// CHECK: return %[[R]]
func.func @bhsd(%q: tensor<2x8x?x64xf16>, %k: tensor<2x4x?x64xf16>, %v: tensor<2x4x?x64xf16>,
                %out: tensor<2x8x?x64xf16>) -> tensor<2x8x?x64xf16> {
  %c2 = arith.constant 2 : index
  %m = tensor.dim %q, %c2 : tensor<2x8x?x64xf16>
  %n = tensor.dim %k, %c2 : tensor<2x4x?x64xf16>
  %e0 = tensor.empty(%m) : tensor<2x?x8x64xf16>
  %e1 = tensor.empty(%n) : tensor<2x?x4x64xf16>
  %qt = linalg.transpose ins(%q : tensor<2x8x?x64xf16>) outs(%e0 : tensor<2x?x8x64xf16>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%k : tensor<2x4x?x64xf16>) outs(%e1 : tensor<2x?x4x64xf16>) permutation = [0, 2, 1, 3]
  %vt = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x4x?x64xf16>) outs(%e1 : tensor<2x?x4x64xf16>) {
    ^bb0(%x: f16, %y: f16):
      linalg.yield %x : f16
    } -> tensor<2x?x4x64xf16>
  %o = fmha.attention
      ins(%qt, %kt, %vt : tensor<2x?x8x64xf16>, tensor<2x?x4x64xf16>, tensor<2x?x4x64xf16>)
      outs(%e0 : tensor<2x?x8x64xf16>) -> tensor<2x?x8x64xf16>
  %r = linalg.transpose ins(%o : tensor<2x?x8x64xf16>) outs(%out : tensor<2x8x?x64xf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x8x?x64xf16>
}

// -----

// The log-sum-exp may be transposed in any way; a new destination has the shape
// that the consumer expects.

// CHECK-LABEL: func.func @lse
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x8x4x64xf16>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x1x4xf32>
// CHECK: %[[LT:.*]] = fmha.transpose %[[E]] [1, 2, 0] : tensor<8x1x4xf32> -> tensor<1x4x8xf32>
// CHECK: %[[O:.*]]:2 = fmha.attention {{.*}} outs(%{{.*}}, %[[LT]] :
// CHECK: %[[R:.*]] = fmha.transpose %[[O]]#1 [2, 0, 1] : tensor<1x4x8xf32> -> tensor<8x1x4xf32>
// CHECK: return %[[O]]#0, %[[R]]
func.func @lse(%q: tensor<1x8x4x64xf16>) -> (tensor<1x8x4x64xf16>, tensor<8x1x4xf32>) {
  %e0 = tensor.empty() : tensor<1x8x4x64xf16>
  %e1 = tensor.empty() : tensor<1x4x8xf32>
  %e2 = tensor.empty() : tensor<8x1x4xf32>
  %o, %l = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      outs(%e0, %e1 : tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) -> tensor<1x8x4x64xf16>, tensor<1x4x8xf32>
  %r = linalg.transpose ins(%l : tensor<1x4x8xf32>) outs(%e2 : tensor<8x1x4xf32>) permutation = [2, 0, 1]
  return %o, %r : tensor<1x8x4x64xf16>, tensor<8x1x4xf32>
}

// -----

// Not folded: a transpose with other users, one that moves the head dim, and
// one of rows that keep the contents of the destination.

// CHECK-LABEL: func.func @stay
// CHECK-COUNT-3: linalg.transpose
// CHECK-NOT: fmha.transpose
func.func @stay(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x64x8xf16>, %held: tensor<1x8x4x64xf16>,
                %starts: tensor<3xi32>) -> (tensor<1x8x4x64xf16>, tensor<1x4x8x64xf16>) {
  %e0 = tensor.empty() : tensor<1x8x4x64xf16>
  %e1 = tensor.empty() : tensor<1x4x8x64xf16>
  %qt = linalg.transpose ins(%q : tensor<1x4x8x64xf16>) outs(%e0 : tensor<1x8x4x64xf16>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%k : tensor<1x4x64x8xf16>) outs(%e0 : tensor<1x8x4x64xf16>) permutation = [0, 3, 1, 2]
  %o = fmha.attention
      ins(%qt, %kt, %kt : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      cu_seqlens_q(%starts : tensor<3xi32>) cu_seqlens_k(%starts : tensor<3xi32>)
      outs(%held : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  %r = linalg.transpose ins(%o : tensor<1x8x4x64xf16>) outs(%e1 : tensor<1x4x8x64xf16>) permutation = [0, 2, 1, 3]
  return %qt, %r : tensor<1x8x4x64xf16>, tensor<1x4x8x64xf16>
}

// -----

// Keys whose first columns are the values stay one tensor.

// CHECK-LABEL: func.func @value_in_key
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<1x1x?x576xbf16>
// CHECK: %[[KT:.*]] = fmha.transpose %[[K]] [0, 2, 1, 3]
// CHECK: %[[V:.*]] = tensor.extract_slice %[[KT]]
// CHECK: fmha.attention ins(%{{.*}}, %[[KT]], %[[V]] :
func.func @value_in_key(%q: tensor<1x4x16x576xbf16>, %k: tensor<1x1x?x576xbf16>) -> tensor<1x4x16x512xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : tensor<1x1x?x576xbf16>
  %e0 = tensor.empty(%n) : tensor<1x?x1x576xbf16>
  %kt = linalg.transpose ins(%k : tensor<1x1x?x576xbf16>) outs(%e0 : tensor<1x?x1x576xbf16>) permutation = [0, 2, 1, 3]
  %v = tensor.extract_slice %kt[0, 0, 0, 0] [1, %n, 1, 512] [1, 1, 1, 1] : tensor<1x?x1x576xbf16> to tensor<1x?x1x512xbf16>
  %e1 = tensor.empty() : tensor<1x4x16x512xbf16>
  %o = fmha.attention
      ins(%q, %kt, %v : tensor<1x4x16x576xbf16>, tensor<1x?x1x576xbf16>, tensor<1x?x1x512xbf16>)
      outs(%e1 : tensor<1x4x16x512xbf16>) -> tensor<1x4x16x512xbf16>
  return %o : tensor<1x4x16x512xbf16>
}

// -----

// Factors on query and key, given as tensors, scalars and quotients; one of them
// computed in f32 and transposed at once. 1/8 * 0.5 * 3 / 4 * 0.25.

// CHECK-LABEL: func.func @factors
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x8x4x64xf16>, %[[K:[a-z0-9]+]]: tensor<1x4x8x64xf16>
// CHECK-NOT: arith.mulf
// CHECK: %[[KT:.*]] = fmha.transpose %[[K]] [0, 2, 1, 3]
// CHECK: fmha.attention ins(%[[Q]], %[[KT]], %[[Q]] :
// CHECK-SAME: scale = 0.01171875 : f64
func.func @factors(%q: tensor<1x8x4x64xf16>, %k: tensor<1x4x8x64xf16>) -> tensor<1x8x4x64xf16> {
  %half = arith.constant dense<0.5> : tensor<1x8x4x64xf16>
  %four = arith.constant dense<4.0> : tensor<1x8x4x64xf16>
  %quarter = arith.constant 0.25 : f32
  %three = arith.constant 3.0 : f16
  %e = tensor.empty() : tensor<1x8x4x64xf16>
  %threes = linalg.fill ins(%three : f16) outs(%e : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  %q0 = arith.mulf %half, %q : tensor<1x8x4x64xf16>
  %q1 = linalg.mul ins(%q0, %threes : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>) outs(%e : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  %q2 = arith.divf %q1, %four : tensor<1x8x4x64xf16>
  %kt = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<1x4x8x64xf16>) outs(%e : tensor<1x8x4x64xf16>) {
    ^bb0(%x: f16, %y: f16):
      %wide = arith.extf %x : f16 to f32
      %product = arith.mulf %wide, %quarter : f32
      %narrow = arith.truncf %product : f32 to f16
      linalg.yield %narrow : f16
    } -> tensor<1x8x4x64xf16>
  %o = fmha.attention
      ins(%q2, %kt, %q : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>)
      outs(%e : tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16>
  return %o : tensor<1x8x4x64xf16>
}

// -----

// Not folded: a divided constant, a factor on the keys of two sources, and one
// that would take the scale out of its range.

// CHECK-LABEL: func.func @no_factors
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK: fmha.attention
// CHECK-NOT: scale
// CHECK: arith.mulf
// CHECK: fmha.attention
// CHECK-SAME: scale = 9.2233720368547758E+18
func.func @no_factors(%q: tensor<1x8x4x64xbf16>, %x: tensor<1x8x4x64xbf16>) -> (tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>) {
  %two = arith.constant dense<2.0> : tensor<1x8x4x64xbf16>
  %four = arith.constant dense<4.0> : tensor<1x8x4x64xbf16>
  %e = tensor.empty() : tensor<1x8x4x64xbf16>
  %q0 = arith.divf %two, %q : tensor<1x8x4x64xbf16>
  %k = arith.mulf %x, %two : tensor<1x8x4x64xbf16>
  %o = fmha.attention
      ins(%q0, %k, %x : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      source2(%k, %x : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xbf16>) -> tensor<1x8x4x64xbf16>
  %q1 = arith.mulf %q, %four : tensor<1x8x4x64xbf16>
  %p = fmha.attention
      ins(%q1, %x, %x : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xbf16>) {scale = 9.2233720368547758E+18 : f64} -> tensor<1x8x4x64xbf16>
  return %o, %p : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>
}

// -----

// A rounding of the output, alone and with a transpose.

// CHECK-LABEL: func.func @rounded
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<1x4x8x64xbf16>
// CHECK-NOT: f32
// CHECK: %[[E:.*]] = tensor.empty() : tensor<1x8x4x64xbf16>
// CHECK: %[[O:.*]] = fmha.attention {{.*}} outs(%[[E]] : tensor<1x8x4x64xbf16>)
// CHECK: %[[D:.*]] = fmha.transpose %[[OUT]] [0, 2, 1, 3]
// CHECK: %[[P:.*]] = fmha.attention {{.*}} outs(%[[D]] : tensor<1x8x4x64xbf16>)
// CHECK: %[[PT:.*]] = fmha.transpose %[[P]] [0, 2, 1, 3]
// CHECK: return %[[O]], %[[PT]]
func.func @rounded(%q: tensor<1x8x4x64xbf16>, %out: tensor<1x4x8x64xbf16>) -> (tensor<1x8x4x64xbf16>, tensor<1x4x8x64xbf16>) {
  %e = tensor.empty() : tensor<1x8x4x64xf32>
  %o32 = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  %o = arith.truncf %o32 : tensor<1x8x4x64xf32> to tensor<1x8x4x64xbf16>
  %p32 = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p32 : tensor<1x8x4x64xf32>) outs(%out : tensor<1x4x8x64xbf16>) {
    ^bb0(%x: f32, %y: bf16):
      %narrow = arith.truncf %x : f32 to bf16
      linalg.yield %narrow : bf16
    } -> tensor<1x4x8x64xbf16>
  return %o, %p : tensor<1x8x4x64xbf16>, tensor<1x4x8x64xbf16>
}

// -----

// Not folded: a rounding toward zero, one to another type, and an output that
// is used in f32 too.

// CHECK-LABEL: func.func @not_rounded
// CHECK: arith.truncf {{.*}} toward_zero
// CHECK: arith.truncf {{.*}} to tensor<1x8x4x64xf16>
// CHECK: arith.truncf
func.func @not_rounded(%q: tensor<1x8x4x64xbf16>)
    -> (tensor<1x8x4x64xbf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xf32>) {
  %e = tensor.empty() : tensor<1x8x4x64xf32>
  %a32 = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  %a = arith.truncf %a32 toward_zero : tensor<1x8x4x64xf32> to tensor<1x8x4x64xbf16>
  %b32 = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xf32>) {scale = 1.0 : f64} -> tensor<1x8x4x64xf32>
  %b = arith.truncf %b32 : tensor<1x8x4x64xf32> to tensor<1x8x4x64xf16>
  %c32 = fmha.attention
      ins(%q, %q, %q : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>)
      outs(%e : tensor<1x8x4x64xf32>) {scale = 2.0 : f64} -> tensor<1x8x4x64xf32>
  %c = arith.truncf %c32 : tensor<1x8x4x64xf32> to tensor<1x8x4x64xbf16>
  return %a, %b, %c, %c32 : tensor<1x8x4x64xbf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xf32>
}

// -----

// A rounding after a transpose, and a transpose that another one undoes.

// CHECK-LABEL: func.func @behind
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x?x4x64xbf16>, %[[M:[a-z0-9]+]]: index
// CHECK-NOT: linalg
// CHECK-NOT: f32
// CHECK: %[[E:.*]] = tensor.empty(%[[M]]) : tensor<1x4x?x64xbf16>
// CHECK: %[[D:.*]] = fmha.transpose %[[E]] [0, 2, 1, 3]
// CHECK: %[[O:.*]] = fmha.attention {{.*}} outs(%[[D]] :
// CHECK: %[[R:.*]] = fmha.transpose %[[O]] [0, 2, 1, 3]
// CHECK: %[[F:.*]] = tensor.empty(%[[M]]) : tensor<1x?x4x64xbf16>
// CHECK: %[[P:.*]] = fmha.attention {{.*}} outs(%[[F]] :
// CHECK: return %[[R]], %[[P]]
func.func @behind(%q: tensor<1x?x4x64xbf16>, %m: index) -> (tensor<1x4x?x64xbf16>, tensor<1x?x4x64xbf16>) {
  %e0 = tensor.empty(%m) : tensor<1x?x4x64xf32>
  %e1 = tensor.empty(%m) : tensor<1x4x?x64xf32>
  %e2 = tensor.empty(%m) : tensor<1x?x4x64xbf16>
  %e3 = tensor.empty(%m) : tensor<1x4x?x64xbf16>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>)
      outs(%e0 : tensor<1x?x4x64xf32>) -> tensor<1x?x4x64xf32>
  %t = linalg.transpose ins(%o : tensor<1x?x4x64xf32>) outs(%e1 : tensor<1x4x?x64xf32>) permutation = [0, 2, 1, 3]
  %r = arith.truncf %t : tensor<1x4x?x64xf32> to tensor<1x4x?x64xbf16>
  %p = fmha.attention
      ins(%q, %q, %q : tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>)
      outs(%e2 : tensor<1x?x4x64xbf16>) -> tensor<1x?x4x64xbf16>
  %pt = linalg.transpose ins(%p : tensor<1x?x4x64xbf16>) outs(%e3 : tensor<1x4x?x64xbf16>) permutation = [0, 2, 1, 3]
  %pp = linalg.transpose ins(%pt : tensor<1x4x?x64xbf16>) outs(%e2 : tensor<1x?x4x64xbf16>) permutation = [0, 2, 1, 3]
  return %r, %pp : tensor<1x4x?x64xbf16>, tensor<1x?x4x64xbf16>
}
