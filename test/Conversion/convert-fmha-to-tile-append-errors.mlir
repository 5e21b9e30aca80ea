// RUN: fmha-opt %s --fmha-plan-schedule --convert-fmha-to-tile --split-input-file --verify-diagnostics

// A thread moves 16 bytes at a time.
!n = memref<?x1x4x64xf16>
!v = memref<?x1x4x12xf16>
func.func @head_dim(%k: !n, %v: !v, %lens: memref<?xi32>, %keys: memref<?x64x4x64xf16>, %values: memref<?x64x4x12xf16>) {
  // expected-error @below {{expected head dims that are multiples of 8 to make a kernel for, got 12; fmha-decompose-to-linalg takes any}}
  fmha.append ins(%k, %v : !n, !v) kv_lens(%lens : memref<?xi32>) outs(%keys, %values : memref<?x64x4x64xf16>, memref<?x64x4x12xf16>)
  return
}

// -----

!n = memref<?x1x4x64xf16>
func.func @dangling(%k: !n, %lens: memref<?xi32>, %keys: memref<?x64x4x64xf16>, %values: memref<?x64x4x64xf16>) {
  // expected-error @below {{expected a gpu.module or gpu.binary @a, which fmha.kernel names, got none; drop fmha.kernel to make a kernel}}
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) outs(%keys, %values : memref<?x64x4x64xf16>, memref<?x64x4x64xf16>)
      {fmha.kernel = @a::@b}
  return
}
