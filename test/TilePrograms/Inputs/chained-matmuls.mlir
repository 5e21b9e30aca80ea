// o = (a·bᵀ)·c, by blocks of 64 rows of b and c; a·bᵀ is rounded.
!a = memref<?x?x?x64xTYPE, strided<[?, ?, ?, 1]>>
!c = memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>>
gpu.module @programs {
  gpu.func @chained_matmuls(%a: !a, %b: !a, %c: !c, %o: !c) kernel
      attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %rows = arith.constant ROWS : index
    %m = memref.dim %a, %c1 : !a
    %k = memref.dim %b, %c1 : !a
    %id = gpu.block_id x
    %row = arith.muli %id, %rows : index
    %va = tile.view %a batch %c0 head %c0 rows %m : !a -> <?x64xTYPE>
    %vb = tile.view %b batch %c0 head %c0 rows %k : !a -> <?x64xTYPE>
    %vc = tile.view %c batch %c0 head %c0 rows %k : !c -> <?x96xTYPE>
    %vo = tile.view %o batch %c0 head %c0 rows %m : !c -> <?x96xTYPE>
    %ta = tile.load %va[%row] : <?x64xTYPE> -> <ROWSx64xTYPE>
    %zero = tile.fill 0.0 : <ROWSx96xf32>
    %blocks = arith.ceildivui %k, %c64 : index
    %d = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zero) -> (!tile.tile<ROWSx96xf32>) {
      %first = arith.muli %i, %c64 : index
      %tb = tile.load %vb[%first] : <?x64xTYPE> -> <64x64xTYPE>
      %tc = tile.load %vc[%first] : <?x96xTYPE> -> <64x96xTYPE>
      %s = tile.dot %ta, %tb transpose_b : <ROWSx64xTYPE>, <64x64xTYPE> -> <ROWSx64xf32>
      %p = tile.cast %s : <ROWSx64xf32> to <ROWSx64xTYPE>
      %r = tile.dot %p, %tc plus %acc as !tile.tile<ROWSx96xf32> : <ROWSx64xTYPE>, <64x96xTYPE> -> <ROWSx96xf32>
      scf.yield %r : !tile.tile<ROWSx96xf32>
    }
    %h = tile.cast %d : <ROWSx96xf32> to <ROWSx96xTYPE>
    tile.store %h, %vo[%row] : <ROWSx96xTYPE>, <?x96xTYPE>
    gpu.return
  }
}
