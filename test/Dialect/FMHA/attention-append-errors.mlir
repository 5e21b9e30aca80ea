// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @lens(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C33: expected kv_lens with key_new, which counts the new keys, got none}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) append(%kn, %vn : !n, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @type(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: memref<2x3x2x64xf16>, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C33: expected the element type of key_new to be that of key, 'f32', got 'f16'; convert it}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x2x64xf16>, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @length(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: memref<2x2x2x64xf32>, %o: !q) {
  // expected-error @below {{attention.C33: expected dimension 1 of value_new to be 3, as dimension 1 of key_new, got 2}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, memref<2x2x2x64xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @heads(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: memref<2x3x1x64xf32>, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C33: expected dimension 2 of key_new to be 2, as dimension 2 of value, got 1}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x1x64xf32>, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @dim(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: memref<2x3x2x32xf32>, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C33: expected dimension 3 of key_new to be 64, as dimension 3 of query, got 32}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x2x32xf32>, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @batch(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: memref<1x3x2x64xf32>, %vn: memref<1x3x2x64xf32>, %o: !q) {
  // expected-error @below {{expected key_new to be for 2 sequences, as query is, got one for 1}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<1x3x2x64xf32>, memref<1x3x2x64xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @rank(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: memref<2x3x128xf32>, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C2: expected key_new to be [batch, length, heads, head_dim], got rank 3}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x128xf32>, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @one_cache(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %o: !q) {
  // expected-error @below {{attention.C33: expected no value that is a view of key with key_new}}
  fmha.attention ins(%q, %k, %k : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @shared(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !c, %vn: !c, %o: !q) {
  // expected-error @below {{attention.C21: expected key and key_new to share no memory, since key_new is written to the caches, got one memref for both}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%k, %vn : !c, !c) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xf32>
!c = memref<2x9x2x64xf32>
!n = memref<2x3x2x64xf32>

func.func @tensors(%q: tensor<2x3x4x64xf32>, %k: tensor<2x9x2x64xf32>, %lens: tensor<2xi32>, %n: tensor<2x3x2x64xf32>, %o: tensor<2x3x4x64xf32>) -> tensor<2x3x4x64xf32> {
  // expected-error @below {{attention.C33: expected memrefs to append, since the caches are written in place, got 'tensor<2x3x2x64xf32>'; on tensors take fmha.append, which returns the caches}}
  %r = fmha.attention ins(%q, %k, %k : tensor<2x3x4x64xf32>, tensor<2x9x2x64xf32>, tensor<2x9x2x64xf32>) kv_lens(%lens : tensor<2xi32>)
      append(%n, %n : tensor<2x3x2x64xf32>, tensor<2x3x2x64xf32>) outs(%o : tensor<2x3x4x64xf32>) -> tensor<2x3x4x64xf32>
  return %r : tensor<2x3x4x64xf32>
}
