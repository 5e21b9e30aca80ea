// RUN: fmha-opt %s --split-input-file --verify-diagnostics --fmha-deallocate-buffers

func.func private @make() -> memref<64xf32>
func.func private @same(%a: memref<64xf32>) -> memref<64xf32> {
  return %a : memref<64xf32>
}
func.func @caller() {
  %m = call @make() : () -> memref<64xf32>
  // expected-error @below {{expected result 0 of @same to be a new buffer in each call, since @caller frees buffers itself and @same does not, got a buffer that may be another one; return a copy, or remove the memref.dealloc ops of the program, which are then inserted}}
  %r = call @same(%m) : (memref<64xf32>) -> memref<64xf32>
  memref.dealloc %r : memref<64xf32>
  return
}

// -----

func.func private @make() -> memref<64xf32>
func.func private @frees(%a: memref<64xf32>) -> memref<64xf32> {
  %m = call @make() : () -> memref<64xf32>
  memref.dealloc %m : memref<64xf32>
  return %a : memref<64xf32>
}
func.func @caller(%a: memref<64xf32>) {
  // expected-error @below {{expected result 0 of @frees to be a new buffer in each call, since @frees frees buffers itself and @caller does not}}
  %r = call @frees(%a) : (memref<64xf32>) -> memref<64xf32>
  return
}

// -----

// Upstream's convention applies to functions that free nothing: no error.
func.func private @same(%a: memref<64xf32>) -> memref<64xf32> {
  return %a : memref<64xf32>
}
func.func @both(%a: memref<64xf32>) {
  %r = call @same(%a) : (memref<64xf32>) -> memref<64xf32>
  return
}
