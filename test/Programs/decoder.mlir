// Two layers of a decoder: RMS norm, projections, causal attention with grouped
// queries, residuals, and an MLP, with weights that the program makes.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=6144 --spread=4

#identity = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A weight of [rows, columns], about 1 / sqrt(rows) in size.
func.func private @weight(%rows: index, %columns: index, %seed: index, %size: f32) -> tensor<?x?xf32> {
  %w = tensor.generate %rows, %columns {
  ^bb0(%i: index, %j: index):
    %0 = arith.muli %i, %columns : index
    %1 = arith.addi %0, %j : index
    %x = func.call @noise(%1, %seed) : (index, index) -> f32
    %y = arith.mulf %x, %size : f32
    tensor.yield %y : f32
  } : tensor<?x?xf32>
  return %w : tensor<?x?xf32>
}

func.func private @rms_norm(%x: tensor<48x128xf32>) -> tensor<48x128xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 128.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %e0 = tensor.empty() : tensor<48xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<48xf32>) -> tensor<48xf32>
  %sum = linalg.generic {indexing_maps = [#identity, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<48x128xf32>) outs(%f0 : tensor<48xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %s : f32
    linalg.yield %1 : f32
  } -> tensor<48xf32>
  %e1 = tensor.empty() : tensor<48x128xf32>
  %y = linalg.generic {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<48x128xf32>, tensor<48xf32>) outs(%e1 : tensor<48x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.divf %s, %n : f32
    %1 = arith.addf %0, %epsilon : f32
    %2 = math.sqrt %1 : f32
    %3 = arith.divf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x128xf32>
  return %y : tensor<48x128xf32>
}

func.func private @project(%x: tensor<48x128xf32>, %seed: index) -> tensor<48x128xf32> {
  %c128 = arith.constant 128 : index
  %size = arith.constant 0.15 : f32
  %zero = arith.constant 0.0 : f32
  %any = call @weight(%c128, %c128, %seed, %size) : (index, index, index, f32) -> tensor<?x?xf32>
  %w = tensor.cast %any : tensor<?x?xf32> to tensor<128x128xf32>
  %e = tensor.empty() : tensor<48x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x128xf32>) -> tensor<48x128xf32>
  %y = linalg.matmul ins(%x, %w : tensor<48x128xf32>, tensor<128x128xf32>) outs(%f : tensor<48x128xf32>) -> tensor<48x128xf32>
  return %y : tensor<48x128xf32>
}

func.func private @attend(%q: tensor<48x128xf32>, %kv: tensor<48x128xf32>) -> tensor<48x128xf32> {
  %q16 = arith.truncf %q : tensor<48x128xf32> to tensor<48x128xbf16>
  %kv16 = arith.truncf %kv : tensor<48x128xf32> to tensor<48x128xbf16>
  %q4 = tensor.expand_shape %q16 [[0, 1], [2, 3]] output_shape [1, 48, 2, 64] : tensor<48x128xbf16> into tensor<1x48x2x64xbf16>
  %kv4 = tensor.expand_shape %kv16 [[0, 1], [2, 3]] output_shape [1, 48, 2, 64] : tensor<48x128xbf16> into tensor<1x48x2x64xbf16>
  %k = tensor.extract_slice %kv4[0, 0, 0, 0] [1, 48, 1, 64] [1, 1, 1, 1] : tensor<1x48x2x64xbf16> to tensor<1x48x1x64xbf16>
  %v = tensor.extract_slice %kv4[0, 0, 1, 0] [1, 48, 1, 64] [1, 1, 1, 1] : tensor<1x48x2x64xbf16> to tensor<1x48x1x64xbf16>
  %out = tensor.empty() : tensor<1x48x2x64xbf16>
  %o4 = fmha.attention
      ins(%q4, %k, %v : tensor<1x48x2x64xbf16>, tensor<1x48x1x64xbf16>, tensor<1x48x1x64xbf16>)
      outs(%out : tensor<1x48x2x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<1x48x2x64xbf16>
  %o16 = tensor.collapse_shape %o4 [[0, 1], [2, 3]] : tensor<1x48x2x64xbf16> into tensor<48x128xbf16>
  %o = arith.extf %o16 : tensor<48x128xbf16> to tensor<48x128xf32>
  return %o : tensor<48x128xf32>
}

func.func private @layer(%x: tensor<48x128xf32>, %n: index) -> tensor<48x128xf32> {
  %c7 = arith.constant 7 : index
  %c1 = arith.constant 1 : index
  %s1 = arith.muli %n, %c7 : index
  %s2 = arith.addi %s1, %c1 : index
  %s3 = arith.addi %s2, %c1 : index
  %s4 = arith.addi %s3, %c1 : index
  %s5 = arith.addi %s4, %c1 : index
  %normed = call @rms_norm(%x) : (tensor<48x128xf32>) -> tensor<48x128xf32>
  %q = call @project(%normed, %s1) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
  %kv = call @project(%normed, %s2) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
  %a = call @attend(%q, %kv) : (tensor<48x128xf32>, tensor<48x128xf32>) -> tensor<48x128xf32>
  %p = call @project(%a, %s3) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
  %y = arith.addf %x, %p : tensor<48x128xf32>
  %normed2 = call @rms_norm(%y) : (tensor<48x128xf32>) -> tensor<48x128xf32>
  %up = call @project(%normed2, %s4) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
  %zero = arith.constant dense<0.0> : tensor<48x128xf32>
  %relu = arith.maximumf %up, %zero : tensor<48x128xf32>
  %down = call @project(%relu, %s5) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
  %z = arith.addf %y, %down : tensor<48x128xf32>
  return %z : tensor<48x128xf32>
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c48 = arith.constant 48 : index
  %c128 = arith.constant 128 : index
  %c99 = arith.constant 99 : index
  %one = arith.constant 1.0 : f32
  %any = call @weight(%c48, %c128, %c99, %one) : (index, index, index, f32) -> tensor<?x?xf32>
  %x = tensor.cast %any : tensor<?x?xf32> to tensor<48x128xf32>
  %y = scf.for %n = %c0 to %c2 step %c1 iter_args(%h = %x) -> (tensor<48x128xf32>) {
    %next = func.call @layer(%h, %n) : (tensor<48x128xf32>, index) -> tensor<48x128xf32>
    scf.yield %next : tensor<48x128xf32>
  }
  %u = tensor.cast %y : tensor<48x128xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
