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
  // expected-error@+1 {{expected M = 256 in the instruction of a pair of CTAs, got 128}}
  tile.mma %d, %d, %b instruction 136316048 accumulate %p pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
  return
}

// -----

// Each CTA has half of the keys.
func.func @whole(%q: !tile.tile<128x128xbf16>, %k: !tile.tile<128x128xbf16>) {
  // expected-error@+1 {{expected a result of 128x256xf32, got '!tile.tile<128x128xf32>'}}
  %s = tile.dot %q, %k pair transpose_b : !tile.tile<128x128xbf16>, !tile.tile<128x128xbf16> -> !tile.tile<128x128xf32>
  return
}
