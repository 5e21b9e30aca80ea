// o = a·b, rows of a CTA by blocks of 64 of the inner extent.
gpu.module @programs {
  gpu.func @matmul(%a: memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>, %b: memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>>,
      %o: memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>>) kernel attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %rows = arith.constant ROWS : index
    %m = memref.dim %a, %c1 : memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>
    %k = memref.dim %b, %c1 : memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>>
    %id = gpu.block_id x
    %row = arith.muli %id, %rows : index
    %vb = tile.view %b batch %c0 head %c0 rows %k : memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>> -> <?x96xTYPE>
    %vo = tile.view %o batch %c0 head %c0 rows %m : memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>> -> <?x96xTYPE>
    %zero = tile.fill 0.0 : <ROWSx96xf32>
    %blocks = arith.ceildivui %k, %c64 : index
    %d = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zero) -> (!tile.tile<ROWSx96xf32>) {
      %first = arith.muli %i, %c64 : index
      %va = tile.view %a batch %c0 head %c0 rows %m column %first : memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>> -> <?x192xTYPE>
      %ta = tile.load %va[%row] : <?x192xTYPE> -> <ROWSx64xTYPE>
      %tb = tile.load %vb[%first] : <?x96xTYPE> -> <64x96xTYPE>
      %s = tile.dot %ta, %tb plus %acc as !tile.tile<ROWSx96xf32> : <ROWSx64xTYPE>, <64x96xTYPE> -> <ROWSx96xf32>
      scf.yield %s : !tile.tile<ROWSx96xf32>
    }
    %h = tile.cast %d : <ROWSx96xf32> to <ROWSx96xTYPE>
    tile.store %h, %vo[%row] : <ROWSx96xTYPE>, <?x96xTYPE>
    gpu.return
  }
}
