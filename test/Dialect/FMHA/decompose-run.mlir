// RUN: fmha-opt %s --fmha-to-cpu \
// RUN:   | mlir-runner -e main -entry-point-result=void \
// RUN:       -shared-libs=%llvm-lib/libmlir_c_runner_utils.so,%llvm-lib/libmlir_runner_utils.so \
// RUN:   | FileCheck %s

// The decomposition, run on the CPU, on cases that can be worked out by hand. Head
// dim 2, scale 1, one head, one batch.

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @print(%values: tensor<?xf32>) {
  %buffer = bufferization.to_buffer %values read_only : tensor<?xf32> to memref<?xf32>
  %any = memref.cast %buffer : memref<?xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  return
}

func.func @run(%q: tensor<?x2xbf16>, %k: tensor<?x2xbf16>, %v: tensor<?x2xbf16>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %q, %c0 : tensor<?x2xbf16>
  %keys = tensor.dim %k, %c0 : tensor<?x2xbf16>
  %q4 = tensor.expand_shape %q [[0, 1, 2], [3]] output_shape [1, %rows, 1, 2] : tensor<?x2xbf16> into tensor<1x?x1x2xbf16>
  %k4 = tensor.expand_shape %k [[0, 1, 2], [3]] output_shape [1, %keys, 1, 2] : tensor<?x2xbf16> into tensor<1x?x1x2xbf16>
  %v4 = tensor.expand_shape %v [[0, 1, 2], [3]] output_shape [1, %keys, 1, 2] : tensor<?x2xbf16> into tensor<1x?x1x2xbf16>
  %out = tensor.empty(%rows) : tensor<1x?x1x2xbf16>
  %lse = tensor.empty(%rows) : tensor<1x1x?xf32>
  %o, %l = fmha.attention
      ins(%q4, %k4, %v4 : tensor<1x?x1x2xbf16>, tensor<1x?x1x2xbf16>, tensor<1x?x1x2xbf16>)
      outs(%out, %lse : tensor<1x?x1x2xbf16>, tensor<1x1x?xf32>)
      {scale = 1.0 : f64, mask = #fmha.mask<causal>}
      -> tensor<1x?x1x2xbf16>, tensor<1x1x?xf32>
  %o1 = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x?x1x2xbf16> into tensor<?xbf16>
  %o32 = arith.extf %o1 : tensor<?xbf16> to tensor<?xf32>
  %l1 = tensor.collapse_shape %l [[0, 1, 2]] : tensor<1x1x?xf32> into tensor<?xf32>
  call @print(%o32) : (tensor<?xf32>) -> ()
  call @print(%l1) : (tensor<?xf32>) -> ()
  return
}

func.func @main() {
  %keys = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %two_keys = tensor.cast %keys : tensor<2x2xbf16> to tensor<?x2xbf16>
  %key = arith.constant dense<[[5.0, -6.0]]> : tensor<1x2xbf16>
  %one_key = tensor.cast %key : tensor<1x2xbf16> to tensor<?x2xbf16>
  %c0 = arith.constant 0 : index
  %no_keys = tensor.empty(%c0) : tensor<?x2xbf16>
  %zero = arith.constant dense<0.0> : tensor<1x2xbf16>
  %zero_row = tensor.cast %zero : tensor<1x2xbf16> to tensor<?x2xbf16>
  %three = arith.constant dense<1.0> : tensor<3x2xbf16>
  %three_rows = tensor.cast %three : tensor<3x2xbf16> to tensor<?x2xbf16>

  // One row that scores both keys 0: the mean of the values, and log 2. The row is
  // the last one, so that the causal mask leaves it both keys.
  // CHECK: [2, 3]
  // CHECK: [0.693147]
  call @run(%zero_row, %two_keys, %two_keys) : (tensor<?x2xbf16>, tensor<?x2xbf16>, tensor<?x2xbf16>) -> ()

  // Three rows over one key, aligned bottom-right: only the last row sees it, with
  // score 5 - 6. The others see nothing.
  // CHECK: [0, 0, 0, 0, 5, -6]
  // CHECK: [-inf, -inf, -1]
  call @run(%three_rows, %one_key, %one_key) : (tensor<?x2xbf16>, tensor<?x2xbf16>, tensor<?x2xbf16>) -> ()

  // No keys at all.
  // CHECK: [0, 0]
  // CHECK: [-inf]
  call @run(%zero_row, %no_keys, %no_keys) : (tensor<?x2xbf16>, tensor<?x2xbf16>, tensor<?x2xbf16>) -> ()
  return
}
