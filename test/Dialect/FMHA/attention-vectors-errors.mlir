// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>

func.func @size(%q: !q, %k: memref<2x9x2x8x8xf32>, %v: !v, %o: !q) {
  // expected-error @below {{attention.C31: expected vectors of 16 bytes, 4 elements, in dimension 4 of key, got 'memref<2x9x2x8x8xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, memref<2x9x2x8x8xf32>, !v) outs(%o : !q)
  return
}

// -----

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>

func.func @head_dim(%q: !q, %k: memref<2x9x2x15x4xf32>, %v: !v, %o: !q) {
  // expected-error @below {{attention.C31: expected dimensions 3 and 4 of key to be the head dim of query, 64, in vectors of 4, got 'memref<2x9x2x15x4xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, memref<2x9x2x15x4xf32>, !v) outs(%o : !q)
  return
}

// -----

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>

func.func @dynamic(%q: !q, %k: memref<2x9x2x?x?xf32>, %v: !v, %o: !q) {
  // expected-error @below {{attention.C31: expected vectors of 16 bytes, 4 elements, in dimension 4 of key}}
  fmha.attention ins(%q, %k, %v : !q, memref<2x9x2x?x?xf32>, !v) outs(%o : !q)
  return
}

// -----

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>

func.func @two_segments(%q: !q, %k: memref<2x9x2x16x4xf32>, %v: !v, %o: !q) {
  // expected-error @below {{attention.C31: expected a key of rank 4 with source2}}
  fmha.attention ins(%q, %k, %v : !q, memref<2x9x2x16x4xf32>, !v) source2(%v, %v : !v, !v) outs(%o : !q)
  return
}

// -----

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>

func.func @heads(%q: !q, %k: memref<2x9x4x16x4xf32>, %v: !v, %o: !q) {
  // expected-error @below {{attention.C10: expected dimension 2 of value to equal dimension 2 (heads) of key, 4, got 2}}
  fmha.attention ins(%q, %k, %v : !q, memref<2x9x4x16x4xf32>, !v) outs(%o : !q)
  return
}

// -----

!q = memref<2x1x4x64xf32>
!v = memref<2x9x2x64xf32>
!k = memref<2x9x2x16x4xf32, strided<[1152, 4, 576, 36, 2]>>

func.func @strided(%q: !q, %k: !k, %v: !v, %o: !q) {
  // expected-error @below {{attention.C16: expected the head dim of key to be contiguous (stride 1 in dimension 4), got stride 2}}
  fmha.attention ins(%q, %k, %v : !q, !k, !v) outs(%o : !q)
  return
}
