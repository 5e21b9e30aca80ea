// What slices of a tile and their join refuse.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Threads l and 16 + l have halves of all 128 columns: of the first 64 one has none.
func.func @unshared(%a: !tile.tile<64x128xf32, #tile.registers>) {
  // expected-error@+1 {{expected one of the 1 slices that two threads have halves of, 128 columns, got 64 from column 0}}
  %0 = tile.slice %a from 0 : !tile.tile<64x128xf32, #tile.registers> -> !tile.tile<64x64xf32, #tile.registers>
  return
}

// -----

func.func @between(%a: !tile.tile<64x128xf32, #tile.registers<slices = 4>>) {
  // expected-error@+1 {{expected one of the 4 slices that two threads have halves of, 32 columns, got 32 from column 16}}
  %0 = tile.slice %a from 16 : !tile.tile<64x128xf32, #tile.registers<slices = 4>> -> !tile.tile<64x32xf32, #tile.registers>
  return
}

// -----

func.func @places(%a: !tile.tile<128x64xbf16, #tile.tmem<column = 0>>) {
  // expected-error@+1 {{expected a tile without a place or in #tile.registers, since nothing moves, got '!tile.tile<128x128xbf16, #tile.tmem<column = 0>>'}}
  %0 = tile.join %a, %a : !tile.tile<128x64xbf16, #tile.tmem<column = 0>>, !tile.tile<128x64xbf16, #tile.tmem<column = 0>>
      -> !tile.tile<128x128xbf16, #tile.tmem<column = 0>>
  return
}

// -----

func.func @none() {
  // expected-error@+1 {{expected tiles of one width that make 128 columns, got 0}}
  %0 = "tile.join"() : () -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @widths(%a: !tile.tile<128x64xf32>, %b: !tile.tile<128x32xf32>) {
  // expected-error@+1 {{expected 2 tiles '!tile.tile<128x64xf32>', got '!tile.tile<128x32xf32>'}}
  %0 = tile.join %a, %b : !tile.tile<128x64xf32>, !tile.tile<128x32xf32> -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @halves(%a: !tile.tile<64x64xf32, #tile.registers>) {
  // expected-error@+1 {{expected 4 tiles, as many as the slices of '!tile.tile<64x128xf32, #tile.registers<slices = 4>>', got 2}}
  %0 = tile.join %a, %a : !tile.tile<64x64xf32, #tile.registers>, !tile.tile<64x64xf32, #tile.registers>
      -> !tile.tile<64x128xf32, #tile.registers<slices = 4>>
  return
}

// -----

func.func @transposed(%a: !tile.tile<128x64xf16>, %b: !tile.tile<64x128xf16>) {
  // expected-error@+1 {{takes rows of b, or its transpose, not both}}
  %0 = tile.dot %a, %b rows 16 transpose_b : !tile.tile<128x64xf16>, !tile.tile<64x128xf16> -> !tile.tile<128x64xf32>
  return
}

// -----

// Rows 80 to 143 of 128.
func.func @beyond(%a: !tile.tile<128x64xf16>, %b: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{expected inner extents to agree, got 64 and 128 from row 80}}
  %0 = tile.dot %a, %b rows 80 : !tile.tile<128x64xf16>, !tile.tile<128x64xf16> -> !tile.tile<128x64xf32>
  return
}

// -----

func.func @step(%a: !tile.tile<128x64xf16>, %b: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{attribute 'rows' failed to satisfy constraint}}
  %0 = "tile.dot"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, rows = 8 : i32}>
      : (!tile.tile<128x64xf16>, !tile.tile<128x64xf16>) -> !tile.tile<128x64xf32>
  return
}

// -----

// A row of 128 is one thread's.
// expected-error@+1 {{expected #tile.registers with 1 slice, or in a rank-2 tile of 64 rows with slices of even width, got 4 slices of 128 columns}}
func.func private @whole_rows(!tile.tile<128x128xf32, #tile.registers<slices = 4>>)

// -----

// expected-error@+1 {{got 3 slices of 128 columns}}
func.func private @uneven(!tile.tile<64x128xf32, #tile.registers<slices = 3>>)

// -----

// expected-error@+1 {{got 0 slices of 128 columns}}
func.func private @no_slices(!tile.tile<64x128xf32, #tile.registers<slices = 0>>)
