// Shapes and element types of the arithmetic on tiles: the rows of a matrix and the
// elements of its vectors agree, 16-bit tiles are made by rounding only.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @fill_half() {
  // expected-error@+1 {{expected the value 0 in a tile of 'bf16', which needs no rounding, got 1.000000e+00 : f32}}
  %0 = tile.fill 1.0 : !tile.tile<128x128xbf16>
  return
}

// -----

func.func @load_rank(%t: memref<?x?x?x1xf16>, %i: index) {
  %v = tile.view %t batch %i head %i rows %i : memref<?x?x?x1xf16> -> !tile.view<?x1xf16>
  // expected-error@+1 {{result #0 must be tile of rank 2, but got '!tile.tile<128xf16>'}}
  %0 = tile.load %v[%i] : !tile.view<?x1xf16> -> !tile.tile<128xf16>
  return
}

// -----

func.func @store_rank(%t: memref<?x?x?x1xf16>, %i: index, %v: !tile.tile<128xf16>) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x1xf16> -> !tile.view<?x1xf16>
  // expected-error@+1 {{operand #0 must be tile of rank 2, but got '!tile.tile<128xf16>'}}
  tile.store %v, %o[%i] : !tile.tile<128xf16>, !tile.view<?x1xf16>
  return
}

// -----

func.func @dot_rank(%a: !tile.tile<128x1xf16>, %b: !tile.tile<128xf16>) {
  // expected-error@+1 {{operand #1 must be tile of rank 2, but got '!tile.tile<128xf16>'}}
  %0 = tile.dot %a, %b transpose_b : !tile.tile<128x1xf16>, !tile.tile<128xf16> -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @scale_type(%v: !tile.tile<128xbf16>) {
  // expected-error@+1 {{operand #0 must be tile that holds f32, but got '!tile.tile<128xbf16>'}}
  %0 = tile.scale %v by 2.0 : !tile.tile<128xbf16>
  return
}

// -----

func.func @mask_type(%v: !tile.tile<128x128xbf16>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  // expected-error@+1 {{operand #0 must be tile of rank 2 that holds f32, but got '!tile.tile<128x128xbf16>'}}
  %0 = tile.mask %v at %q[%i], %q[%i] : !tile.tile<128x128xbf16>, !tile.view<?x64xbf16>, !tile.view<?x64xbf16>
  return
}

// -----

func.func @row_max_rows(%s: !tile.tile<128x128xf32>, %m: !tile.tile<64xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, old} have same number of rows}}
  %0, %1 = tile.row_max %s, %m scale 0.5 threshold 8.0 : !tile.tile<128x128xf32>, !tile.tile<64xf32>
  return
}

// -----

func.func @row_max_input(%s: !tile.tile<128x128xbf16>, %m: !tile.tile<128xf32>) {
  // expected-error@+1 {{operand #0 must be tile of rank 2 that holds f32, but got '!tile.tile<128x128xbf16>'}}
  %0, %1 = tile.row_max %s, %m scale 0.5 threshold 8.0 : !tile.tile<128x128xbf16>, !tile.tile<128xf32>
  return
}

// -----

func.func @row_max_old(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{operand #1 must be tile of rank 1 that holds f32, but got '!tile.tile<128x128xf32>'}}
  %0, %1 = tile.row_max %s, %s scale 0.5 threshold 8.0 : !tile.tile<128x128xf32>, !tile.tile<128x128xf32>
  return
}

// -----

func.func @exp2_rows(%s: !tile.tile<128x128xf32>, %m: !tile.tile<64xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, max} have same number of rows}}
  %0 = tile.exp2 %s, %m scale 0.5 : !tile.tile<128x128xf32>, !tile.tile<64xf32>
  return
}

// -----

func.func @exp2_max(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf16>) {
  // expected-error@+1 {{operand #1 must be tile of rank 1 that holds f32, but got '!tile.tile<128xf16>'}}
  %0 = tile.exp2 %s, %m scale 0.5 : !tile.tile<128x128xf32>, !tile.tile<128xf16>
  return
}

// -----

func.func @row_sum_rows(%s: !tile.tile<128x128xf32>, %m: !tile.tile<64xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, old} have same number of rows}}
  %0 = tile.row_sum %s, %m, %m : !tile.tile<128x128xf32>, !tile.tile<64xf32>
  return
}

// -----

func.func @row_sum_old(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf16>) {
  // expected-error@+1 {{operand #1 must be tile of rank 1 that holds f32, but got '!tile.tile<128xf16>'}}
  %0 = tile.row_sum %s, %m, %m : !tile.tile<128x128xf32>, !tile.tile<128xf16>
  return
}

// -----

func.func @cast_shape(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same shape}}
  %0 = tile.cast %s : !tile.tile<128x128xf32> to !tile.tile<128x64xbf16>
  return
}

// -----

func.func @cast_from(%s: !tile.tile<128x128xbf16>) {
  // expected-error@+1 {{operand #0 must be tile of rank 2 that holds f32, but got '!tile.tile<128x128xbf16>'}}
  %0 = tile.cast %s : !tile.tile<128x128xbf16> to !tile.tile<128x128xbf16>
  return
}

// -----

func.func @cast_to(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{result #0 must be tile of rank 2 that holds f16 or bf16, but got '!tile.tile<128x128xf32>'}}
  %0 = tile.cast %s : !tile.tile<128x128xf32> to !tile.tile<128x128xf32>
  return
}

// -----

func.func @rescale_rows(%s: !tile.tile<128x128xf32>, %m: !tile.tile<64xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, alpha} have same number of rows}}
  %0 = tile.rescale %s, %m : !tile.tile<128x128xf32>, !tile.tile<64xf32>
  return
}

// -----

func.func @rescale_alpha(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{operand #1 must be tile of rank 1 that holds f32, but got '!tile.tile<128x128xf32>'}}
  %0 = tile.rescale %s, %s : !tile.tile<128x128xf32>, !tile.tile<128x128xf32>
  return
}

// -----

func.func @normalize_rows(%s: !tile.tile<128x128xf32>, %m: !tile.tile<64xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, sum} have same number of rows}}
  %0 = tile.normalize %s, %m : !tile.tile<128x128xf32>, !tile.tile<64xf32> to !tile.tile<128x128xbf16>
  return
}

// -----

func.func @normalize_shape(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same shape}}
  %0 = tile.normalize %s, %m : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<64x128xbf16>
  return
}

// -----

func.func @normalize_to(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf32>) {
  // expected-error@+1 {{result #0 must be tile of rank 2 that holds f16 or bf16, but got '!tile.tile<128x128xf32>'}}
  %0 = tile.normalize %s, %m : !tile.tile<128x128xf32>, !tile.tile<128xf32> to !tile.tile<128x128xf32>
  return
}

// -----

func.func @lse_rank(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{operand #0 must be tile of rank 1 that holds f32, but got '!tile.tile<128x128xf32>'}}
  %0 = tile.lse %s, %s scale 0.5 : !tile.tile<128x128xf32>
  return
}

// -----

func.func @lse_type(%s: !tile.tile<128xf16>) {
  // expected-error@+1 {{operand #0 must be tile of rank 1 that holds f32, but got '!tile.tile<128xf16>'}}
  %0 = tile.lse %s, %s scale 0.5 : !tile.tile<128xf16>
  return
}

// -----

func.func @add_sink_rank(%s: !tile.tile<128x128xf32>) {
  // expected-error@+1 {{operand #0 must be tile of rank 1 that holds f32, but got '!tile.tile<128x128xf32>'}}
  %0 = tile.add_sink %s, %s sink %s scale 0.5 : !tile.tile<128x128xf32>
  return
}

// -----

func.func @add_sink_logit(%s: !tile.tile<128xf32>, %x: f16) {
  // expected-error@+1 {{operand #2 must be tile of rank 1 that holds f32, but got 'f16'}}
  %0 = "tile.add_sink"(%s, %s, %x) {log2_scale = 0.5 : f32} : (!tile.tile<128xf32>, !tile.tile<128xf32>, f16) -> !tile.tile<128xf32>
  return
}

// -----

func.func @exp2_share(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf32>) {
  // expected-error@+1 {{attribute 'emulated' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0 whose maximum value is 100}}
  %0 = tile.exp2 %s, %m scale 0.5 emulated 101 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
  return
}

// -----

// A factor beyond 2^96 leaves f32 no room for sums.
func.func @exp2_offset(%s: !tile.tile<128x128xf32>, %m: !tile.tile<128xf32>) {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0 whose maximum value is 96}}
  %0 = tile.exp2 %s, %m scale 0.5 offset 97 : !tile.tile<128x128xf32>, !tile.tile<128xf32>
  return
}

// -----

func.func @lse_sink_type(%m: !tile.tile<128xf32>, %s: !tile.tile<64xf32>) {
  // expected-error@+1 {{expected a sink of the sum's type '!tile.tile<128xf32>', got '!tile.tile<64xf32>'}}
  %0 = tile.lse %m, %m sink %s as !tile.tile<64xf32> scale 0.5 : !tile.tile<128xf32>
  return
}
