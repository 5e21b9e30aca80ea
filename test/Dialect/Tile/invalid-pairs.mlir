// Invalid forms of ops for pairs of CTAs.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @both(%i: index) {
  %b = tile.barrier "s.full" at 1024 arrivals 1 : !tile.barrier<1>
  // expected-error@+1 {{expected `pair` with `both`: only MMAs of a pair of CTAs signal the barriers of both}}
  tile.commit %b[%i] both : !tile.barrier<1>
  return
}

// -----

func.func @rows(%d: !llvm.ptr<6>, %b: i64, %p: i1) {
  // expected-error@+1 {{expected M = 128 or 256 in the instruction of a pair of CTAs, got 64}}
  tile.mma %d, %d, %b instruction 69207184 accumulate %p pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
  return
}

// -----

// Each CTA has half of the keys.
func.func @whole(%q: !tile.tile<128x128xbf16>, %k: !tile.tile<128x128xbf16>) {
  // expected-error@+1 {{expected a result of 128x256xf32, got '!tile.tile<128x128xf32>'}}
  %s = tile.dot %q, %k pair transpose_b : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
  return
}

// -----

// expected-error@+1 {{expected half of #tile.tmem to be 0, or 64 for 64 rows and an even number of columns from lane 0 on, got 64}}
func.func @rows_of_halves(%s: !tile.tile<128x128xf32, #tile.tmem<column = 0, half = 64>>) {
  return
}

// -----

// expected-error@+1 {{expected half of #tile.tmem to be 0, or 64 for 64 rows and an even number of columns from lane 0 on, got 64}}
func.func @lane_of_halves(%s: !tile.tile<64x128xf32, #tile.tmem<column = 0, lane = 16, half = 64>>) {
  return
}

// -----

// Half of 512 columns fits after half of 128, and no further.
func.func @end_of_halves(%s: !tile.tile<64x128xf32, #tile.tmem<column = 0, half = 64>>, %o: !tile.tile<64x512xf32, #tile.tmem<column = 256, half = 64>>,
                         // expected-error@+1 {{tensor memory has 512 columns, but the tile ends at column 513}}
                         %p: !tile.tile<64x512xf32, #tile.tmem<column = 257, half = 64>>) {
  return
}

// -----

// expected-error@+1 {{expected half of #tile.registers to be 16, or 64 in 1 slice of 64 rows and an even number of columns, got 64}}
func.func @slices_of_halves(%s: !tile.tile<64x128xf32, #tile.registers<slices = 2, half = 64>>) {
  return
}
