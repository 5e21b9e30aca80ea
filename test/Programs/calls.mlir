// Buffers that functions know by two names, keep, or reach through a global.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-device %t.mlir sm_100a memory=managed > %t.managed
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=15360 --spread=0.4
// RUN: %python %S/Inputs/compare.py %t.managed %t.cpu --count=15360 --spread=0.4

!t = memref<1x40x2x64xbf16>
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
func.func private @print(%o: !t) {
  %t = bufferization.to_tensor %o restrict : !t to tensor<1x40x2x64xbf16>
  %u = tensor.cast %t : tensor<1x40x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%u) : (tensor<?x?x?x?xbf16>) -> ()
  return
}

// Doubles an element of what attention wrote, by another name of it.
func.func private @inner(%q: !t, %x: !t, %y: !t) {
  %c0 = arith.constant 0 : index
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%x : !t)
  %e = memref.load %y[%c0, %c0, %c0, %c0] : !t
  %f = arith.addf %e, %e : bf16
  memref.store %f, %y[%c0, %c0, %c0, %c0] : !t
  return
}
func.func private @outer(%q: !t, %x: !t, %y: !t) {
  call @inner(%q, %x, %y) : (!t, !t, !t) -> ()
  return
}

memref.global "private" @g : !t = uninitialized

// The same, where the other name is a global.
func.func private @global(%q: !t, %k: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %three = arith.constant 3.0 : bf16
  fmha.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t)
  %g = memref.get_global @g : !t
  memref.store %three, %g[%c0, %c0, %c0, %c0] : !t
  return
}

func.func private @stash(%m: !t, %table: memref<1x!t>) {
  %c0 = arith.constant 0 : index
  memref.store %m, %table[%c0] : memref<1x!t>
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = call @numbers(%c1) : (index) -> !t
  %b = call @numbers(%c2) : (index) -> !t

  %o = memref.alloc() : !t
  call @outer(%a, %o, %o) : (!t, !t, !t) -> ()
  call @print(%o) : (!t) -> ()

  %g = memref.get_global @g : !t
  call @global(%a, %b, %g) : (!t, !t, !t) -> ()
  call @print(%g) : (!t) -> ()

  %p = memref.alloc() : !t
  %table = memref.alloc() : memref<1x!t>
  call @stash(%p, %table) : (!t, memref<1x!t>) -> ()
  fmha.attention ins(%b, %a, %a : !t, !t, !t) outs(%p : !t)
  %r = memref.load %table[%c0] : memref<1x!t>
  call @print(%r) : (!t) -> ()
  return
}
