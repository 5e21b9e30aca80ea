// o = gelu(a·bᵀ + bias), rows of a CTA by blocks of 64 of the inner extent.
!a = memref<?x?x?x160xTYPE, strided<[?, ?, ?, 1]>>
!o = memref<?x?x?x128xTYPE, strided<[?, ?, ?, 1]>>
!bias = memref<?xf32, strided<[1]>, #gpu.address_space<global>>
gpu.module @programs {
  gpu.func @matmul_bias_gelu(%a: !a, %b: !a, %bias: !bias, %o: !o) kernel
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
    %vo = tile.view %o batch %c0 head %c0 rows %m : !o -> <?x128xTYPE>
    %zero = tile.fill 0.0 : <ROWSx128xf32>
    %d = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tile.tile<ROWSx128xf32>) {
      %first = arith.muli %i, %c64 : index
      %va = tile.view %a batch %c0 head %c0 rows %m column %first : !a -> <?x160xTYPE>
      %vb = tile.view %b batch %c0 head %c0 rows %n column %first : !a -> <?x160xTYPE>
      %ta = tile.load %va[%row] : <?x160xTYPE> -> <ROWSx64xTYPE>
      %tb = tile.load %vb[%c0] : <?x160xTYPE> -> <128x64xTYPE>
      %s = tile.dot %ta, %tb transpose_b plus %acc as !tile.tile<ROWSx128xf32>
          : <ROWSx64xTYPE>, <128x64xTYPE> -> <ROWSx128xf32>
      scf.yield %s : !tile.tile<ROWSx128xf32>
    }
    %g = tile.modify %d at %vo[%row, %c0] : <ROWSx128xf32>, <?x128xTYPE> {
    ^bb0(%x: f32, %i: index, %j: index):
      %bj = fmha.read %bias[%j] : !bias
      %y = arith.addf %x, %bj : f32
      %root = arith.constant 0.70710678 : f32
      %scaled = arith.mulf %y, %root : f32
      %erf = math.erf %scaled : f32
      %one = arith.constant 1.0 : f32
      %sum = arith.addf %erf, %one : f32
      %half = arith.constant 0.5 : f32
      %halved = arith.mulf %y, %half : f32
      %z = arith.mulf %halved, %sum : f32
      tile.yield %z : f32
    }
    %h = tile.cast %g : <ROWSx128xf32> to <ROWSx128xTYPE>
    tile.store %h, %vo[%row] : <ROWSx128xTYPE>, <?x128xTYPE>
    gpu.return
  }
}
