// Partial results of two ranges of keys, combined by fmha.merge.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %c80 = arith.constant 80 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c20, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x20x2x64xbf16>
  %k_any = call @noise4(%c1, %c80, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x80x2x64xbf16>
  %z = arith.constant 0.0 : f32
  %mi = arith.constant 0xFF800000 : f32
  %eo = tensor.empty() : tensor<2x1x20x2x64xf32>
  %er = tensor.empty() : tensor<2x1x2x20xf32>
  %c40 = arith.constant 40 : index
  %po = tensor.empty() : tensor<1x20x2x64xf32>
  %pr = tensor.empty() : tensor<1x2x20xf32>
  %r:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %eo, %b = %er, %c = %er) -> (tensor<2x1x20x2x64xf32>, tensor<2x1x2x20xf32>, tensor<2x1x2x20xf32>) {
    %off = arith.muli %i, %c40 : index
    %ks = tensor.extract_slice %k[0, %off, 0, 0] [1, 40, 2, 64] [1, 1, 1, 1] : tensor<1x80x2x64xbf16> to tensor<1x40x2x64xbf16>
    %o, %m, %s = fmha.attention ins(%q, %ks, %ks : tensor<1x20x2x64xbf16>, tensor<1x40x2x64xbf16>, tensor<1x40x2x64xbf16>)
      outs(%po : tensor<1x20x2x64xf32>) row_max(%pr : tensor<1x2x20xf32>) row_sum(%pr : tensor<1x2x20xf32>) {unnormalised} -> tensor<1x20x2x64xf32>, tensor<1x2x20xf32>, tensor<1x2x20xf32>
    %x = tensor.insert_slice %o into %a[%i, 0, 0, 0, 0] [1, 1, 20, 2, 64] [1, 1, 1, 1, 1] : tensor<1x20x2x64xf32> into tensor<2x1x20x2x64xf32>
    %y = tensor.insert_slice %m into %b[%i, 0, 0, 0] [1, 1, 2, 20] [1, 1, 1, 1] : tensor<1x2x20xf32> into tensor<2x1x2x20xf32>
    %w = tensor.insert_slice %s into %c[%i, 0, 0, 0] [1, 1, 2, 20] [1, 1, 1, 1] : tensor<1x2x20xf32> into tensor<2x1x2x20xf32>
    scf.yield %x, %y, %w : tensor<2x1x20x2x64xf32>, tensor<2x1x2x20xf32>, tensor<2x1x2x20xf32>
  }
  %eout = tensor.empty() : tensor<1x20x2x64xbf16>
  %out = fmha.merge ins(%r#0, %r#1, %r#2 : tensor<2x1x20x2x64xf32>, tensor<2x1x2x20xf32>, tensor<2x1x2x20xf32>) outs(%eout : tensor<1x20x2x64xbf16>) -> tensor<1x20x2x64xbf16>
  %o_any = tensor.cast %out : tensor<1x20x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
