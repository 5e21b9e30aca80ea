// A program that frees its buffers itself: what it allocates, what functions
// return, and under a condition. A second free of one would end the process. The
// same program without its deallocs is what the CPU computes.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-device %t.mlir sm_100a memory=managed > %t.managed
// RUN: grep -v memref.dealloc %t.mlir > %t.without.mlir
// RUN: %program-on-cpu %t.without.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=15360
// RUN: %python %S/Inputs/compare.py %t.managed %t.cpu --count=15360

// The output of upstream's own deallocation, too.
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %t.without.mlir --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),one-shot-bufferize{bufferize-function-boundaries},buffer-deallocation-pipeline,convert-bufferization-to-memref)' > %t.freed.mlir
// RUN: grep memref.dealloc %t.freed.mlir
// RUN: %program-on-device %t.freed.mlir sm_100a > %t.freed
// RUN: %python %S/Inputs/compare.py %t.freed %t.cpu --count=15360

// Each allocation has one dealloc.
// RUN: %count-allocations %t.mlir %t.dir sm_100a | FileCheck %s
// RUN: %count-allocations %t.mlir %t.dir sm_100a memory=managed | FileCheck %s
// RUN: %count-allocations %t.freed.mlir %t.dir sm_100a | FileCheck %s
// RUN: %count-allocations %t.without.mlir %t.dir sm_100a | FileCheck %s
// CHECK-NOT: without being allocated
// CHECK: host: {{[1-9][0-9]*}} allocated, 0 left
// CHECK: device: {{[1-9][0-9]*}} allocated, 0 left

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

func.func private @run(%seed: index, %again: i1) {
  %c1 = arith.constant 1 : index
  %next = arith.addi %seed, %c1 : index
  %q = call @numbers(%seed) : (index) -> !t
  %k = call @numbers(%next) : (index) -> !t
  %o = memref.alloc() : !t
  fmha.attention ins(%q, %k, %q : !t, !t, !t) outs(%o : !t)
  scf.if %again {
    %p = memref.alloc() : !t
    fmha.attention ins(%o, %k, %q : !t, !t, !t) outs(%p : !t)
    func.call @print(%p) : (!t) -> ()
    memref.dealloc %p : !t
  }
  call @print(%o) : (!t) -> ()
  memref.dealloc %o : !t
  memref.dealloc %k : !t
  memref.dealloc %q : !t
  return
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  %false = arith.constant false
  call @run(%c1, %true) : (index, i1) -> ()
  call @run(%c2, %false) : (index, i1) -> ()
  return
}
