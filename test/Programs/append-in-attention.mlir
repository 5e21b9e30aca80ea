// Attention that appends to caches in host memory: the new keys are in the caches afterwards, also if another function made the
// launch, and the output has attended to them. Cache rows are 1; tokens are 5 and 7, at positions 1 and 2 of 4.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a | FileCheck %s
// RUN: %program-on-device %t.mlir sm_100a | FileCheck %s

// The cache of keys.
// CHECK:      1,    1,
// CHECK:      5,    5,
// CHECK:      7,    7,
// CHECK:      1,    1,
// The cache of values.
// CHECK:      1,    1,
// CHECK:      5,    5,
// CHECK:      7,    7,
// CHECK:      1,    1,
// The last query sees 1, 5 and 7 with equal keys only if these are equal; its scores are far apart, so that it is the value 7.
// CHECK:      7,    7,

!row = memref<1x1x1x8xf32>
!new = memref<1x2x1x8xf32>
!cache = memref<1x4x1x8xf32>

func.func @layer(%q: !row, %k: !cache, %v: !cache, %lens: memref<1xi32>, %kn: !new, %vn: !new, %o: !row) {
  fmha.attention ins(%q, %k, %v : !row, !cache, !cache) kv_lens(%lens : memref<1xi32>)
      append(%kn, %vn : !new, !new) outs(%o : !row)
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %five = arith.constant 5.0 : f32
  %seven = arith.constant 7.0 : f32
  %ten = arith.constant 10.0 : f32
  %three = arith.constant 3 : i32
  %q = memref.alloc() : !row
  %o = memref.alloc() : !row
  %k = memref.alloc() : !cache
  %v = memref.alloc() : !cache
  %n = memref.alloc() : !new
  %m = memref.alloc() : !new
  %lens = memref.alloc() : memref<1xi32>
  linalg.fill ins(%ten : f32) outs(%q : !row)
  linalg.fill ins(%one : f32) outs(%k : !cache)
  linalg.fill ins(%one : f32) outs(%v : !cache)
  linalg.fill ins(%three : i32) outs(%lens : memref<1xi32>)
  scf.for %d = %c0 to %c8 step %c1 {
    memref.store %five, %n[%c0, %c0, %c0, %d] : !new
    memref.store %seven, %n[%c0, %c1, %c0, %d] : !new
    memref.store %five, %m[%c0, %c0, %c0, %d] : !new
    memref.store %seven, %m[%c0, %c1, %c0, %d] : !new
  }
  call @layer(%q, %k, %v, %lens, %n, %m, %o) : (!row, !cache, !cache, memref<1xi32>, !new, !new, !row) -> ()
  %k_tensor = bufferization.to_tensor %k restrict : memref<1x4x1x8xf32> to tensor<1x4x1x8xf32>
  %k_any = tensor.cast %k_tensor : tensor<1x4x1x8xf32> to tensor<*xf32>
  call @printMemrefF32(%k_any) : (tensor<*xf32>) -> ()
  %v_tensor = bufferization.to_tensor %v restrict : memref<1x4x1x8xf32> to tensor<1x4x1x8xf32>
  %v_any = tensor.cast %v_tensor : tensor<1x4x1x8xf32> to tensor<*xf32>
  call @printMemrefF32(%v_any) : (tensor<*xf32>) -> ()
  %o_tensor = bufferization.to_tensor %o restrict : memref<1x1x1x8xf32> to tensor<1x1x1x8xf32>
  %o_any = tensor.cast %o_tensor : tensor<1x1x1x8xf32> to tensor<*xf32>
  call @printMemrefF32(%o_any) : (tensor<*xf32>) -> ()
  return
}
