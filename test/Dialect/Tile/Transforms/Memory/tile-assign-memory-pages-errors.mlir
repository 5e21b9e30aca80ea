// Copies from one operand that no single tensor map supports.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

// Boxes of 16 rows, which divide 48 and 32, and of 32.
!pages = memref<?x32x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @boxes {
  gpu.func @boxes(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <48x64xbf16>
    // expected-error@+1 {{expected boxes of 16 rows, as another op on operand 0 has, got 32, the greatest common divisor of the rows of the tile and of a page; load tiles for which it is the same, or pass the tensor as two operands}}
    %y = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

// A box may have 256 rows at most.
!pages = memref<?x512x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @tall {
  gpu.func @tall(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected at most 256 rows, which a tensor map copies at once, got 512}}
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <512x64xbf16>
    gpu.return
  }
}

// -----

// Copies of a sequence end with it, others with the tensor.
!t = memref<?x?x?x64xbf16>
gpu.module @ends {
  gpu.func @ends(%a: !t, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a batch %c0 head %c0 rows %n from %n : !t -> !tile.view<?x64xbf16>
    %bs = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    // expected-error@+1 {{expected a view with from or pages, as another op on operand 0 has, got one without; pass the tensor as two operands}}
    %y = tile.load %bs[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

gpu.module @entries {
  // expected-error@+1 {{expected an entry for each of 1 operands in boxRows and sequences of tile.kernel, got 2}}
  gpu.func @entries(%a: memref<?x?x?x64xbf16>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a", boxRows = [64, 64]>} {
    gpu.return
  }
}

// -----

gpu.module @entries_of_sequences {
  // expected-error@+1 {{expected an entry for each of 1 operands in boxRows and sequences of tile.kernel, got 0}}
  gpu.func @entries_of_sequences(%a: memref<?x?x?x64xbf16>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a", sequences = []>} {
    gpu.return
  }
}

// -----

// A box of 16 rows from row 24 on would lie in two pages.
!pages = memref<?x32x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @constant_row {
  gpu.func @constant_row(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %row = arith.constant 24 : index
    // expected-error@+1 {{expected a first row that is a multiple of 16, because a box of 16 rows must lie in one page, got a remainder of 8; begin tiles at such rows, or load tiles of fewer rows}}
    %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <48x64xbf16>
    gpu.return
  }
}

// -----

// Row -8 is row 24 of a page.
!pages = memref<?x32x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @negative_row {
  gpu.func @negative_row(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %row = arith.constant -8 : index
    // expected-error@+1 {{expected a first row that is a multiple of 32, because a box of 32 rows must lie in one page, got a remainder of 24; begin tiles at such rows, or load tiles of fewer rows}}
    %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

// Each second tile begins in the middle of a page.
!pages = memref<?x64x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @step {
  gpu.func @step(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %c1 = arith.constant 1 : index
    %c96 = arith.constant 96 : index
    scf.for %i = %c0 to %n step %c1 {
      %row = arith.muli %i, %c96 : index
      // expected-error@+1 {{expected a first row that is a multiple of 64, because a box of 64 rows must lie in one page, got a remainder of 32; begin tiles at such rows, or load tiles of fewer rows}}
      %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    }
    gpu.return
  }
}

// -----

// All tiles begin at row 8 of a page.
!pages = memref<?x64x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @offset {
  gpu.func @offset(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %n step %c1 {
      %product = arith.muli %c64, %i : index
      %row = arith.addi %product, %c8 : index
      // expected-error@+1 {{expected a first row that is a multiple of 64, because a box of 64 rows must lie in one page, got a remainder of 8; begin tiles at such rows, or load tiles of fewer rows}}
      %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    }
    gpu.return
  }
}

// -----

// The loop counts rows.
!pages = memref<?x64x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @loop {
  gpu.func @loop(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %c16 = arith.constant 16 : index
    scf.for %row = %c0 to %n step %c16 {
      // expected-error@+1 {{expected a first row that is a multiple of 64, because a box of 64 rows must lie in one page, got a remainder of 16; begin tiles at such rows, or load tiles of fewer rows}}
      %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Each second CTA begins in the middle of a page.
!pages = memref<?x64x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @block {
  gpu.func @block(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %block = gpu.block_id x
    %c32 = arith.constant 32 : index
    %row = arith.muli %block, %c32 : index
    // expected-error@+1 {{expected a first row that is a multiple of 64, because a box of 64 rows must lie in one page, got a remainder of 32; begin tiles at such rows, or load tiles of fewer rows}}
    %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

// No multiple of 16 less 8 is one of 64.
!pages = memref<?x64x?x64xbf16>
!list = memref<?xi32, #gpu.address_space<global>>
gpu.module @unknown {
  gpu.func @unknown(%a: !pages, %list: !list, %length: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %n = arith.index_cast %length : i32 to index
    %as = tile.view %a pages %list[%c0] head %c0 rows %n : !pages, !list -> !tile.view<?x64xbf16>
    %c16 = arith.constant 16 : index
    %c8 = arith.constant 8 : index
    %product = arith.muli %n, %c16 : index
    %row = arith.subi %product, %c8 : index
    // expected-error@+1 {{expected a first row that is a multiple of 64, because a box of 64 rows must lie in one page, got a remainder of 8; begin tiles at such rows, or load tiles of fewer rows}}
    %x = tile.load %as[%row] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}
