// RUN: fmha-opt %s --split-input-file --fmha-deallocate-buffers --canonicalize --buffer-deallocation-simplification | FileCheck %s --implicit-check-not=manual_deallocation

// What the function frees stays; the rest is freed at the end; memory of the
// device is left to gpu.dealloc.
// CHECK-LABEL: func.func @simple
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK:         %[[B:.*]] = memref.alloc
// CHECK:         gpu.alloc
// CHECK:         scf.if
// CHECK-NEXT:      memref.dealloc %[[A]]
// CHECK:         bufferization.dealloc (%[[B]] : memref<64xf32>) if (%true
// CHECK-NOT:     dealloc
// CHECK:         return
func.func private @use(memref<64xf32>, memref<64xf32>, memref<64xf32>)
func.func @simple(%c: i1) {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  %d = gpu.alloc () : memref<64xf32>
  call @use(%a, %b, %d) : (memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  scf.if %c {
    memref.dealloc %a : memref<64xf32>
  } else {
    memref.dealloc %a : memref<64xf32>
  }
  return
}

// -----

// Device memory is freed where the program says.
// CHECK-LABEL: func.func @device
// CHECK:         %[[D:.*]] = gpu.alloc
// CHECK:         gpu.dealloc %[[D]]
// CHECK-NOT:     dealloc
// CHECK:         return
func.func @device() {
  %zero = arith.constant 0.0 : f32
  %d = gpu.alloc () : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%d : memref<64xf32>)
  gpu.dealloc %d : memref<64xf32>
  return
}

// -----

// A function that frees what a call returns is as written, but an allocation
// that nothing frees is freed. Its callee follows the convention.
// CHECK-LABEL: func.func private @make
// CHECK:         %[[M:.*]] = memref.alloc
// CHECK-NOT:     memref.dealloc
// CHECK:         return %[[M]]
// CHECK-LABEL: func.func @result
// CHECK:         %[[M:.*]] = call @make
// CHECK:         %[[REST:.*]] = memref.alloc
// CHECK:         memref.dealloc %[[M]]
// CHECK-NEXT:    memref.dealloc %[[REST]]
// CHECK-NEXT:    return
func.func private @make() -> memref<64xf32> {
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<64xf32>)
  return %m : memref<64xf32>
}
func.func @result() {
  %m = call @make() : () -> memref<64xf32>
  %rest = memref.alloc() : memref<64xf32>
  memref.copy %m, %rest : memref<64xf32> to memref<64xf32>
  memref.dealloc %m : memref<64xf32>
  return
}

// -----

// Code that upstream's deallocation wrote, with ownership, is as written.
// CHECK-LABEL: func.func @owned
// CHECK:         %[[R:.*]] = scf.if
// CHECK:         call @see(%[[R]])
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      memref.dealloc %[[R]]
// CHECK-NOT:     dealloc
// CHECK:         return
func.func private @see(memref<64xf32>)
func.func @owned(%c: i1, %a: memref<64xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  %r:2 = scf.if %c -> (memref<64xf32>, i1) {
    scf.yield %a, %false : memref<64xf32>, i1
  } else {
    %m = memref.alloc() : memref<64xf32>
    scf.yield %m, %true : memref<64xf32>, i1
  }
  call @see(%r#0) : (memref<64xf32>) -> ()
  scf.if %r#1 {
    memref.dealloc %r#0 : memref<64xf32>
  }
  return
}

// -----

// A buffer that is returned on one path and freed on another one.
// CHECK-LABEL: func.func @returned
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK:       ^bb1:
// CHECK-NEXT:    return %[[A]]
// CHECK:       ^bb2:
// CHECK-NEXT:    memref.dealloc %[[A]]
// CHECK-NOT:     dealloc
func.func @returned(%c: i1, %b: memref<64xf32>) -> memref<64xf32> {
  %a = memref.alloc() : memref<64xf32>
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %a : memref<64xf32>
^bb2:
  memref.dealloc %a : memref<64xf32>
  return %b : memref<64xf32>
}

// -----

// A function that frees its argument is as written: it does not free the buffer
// that it returns, but the one that it only uses.
// CHECK-LABEL: func.func @returned
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<64xf32>
// CHECK:         %[[R:.*]] = memref.alloc
// CHECK-NEXT:    %[[S:.*]] = memref.alloc
// CHECK:         memref.dealloc %[[A]]
// CHECK-NEXT:    memref.dealloc %[[S]]
// CHECK-NEXT:    return %[[R]]
func.func @returned(%a: memref<64xf32>, %z: f32) -> memref<64xf32> {
  %r = memref.alloc() : memref<64xf32>
  %s = memref.alloc() : memref<64xf32>
  linalg.fill ins(%z : f32) outs(%r : memref<64xf32>)
  linalg.fill ins(%z : f32) outs(%s : memref<64xf32>)
  memref.dealloc %a : memref<64xf32>
  return %r : memref<64xf32>
}

// -----

// So is one that frees a buffer that is reached by a selection, too.
// CHECK-LABEL: func.func @selected
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK-NEXT:    %[[B:.*]] = memref.alloc
// CHECK:         call @use
// CHECK-NEXT:    memref.dealloc %[[A]]
// CHECK-NEXT:    memref.dealloc %[[B]]
// CHECK-NEXT:    return
func.func private @use(memref<64xf32>)
func.func @selected(%c: i1) {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  %s = arith.select %c, %a, %b : memref<64xf32>
  call @use(%s) : (memref<64xf32>) -> ()
  memref.dealloc %a : memref<64xf32>
  return
}

// -----

// In such a function, what a round of a loop passes to the next one stays.
// CHECK-LABEL: func.func @carried
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64xf32>
// CHECK:         scf.for
// CHECK:           memref.alloc
// CHECK-NOT:       memref.dealloc
// CHECK:           scf.yield
// CHECK:         memref.dealloc %[[X]]
// CHECK-NEXT:    return
func.func private @use(memref<64xf32>)
func.func @carried(%a: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> memref<64xf32> {
    func.call @use(%x) : (memref<64xf32>) -> ()
    %y = memref.alloc() : memref<64xf32>
    scf.yield %y : memref<64xf32>
  }
  memref.dealloc %a : memref<64xf32>
  return
}
