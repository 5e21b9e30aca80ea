// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @alone(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected append with rotary, got none; rotate queries and keys beforehand}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>)  rotary half(%cos, %sin : memref<9x32xf32>, memref<9x32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @columns(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x33xf32>, %sin: memref<9x33xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected a static number of columns of cos, from 1 to 32, half of the head dim, got 'memref<9x33xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x33xf32>, memref<9x33xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @dynamic(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<9x?xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected a static number of columns of sin, from 1 to 32, half of the head dim, got 'memref<9x?xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xf32>, memref<9x?xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @shape(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<8x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected sin to have the shape of cos, 'memref<9x32xf32>', got 'memref<8x32xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary interleaved(%cos, %sin : memref<9x32xf32>, memref<8x32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @type(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xbf16>, %sin: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected cos to be [positions, pairs] of f32, got 'memref<9x32xbf16>'}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xbf16>, memref<9x32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @rank(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected sin to be [positions, pairs] of f32, got 'memref<32xf32>'}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xf32>, memref<32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @strided(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32, strided<[64, 2]>>, %sin: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected contiguous rows of cos, got stride 2; copy it to a separate buffer}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xf32, strided<[64, 2]>>, memref<9x32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @output(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<9x32xf32, 3>, %o: !q) {
  // expected-error @below {{attention.C19: expected sin to lie in global memory}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xf32>, memref<9x32xf32, 3>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xf8E4M3FN>
!n = memref<2x3x2x64xf8E4M3FN>

func.func @e4m3(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %s: memref<1xf32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %sin: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected f16, bf16 or f32 with rotary, since keys rotate before they are quantized, got key 'memref<2x9x2x64xf8E4M3FN>' and query 'memref<2x3x4x64xbf16>'; rotate queries and keys beforehand}}
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<2xi32>) k_scale(%s : memref<1xf32>) v_scale(%s : memref<1xf32>)
      append(%kn, %vn : !n, !n) rotary half(%cos, %sin : memref<9x32xf32>, memref<9x32xf32>) outs(%o : !q)
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @one_table(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected cos only with rotary, got cos alone; add rotary, or remove cos}}
  "fmha.attention"(%q, %k, %v, %lens, %kn, %vn, %cos, %o) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0>}>
      : (!q, !c, !c, memref<2xi32>, !n, !n, memref<9x32xf32>, !q) -> ()
  return
}

// -----

!q = memref<2x3x4x64xbf16>
!c = memref<2x9x2x64xbf16>
!n = memref<2x3x2x64xbf16>

func.func @no_sines(%q: !q, %k: !c, %v: !c, %lens: memref<2xi32>, %kn: !n, %vn: !n, %cos: memref<9x32xf32>, %o: !q) {
  // expected-error @below {{attention.C35: expected sin with rotary, got none; add sin, or remove rotary}}
  "fmha.attention"(%q, %k, %v, %lens, %kn, %vn, %cos, %o) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0>, rotary = #fmha<rotary half>}>
      : (!q, !c, !c, memref<2xi32>, !n, !n, memref<9x32xf32>, !q) -> ()
  return
}
