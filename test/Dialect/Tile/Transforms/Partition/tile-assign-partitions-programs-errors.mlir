// Programs with ops that no role can have where they stand.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory,tile-assign-partitions)))'

// An op of a level below the roles.
!a = memref<?x?x?x192xbf16, strided<[?, ?, ?, 1]>>
!b = memref<?x?x?x96xbf16, strided<[?, ?, ?, 1]>>
gpu.module @programs {
  gpu.func @matmul(%a: !a, %b: !b, %c: !b) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !a
    %k = memref.dim %b, %c1 : !b
    // expected-error@+1 {{'tile.draw_tile' op expected tiles as results before tile-insert-channels, got 'i32'}}
    %tc = tile.draw_tile
    %id = arith.index_cast %tc : i32 to index
    %row = arith.muli %id, %c64 : index
    %vb = tile.view %b batch %c0 head %c0 rows %k : !b -> <?x96xbf16>
    %vc = tile.view %c batch %c0 head %c0 rows %m : !b -> <?x96xbf16>
    %zero = tile.fill 0.0 : <64x96xf32>
    %blocks = arith.ceildivui %k, %c64 : index
    %sum = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zero) -> (!tile.tile<64x96xf32>) {
      %first = arith.muli %i, %c64 : index
      %va = tile.view %a batch %c0 head %c0 rows %m column %first : !a -> <?x192xbf16>
      %ta = tile.load %va[%row] : <?x192xbf16> -> <64x64xbf16>
      %tb = tile.load %vb[%first] : <?x96xbf16> -> <64x96xbf16>
      %next = tile.dot %ta, %tb plus %acc as !tile.tile<64x96xf32> : <64x64xbf16>, <64x96xbf16> -> <64x96xf32>
      scf.yield %next : !tile.tile<64x96xf32>
    }
    %rounded = tile.cast %sum : <64x96xf32> to <64x96xbf16>
    tile.store %rounded, %vc[%row] : <64x96xbf16>, <?x96xbf16>
    gpu.return
  }
}
