// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each case breaks one constraint of the ops on factors of columns.

func.func @pages(%k: memref<?x?x?x64xf8E4M3FN>, %scales: memref<?xf32>, %i: index) {
  %v = tile.view %k batch %i head %i rows %i : memref<?x?x?x64xf8E4M3FN> -> !tile.view<?x64xf8E4M3FN>
  // expected-error@+1 {{expected a view with pages, since each page has its factors, got a view without pages}}
  %f = tile.load_factors %scales, %scales of %v[%i] : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<128xf32>
  return
}

// -----

func.func @view(%v: !tile.view<?x64xf8E4M3FN>, %scales: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a view as the result of tile.view}}
  %f = tile.load_factors %scales, %scales of %v[%i] : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<128xf32>
  return
}

// -----

func.func @rows(%k: memref<?x16x?x64xf8E4M3FN>, %table: memref<?xi32>, %scales: memref<?xf32>, %i: index) {
  %v = tile.view %k pages %table[%i] head %i rows %i : memref<?x16x?x64xf8E4M3FN>, memref<?xi32> -> !tile.view<?x64xf8E4M3FN>
  // expected-error@+1 {{expected a number of rows that is a multiple of 16 and at most 128, got 144}}
  %f = tile.load_factors %scales, %scales of %v[%i] : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<288xf32>
  return
}

// -----

func.func @odd(%k: memref<?x16x?x64xf8E4M3FN>, %table: memref<?xi32>, %scales: memref<?xf32>, %i: index) {
  %v = tile.view %k pages %table[%i] head %i rows %i : memref<?x16x?x64xf8E4M3FN>, memref<?xi32> -> !tile.view<?x64xf8E4M3FN>
  // expected-error@+1 {{expected an even number of elements, two for each row, got 33}}
  %f = tile.load_factors %scales, %scales of %v[%i] : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<33xf32>
  return
}

// -----

func.func @slot(%k: memref<?x16x?x64xf8E4M3FN>, %table: memref<?xi32>, %scales: memref<?xf32>, %slot: !tile.tile<64xf32, #tile.smem<offset = 0>>, %i: index) {
  %v = tile.view %k pages %table[%i] head %i rows %i : memref<?x16x?x64xf8E4M3FN>, memref<?xi32> -> !tile.view<?x64xf8E4M3FN>
  // expected-error@+1 {{expected a slot of the result's type}}
  %f = tile.load_factors %scales, %scales of %v[%i] into %slot as !tile.tile<64xf32, #tile.smem<offset = 0>> : memref<?xf32>, !tile.view<?x64xf8E4M3FN> -> !tile.tile<128xf32>
  return
}

// -----

func.func @columns(%s: !tile.tile<64x64xf32>, %f: !tile.tile<96xf32>) {
  // expected-error@+1 {{expected a factor for each column, at least 112, got 96}}
  %t = tile.scale_columns %s by %f from 48 : !tile.tile<64x64xf32>, !tile.tile<96xf32>
  return
}

// -----

func.func @size(%k: memref<?x?x?x64xf8E4M3FN>, %table: memref<?xi32>, %scales: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a static number of rows per page}}
  %ks, %vs = tile.read_factors 64 of %scales, %scales in %k pages %table[%i] from %i before %i warps from 4 : memref<?xf32>, memref<?x?x?x64xf8E4M3FN>, memref<?xi32>
  return
}

// -----

func.func @threads(%k: memref<?x16x?x64xf8E4M3FN>, %table: memref<?xi32>, %scales: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a number of rows that is a multiple of 16 and at most 128, got 160}}
  %ks, %vs = tile.read_factors 160 of %scales, %scales in %k pages %table[%i] from %i before %i warps from 4 : memref<?xf32>, memref<?x16x?x64xf8E4M3FN>, memref<?xi32>
  return
}

// -----

func.func @written(%x: f32, %dest: !llvm.ptr<3>) {
  // expected-error@+1 {{expected a number of rows that is a multiple of 16 and at most 128, got 24}}
  tile.write_factors %x, %x of 24 to %dest warps from 4 : !llvm.ptr<3>
  return
}
