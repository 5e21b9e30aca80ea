// Lists of blocks, with a region that changes nothing in full blocks: a block of rows sees no block, lists name a block twice or as both kinds,
// the last block has fewer keys, and entries after the counted ones name no block.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.100
// RUN: %python %S/Inputs/compare.py %t.100 %t.cpu --count=36120
// RUN: %program-on-device %t.mlir sm_90a > %t.90
// RUN: %python %S/Inputs/compare.py %t.90 %t.cpu --count=36120

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c70 = arith.constant 70 : index
  %c150 = arith.constant 150 : index
  %q_any = call @noise4(%c2, %c70, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<2x70x2x64xbf16>
  %k_any = call @noise4(%c2, %c150, %c1, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<2x150x1x64xbf16>
  %v_any = call @noise4(%c2, %c150, %c1, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<2x150x1x64xbf16>
  %counts = arith.constant dense<[[[2, 0, 3]], [[1, 3, 0]]]> : tensor<2x1x3xi32>
  %lists = arith.constant dense<[[[[0, 0, 99], [-1, 0, 1], [2, 1, 0]]], [[[1, 2147483647, 3], [0, 1, 2], [0, 0, 0]]]]> : tensor<2x1x3x3xi32>
  %full_counts = arith.constant dense<[[[1, 0, 0]], [[1, 0, 2]]]> : tensor<2x1x3xi32>
  %full_lists = arith.constant dense<[[[[2, 7], [1, 1], [-5, 0]]], [[[1, 0], [2, 2], [2, 0]]]]> : tensor<2x1x3x2xi32>
  %out = tensor.empty() : tensor<2x70x2x64xbf16>
  %rows = tensor.empty() : tensor<2x2x70xf32>
  %o, %l = fmha.attention ins(%q, %k, %v : tensor<2x70x2x64xbf16>, tensor<2x150x1x64xbf16>, tensor<2x150x1x64xbf16>)
      blocks[32, 64](%counts, %lists, %full_counts, %full_lists :
          tensor<2x1x3xi32>, tensor<2x1x3x3xi32>, tensor<2x1x3xi32>, tensor<2x1x3x2xi32>)
      outs(%out, %rows : tensor<2x70x2x64xbf16>, tensor<2x2x70xf32>) -> tensor<2x70x2x64xbf16>, tensor<2x2x70xf32>
      score(%x, %b, %h, %i, %j, %m, %n, %is_full) {
        %hidden = arith.constant 0xFF800000 : f32
        %shift = arith.addi %h, %j : index
        %near = arith.cmpi ule, %i, %shift : index
        %seen = arith.ori %near, %is_full : i1
        %y = arith.select %seen, %x, %hidden : f32
        fmha.yield %y : f32
      }
  %o_any = tensor.cast %o : tensor<2x70x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  %l_any = tensor.cast %l : tensor<2x2x70xf32> to tensor<?x?x?xf32>
  call @print3(%l_any) : (tensor<?x?x?xf32>) -> ()
  // One list for all sequences and heads, under a mask and lengths.
  %lens = arith.constant dense<[150, 100]> : tensor<2xi32>
  %one_count = arith.constant dense<[[[2]]]> : tensor<1x1x1xi32>
  %one_list = arith.constant dense<[[[[1, 0]]]]> : tensor<1x1x1x2xi32>
  %p = fmha.attention ins(%q, %k, %v : tensor<2x70x2x64xbf16>, tensor<2x150x1x64xbf16>, tensor<2x150x1x64xbf16>)
      kv_lens(%lens : tensor<2xi32>) blocks[128, 64](%one_count, %one_list : tensor<1x1x1xi32>, tensor<1x1x1x2xi32>)
      outs(%out : tensor<2x70x2x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<2x70x2x64xbf16>
  %p_any = tensor.cast %p : tensor<2x70x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%p_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
