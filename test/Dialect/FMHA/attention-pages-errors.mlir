// What a list of pages has to be, and what it comes with.
// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<10xi32>) {
  // expected-error @below {{attention.C30: expected block_tables to be a matrix of i32, [sequences, max_pages], got 'memref<10xi32>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<10xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @type(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi64>) {
  // expected-error @below {{attention.C30: expected block_tables to be a matrix of i32, [sequences, max_pages], got 'memref<2x5xi64>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi64>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @lengths(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C30: expected kv_lens with block_tables, the keys of each sequence, got none}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @packed_keys(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>, %s: memref<3xi32>) {
  // expected-error @below {{attention.C30: expected block_tables without cu_seqlens_k, got both; gather the pages into a dense tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) kv_lens(%l : memref<2xi32>) cu_seqlens_k(%s : memref<3xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @second_segment(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>, %x: memref<2x8x2x64xf16>) {
  // expected-error @below {{attention.C30: expected block_tables without source2, got both; gather the pages into a dense tensor}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) source2(%x, %x : memref<2x8x2x64xf16>, memref<2x8x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @dynamic_size(%q: memref<2x1x4x64xf16>, %k: memref<9x?x2x64xf16>, %v: memref<9x?x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C30: expected pages of a static number of keys, a power of two of at most 256, in dimension 1 of key, got 'memref<9x?x2x64xf16>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x?x2x64xf16>, memref<9x?x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @odd_size(%q: memref<2x1x4x64xf16>, %k: memref<9x12x2x64xf16>, %v: memref<9x12x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C30: expected pages of a static number of keys, a power of two of at most 256, in dimension 1 of key, got 'memref<9x12x2x64xf16>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x12x2x64xf16>, memref<9x12x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @large_size(%q: memref<2x1x4x64xf16>, %k: memref<9x512x2x64xf16>, %v: memref<9x512x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C30: expected pages of a static number of keys, a power of two of at most 256, in dimension 1 of key, got 'memref<9x512x2x64xf16>'}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x512x2x64xf16>, memref<9x512x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @two_sizes(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x32x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32>) {
  // expected-error @below {{attention.C9: expected dimension 1 of value to equal dimension 1 (length) of key, 16, got 32}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x32x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @rows(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<3x5xi32>) {
  // expected-error @below {{attention.C30: expected block_tables to be for 2 sequences, as query is, got one for 3}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<3x5xi32>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}

// -----

func.func @gaps(%q: memref<2x1x4x64xf16>, %k: memref<9x16x2x64xf16>, %v: memref<9x16x2x64xf16>, %o: memref<2x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x5xi32, strided<[8, 1]>>) {
  // expected-error @below {{attention.C30: expected block_tables to be contiguous, got 'memref<2x5xi32, strided<[8, 1]>>'; copy it to a dense matrix}}
  fmha.attention ins(%q, %k, %v : memref<2x1x4x64xf16>, memref<9x16x2x64xf16>, memref<9x16x2x64xf16>) kv_lens(%l : memref<2xi32>) block_tables(%t : memref<2x5xi32, strided<[8, 1]>>)
      outs(%o : memref<2x1x4x64xf16>)
  return
}
