// o[b] = softmax of the rows of a[b]·b[b]ᵀ, of at most 128 columns; the grid has a row of CTAs for each batch.
!a = memref<?x?x?x64xTYPE, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x128xTYPE, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
gpu.module @programs {
  gpu.func @batched_matmul_softmax(%a: !a, %b: !a, %o: !o, %l: !l) kernel
      attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.constant ROWS : index
    %m = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c1 : !a
    %id = gpu.block_id x
    %blocks = arith.ceildivui %m, %rows : index
    %batch = arith.divui %id, %blocks : index
    %block = arith.remui %id, %blocks : index
    %row = arith.muli %block, %rows : index
    %va = tile.view %a batch %batch head %c0 rows %m : !a -> <?x64xTYPE>
    %vb = tile.view %b batch %batch head %c0 rows %n : !a -> <?x64xTYPE>
    %vo = tile.view %o batch %batch head %c0 rows %m : !o -> <?x128xTYPE>
    %vl = tile.view %l batch %batch head %c0 rows %m : !l -> <?xf32>
    %ta = tile.load %va[%row] : <?x64xTYPE> -> <ROWSx64xTYPE>
    %tb = tile.load %vb[%c0] : <?x64xTYPE> -> <128x64xTYPE>
    %s = tile.dot %ta, %tb transpose_b : <ROWSx64xTYPE>, <128x64xTYPE> -> <ROWSx128xf32>
    %x = tile.mask %s at %va[%row], %vb[%c0] : <ROWSx128xf32>, <?x64xTYPE>, <?x64xTYPE>
    %least = tile.fill 0xFF800000 : <ROWSxf32>
    %none = tile.fill 0.0 : <ROWSxf32>
    %max, %alpha = tile.row_max %x, %least scale 1.44269502 threshold 0.0 : <ROWSx128xf32>, <ROWSxf32>
    %p = tile.exp2 %x, %max scale 1.44269502 : <ROWSx128xf32>, <ROWSxf32>
    %sum = tile.row_sum %p, %none, %alpha : <ROWSx128xf32>, <ROWSxf32>
    %y = tile.normalize %p, %sum : <ROWSx128xf32>, <ROWSxf32> to <ROWSx128xTYPE>
    tile.store %y, %vo[%row] : <ROWSx128xTYPE>, <?x128xTYPE>
    %lse = tile.lse %max, %sum scale 1.44269502 : <ROWSxf32>
    tile.store_rows %lse, %vl[%row] : <ROWSxf32>, <?xf32>
    gpu.return
  }
}
