// Programs around the ops of the dialect, for passes of upstream: one module each.

!t = tensor<1x?x2x64xf16>
// A loop that carries the output, with an invariant op in it.
func.func @loop(%x: !t, %n: index) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (!t, !t) {
    %0 = fmha.attention ins(%a, %x, %x : !t, !t, !t) outs(%a : !t) -> !t
    %1 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%b : !t) -> !t
    scf.yield %0, %1 : !t, !t
  }
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<1x8x2x64xf16>
// Branches, one of which has the op; constants that decide.
func.func @branches(%x: !t, %c: i1) -> !t {
  %true = arith.constant true
  %r = scf.if %c -> !t {
    %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) {mask = #fmha.mask<causal>} -> !t
    scf.yield %0 : !t
  } else {
    scf.yield %x : !t
  }
  %s = scf.if %true -> !t {
    %0 = fmha.attention ins(%r, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
    scf.yield %0 : !t
  } else {
    scf.yield %r : !t
  }
  return %s : !t
}

// -----

!t = tensor<1x8x2x64xf16>
// Calls: of a function with an op, twice; of an unused one; in a chain.
func.func private @layer(%x: !t, %scale: tensor<2xf32>) -> !t {
  %o = tensor.empty() : !t
  %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) sink(%scale : tensor<2xf32>) outs(%o : !t) -> !t
  return %0 : !t
}
func.func private @unused(%x: !t) -> !t {
  %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
  return %0 : !t
}
func.func @two_layers(%x: !t, %s: tensor<2xf32>) -> !t {
  %0 = call @layer(%x, %s) : (!t, tensor<2xf32>) -> !t
  %1 = call @layer(%0, %s) : (!t, tensor<2xf32>) -> !t
  return %1 : !t
}

// -----

!t = tensor<1x8x2x64xf16>
!l = tensor<1x2x8xf32>
// Unused results and arguments.
func.func private @dead(%x: !t, %y: !t, %l: !l) -> (!t, !l, !t) {
  %o, %lse = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x, %l : !t, !l) -> !t, !l
  %dead = fmha.attention ins(%y, %y, %y : !t, !t, !t) outs(%y : !t) -> !t
  return %o, %lse, %dead : !t, !l, !t
}
func.func @caller(%x: !t, %l: !l) -> !l {
  %0:3 = call @dead(%x, %x, %l) : (!t, !t, !l) -> (!t, !l, !t)
  return %0#1 : !l
}

// -----

!t = tensor<1x128x2x64xbf16>
!d = tensor<1x?x2x64xbf16>
// Casts of every operand, and of the tensors that the region reads.
func.func @casts(%q: !t, %k: !t, %out: !t, %l: tensor<1x2x128xf32>, %lens: tensor<1xi32>, %bias: tensor<2xf32>)
    -> (!d, tensor<1x?x?xf32>) {
  %0 = tensor.cast %q : !t to !d
  %1 = tensor.cast %k : !t to !d
  %2 = tensor.cast %out : !t to !d
  %3 = tensor.cast %l : tensor<1x2x128xf32> to tensor<1x?x?xf32>
  %4 = tensor.cast %lens : tensor<1xi32> to tensor<?xi32>
  %5 = tensor.cast %bias : tensor<2xf32> to tensor<?xf32>
  %6:2 = fmha.attention ins(%0, %1, %1 : !d, !d, !d) kv_lens(%4 : tensor<?xi32>)
      outs(%2, %3 : !d, tensor<1x?x?xf32>) -> !d, tensor<1x?x?xf32>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %5[%h] : tensor<?xf32>
        %x = arith.addf %s, %e : f32
        fmha.yield %x : f32
      }
  return %6#0, %6#1 : !d, tensor<1x?x?xf32>
}

// -----

!t = tensor<4x8x2x64xf16>
!s = tensor<1x8x2x64xf16>
// A sequence at a time, in parallel.
func.func @forall(%x: !t, %out: !t) -> !t {
  %r = scf.forall (%b) in (4) shared_outs(%o = %out) -> (!t) {
    %q = tensor.extract_slice %x[%b, 0, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !t to !s
    %d = tensor.extract_slice %o[%b, 0, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !t to !s
    %0 = fmha.attention ins(%q, %q, %q : !s, !s, !s) outs(%d : !s) -> !s
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0 into %o[%b, 0, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !s into !t
    }
  }
  return %r : !t
}

// -----

!t = tensor<1x8x2x64xf16>
!p = tensor<1x8x128xf16>
// Projections of linalg, an elementwise residual, shapes that change.
func.func @block(%x: !p, %w: tensor<1x128x128xf16>) -> !p {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : !p
  %acc = linalg.fill ins(%zero : f16) outs(%empty : !p) -> !p
  %q2 = linalg.batch_matmul ins(%x, %w : !p, tensor<1x128x128xf16>) outs(%acc : !p) -> !p
  %q = tensor.expand_shape %q2 [[0], [1], [2, 3]] output_shape [1, 8, 2, 64] : !p into !t
  %k = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 2, 64] : !p into !t
  %out = tensor.empty() : !t
  %o = fmha.attention ins(%q, %k, %k : !t, !t, !t) outs(%out : !t) {mask = #fmha.mask<causal>} -> !t
  %o2 = tensor.collapse_shape %o [[0], [1], [2, 3]] : !t into !p
  %r = linalg.add ins(%o2, %x : !p, !p) outs(%empty : !p) -> !p
  return %r : !p
}

// -----

!bhsd = tensor<2x4x?x64xbf16>
!bshd = tensor<2x?x4x64xbf16>
// Transposes around the op.
func.func @transposes(%x: !bhsd, %n: index) -> !bhsd {
  %e = tensor.empty(%n) : !bshd
  %q = linalg.transpose ins(%x : !bhsd) outs(%e : !bshd) permutation = [0, 2, 1, 3]
  %d = tensor.empty(%n) : !bshd
  %o = fmha.attention ins(%q, %q, %q : !bshd, !bshd, !bshd) outs(%d : !bshd) -> !bshd
  %f = tensor.empty(%n) : !bhsd
  %r = linalg.transpose ins(%o : !bshd) outs(%f : !bhsd) permutation = [0, 2, 1, 3]
  return %r : !bhsd
}

// -----

// Parts in f32 and their merge; shapes asked of results.
func.func @merged(%q: tensor<1x?x4x64xbf16>, %k: tensor<1x?x2x64xbf16>, %n: index) -> (tensor<1x?x4x64xbf16>, index) {
  %c1 = arith.constant 1 : index
  %p = tensor.empty(%n) : tensor<1x?x4x64xf32>
  %r = tensor.empty(%n) : tensor<1x4x?xf32>
  %o, %m, %s = fmha.attention ins(%q, %k, %k : tensor<1x?x4x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      outs(%p : tensor<1x?x4x64xf32>) row_max(%r : tensor<1x4x?xf32>) row_sum(%r : tensor<1x4x?xf32>) {unnormalised}
      -> tensor<1x?x4x64xf32>, tensor<1x4x?xf32>, tensor<1x4x?xf32>
  %parts = tensor.expand_shape %o [[0, 1], [2], [3], [4]] output_shape [1, 1, %n, 4, 64]
      : tensor<1x?x4x64xf32> into tensor<1x1x?x4x64xf32>
  %maxima = tensor.expand_shape %m [[0, 1], [2], [3]] output_shape [1, 1, 4, %n] : tensor<1x4x?xf32> into tensor<1x1x4x?xf32>
  %sums = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 1, 4, %n] : tensor<1x4x?xf32> into tensor<1x1x4x?xf32>
  %d = tensor.empty(%n) : tensor<1x?x4x64xbf16>
  %out = fmha.merge ins(%parts, %maxima, %sums : tensor<1x1x?x4x64xf32>, tensor<1x1x4x?xf32>, tensor<1x1x4x?xf32>)
      outs(%d : tensor<1x?x4x64xbf16>) -> tensor<1x?x4x64xbf16>
  %size = tensor.dim %out, %c1 : tensor<1x?x4x64xbf16>
  return %out, %size : tensor<1x?x4x64xbf16>, index
}

// -----

!m = memref<1x8x2x64xf16>
// Buffers that are allocated and freed, in a loop and outside.
func.func @buffers(%x: !m, %n: index) -> !m {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = memref.alloc() : !m
  scf.for %i = %c0 to %n step %c1 {
    %t = memref.alloc() : !m
    fmha.attention ins(%x, %x, %x : !m, !m, !m) outs(%t : !m)
    fmha.attention ins(%t, %x, %x : !m, !m, !m) outs(%out : !m)
  }
  return %out : !m
}

// -----

!m = memref<1x16x8x64xf16>
!s = memref<1x8x2x64xf16, strided<[8192, 512, 64, 1], offset: ?>>
// Views of one buffer; the numbers of some are constants.
func.func @views(%p: !m, %i: index) {
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %q = memref.subview %p[0, %i, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !m to !s
  %k = memref.subview %p[0, %c8, %c2, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !m to !s
  %c4 = arith.constant 4 : index
  %o = memref.subview %p[0, %c8, %c4, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !m to !s
  fmha.attention ins(%q, %k, %k : !s, !s, !s) outs(%o : !s)
  return
}

// -----

!m = memref<?x?x2x64xf16>
// Loops of affine, loads and stores around the op, an op whose destination is not read.
func.func @affine(%x: !m, %o: !m, %l: memref<?x2x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : !m
  %b = memref.dim %x, %c0 : !m
  %tmp = memref.alloc(%b, %n) : memref<?x?x2x64xf16>
  affine.for %i = 0 to 4 {
    fmha.attention ins(%x, %x, %x : !m, !m, !m) outs(%tmp : !m)
    fmha.attention ins(%x, %x, %x : !m, !m, !m) outs(%o, %l : !m, memref<?x2x?xf32>)
    %v = affine.load %o[0, %i, 0, 0] : !m
    affine.store %v, %x[0, %i, 1, 0] : !m
  }
  return
}

// -----

!t = tensor<1x?x2x64xf16>
// A score region with constants around it, and values that fold to constants.
func.func @score(%x: !t, %bias: tensor<2x?x?xf32>) -> !t {
  %cap = arith.constant 50.0 : f32
  %one = arith.constant 1.0 : f32
  %inverse = arith.divf %one, %cap : f32
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %0 = arith.mulf %s, %inverse : f32
        %1 = math.tanh %0 : f32
        %2 = arith.mulf %1, %cap : f32
        %e = fmha.read %bias[%h, %i, %j] : tensor<2x?x?xf32>
        %e2 = fmha.read %bias[%h, %i, %j] : tensor<2x?x?xf32>
        %3 = arith.addf %2, %e : f32
        %unused = arith.addf %3, %e2 : f32
        fmha.yield %3 : f32
      }
  return %o : !t
}

// -----

!t = tensor<1x?x2x64xf16>
// A while loop whose condition is a length; unstructured control flow.
func.func @while(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%a = %x, %i = %c0) : (!t, index) -> (!t, index) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %a, %i : !t, index
  } do {
  ^bb0(%a: !t, %i: index):
    %0 = fmha.attention ins(%a, %a, %a : !t, !t, !t) outs(%a : !t) -> !t
    %j = arith.addi %i, %c1 : index
    scf.yield %0, %j : !t, index
  }
  return %r#0 : !t
}

// -----

!t = tensor<1x8x2x64xf16>
func.func @blocks(%x: !t, %c: i1) -> !t {
  %out = tensor.empty() : !t
  cf.cond_br %c, ^a(%x : !t), ^b
^a(%y: !t):
  %0 = fmha.attention ins(%y, %x, %x : !t, !t, !t) outs(%out : !t) -> !t
  cf.br ^c(%0 : !t)
^b:
  %1 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%out : !t) -> !t
  cf.br ^c(%1 : !t)
^c(%z: !t):
  return %z : !t
}

// -----

!t = tensor<1x?x2x64xf16>
// Packed sequences, of which one list is a constant, and a second source.
func.func @packed(%x: !t, %starts: tensor<3xi32>, %k2: tensor<2x?x2x64xf16>) -> (!t, !t) {
  %even = arith.constant dense<[0, 4, 8]> : tensor<3xi32>
  %lens = arith.constant dense<[3, 4]> : tensor<2xi32>
  %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) kv_lens(%lens : tensor<2xi32>) cu_seqlens_q(%starts : tensor<3xi32>)
      cu_seqlens_k(%even : tensor<3xi32>) outs(%x : !t) {mask = #fmha.mask<causal>} -> !t
  %1 = fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k2, %k2 : tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>)
      cu_seqlens_q(%starts : tensor<3xi32>) cu_seqlens_k(%even : tensor<3xi32>) source2_lens(%lens : tensor<2xi32>)
      outs(%0 : !t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<1x8x2x64xf16>
// A nested module, an op in each, and the generic form with an empty region.
module @nested {
  func.func @inner(%x: !t) -> !t {
    %0 = "fmha.attention"(%x, %x, %x, %x) <{
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> ({}) : (!t, !t, !t, !t) -> !t
    return %0 : !t
  }
}
func.func @outer(%x: !t) -> !t {
  %0 = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
  return %0 : !t
}

// -----

!m = memref<1x8x2x64xf16>
// A kernel that is a binary already.
module attributes {gpu.container_module} {
  func.func @done(%x: !m, %o: !m) {
    fmha.attention ins(%x, %x, %x : !m, !m, !m) outs(%o : !m)
        {fmha.kernel = @done_kernel::@fmha_fwd, schedule = #fmha.schedule<target = "sm_100a">}
    return
  }
  gpu.binary @done_kernel {fmha.manifest = "{}"} [#gpu.object<#nvvm.target, assembly = "text">]
}
