// RUN: fmha-opt %s --fmha-fold --split-input-file | FileCheck %s

// Code that computes a tensor which the score region reads becomes part of the
// region.

// A mask of bytes, broadcast over heads: the region reads less than before.

// CHECK-LABEL: func.func @mask
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<?x?xi8>
// CHECK-NOT: linalg
// CHECK: score(%[[S:.*]], %{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[M:.*]] = fmha.read %[[MASK]][%[[J]], %[[I]]] : tensor<?x?xi8>
// CHECK-NEXT: %[[LIVE:.*]] = arith.cmpi ne, %[[M]], %{{.*}} : i8
// CHECK-NEXT: %[[E:.*]] = arith.select %[[LIVE]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[S]], %[[E]] : f32
// CHECK-NEXT: fmha.yield %[[X]]
func.func @mask(%q: tensor<1x?x4x64xf16>, %mask: tensor<?x?xi8>, %out: tensor<1x?x4x64xf16>) -> tensor<1x?x4x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %mask, %c0 : tensor<?x?xi8>
  %m = tensor.dim %mask, %c1 : tensor<?x?xi8>
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %e = tensor.empty(%m, %n) : tensor<4x?x?xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (j, i)>, affine_map<(h, i, j) -> (h, i, j)>],
                          iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%mask : tensor<?x?xi8>) outs(%e : tensor<4x?x?xf32>) {
    ^bb0(%x: i8, %y: f32):
      %live = arith.cmpi ne, %x, %none : i8
      %b = arith.select %live, %zero, %hidden : f32
      linalg.yield %b : f32
    } -> tensor<4x?x?xf32>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x?x4x64xf16>, tensor<1x?x4x64xf16>, tensor<1x?x4x64xf16>)
      outs(%out : tensor<1x?x4x64xf16>) -> tensor<1x?x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %z = fmha.read %bias[%h, %i, %j] : tensor<4x?x?xf32>
        %x = arith.addf %s, %z : f32
        fmha.yield %x : f32
      }
  return %o : tensor<1x?x4x64xf16>
}

// -----

// Slopes of each head times a distance from indices: an index of a static
// extent is clamped to it, as a read is. Ops of arith on tensors move too.

// CHECK-LABEL: func.func @alibi
// CHECK-SAME: %[[SLOPES:[a-z0-9]+]]: tensor<4xf16>
// CHECK-NOT: linalg
// CHECK: %[[LAST:.*]] = arith.constant 15 : index
// CHECK: score(%{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[SLOPE:.*]] = fmha.read %[[SLOPES]][%[[H]]] : tensor<4xf16>
// CHECK: arith.minui %[[J]], %[[LAST]] : index
// CHECK: arith.mulf
// CHECK: arith.extf %{{.*}} : f16 to f32
func.func @alibi(%q: tensor<1x16x4x64xf16>, %slopes: tensor<4xf16>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %e = tensor.empty() : tensor<4x16xf16>
  %bias16 = linalg.generic {indexing_maps = [affine_map<(h, j) -> (h)>, affine_map<(h, j) -> (h, j)>],
                            iterator_types = ["parallel", "parallel"]}
      ins(%slopes : tensor<4xf16>) outs(%e : tensor<4x16xf16>) {
    ^bb0(%x: f16, %y: f16):
      %j = linalg.index 1 : index
      %j32 = arith.index_cast %j : index to i32
      %place = arith.sitofp %j32 : i32 to f16
      %b = arith.mulf %x, %place : f16
      linalg.yield %b : f16
    } -> tensor<4x16xf16>
  %bias = arith.extf %bias16 : tensor<4x16xf16> to tensor<4x16xf32>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %z = fmha.read %bias[%h, %j] : tensor<4x16xf32>
        %x = arith.addf %s, %z : f32
        fmha.yield %x : f32
      }
  return %o : tensor<1x16x4x64xf16>
}

// -----

// Flags, chosen by an op of arith on tensors, and a number of rank 0.

// CHECK-LABEL: func.func @flags
// CHECK-SAME: %[[FLAGS:[a-z0-9]+]]: tensor<16x16xi1>, %[[FACTOR:[a-z0-9]+]]: tensor<f32>
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[LIVE:.*]] = fmha.read %[[FLAGS]][%[[I]], %[[J]]] : tensor<16x16xi1>
// CHECK-NEXT: %[[E:.*]] = arith.select %[[LIVE]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[F:.*]] = fmha.read %[[FACTOR]][] : tensor<f32>
// CHECK: arith.negf %[[F]]
func.func @flags(%q: tensor<1x16x4x64xf16>, %flags: tensor<16x16xi1>, %factor: tensor<f32>, %out: tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %bias = arith.select %flags, %zero, %hidden : tensor<16x16xi1>, tensor<16x16xf32>
  %e = tensor.empty() : tensor<4xf32>
  %slope = linalg.generic {indexing_maps = [affine_map<(h) -> ()>, affine_map<(h) -> (h)>], iterator_types = ["parallel"]}
      ins(%factor : tensor<f32>) outs(%e : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      %n = arith.negf %x : f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %z = fmha.read %bias[%i, %j] : tensor<16x16xf32>
        %x = arith.addf %s, %z : f32
        %f = fmha.read %slope[%h] : tensor<4xf32>
        %y = arith.addf %x, %f : f32
        fmha.yield %y : f32
      }
  return %o : tensor<1x16x4x64xf16>
}

// -----

// Not folded: two tensors instead of one per key, a function, a value that is
// no constant, a result with other users, an index of a dynamic extent, and a
// reduction.

// CHECK-LABEL: func.func @stay
// CHECK: arith.addf {{.*}} : tensor<16x16xf32>
// CHECK: math.exp {{.*}} : tensor<16x16xf32>
// CHECK: linalg.generic
// CHECK: arith.negf {{.*}} : tensor<16x16xf32>
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: fmha.attention
// CHECK-COUNT-6: fmha.read
func.func @stay(%q: tensor<1x16x4x64xf16>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %x: f32, %n: index,
                %out: tensor<1x16x4x64xf16>) -> (tensor<1x16x4x64xf16>, tensor<16x16xf32>) {
  %e = tensor.empty() : tensor<16x16xf32>
  %row = tensor.empty() : tensor<16xf32>
  %d = tensor.empty(%n) : tensor<?xf32>
  %two = arith.addf %a, %b : tensor<16x16xf32>
  %function = math.exp %a : tensor<16x16xf32>
  %variable = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                              iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
    ^bb0(%u: f32, %y: f32):
      %v = arith.mulf %u, %x : f32
      linalg.yield %v : f32
    } -> tensor<16x16xf32>
  %needed = arith.negf %a : tensor<16x16xf32>
  %index = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]} outs(%d : tensor<?xf32>) {
    ^bb0(%y: f32):
      %j = linalg.index 0 : index
      %j32 = arith.index_cast %j : index to i32
      %v = arith.sitofp %j32 : i32 to f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
  %reduced = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                             iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<16x16xf32>) outs(%row : tensor<16xf32>) {
    ^bb0(%u: f32, %y: f32):
      %v = arith.addf %u, %y : f32
      linalg.yield %v : f32
    } -> tensor<16xf32>
  %o = fmha.attention
      ins(%q, %q, %q : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>)
      outs(%out : tensor<1x16x4x64xf16>) -> tensor<1x16x4x64xf16>
      score(%s, %bb, %h, %i, %j, %q_len, %kv_len) {
        %z0 = fmha.read %two[%i, %j] : tensor<16x16xf32>
        %z1 = fmha.read %function[%i, %j] : tensor<16x16xf32>
        %z2 = fmha.read %variable[%i, %j] : tensor<16x16xf32>
        %z3 = fmha.read %needed[%i, %j] : tensor<16x16xf32>
        %z4 = fmha.read %index[%j] : tensor<?xf32>
        %z5 = fmha.read %reduced[%i] : tensor<16xf32>
        %x0 = arith.addf %s, %z0 : f32
        %x1 = arith.addf %x0, %z1 : f32
        %x2 = arith.addf %x1, %z2 : f32
        %x3 = arith.addf %x2, %z3 : f32
        %x4 = arith.addf %x3, %z4 : f32
        %x5 = arith.addf %x4, %z5 : f32
        fmha.yield %x5 : f32
      }
  return %o, %needed : tensor<1x16x4x64xf16>, tensor<16x16xf32>
}
