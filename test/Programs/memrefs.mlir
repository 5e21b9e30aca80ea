// A program on memrefs in host memory: strided views of one buffer of queries,
// keys and values, and a destination that host and device write in a loop.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-device %t.mlir sm_100a memory=managed > %t.managed
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=5120
// RUN: %python %S/Inputs/compare.py %t.managed %t.cpu --count=5120

!view = memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1], offset: ?>>

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2.0 : bf16
  %0 = call @noise4(%c1, %c40, %c6, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %1 = tensor.cast %0 : tensor<?x?x?x?xbf16> to tensor<1x40x6x64xbf16>
  %from = bufferization.to_buffer %1 read_only : tensor<1x40x6x64xbf16> to memref<1x40x6x64xbf16>
  %qkv = memref.alloc() : memref<1x40x6x64xbf16>
  memref.copy %from, %qkv : memref<1x40x6x64xbf16> to memref<1x40x6x64xbf16>
  %out = memref.alloc() : memref<1x40x2x64xbf16>
  %q0 = memref.subview %qkv[0, 0, 0, 0] [1, 40, 2, 64] [1, 1, 1, 1] : memref<1x40x6x64xbf16> to memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1]>>
  %q = memref.cast %q0 : memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1]>> to !view
  %k0 = memref.subview %qkv[0, 0, 2, 0] [1, 40, 2, 64] [1, 1, 1, 1] : memref<1x40x6x64xbf16> to memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1], offset: 128>>
  %k = memref.cast %k0 : memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1], offset: 128>> to !view
  %v0 = memref.subview %qkv[0, 0, 4, 0] [1, 40, 2, 64] [1, 1, 1, 1] : memref<1x40x6x64xbf16> to memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1], offset: 256>>
  %v = memref.cast %v0 : memref<1x40x2x64xbf16, strided<[15360, 384, 64, 1], offset: 256>> to !view
  scf.for %n = %c0 to %c3 step %c1 {
    fmha.attention ins(%q, %k, %v : !view, !view, !view) outs(%out : memref<1x40x2x64xbf16>)
    // The host computes new queries from the output of the device.
    scf.for %i = %c0 to %c40 step %c1 {
      %x = memref.load %out[%c0, %i, %c1, %i] : memref<1x40x2x64xbf16>
      %y = arith.mulf %x, %two : bf16
      memref.store %y, %qkv[%c0, %i, %c0, %i] : memref<1x40x6x64xbf16>
    }
  }
  %t = bufferization.to_tensor %out restrict : memref<1x40x2x64xbf16> to tensor<1x40x2x64xbf16>
  %u = tensor.cast %t : tensor<1x40x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%u) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
