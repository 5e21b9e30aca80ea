// Buffers that a loop swaps, a function returns, and a condition selects.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-device %t.mlir sm_100a memory=managed > %t.managed
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=15360 --spread=4
// RUN: %python %S/Inputs/compare.py %t.managed %t.cpu --count=15360 --spread=4

!t = memref<1x40x2x64xbf16>

// A new buffer in each call.
func.func private @numbers(%seed: index) -> !t {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  %0 = call @noise4(%c1, %c40, %c2, %c64, %seed) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %1 = tensor.cast %0 : tensor<?x?x?x?xbf16> to tensor<1x40x2x64xbf16>
  %from = bufferization.to_buffer %1 read_only : tensor<1x40x2x64xbf16> to !t
  %m = memref.alloc() : !t
  memref.copy %from, %m : !t to !t
  return %m : !t
}

// Attention of attention, `rounds` times, from one buffer to another; the host
// changes a row of what is read next.
func.func private @swap(%a: !t, %b: !t, %k: !t, %rounds: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %eight = arith.constant 8.0 : bf16
  %r:2 = scf.for %n = %c0 to %rounds step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %k, %k : !t, !t, !t) outs(%y : !t)
    scf.for %i = %c0 to %c64 step %c1 {
      %e = memref.load %y[%c0, %n, %c1, %i] : !t
      %f = arith.mulf %e, %eight : bf16
      memref.store %f, %y[%c0, %n, %c1, %i] : !t
    }
    scf.yield %y, %x : !t, !t
  }
  return
}

// The same without host code in the loop.
func.func private @device_swap(%a: !t, %b: !t, %k: !t, %rounds: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %n = %c0 to %rounds step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %k, %k : !t, !t, !t) outs(%y : !t)
    scf.yield %y, %x : !t, !t
  }
  return
}

func.func private @either(%c: i1, %a: !t, %b: !t, %k: !t, %o: !t) {
  %r = arith.select %c, %a, %b : !t
  fmha.attention ins(%r, %k, %a : !t, !t, !t) outs(%o : !t)
  return
}

func.func private @print(%o: !t) {
  %t = bufferization.to_tensor %o restrict : !t to tensor<1x40x2x64xbf16>
  %u = tensor.cast %t : tensor<1x40x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%u) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %true = arith.constant true
  %a = call @numbers(%c1) : (index) -> !t
  %b = call @numbers(%c2) : (index) -> !t
  %k = call @numbers(%c3) : (index) -> !t
  %o = memref.alloc() : !t
  call @swap(%a, %b, %k, %c3) : (!t, !t, !t, index) -> ()
  call @print(%b) : (!t) -> ()
  call @device_swap(%b, %a, %k, %c2) : (!t, !t, !t, index) -> ()
  call @print(%b) : (!t) -> ()
  call @either(%true, %a, %b, %k, %o) : (i1, !t, !t, !t, !t) -> ()
  call @print(%o) : (!t) -> ()
  return
}
