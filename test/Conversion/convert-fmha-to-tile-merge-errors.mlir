// RUN: fmha-opt %s --fmha-plan-schedule --convert-fmha-to-tile --split-input-file --verify-diagnostics

// A warp moves 16 bytes at a time.
func.func @head_dim(%p: memref<?x1x?x4x12xf32>, %m: memref<?x1x4x?xf32>, %s: memref<?x1x4x?xf32>, %o: memref<1x?x4x12xf32>) {
  // expected-error @below {{expected a head dim that is a multiple of 8 to make a kernel for, got 12; fmha-decompose-to-linalg takes any}}
  fmha.merge ins(%p, %m, %s : memref<?x1x?x4x12xf32>, memref<?x1x4x?xf32>, memref<?x1x4x?xf32>) outs(%o : memref<1x?x4x12xf32>)
  return
}

// -----

func.func @dangling(%p: memref<?x1x?x4x8xf32>, %m: memref<?x1x4x?xf32>, %s: memref<?x1x4x?xf32>, %o: memref<1x?x4x8xf32>) {
  // expected-error @below {{expected a gpu.module or gpu.binary @a, which fmha.kernel names, got none; drop fmha.kernel to make a kernel}}
  fmha.merge ins(%p, %m, %s : memref<?x1x?x4x8xf32>, memref<?x1x4x?xf32>, memref<?x1x4x?xf32>) outs(%o : memref<1x?x4x8xf32>)
      {fmha.kernel = @a::@b}
  return
}
