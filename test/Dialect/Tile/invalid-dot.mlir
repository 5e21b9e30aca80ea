// What tile.dot refuses.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @factors(%a: !tile.tile<128x64xf16>, %b: !tile.tile<128x64xbf16>) {
  // expected-error@+1 {{expected factors of one element type, got 'f16' and 'bf16'}}
  %0 = tile.dot %a, %b transpose_b : !tile.tile<128x64xf16>, !tile.tile<128x64xbf16> -> !tile.tile<128x128xf32>
  return
}

// -----

// a has 64 columns, b without transposition 128 rows.
func.func @inner(%a: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{expected inner extents to agree, got 64 and 128}}
  %0 = tile.dot %a, %a : !tile.tile<128x64xf16>, !tile.tile<128x64xf16> -> !tile.tile<128x64xf32>
  return
}

// -----

func.func @columns(%a: !tile.tile<128x64xf16>, %b: !tile.tile<32x64xf16>) {
  // expected-error@+1 {{expected a result of 128x32xf32, got '!tile.tile<128x128xf32>'}}
  %0 = tile.dot %a, %b transpose_b : !tile.tile<128x64xf16>, !tile.tile<32x64xf16> -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @rounded(%a: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{expected a result of 128x128xf32, got '!tile.tile<128x128xf16>'}}
  %0 = tile.dot %a, %a transpose_b : !tile.tile<128x64xf16>, !tile.tile<128x64xf16> -> !tile.tile<128x128xf16>
  return
}

// -----

func.func @accumulator(%a: !tile.tile<128x64xf16>, %acc: !tile.tile<128x64xf32>) {
  // expected-error@+1 {{expected an accumulator of the result's type '!tile.tile<128x128xf32>', got '!tile.tile<128x64xf32>'}}
  %0 = tile.dot %a, %a transpose_b plus %acc as !tile.tile<128x64xf32>
      : !tile.tile<128x64xf16>, !tile.tile<128x64xf16> -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @condition(%a: !tile.tile<128x64xf16>, %c: i1) {
  // expected-error@+1 {{has a condition to accumulate, but no accumulator}}
  %0 = tile.dot %a, %a transpose_b if %c : !tile.tile<128x64xf16>, !tile.tile<128x64xf16> -> !tile.tile<128x128xf32>
  return
}
