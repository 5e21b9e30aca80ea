// RUN: fmha-opt %s --fmha-raise-linalg=compute=keep --canonicalize --cse --split-input-file | FileCheck %s
// RUN: fmha-opt %s --fmha-raise-linalg=compute=bf16 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BF16

// Named ops of rank 3: one batch per head.

// CHECK-LABEL: func @named(
// CHECK-SAME: %[[Q:.*]]: tensor<8x?x64xf32>, %[[K:.*]]: tensor<8x?x64xf32>, %[[V:.*]]: tensor<8x?x64xf32>
// CHECK-NOT: linalg
// CHECK: %[[QUERY:.*]] = tensor.expand_shape %[[Q]]
// CHECK-SAME: into tensor<8x?x1x64xf32>
// CHECK: %[[O:.*]] = fmha.attention ins(%[[QUERY]], {{.*}}) outs({{.*}}) {scale = 1.000000e+00 : f64}
// CHECK-NOT: linalg
// CHECK: %[[T:.*]] = fmha.transpose %[[O]]
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[T]]
// CHECK: return %[[R]] : tensor<8x?x64xf32>

// BF16-LABEL: func @named(
// BF16-COUNT-3: arith.truncf {{.*}} : tensor<8x?x64xf32> to tensor<8x?x64xbf16>
// BF16: fmha.attention ins({{.*}} : tensor<8x?x1x64xbf16>, tensor<8x?x1x64xbf16>, tensor<8x?x1x64xbf16>) outs({{.*}} : tensor<8x?x1x64xf32>)
func.func @named(%q: tensor<8x?x64xf32>, %k: tensor<8x?x64xf32>, %v: tensor<8x?x64xf32>) -> tensor<8x?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %q, %c1 : tensor<8x?x64xf32>
  %keys = tensor.dim %k, %c1 : tensor<8x?x64xf32>
  %e = tensor.empty(%keys) : tensor<8x64x?xf32>
  %t = linalg.transpose ins(%k : tensor<8x?x64xf32>) outs(%e : tensor<8x64x?xf32>) permutation = [0, 2, 1]
  %es = tensor.empty(%rows, %keys) : tensor<8x?x?xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %s = linalg.batch_matmul ins(%q, %t : tensor<8x?x64xf32>, tensor<8x64x?xf32>) outs(%zs : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x?x?xf32>) outs(%es : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %eo = tensor.empty(%rows) : tensor<8x?x64xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x?x64xf32>) -> tensor<8x?x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x?x?xf32>, tensor<8x?x64xf32>) outs(%zo : tensor<8x?x64xf32>) -> tensor<8x?x64xf32>
  return %o : tensor<8x?x64xf32>
}

// -----

// A scale, a soft cap, a bias of keys and a causal mask by indices. The division by the cap is part of the scale, and the
// comparison is the mask of the op. Grouped heads by a broadcast need no copy.

#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#p = affine_map<(b, h, i, d, j) -> (b, h, i, j)>
#v = affine_map<(b, h, i, d, j) -> (b, h, j, d)>
#o = affine_map<(b, h, i, d, j) -> (b, h, i, d)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#keys = affine_map<(b, h, i, j) -> (b, j)>
#five = affine_map<(b, h, g, j, d) -> (b, h, g, j, d)>
#four = affine_map<(b, h, g, j, d) -> (b, h, j, d)>

// CHECK-LABEL: func @code(
// CHECK-SAME: %[[Q:.*]]: tensor<2x8x128x64xf16>, %[[K:.*]]: tensor<2x2x128x64xf16>, %[[V:.*]]: tensor<2x2x128x64xf16>, %[[BIAS:.*]]: tensor<2x128xf32>
// CHECK-DAG: %[[QT:.*]] = fmha.transpose %[[Q]] [0, 2, 1, 3]
// CHECK-DAG: %[[KT:.*]] = fmha.transpose %[[K]] [0, 2, 1, 3]
// CHECK-DAG: %[[VT:.*]] = fmha.transpose %[[V]] [0, 2, 1, 3]
// CHECK: fmha.attention ins(%[[QT]], %[[KT]], %[[VT]] : tensor<2x128x8x64xf16>, tensor<2x128x2x64xf16>, tensor<2x128x2x64xf16>)
// CHECK-SAME: mask = #fmha.mask<causal_top_left>, scale = 2.500000e-03 : f64
// CHECK-SAME: score(%[[S:.*]], %[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[E:.*]] = fmha.read %[[BIAS]][%[[B]], %[[J]]] : tensor<2x128xf32>
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[T]]
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[M]], %[[E]]
// CHECK-NEXT: fmha.yield %[[A]]
func.func @code(%q: tensor<2x8x128x64xf16>, %k2: tensor<2x2x128x64xf16>, %v2: tensor<2x2x128x64xf16>, %bias: tensor<2x128xf32>) -> tensor<2x8x128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %cap = arith.constant 50.0 : f32
  %wide = tensor.empty() : tensor<2x2x4x128x64xf16>
  %k5 = linalg.generic {indexing_maps = [#four, #five], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k2 : tensor<2x2x128x64xf16>) outs(%wide : tensor<2x2x4x128x64xf16>) {
  ^bb0(%a: f16, %out: f16):
    linalg.yield %a : f16
  } -> tensor<2x2x4x128x64xf16>
  %v5 = linalg.broadcast ins(%v2 : tensor<2x2x128x64xf16>) outs(%wide : tensor<2x2x4x128x64xf16>) dimensions = [2]
  %k = tensor.collapse_shape %k5 [[0], [1, 2], [3], [4]] : tensor<2x2x4x128x64xf16> into tensor<2x8x128x64xf16>
  %v = tensor.collapse_shape %v5 [[0], [1, 2], [3], [4]] : tensor<2x2x4x128x64xf16> into tensor<2x8x128x64xf16>
  %es = tensor.empty() : tensor<2x8x128x128xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x8x128x64xf16>, tensor<2x8x128x64xf16>) outs(%zs : tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
  %x = linalg.generic {indexing_maps = [#full, #keys, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<2x8x128x128xf32>, tensor<2x128xf32>) outs(%es : tensor<2x8x128x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %scaled = arith.mulf %a, %scale : f32
    %share = arith.divf %scaled, %cap : f32
    %bent = math.tanh %share : f32
    %capped = arith.mulf %bent, %cap : f32
    %sum = arith.addf %capped, %b : f32
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %sees = arith.cmpi sge, %i, %j : index
    %masked = arith.select %sees, %sum, %hidden : f32
    linalg.yield %masked : f32
  } -> tensor<2x8x128x128xf32>
  %p = linalg.softmax dimension(3) ins(%x : tensor<2x8x128x128xf32>) outs(%es : tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
  %p16 = arith.truncf %p : tensor<2x8x128x128xf32> to tensor<2x8x128x128xf16>
  %eo = tensor.empty() : tensor<2x8x128x64xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x8x128x64xf32>) -> tensor<2x8x128x64xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p16, %v : tensor<2x8x128x128xf16>, tensor<2x8x128x64xf16>) outs(%zo : tensor<2x8x128x64xf32>) -> tensor<2x8x128x64xf32>
  return %o : tensor<2x8x128x64xf32>
}

// -----

// The layer below, as torch-mlir lowers matmul, softmax and matmul with a mask [batch, 1, rows, keys]: products of rank 3
// between reshapes, rows that keep a dimension of 1, and a maximum with its index. The reshapes are looked through.

#full = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#row = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#mask = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>

// CHECK-LABEL: func @torch(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x6x8xf32>, %{{.*}}, %{{.*}}, %[[MASK:.*]]: tensor<2x1x6x9xi1>
// CHECK: %[[QT:.*]] = fmha.transpose %[[Q]] [0, 2, 1, 3] : tensor<2x4x6x8xf32> -> tensor<2x6x4x8xf32>
// CHECK: fmha.attention ins(%[[QT]],
// CHECK-SAME: score(%[[S:.*]], %[[B:.*]], %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[E:.*]] = fmha.read %[[MASK]][%[[B]], %{{.*}}, %[[I]], %[[J]]] : tensor<2x1x6x9xi1>
// CHECK-NEXT: %[[X:.*]] = arith.select %[[E]], %[[S]], %{{.*}} : f32
// CHECK-NEXT: fmha.yield %[[X]]
// CHECK-NOT: linalg
// CHECK: return
func.func @torch(%q4: tensor<2x4x6x8xf32>, %k4: tensor<2x4x9x8xf32>, %v4: tensor<2x4x9x8xf32>, %mask: tensor<2x1x6x9xi1>) -> tensor<2x4x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : i64
  %hidden = arith.constant 0xFF800000 : f32
  %kt = tensor.empty() : tensor<2x4x8x9xf32>
  %turned = linalg.transpose ins(%k4 : tensor<2x4x9x8xf32>) outs(%kt : tensor<2x4x8x9xf32>) permutation = [0, 1, 3, 2]
  %q = tensor.collapse_shape %q4 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
  %k = tensor.collapse_shape %turned [[0, 1], [2], [3]] : tensor<2x4x8x9xf32> into tensor<8x8x9xf32>
  %v = tensor.collapse_shape %v4 [[0, 1], [2], [3]] : tensor<2x4x9x8xf32> into tensor<8x9x8xf32>
  %e3 = tensor.empty() : tensor<8x6x9xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<8x6x9xf32>) -> tensor<8x6x9xf32>
  %s3 = linalg.batch_matmul ins(%q, %k : tensor<8x6x8xf32>, tensor<8x8x9xf32>) outs(%z3 : tensor<8x6x9xf32>) -> tensor<8x6x9xf32>
  %s4 = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [2, 4, 6, 9] : tensor<8x6x9xf32> into tensor<2x4x6x9xf32>
  %e4 = tensor.empty() : tensor<2x4x6x9xf32>
  %s = linalg.generic {indexing_maps = [#mask, #full, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%mask, %s4 : tensor<2x1x6x9xi1>, tensor<2x4x6x9xf32>) outs(%e4 : tensor<2x4x6x9xf32>) {
  ^bb0(%m: i1, %a: f32, %out: f32):
    %x = arith.select %m, %a, %hidden : f32
    linalg.yield %x : f32
  } -> tensor<2x4x6x9xf32>
  %er = tensor.empty() : tensor<2x4x6x1xf32>
  %ei = tensor.empty() : tensor<2x4x6x1xi64>
  %zi = linalg.fill ins(%first : i64) outs(%ei : tensor<2x4x6x1xi64>) -> tensor<2x4x6x1xi64>
  %lowest = linalg.fill ins(%hidden : f32) outs(%er : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
  %top:2 = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x4x6x9xf32>) outs(%lowest, %zi : tensor<2x4x6x1xf32>, tensor<2x4x6x1xi64>) {
  ^bb0(%a: f32, %out: f32, %at: i64):
    %n = linalg.index 3 : index
    %n64 = arith.index_cast %n : index to i64
    %x = arith.maximumf %a, %out : f32
    %larger = arith.cmpf ogt, %a, %out : f32
    %y = arith.select %larger, %n64, %at : i64
    linalg.yield %x, %y : f32, i64
  } -> (tensor<2x4x6x1xf32>, tensor<2x4x6x1xi64>)
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %top#0 : tensor<2x4x6x9xf32>, tensor<2x4x6x1xf32>) outs(%e4 : tensor<2x4x6x9xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.subf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<2x4x6x9xf32>
  %w = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%d : tensor<2x4x6x9xf32>) outs(%e4 : tensor<2x4x6x9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %x = math.exp %a : f32
    linalg.yield %x : f32
  } -> tensor<2x4x6x9xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w : tensor<2x4x6x9xf32>) outs(%zr : tensor<2x4x6x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %x = arith.addf %a, %out : f32
    linalg.yield %x : f32
  } -> tensor<2x4x6x1xf32>
  %p4 = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w, %sum : tensor<2x4x6x9xf32>, tensor<2x4x6x1xf32>) outs(%e4 : tensor<2x4x6x9xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.divf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<2x4x6x9xf32>
  %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<2x4x6x9xf32> into tensor<8x6x9xf32>
  %eo = tensor.empty() : tensor<8x6x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x6x9xf32>, tensor<8x9x8xf32>) outs(%zo : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %o4 = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
  return %o4 : tensor<2x4x6x8xf32>
}

// -----

// Primitive ops, as StableHLO's dot_general, reduce and broadcast_in_dim become: linalg.map and linalg.reduce, numbers in
// tensors of rank 0, and max(-inf, x) around the maximum.

// CHECK-LABEL: func @stablehlo(
// CHECK: fmha.attention ins({{.*}} : tensor<4x16x1x8xf16>, tensor<4x24x1x8xf16>, tensor<4x24x1x8xf16>) outs({{.*}} : tensor<4x16x1x8xf32>) {scale = 5.000000e-01 : f64}
// CHECK-NOT: score
// CHECK-NOT: linalg
// CHECK: return
func.func @stablehlo(%q: tensor<4x16x8xf16>, %k: tensor<4x8x24xf16>, %v: tensor<4x24x8xf16>) -> tensor<4x16x8xf32> {
  %none = arith.constant dense<0xFF800000> : tensor<f32>
  %minus = tensor.extract %none[] : tensor<f32>
  %zeros = arith.constant dense<0.0> : tensor<f32>
  %zero = tensor.extract %zeros[] : tensor<f32>
  %half = arith.constant dense<5.0e-01> : tensor<4x16x24xf32>
  %es = tensor.empty() : tensor<4x16x24xf32>
  %er = tensor.empty() : tensor<4x16xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x8xf16>, tensor<4x8x24xf16>) outs(%zs : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %x = linalg.map { arith.mulf } ins(%s, %half : tensor<4x16x24xf32>, tensor<4x16x24xf32>) outs(%es : tensor<4x16x24xf32>)
  %start = linalg.fill ins(%minus : f32) outs(%er : tensor<4x16xf32>) -> tensor<4x16xf32>
  %most = linalg.reduce ins(%x : tensor<4x16x24xf32>) outs(%start : tensor<4x16xf32>) dimensions = [2]
    (%in: f32, %init: f32) {
      %m = arith.maximumf %in, %init : f32
      linalg.yield %m : f32
    }
  %least = linalg.broadcast ins(%none : tensor<f32>) outs(%er : tensor<4x16xf32>) dimensions = [0, 1]
  %top = linalg.map { arith.maximumf } ins(%least, %most : tensor<4x16xf32>, tensor<4x16xf32>) outs(%er : tensor<4x16xf32>)
  %tops = linalg.broadcast ins(%top : tensor<4x16xf32>) outs(%es : tensor<4x16x24xf32>) dimensions = [2]
  %d = linalg.map { arith.subf } ins(%x, %tops : tensor<4x16x24xf32>, tensor<4x16x24xf32>) outs(%es : tensor<4x16x24xf32>)
  %w = linalg.map { math.exp } ins(%d : tensor<4x16x24xf32>) outs(%es : tensor<4x16x24xf32>)
  %nothing = linalg.fill ins(%zero : f32) outs(%er : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = linalg.reduce ins(%w : tensor<4x16x24xf32>) outs(%nothing : tensor<4x16xf32>) dimensions = [2]
    (%in: f32, %init: f32) {
      %m = arith.addf %in, %init : f32
      linalg.yield %m : f32
    }
  %sums = linalg.broadcast ins(%sum : tensor<4x16xf32>) outs(%es : tensor<4x16x24xf32>) dimensions = [2]
  %p = linalg.map { arith.divf } ins(%w, %sums : tensor<4x16x24xf32>, tensor<4x16x24xf32>) outs(%es : tensor<4x16x24xf32>)
  %p16 = arith.truncf %p : tensor<4x16x24xf32> to tensor<4x16x24xf16>
  %eo = tensor.empty() : tensor<4x16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %o = linalg.batch_matmul ins(%p16, %v : tensor<4x16x24xf16>, tensor<4x24x8xf16>) outs(%zo : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %o : tensor<4x16x8xf32>
}

// -----

// A causal mask as PyTorch's tril and masked_fill make it: ones, or zeros above the diagonal, compared with 0.

#full = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#mask = affine_map<(d0, d1, d2) -> (d1, d2)>
#square = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func @tril(
// CHECK: fmha.attention {{.*}} {mask = #fmha.mask<causal_top_left>, scale = 1.000000e+00 : f64}
// CHECK-NOT: score
func.func @tril(%q: tensor<4x16x8xf16>, %k: tensor<4x8x16xf16>, %v: tensor<4x16x8xf16>) -> tensor<4x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %minus = arith.constant 0xFF800000 : f32
  %em = tensor.empty() : tensor<16x16xf32>
  %ones = linalg.fill ins(%one : f32) outs(%em : tensor<16x16xf32>) -> tensor<16x16xf32>
  %tril = linalg.generic {indexing_maps = [#square, #square], iterator_types = ["parallel", "parallel"]}
      ins(%ones : tensor<16x16xf32>) outs(%em : tensor<16x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %i64 = arith.index_cast %i : index to i64
    %j64 = arith.index_cast %j : index to i64
    %below = arith.cmpi sle, %j64, %i64 : i64
    %x = arith.select %below, %a, %zero : f32
    linalg.yield %x : f32
  } -> tensor<16x16xf32>
  %es = tensor.empty() : tensor<4x16x16xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x8xf16>, tensor<4x8x16xf16>) outs(%zs : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %x = linalg.generic {indexing_maps = [#full, #mask, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %tril : tensor<4x16x16xf32>, tensor<16x16xf32>) outs(%es : tensor<4x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %hidden = arith.cmpf oeq, %b, %zero : f32
    %y = arith.select %hidden, %minus, %a : f32
    linalg.yield %y : f32
  } -> tensor<4x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x16x16xf32>) outs(%es : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %p16 = arith.truncf %p : tensor<4x16x16xf32> to tensor<4x16x16xf16>
  %eo = tensor.empty() : tensor<4x16x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %o = linalg.batch_matmul ins(%p16, %v : tensor<4x16x16xf16>, tensor<4x16x8xf16>) outs(%zo : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %o : tensor<4x16x8xf32>
}
