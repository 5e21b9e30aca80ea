// o = a·bᵀ + bias, by blocks of 64 columns of o in a loop, and blocks of 64 of the inner extent in a loop inside of it.
!a = memref<?x?x?x160xTYPE, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x192xTYPE, strided<[?, ?, ?, 1]>>
!bias = memref<?xf32, strided<[1]>, #gpu.address_space<global>>
gpu.module @programs {
  gpu.func @matmul_nest(%a: !a, %b: !a, %bias: !bias, %o: !o) kernel
      attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %rows = arith.constant ROWS : index
    %m = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c1 : !a
    %id = gpu.block_id x
    %row = arith.muli %id, %rows : index
    %blocks = arith.ceildivui %n, %c64 : index
    scf.for %j = %c0 to %blocks step %c1 {
      %column = arith.muli %j, %c64 : index
      %vo = tile.view %o batch %c0 head %c0 rows %m column %column : !o -> <?x192xTYPE>
      %zero = tile.fill 0.0 : <ROWSx64xf32>
      %d = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tile.tile<ROWSx64xf32>) {
        %first = arith.muli %i, %c64 : index
        %va = tile.view %a batch %c0 head %c0 rows %m column %first : !a -> <?x160xTYPE>
        %vb = tile.view %b batch %c0 head %c0 rows %n column %first : !a -> <?x160xTYPE>
        %ta = tile.load %va[%row] : <?x160xTYPE> -> <ROWSx64xTYPE>
        %tb = tile.load %vb[%column] : <?x160xTYPE> -> <64x64xTYPE>
        %s = tile.dot %ta, %tb transpose_b plus %acc as !tile.tile<ROWSx64xf32>
            : <ROWSx64xTYPE>, <64x64xTYPE> -> <ROWSx64xf32>
        scf.yield %s : !tile.tile<ROWSx64xf32>
      }
      %g = tile.modify %d at %vo[%row, %column] : <ROWSx64xf32>, <?x192xTYPE> {
      ^bb0(%x: f32, %r: index, %c: index):
        %most = arith.constant 191 : index
        %in = arith.minui %c, %most : index
        %bj = fmha.read %bias[%in] : !bias
        %y = arith.addf %x, %bj : f32
        tile.yield %y : f32
      }
      %h = tile.cast %g : <ROWSx64xf32> to <ROWSx64xTYPE>
      tile.store %h, %vo[%row] : <ROWSx64xTYPE>, <?x192xTYPE>
    }
    gpu.return
  }
}
