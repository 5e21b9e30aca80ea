// What the ops on tile values refuse.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @load_slot(%t: memref<?x?x?x64xf16>, %i: index, %slot: !tile.tile<128x64xf16, #tile.smem<offset = 0>>) {
  %v = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  // expected-error@+1 {{expected a slot of the result's type '!tile.tile<128x64xf16, #tile.smem<offset = 1024>>', got '!tile.tile<128x64xf16, #tile.smem<offset = 0>>'}}
  %0 = tile.load %v[%i] into %slot as !tile.tile<128x64xf16, #tile.smem<offset = 0>>
      : !tile.view<?x64xf16> -> !tile.tile<128x64xf16, #tile.smem<offset = 1024>>
  return
}

// -----

func.func @move_shape(%v: !tile.tile<128xf32>) {
  // expected-error@+1 {{changes the place of a tile only, but goes from '!tile.tile<128xf32>' to '!tile.tile<64xf32>'}}
  %0 = tile.move %v : !tile.tile<128xf32> to !tile.tile<64xf32>
  return
}

// -----

func.func @move_element(%v: !tile.tile<128xf32>) {
  // expected-error@+1 {{changes the place of a tile only}}
  %0 = tile.move %v : !tile.tile<128xf32> to !tile.tile<128xf16>
  return
}

// -----

func.func @move_slot(%v: !tile.tile<128xf32>, %slot: !tile.tile<128xf32, #tile.smem<offset = 0>>) {
  // expected-error@+1 {{expected a slot of the result's type '!tile.tile<128xf32, #tile.registers>'}}
  %0 = tile.move %v into %slot as !tile.tile<128xf32, #tile.smem<offset = 0>>
      : !tile.tile<128xf32> to !tile.tile<128xf32, #tile.registers>
  return
}

// -----

func.func @wait_without_result(%v: vector<32xi32>) {
  // expected-error@+1 {{expected a result of all 32 elements, got 0}}
  "tile.tmem_wait"(%v) <{access = #tile<tmem_access load>}> : (vector<32xi32>) -> ()
  return
}

// -----

func.func @wait_short(%v: vector<32xi32>) {
  // expected-error@+1 {{expected a result of all 64 elements, got 32}}
  %w = tile.tmem_wait load of %v, %v : vector<32xi32>, vector<32xi32> to vector<32xi32>
  return
}

// -----

func.func @wait_other_elements(%v: vector<32xi32>) {
  // expected-error@+1 {{result #0 must be fixed-length vector of 32-bit signless integer values of ranks 1, but got 'vector<32xf32>'}}
  %w = tile.tmem_wait load of %v : vector<32xi32> to vector<32xf32>
  return
}

// -----

func.func @wait_for_stores(%v: vector<32xi32>) {
  // expected-error@+1 {{expected no values after stores, which hand nothing on, got 1}}
  %w = tile.tmem_wait store of %v : vector<32xi32> to vector<32xi32>
  return
}

// -----

func.func @slice_rows(%q: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{expected 128 rows of 'f16' as the input has, got '!tile.tile<64x64xf16>'}}
  %0 = tile.slice %q from 0 : !tile.tile<128x64xf16> -> !tile.tile<64x64xf16>
  return
}

// -----

func.func @slice_end(%q: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{expected columns inside the input's 64, got 32 from column 48}}
  %0 = tile.slice %q from 48 : !tile.tile<128x64xf16> -> !tile.tile<128x32xf16>
  return
}

// -----

func.func @slice_step(%q: !tile.tile<128x64xf16>) {
  // expected-error@+1 {{whose value is a multiple of 16}}
  %0 = tile.slice %q from 8 : !tile.tile<128x64xf16> -> !tile.tile<128x32xf16>
  return
}

// -----

// A panel of 128 rows is 16384 bytes.
func.func @slice_place(%q: !tile.tile<128x128xf16, #tile.smem<offset = 1024>>) {
  // expected-error@+1 {{expected the columns where the input has them, #tile.smem<offset = 17408>, got '!tile.tile<128x64xf16, #tile.smem<offset = 1024>>'}}
  %0 = tile.slice %q from 64 : !tile.tile<128x128xf16, #tile.smem<offset = 1024>> -> !tile.tile<128x64xf16, #tile.smem<offset = 1024>>
  return
}

// -----

func.func @slice_panels(%q: !tile.tile<128x128xf16, #tile.smem<offset = 0>>) {
  // expected-error@+1 {{expected a slice that begins at a panel of 64 columns or ends in the one that it begins in, got 64 columns from column 32}}
  %0 = tile.slice %q from 32 : !tile.tile<128x128xf16, #tile.smem<offset = 0>> -> !tile.tile<128x64xf16, #tile.smem<offset = 0>>
  return
}

// -----

// Two 16-bit elements share a column of tensor memory.
func.func @slice_tmem(%p: !tile.tile<128x128xf16, #tile.tmem<column = 64>>) {
  // expected-error@+1 {{expected the columns where the input has them, #tile.tmem<column = 80>, got}}
  %0 = tile.slice %p from 32 : !tile.tile<128x128xf16, #tile.tmem<column = 64>> -> !tile.tile<128x32xf16, #tile.tmem<column = 96>>
  return
}

// -----

func.func @write_shape(%t: memref<?x?x?x64xf32>, %i: index, %v: !tile.tile<128x64xf32>, %s: !tile.tile<128xf32>) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf32> -> !tile.view<?x64xf32>
  // expected-error@+1 {{expected a value of the shape of '!tile.tile<128x32xf32>', got '!tile.tile<128x64xf32>'}}
  "tile.write"(%v, %s, %o, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>, tile = !tile.tile<128x32xf32>}> : (!tile.tile<128x64xf32>, !tile.tile<128xf32>, !tile.view<?x64xf32>, index) -> ()
  return
}

// -----

func.func @write_rows(%t: memref<?x?x?x64xf32>, %i: index, %v: !tile.tile<128x64xf32>, %s: !tile.tile<64xf32>) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf32> -> !tile.view<?x64xf32>
  // expected-error@+1 {{expected a sum for each of 128 rows, got '!tile.tile<64xf32>'}}
  tile.write %v over %s : !tile.tile<128x64xf32>, !tile.tile<64xf32> as !tile.tile<128x64xf32> to %o[%i] : !tile.view<?x64xf32>
  return
}

// -----

func.func @write_without_sum(%t: memref<?x?x?x64xf32>, %i: index, %v: !tile.tile<128x64xf32>) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf32> -> !tile.view<?x64xf32>
  // expected-error@+1 {{expected a value and the sums of its rows, or neither}}
  "tile.write"(%v, %o, %i) <{operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>, tile = !tile.tile<128x64xf32>}> : (!tile.tile<128x64xf32>, !tile.view<?x64xf32>, index) -> ()
  return
}

// -----

func.func @write_scale_of_nothing(%t: memref<?x?x?x64xf32>, %i: index, %f: f32) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf32> -> !tile.view<?x64xf32>
  // expected-error@+1 {{expected a value to multiply by the scale, got none}}
  "tile.write"(%f, %o, %i) <{operandSegmentSizes = array<i32: 0, 0, 1, 1, 1>, tile = !tile.tile<128x64xf32>}> : (f32, !tile.view<?x64xf32>, index) -> ()
  return
}

// -----

func.func @write_half(%t: memref<?x?x?x64xbf16>, %i: index) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  // expected-error@+1 {{expected a tile of rank 2 that holds f32, got '!tile.tile<128x64xbf16>'}}
  tile.write as !tile.tile<128x64xbf16> to %o[%i] : !tile.view<?x64xbf16>
  return
}
