// o = softmax(q1·k1ᵀ + q2·k2ᵀ)·v for one head, by blocks of 64 keys.
!q1 = memref<?x?x?x64xTYPE, strided<[?, ?, ?, 1]>>
!q2 = memref<?x?x?x32xTYPE, strided<[?, ?, ?, 1]>>
!v = memref<?x?x?x96xTYPE, strided<[?, ?, ?, 1]>>
gpu.module @programs {
  gpu.func @two_scores_attention(%q1: !q1, %q2: !q2, %k1: !q1, %k2: !q2, %v: !v, %o: !v) kernel
      attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %rows = arith.constant ROWS : index
    %m = memref.dim %q1, %c1 : !q1
    %n = memref.dim %k1, %c1 : !q1
    %id = gpu.block_id x
    %row = arith.muli %id, %rows : index
    %vq1 = tile.view %q1 batch %c0 head %c0 rows %m : !q1 -> <?x64xTYPE>
    %vq2 = tile.view %q2 batch %c0 head %c0 rows %m : !q2 -> <?x32xTYPE>
    %vk1 = tile.view %k1 batch %c0 head %c0 rows %n : !q1 -> <?x64xTYPE>
    %vk2 = tile.view %k2 batch %c0 head %c0 rows %n : !q2 -> <?x32xTYPE>
    %vv = tile.view %v batch %c0 head %c0 rows %n : !v -> <?x96xTYPE>
    %vo = tile.view %o batch %c0 head %c0 rows %m : !v -> <?x96xTYPE>
    %tq1 = tile.load %vq1[%row] : <?x64xTYPE> -> <ROWSx64xTYPE>
    %tq2 = tile.load %vq2[%row] : <?x32xTYPE> -> <ROWSx32xTYPE>
    %max0 = tile.fill 0xFF800000 : <ROWSxf32>
    %sum0 = tile.fill 0.0 : <ROWSxf32>
    %acc0 = tile.fill 0.0 : <ROWSx96xf32>
    %blocks = arith.ceildivui %n, %c64 : index
    %r:3 = scf.for %i = %c0 to %blocks step %c1 iter_args(%m0 = %max0, %l0 = %sum0, %o0 = %acc0)
        -> (!tile.tile<ROWSxf32>, !tile.tile<ROWSxf32>, !tile.tile<ROWSx96xf32>) {
      %key = arith.muli %i, %c64 : index
      %tk1 = tile.load %vk1[%key] : <?x64xTYPE> -> <64x64xTYPE>
      %tk2 = tile.load %vk2[%key] : <?x32xTYPE> -> <64x32xTYPE>
      %tv = tile.load %vv[%key] : <?x96xTYPE> -> <64x96xTYPE>
      %s1 = tile.dot %tq1, %tk1 transpose_b : <ROWSx64xTYPE>, <64x64xTYPE> -> <ROWSx64xf32>
      %s2 = tile.dot %tq2, %tk2 transpose_b plus %s1 as !tile.tile<ROWSx64xf32>
          : <ROWSx32xTYPE>, <64x32xTYPE> -> <ROWSx64xf32>
      %x = tile.mask %s2 at %vq1[%row], %vk1[%key] : <ROWSx64xf32>, <?x64xTYPE>, <?x64xTYPE>
      %m1, %alpha = tile.row_max %x, %m0 scale 1.44269502 threshold 0.0 : <ROWSx64xf32>, <ROWSxf32>
      %e = tile.exp2 %x, %m1 scale 1.44269502 : <ROWSx64xf32>, <ROWSxf32>
      %l1 = tile.row_sum %e, %l0, %alpha : <ROWSx64xf32>, <ROWSxf32>
      %p = tile.cast %e : <ROWSx64xf32> to <ROWSx64xTYPE>
      %o1 = tile.rescale %o0, %alpha : <ROWSx96xf32>, <ROWSxf32>
      %o2 = tile.dot %p, %tv plus %o1 as !tile.tile<ROWSx96xf32> : <ROWSx64xTYPE>, <64x96xTYPE> -> <ROWSx96xf32>
      scf.yield %m1, %l1, %o2 : !tile.tile<ROWSxf32>, !tile.tile<ROWSxf32>, !tile.tile<ROWSx96xf32>
    }
    %y = tile.normalize %r#2, %r#1 : <ROWSx96xf32>, <ROWSxf32> to <ROWSx96xTYPE>
    tile.store %y, %vo[%row] : <ROWSx96xTYPE>, <?x96xTYPE>
    gpu.return
  }
}
