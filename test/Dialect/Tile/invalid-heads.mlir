// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

func.func @load_no_power(%t: !tensor, %i: index) {
  // expected-error@+1 {{attribute 'heads' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
  %0 = tile.load %t[%i, %i, %i] heads 3 from %i : !tensor -> !tile.tile<128x64xbf16>
  return
}

// -----

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

func.func @load_more_than_rows(%t: !tensor, %i: index) {
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  %0 = tile.load %t[%i, %i, %i] heads 128 from %i : !tensor -> !tile.tile<64x64xbf16>
  return
}

// -----

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

func.func @load_number_alone(%t: !tensor, %i: index) {
  // expected-error@+1 {{expected a number of heads and a first one, or neither, got the number alone}}
  %0 = "tile.load"(%t, %i, %i, %i) {heads = 2 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>} : (!tensor, index, index, index) -> !tile.tile<128x64xbf16>
  return
}

// -----

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

func.func @store_first_alone(%t: !tensor, %i: index, %o: !tile.tile<128x64xbf16>) {
  // expected-error@+1 {{expected a number of heads and a first one, or neither, got a first one alone}}
  "tile.store"(%o, %t, %i, %i, %i, %i) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (!tile.tile<128x64xbf16>, !tensor, index, index, index, index) -> ()
  return
}

// -----

func.func @rows_more_than_rows(%l: memref<?x?x?xf32>, %i: index, %r: !tile.tile<64xf32>) {
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  tile.store_rows %r, %l[%i, %i, %i] heads 128 of %i below %i : !tile.tile<64xf32>, memref<?x?x?xf32>
  return
}

// -----

func.func @load_rows_rank(%l: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{expected a list of 'f32', got 'memref<?x?xf32>'}}
  %0 = tile.load_rows %l[%i] by 1.0 : memref<?x?xf32> -> !tile.tile<128xf32>
  return
}

// -----

func.func @load_rows_count_alone(%l: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a number of heads and a count, or neither, got a count alone}}
  %0 = "tile.load_rows"(%l, %i, %i) {factor = 1.0 : f32} : (memref<?xf32>, index, index) -> !tile.tile<128xf32>
  return
}

// -----

func.func @mask_more_than_rows(%s: !tile.tile<64x128xf32>, %i: index) {
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  %0 = tile.mask %s at [%i, %i] heads 128 keys %i : !tile.tile<64x128xf32>
  return
}

// -----

func.func @modify_without_head(%s: !tile.tile<128x128xf32>, %i: index) {
  // expected-error@+1 {{expected a region of ('f32', 'index', 'index', 'index'), got ('f32', 'index', 'index')}}
  %0 = tile.modify %s at [%i, %i] heads 2 from %i : !tile.tile<128x128xf32> {
  ^bb0(%e: f32, %row: index, %key: index):
    tile.yield %e : f32
  }
  return
}

// -----

func.func @lse_sink_type(%m: !tile.tile<128xf32>, %s: !tile.tile<64xf32>) {
  // expected-error@+1 {{expected a sink of the sum's type '!tile.tile<128xf32>', got '!tile.tile<64xf32>'}}
  %0 = tile.lse %m, %m sink %s as !tile.tile<64xf32> scale 0.5 : !tile.tile<128xf32>
  return
}
