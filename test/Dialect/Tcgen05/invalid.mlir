// Forms that Tcgen05Forms.def does not have.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @columns(%slot: !llvm.ptr<3>) {
  // expected-error@+1 {{attribute 'columns' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {32, 64, 128, 256, 512}}}
  tcgen05.alloc 48 to %slot : !llvm.ptr<3>
  return
}

// -----

func.func @group(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{attribute 'cta_group' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {1, 2}}}
  tcgen05.shift %t {cta_group = 4 : i32} : !llvm.ptr<6>
  return
}

// -----

func.func @repetitions(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected 1 to 32 times 4 registers for shape 16x256b, got 2}}
  %v = tcgen05.ld shape_16x256b %t : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @no_offset(%t: !llvm.ptr<6>, %v: vector<2xi32>) {
  // expected-error@+1 {{expected the offset of the second access for shape 16x32bx2, got none}}
  tcgen05.st shape_16x32bx2 %v to %t : vector<2xi32>, !llvm.ptr<6>
  return
}

// -----

func.func @offset(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected no offset for shape 32x32b, got one}}
  %v = tcgen05.ld shape_32x32b %t offset 2 : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @scalable(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be 32-bit signless integer or fixed vector of rank 1 with 2, 4, 8, 16, 32, 64 or 128 elements of i32, but got 'vector<[4]xi32>'}}
  %v = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> vector<[4]xi32>
  return
}

// -----

func.func @matrix(%t: !llvm.ptr<6>, %v: vector<2x2xi32>) {
  // expected-error@+1 {{operand #0 must be 32-bit signless integer or fixed vector of rank 1 with 2, 4, 8, 16, 32, 64 or 128 elements of i32, but got 'vector<2x2xi32>'}}
  tcgen05.st shape_32x32b %v to %t : vector<2x2xi32>, !llvm.ptr<6>
  return
}

// -----

func.func @large_offset(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 511}}
  %v = tcgen05.ld shape_16x32bx2 %t offset 512 : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @negative_rows(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{attribute 'm' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape -128 x 64 of f16, f16 to f32 : i64
  return
}

// -----

func.func @negative_block(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+2 {{attribute 'block' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  tcgen05.mma mxf4 %d, %b, %b accumulate %p scales %d, %d shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32
      {block = 0 : i32, scale_type = f8E8M0FNU} : i64
  return
}

// -----

func.func @wait_store(%v: vector<2xi32>) {
  // expected-error@+1 {{expected no registers of a store, which returns none, got 1; remove 'of', or wait for a load}}
  %w = tcgen05.wait store of %v : vector<2xi32>
  return
}

// -----

func.func @reduced_shape(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected shape 32x32b or 16x32bx2, got 16x64b}}
  %v, %m = tcgen05.ld_red max shape_16x64b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @reduced_one(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected at least 2 registers, got 1}}
  %v, %m = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> i32
  return
}

// -----

func.func @reduced_type(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected an element type of f32, ui32 or si32, got 'f16'}}
  %v, %m = tcgen05.ld_red max shape_32x32b %t of f16 : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @reduced_abs(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{'abs' and 'nan' are for f32, got 'ui32'; remove them}}
  %v, %m = tcgen05.ld_red max shape_32x32b %t of ui32 {abs} : !llvm.ptr<6> -> vector<2xi32>
  return
}

// -----

func.func @multicast(%t: !llvm.ptr<6>, %desc: i64) {
  // expected-error@+1 {{expected multicast warpx2_02_13 or warpx2_01_23 for shape 64x128b, got none}}
  tcgen05.cp shape_64x128b %desc to %t : !llvm.ptr<6>
  return
}

// -----

func.func @types(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected the type of B to be one of f16, bf16 for kind::f16, got f8E4M3FN}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f8E4M3FN to f32 : i64
  return
}

// -----

func.func @half_d(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected A and B of f16 for D of f16, got bf16 and bf16; use D of f32}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of bf16, bf16 to f16 : i64
  return
}

// -----

func.func @property(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{kind::i8 does not have a negated operand; remove it or use another kind}}
  tcgen05.mma i8 %d, %b, %b accumulate %p shape 128 x 64 of si8, si8 to si32 {negate_a} : i64
  return
}

// -----

func.func @no_scales(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected scale factors for kind::mxf4, got none; add 'scales' with the addresses, and 'block' and 'scale_type'}}
  tcgen05.mma mxf4 %d, %b, %b accumulate %p shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32 : i64
  return
}

// -----

func.func @some_scales(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected 'scales', 'block' and 'scale_type' together, got some of them}}
  tcgen05.mma mxf4 %d, %b, %b accumulate %p scales %d, %d shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32 {block = 32 : i32} : i64
  return
}

// -----

func.func @scale_type(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected a scale factor for each 32 of f8E8M0FNU in kind::mxf4, got 16 of f8E4M3FN}}
  tcgen05.mma mxf4 %d, %b, %b accumulate %p scales %d, %d shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32
      {block = 16 : i32, scale_type = f8E4M3FN} : i64
  return
}

// -----

func.func @scale_id(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected the first byte of the scale factors to be a multiple of their number in a row, 2, below 4, got 1}}
  tcgen05.mma mxf4 %d, %b, %b accumulate %p scales %d, %d shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32
      {block = 32 : i32, scale_type = f8E8M0FNU, scale_a_id = 1 : i32} : i64
  return
}

// -----

func.func @unscaled_id(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{'scale_a_id' and 'scale_b_id' are for kinds with scale factors, got kind::f16; remove them}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {scale_b_id = 1 : i32} : i64
  return
}

// -----

func.func @ws_pair(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected a CTA group of 1 with 'ws', got 2}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {ws, cta_group = 2 : i32} : i64
  return
}

// -----

func.func @ws_lanes(%d: !llvm.ptr<6>, %b: i64, %p: i1, %m: i32) {
  // expected-error@+1 {{'ws' has neither 'ashift', nor disabled lanes, nor 'scale_d'}}
  tcgen05.mma f16 %d, %b, %b accumulate %p disable [%m, %m, %m, %m] shape 128 x 64 of f16, f16 to f32 {ws} : i64
  return
}

// -----

func.func @zero_columns(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{zero columns and 'max_shift' are for 'ws'; add it}}
  tcgen05.mma f16 %d, %b, %b accumulate %p zero_columns %b shape 128 x 64 of f16, f16 to f32 : i64
  return
}

// -----

func.func @max_shift_alone(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{'max_shift' bounds the shift that 'zero_columns' names; add it, or remove 'max_shift'}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 64 x 64 of f16, f16 to f32 {ws, max_shift = 8 : i32} : i64
  return
}

// -----

func.func @max_shift_rows(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M of 64 or 128 with 'max_shift', got 32}}
  tcgen05.mma f16 %d, %b, %b accumulate %p zero_columns %b shape 32 x 64 of f16, f16 to f32 {ws, max_shift = 8 : i32} : i64
  return
}

// -----

func.func @shift(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected A in tensor memory and M of 128 or 256 with 'ashift'}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {ashift} : i64
  return
}

// -----

func.func @kept_shift(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{'ashift' changes A, which the collector must not keep; use lastuse or discard}}
  tcgen05.mma f16 %d, %d, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {ashift, collector = #tcgen05<collector fill>} : !llvm.ptr<6>
  return
}

// -----

func.func @lanes(%d: !llvm.ptr<6>, %b: i64, %p: i1, %m: i32) {
  // expected-error@+1 {{expected 8 words of disabled lanes in a group of 2, got 4}}
  tcgen05.mma f16 %d, %b, %b accumulate %p disable [%m, %m, %m, %m] shape 128 x 64 of f16, f16 to f32 {cta_group = 2 : i32} : i64
  return
}

// -----

func.func @selector(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{a sparsity selector is for sparse A; add 'metadata'}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {selector = 1 : i32} : i64
  return
}

// -----

func.func @large_selector(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected a sparsity selector of at most 1 for kind::f16, got 2; move the metadata to the columns of selector 1}}
  tcgen05.mma f16 %d, %b, %b accumulate %p metadata %d shape 128 x 64 of f16, f16 to f32 {selector = 2 : i32} : i64
  return
}

// -----

func.func @scaled_selector(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected a sparsity selector of at most 0 for kind::mxf8f6f4, got 1; move the metadata to the columns of selector 0}}
  tcgen05.mma mxf8f6f4 %d, %b, %b accumulate %p metadata %d scales %d, %d shape 128 x 64 of f8E4M3FN, f8E4M3FN to f32
      {block = 32 : i32, scale_type = f8E8M0FNU, selector = 1 : i32} : i64
  return
}

// -----

func.func @buffer(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected buffer 0 without 'ws', whose collector keeps A, got 1}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {buffer = 1 : i32} : i64
  return
}

// -----

func.func @narrow_transpose(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{elements of 4 and 6 bits cannot be transposed; store them K-major}}
  tcgen05.mma f8f6f4 %d, %b, %b accumulate %p shape 128 x 64 of f6E2M3FN, f8E5M2 to f32 {transpose_a} : i64
  return
}

// -----

func.func @tmem_transpose(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{A in tensor memory cannot be transposed}}
  tcgen05.mma f16 %d, %d, %b accumulate %p shape 128 x 64 of f16, f16 to f32 {transpose_a} : !llvm.ptr<6>
  return
}

// -----

func.func @byte_transpose(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected N to be a multiple of 16 for a transposed B of bytes, got 24}}
  tcgen05.mma f8f6f4 %d, %b, %b accumulate %p shape 128 x 24 of f8E5M2, f8E5M2 to f32 {transpose_b} : i64
  return
}

// -----

func.func @rows(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M x N of kind::f16 in a group of 1 to be 64 x 8..256 in steps of 8; 128 x 8..256 in steps of 8, got 96 x 64}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 96 x 64 of f16, f16 to f32 : i64
  return
}

// -----

func.func @columns_above(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M x N of kind::f16 in a group of 1 to be 64 x 8..256 in steps of 8; 128 x 8..256 in steps of 8, got 128 x 264}}
  tcgen05.mma f16 %d, %b, %b accumulate %p shape 128 x 264 of f16, f16 to f32 : i64
  return
}

// -----

func.func @tmem_columns(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M x N of kind::tf32, A in tensor memory in a group of 1 to be 64 x 8..256 in steps of 8; 128 x 16..256 in steps of 16, got 128 x 24}}
  tcgen05.mma tf32 %d, %d, %b accumulate %p shape 128 x 24 of tf32, tf32 to f32 : !llvm.ptr<6>
  return
}

// -----

func.func @ws_columns(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M x N of kind::i8, sparse, ws in a group of 1 to be 32 x 64..128 in steps of 64; 64 x 64..128 in steps of 64; 128 x 64..128 in steps of 64, got 64 x 256}}
  tcgen05.mma i8 %d, %b, %b accumulate %p metadata %d shape 64 x 256 of si8, si8 to si32 {ws} : i64
  return
}
