// As many CTAs as the device has room for, each of which takes tile after tile.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=76800

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c300 = arith.constant 300 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4(%c1, %c300, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x?x2x64xbf16>
  %out = tensor.empty(%c300) : tensor<1x?x2x64xbf16>
  %o = fmha.attention ins(%q, %q, %q : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>) outs(%out : tensor<1x?x2x64xbf16>) {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = static>} -> tensor<1x?x2x64xbf16>
  // The same from a counter, so that the numbers come twice.
  %drawn = fmha.attention ins(%q, %q, %q : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>) outs(%out : tensor<1x?x2x64xbf16>) {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = dynamic>} -> tensor<1x?x2x64xbf16>
  %drawn_any = tensor.cast %drawn : tensor<1x?x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%drawn_any) : (tensor<?x?x?x?xbf16>) -> ()
  %o_any = tensor.cast %o : tensor<1x?x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
