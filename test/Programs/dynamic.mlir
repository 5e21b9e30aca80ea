// Run-time lengths, grouped queries: one kernel for two launches.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=28416

func.func private @attention(%q: tensor<?x?x4x64xbf16>, %k: tensor<?x?x2x64xbf16>, %v: tensor<?x?x2x64xbf16>) -> tensor<?x?x4x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x4x64xbf16>
  %length = tensor.dim %q, %c1 : tensor<?x?x4x64xbf16>
  %out = tensor.empty(%batch, %length) : tensor<?x?x4x64xbf16>
  %o = fmha.attention
      ins(%q, %k, %v : tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>)
      outs(%out : tensor<?x?x4x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<?x?x4x64xbf16>
  return %o : tensor<?x?x4x64xbf16>
}

func.func private @launch(%batch: index, %length: index, %keys: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %0 = call @noise4(%batch, %length, %c4, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %1 = call @noise4(%batch, %keys, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %2 = call @noise4(%batch, %keys, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %0 : tensor<?x?x?x?xbf16> to tensor<?x?x4x64xbf16>
  %k = tensor.cast %1 : tensor<?x?x?x?xbf16> to tensor<?x?x2x64xbf16>
  %v = tensor.cast %2 : tensor<?x?x?x?xbf16> to tensor<?x?x2x64xbf16>
  %o = call @attention(%q, %k, %v) : (tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>) -> tensor<?x?x4x64xbf16>
  %x = tensor.cast %o : tensor<?x?x4x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%x) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c37 = arith.constant 37 : index
  %c101 = arith.constant 101 : index
  %c150 = arith.constant 150 : index
  call @launch(%c2, %c37, %c101) : (index, index, index) -> ()
  call @launch(%c1, %c37, %c150) : (index, index, index) -> ()
  return
}
