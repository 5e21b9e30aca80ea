// The numbers are the same with fmha-fold and without, bit by bit: the factors are
// powers of two. Inputs are hashes of their indices and the seed below.

// RUN: fmha-opt %s --fmha-fold | FileCheck %s --check-prefix=FOLDED
// RUN: fmha-opt %s --fmha-to-cpu | mlir-runner -e main -entry-point-result=void \
// RUN:   -shared-libs=%llvm-lib/libmlir_c_runner_utils.so,%llvm-lib/libmlir_runner_utils.so | grep -v base@ > %t.plain
// RUN: fmha-opt %s --fmha-fold --fmha-to-cpu | mlir-runner -e main -entry-point-result=void \
// RUN:   -shared-libs=%llvm-lib/libmlir_c_runner_utils.so,%llvm-lib/libmlir_runner_utils.so | grep -v base@ > %t.folded
// RUN: diff %t.plain %t.folded
// RUN: FileCheck %s --check-prefix=NUMBERS --input-file=%t.folded

// FOLDED-LABEL: func.func @attention
// FOLDED-NOT: linalg
// FOLDED: fmha.attention
// FOLDED-SAME: scale = 1.250000e-01 : f64
// FOLDED-NOT: linalg
// FOLDED-LABEL: func.func @hashed
// NUMBERS-NOT: nan
// NUMBERS: 0.{{[0-9]+}}, {{.*}}0.{{[0-9]+}}
// NUMBERS-NOT: nan

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

!bhsd_q = tensor<2x4x?x8xbf16>
!bhsd_k = tensor<2x2x?x8xbf16>
!q = tensor<2x?x4x8xbf16>
!k = tensor<2x?x2x8xbf16>

// Attention from a compiler that orders tensors as [batch, heads, length, dim].
func.func @attention(%q: !bhsd_q, %k: !bhsd_k, %v: !bhsd_k, %mask: tensor<2x?x?xi8>) -> !bhsd_q {
  %c2 = arith.constant 2 : index
  %m = tensor.dim %q, %c2 : !bhsd_q
  %n = tensor.dim %k, %c2 : !bhsd_k
  %half = arith.constant 0.5 : bf16
  %two = arith.constant 2.0 : bf16
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %eq = tensor.empty(%m) : !q
  %ek = tensor.empty(%n) : !k
  %eo = tensor.empty(%m) : tensor<2x?x4x8xf32>
  %er = tensor.empty(%m) : !bhsd_q
  %eb = tensor.empty(%m, %n) : tensor<2x?x?xf32>
  %qt = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : !bhsd_q) outs(%eq : !q) {
    ^bb0(%x: bf16, %y: bf16):
      %s = arith.mulf %x, %half : bf16
      linalg.yield %s : bf16
    } -> !q
  %kt = linalg.transpose ins(%k : !bhsd_k) outs(%ek : !k) permutation = [0, 2, 1, 3]
  %vt = linalg.transpose ins(%v : !bhsd_k) outs(%ek : !k) permutation = [0, 2, 1, 3]
  %bias = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, j, i)>, affine_map<(b, i, j) -> (b, i, j)>],
                          iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%mask : tensor<2x?x?xi8>) outs(%eb : tensor<2x?x?xf32>) {
    ^bb0(%x: i8, %y: f32):
      %live = arith.cmpi sgt, %x, %none : i8
      %b = arith.select %live, %zero, %hidden : f32
      linalg.yield %b : f32
    } -> tensor<2x?x?xf32>
  %o = fmha.attention
      ins(%qt, %kt, %vt : !q, !k, !k) outs(%eo : tensor<2x?x4x8xf32>)
      {mask = #fmha.mask<causal>, scale = 0.25 : f64} -> tensor<2x?x4x8xf32>
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %z = fmha.read %bias[%b, %i, %j] : tensor<2x?x?xf32>
        %x = arith.addf %s, %z : f32
        fmha.yield %x : f32
      }
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o : tensor<2x?x4x8xf32>) outs(%er : !bhsd_q) {
    ^bb0(%x: f32, %y: bf16):
      %narrow = arith.truncf %x : f32 to bf16
      linalg.yield %narrow : bf16
    } -> !bhsd_q
  return %r : !bhsd_q
}

// A number from -128 to 127 for each index.
func.func @hashed(%a: index, %b: index, %c: index, %d: index, %which: index) -> i32 {
  %seed = arith.constant 21 : index
  %c31 = arith.constant 31 : index
  %c40503 = arith.constant 40503 : index
  %c8 = arith.constant 8 : index
  %h0 = arith.muli %seed, %c31 : index
  %h1 = arith.addi %h0, %which : index
  %h2 = arith.muli %h1, %c31 : index
  %h3 = arith.addi %h2, %a : index
  %h4 = arith.muli %h3, %c31 : index
  %h5 = arith.addi %h4, %b : index
  %h6 = arith.muli %h5, %c31 : index
  %h7 = arith.addi %h6, %c : index
  %h8 = arith.muli %h7, %c31 : index
  %h9 = arith.addi %h8, %d : index
  %mixed = arith.muli %h9, %c40503 : index
  %high = arith.shrui %mixed, %c8 : index
  %bits = arith.index_cast %high : index to i8
  %number = arith.extsi %bits : i8 to i32
  return %number : i32
}

func.func @hashed_tensor(%heads: index, %length: index, %which: index) -> tensor<2x?x?x8xbf16> {
  %unit = arith.constant 0.015625 : f32
  %t = tensor.generate %heads, %length {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      %n = func.call @hashed(%a, %b, %c, %d, %which) : (index, index, index, index, index) -> i32
      %f = arith.sitofp %n : i32 to f32
      %x = arith.mulf %f, %unit : f32
      %y = arith.truncf %x : f32 to bf16
      tensor.yield %y : bf16
    } : tensor<2x?x?x8xbf16>
  return %t : tensor<2x?x?x8xbf16>
}

func.func @run(%m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %q0 = call @hashed_tensor(%c4, %m, %c0) : (index, index, index) -> tensor<2x?x?x8xbf16>
  %k0 = call @hashed_tensor(%c2, %n, %c1) : (index, index, index) -> tensor<2x?x?x8xbf16>
  %v0 = call @hashed_tensor(%c2, %n, %c2) : (index, index, index) -> tensor<2x?x?x8xbf16>
  %q = tensor.cast %q0 : tensor<2x?x?x8xbf16> to !bhsd_q
  %k = tensor.cast %k0 : tensor<2x?x?x8xbf16> to !bhsd_k
  %v = tensor.cast %v0 : tensor<2x?x?x8xbf16> to !bhsd_k
  %mask = tensor.generate %n, %m {
    ^bb0(%a: index, %j: index, %i: index):
      %h = func.call @hashed(%a, %j, %i, %c0, %c3) : (index, index, index, index, index) -> i32
      %x = arith.trunci %h : i32 to i8
      tensor.yield %x : i8
    } : tensor<2x?x?xi8>
  %o = call @attention(%q, %k, %v, %mask) : (!bhsd_q, !bhsd_k, !bhsd_k, tensor<2x?x?xi8>) -> !bhsd_q
  %empty = tensor.empty(%m) : tensor<2x4x?x8xf32>
  %wide = linalg.copy ins(%o : !bhsd_q) outs(%empty : tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32>
  %buffer = bufferization.to_buffer %wide read_only : tensor<2x4x?x8xf32> to memref<2x4x?x8xf32>
  %any = memref.cast %buffer : memref<2x4x?x8xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  call @run(%c5, %c7) : (index, index) -> ()
  call @run(%c7, %c5) : (index, index) -> ()
  call @run(%c1, %c0) : (index, index) -> ()
  return
}
