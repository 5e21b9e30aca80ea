// TMA copies rows in pages in boxes that lie in one page each, as many rows as divide both a tile and a page: 48 and 32
// share 16. Copies that end with a view, by `pages` or `from`, take a map with a fifth dimension.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!pages = memref<?x32x?x64xbf16, strided<[?, ?, ?, 1]>>
!list = memref<?xi32, #gpu.address_space<global>>
!v = !tile.view<?x64xbf16>
gpu.module @pages {
// Tiles of 48 and 16 rows have the same boxes.
// CHECK-LABEL: gpu.func @boxes
// CHECK-SAME: boxRows = [64, 16, 64, 0, 0], sequences = [false, true, true, false, false]>
  gpu.func @boxes(%a: !t, %b: !pages, %c: !t, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !v
    %bs = tile.view %b pages %list[%c0] head %c0 rows %n : !pages, !list -> !v
    %cs = tile.view %c batch %c0 head %c0 rows %n from %c48 : !t -> !v
    %x = tile.load %as[%c0] : !v -> <64x64xbf16>
    %y = tile.load %bs[%c0] : !v -> <48x64xbf16>
    %z = tile.load %bs[%c48] : !v -> <16x64xbf16>
    %w = tile.load %cs[%c0] : !v -> <64x64xbf16>
    gpu.return
  }

// A page may be longer than a tile; 384 rows in pages of 64 are boxes of 64, while one box has at most 256.
// CHECK-LABEL: gpu.func @lengths
// CHECK-SAME: boxRows = [32, 64, 0], sequences = [true, true, false]>
  gpu.func @lengths(%a: memref<?x128x?x64xbf16>, %b: memref<?x64x?x64xbf16>, %list: !list) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = memref.dim %list, %c0 : !list
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : memref<?x128x?x64xbf16>, !list -> !v
    %bs = tile.view %b pages %list[%c0] head %c0 rows %n : memref<?x64x?x64xbf16>, !list -> !v
    %x = tile.load %as[%c0] : !v -> <32x64xbf16>
    %y = tile.load %bs[%c0] : !v -> <384x64xbf16>
    gpu.return
  }

// First rows are multiples of the rows of a box, 16, as far as constants say: factors of numbers that are not known may
// be anything, and a loop that counts rows has steps of its own.
// CHECK-LABEL: gpu.func @rows
// CHECK-SAME: boxRows = [16, 0, 0], sequences = [true, false, false]>
  gpu.func @rows(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %n = arith.index_cast %length : i32 to index
    %block = gpu.block_id x
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !v
    %some = arith.muli %n, %c3 : index
    %first = arith.muli %block, %c48 : index
    scf.for %i = %c16 to %n step %c48 {
      %x = tile.load %as[%i] : !v -> <48x64xbf16>
      %triple = arith.muli %i, %c3 : index
      %row = arith.subi %triple, %c48 : index
      %y = tile.load %as[%row] : !v -> <48x64xbf16>
      %later = arith.addi %first, %i : index
      %z = tile.load %as[%later] : !v -> <48x64xbf16>
      %other = arith.addi %some, %i : index
      %w = tile.load %as[%other] : !v -> <48x64xbf16>
    }
    gpu.return
  }
}
