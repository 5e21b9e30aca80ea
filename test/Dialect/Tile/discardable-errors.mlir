// What the attribute tile.q_tile may be, and where it may stand.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @type() {
  // expected-error@+1 {{"tile.q_tile": expected an i32 from 0 to 2, the query tile, got "first"}}
  %0 = tile.fill 0.0 {tile.q_tile = "first"} : !tile.tile<128xf32>
  return
}

// -----

func.func @width() {
  // expected-error@+1 {{"tile.q_tile": expected an i32 from 0 to 2, the query tile, got 0 : i64}}
  %0 = tile.fill 0.0 {tile.q_tile = 0 : i64} : !tile.tile<128xf32>
  return
}

// -----

func.func @beyond() {
  // expected-error@+1 {{"tile.q_tile": expected an i32 from 0 to 2, the query tile, got 3 : i32}}
  %0 = tile.fill 0.0 {tile.q_tile = 3 : i32} : !tile.tile<128xf32>
  return
}

// -----

func.func @negative() {
  // expected-error@+1 {{"tile.q_tile": expected an i32 from 0 to 2, the query tile, got -1 : i32}}
  %0 = tile.fill 0.0 {tile.q_tile = -1 : i32} : !tile.tile<128xf32>
  return
}

// -----

func.func @place() {
  // expected-error@+1 {{"tile.q_tile": expected it on an op of the tile dialect, got it on arith.constant}}
  %0 = arith.constant {tile.q_tile = 0 : i32} 0 : index
  return
}

// -----

func.func @unknown() {
  // expected-error@+1 {{unknown attribute "tile.qtile" of the prefix tile.: expected tile.q_tile}}
  %0 = tile.fill 0.0 {tile.qtile = 0 : i32} : !tile.tile<128xf32>
  return
}
