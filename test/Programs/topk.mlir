// Lists of the keys of each query, dense and in pages, with a region that gets the position of each key; entries after the -1 of a
// list name no key.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.100
// RUN: %python %S/Inputs/compare.py %t.100 %t.cpu --count=3474
// RUN: %program-on-device %t.mlir sm_90a > %t.90
// RUN: %python %S/Inputs/compare.py %t.90 %t.cpu --count=3474

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c11 = arith.constant 11 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c3, %c3, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<3x3x2x64xbf16>
  %k_any = call @noise4(%c11, %c8, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %v_any = call @noise4(%c11, %c8, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<11x8x2x64xbf16>
  %lens = arith.constant dense<[50, 0, 7]> : tensor<3xi32>
  %pages = arith.constant dense<[[4, 0, 9, 2, 8, 1, 7], [-1, -1, -1, -1, -1, -1, -1], [5, -1, 99, -1, -1, 11, -1]]> : tensor<3x7xi32>
  %lists = arith.constant dense<[[[49, 0, 31, 31], [8, -1, 99, -7], [-1, 5, 5, 5]], [[-1, 0, 0, 0], [-1, -2, 3, 4], [-1, -1, -1, -1]],
                                 [[0, 6, 0, -1], [6, 5, 4, 3], [1, -1, 1000, 0]]]> : tensor<3x3x4xi32>
  %out = tensor.empty() : tensor<3x3x2x64xbf16>
  %rows = tensor.empty() : tensor<3x2x3xf32>
  %o, %l = fmha.attention ins(%q, %k, %v : tensor<3x3x2x64xbf16>, tensor<11x8x2x64xbf16>, tensor<11x8x2x64xbf16>) kv_lens(%lens : tensor<3xi32>)
      block_tables(%pages : tensor<3x7xi32>) topk(%lists : tensor<3x3x4xi32>)
      outs(%out, %rows : tensor<3x3x2x64xbf16>, tensor<3x2x3xf32>) -> tensor<3x3x2x64xbf16>, tensor<3x2x3xf32>
  %o_any = tensor.cast %o : tensor<3x3x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  %l_any = tensor.cast %l : tensor<3x2x3xf32> to tensor<?x?x?xf32>
  call @print3(%l_any) : (tensor<?x?x?xf32>) -> ()
  // Without pages a position is a row of the batch.
  %d = tensor.extract_slice %k[0, 0, 0, 0] [3, 8, 2, 64] [1, 1, 1, 1] : tensor<11x8x2x64xbf16> to tensor<3x8x2x64xbf16>
  %short = arith.constant dense<[[[7], [0], [3]], [[-1], [1], [2]], [[5], [5], [-1]]]> : tensor<3x3x1xi32>
  %lists_of_8 = arith.constant dense<[[[7, 0, 2], [0, -1, 8], [3, 3, 4]], [[-1, 9, 9], [1, 6, -1], [2, 7, 0]], [[5, 5, 5], [5, 6, 7], [-1, 0, 0]]]> : tensor<3x3x3xi32>
  %p = fmha.attention ins(%q, %d, %d : tensor<3x3x2x64xbf16>, tensor<3x8x2x64xbf16>, tensor<3x8x2x64xbf16>)
      topk(%short : tensor<3x3x1xi32>) outs(%out : tensor<3x3x2x64xbf16>) -> tensor<3x3x2x64xbf16>
  %p_any = tensor.cast %p : tensor<3x3x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%p_any) : (tensor<?x?x?x?xbf16>) -> ()
  %r = fmha.attention ins(%q, %d, %d : tensor<3x3x2x64xbf16>, tensor<3x8x2x64xbf16>, tensor<3x8x2x64xbf16>)
      topk(%lists_of_8 : tensor<3x3x3xi32>) outs(%out : tensor<3x3x2x64xbf16>) -> tensor<3x3x2x64xbf16> score(%x, %b, %h, %i, %j, %m, %n) {
        %far = arith.subi %n, %j : index
        %far32 = arith.index_cast %far : index to i32
        %distance = arith.sitofp %far32 : i32 to f32
        %y = arith.subf %x, %distance : f32
        fmha.yield %y : f32
      }
  %r_any = tensor.cast %r : tensor<3x3x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%r_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
