// Programs that no attention op made: `tile.kernel` names the target, and the pass lays out the memory of what ops
// work in. Regions are called after their ops, numbered in the order of the program. In shared memory those of tiles
// come first, in that order, then those of numbers of rows, then the barriers, 8 bytes each, four for each stage of a
// region and each region of tensor memory, then the address of tensor memory. Loads in loops get as many stages as
// there is room for in 232448 bytes, up to 4. Tensor memory is given out column by column.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))' | FileCheck %s --implicit-check-not=tile.region --implicit-check-not='tile.move '

!t64 = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!t128 = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!t256 = memref<?x?x?x256xbf16, strided<[?, ?, ?, 1]>>

// C = A·B with K in steps of 64. Bytes: A 128 x 64 x 2 = 16384, B two panels of 64 x 128 = 16384, both in 4 stages of
// the loop; C 128 x 128 x 2 = 32768. So A at 0, B at 4 x 16384 = 65536, C at 131072, 4 x (4 + 4 + 1 + 1) barriers at
// 131072 + 32768 = 163840, 320 bytes, then the address at 164160. The accumulator takes 128 columns. TMA copies boxes of as
// many rows as the tiles of an operand have.
// CHECK-LABEL: gpu.func @matmul
// CHECK-SAME: tile.kernel = #tile.kernel<target = "sm_100a", memory = [
// CHECK-SAME: #tile.extent<name = "load1", place = #tile.smem<offset = 0, stages = 4>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "load2", place = #tile.smem<offset = 65536, stages = 4>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "store3", place = #tile.smem<offset = 131072>, size = 32768>,
// CHECK-SAME: #tile.extent<name = "barriers", place = #tile.smem<offset = 163840>, size = 320>,
// CHECK-SAME: #tile.extent<name = "tmem_address", place = #tile.smem<offset = 164160>, size = 4>,
// CHECK-SAME: #tile.extent<name = "fill0", place = #tile.tmem<column = 0>, size = 128>], boxRows = [128, 64, 128]>
// The accumulator stays where it is until it is whole.
// CHECK: %[[ZERO:.*]] = tile.fill 0.000000e+00 : <128x128xf32, #tile.tmem<column = 0>>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (!tile.tile<128x128xf32, #tile.tmem<column = 0>>)
// CHECK: %[[A:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 0, stages = 4>>
// CHECK: %[[B:.*]] = tile.load {{.*}} -> <64x128xbf16, #tile.smem<offset = 65536, stages = 4>>
// CHECK: %[[NEXT:.*]] = tile.dot %[[A]], %[[B]] plus %[[ACC]] {{.*}} -> <128x128xf32, #tile.tmem<column = 0>>
// CHECK: scf.yield %[[NEXT]]
// Then it goes to registers, and what is stored to shared memory.
// CHECK: %[[C:.*]] = tile.move %[[SUM]] : <128x128xf32, #tile.tmem<column = 0>> to <128x128xf32, #tile.registers>
// CHECK: %[[HALF:.*]] = tile.cast %[[C]] : <128x128xf32, #tile.registers> to <128x128xbf16, #tile.registers>
// CHECK: %[[OUT:.*]] = tile.move %[[HALF]] : <128x128xbf16, #tile.registers> to <128x128xbf16, #tile.smem<offset = 131072>>
// CHECK: tile.store %[[OUT]], %{{.*}} : <128x128xbf16, #tile.smem<offset = 131072>>
gpu.module @tcgen05 {
  gpu.func @matmul(%a: !t256, %b: !t128, %c: !t128) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !t256
    %k = memref.dim %b, %c1 : !t128
    %steps = arith.ceildivui %k, %c64 : index
    %bs = tile.view %b batch %c0 head %c0 rows %k : !t128 -> !tile.view<?x128xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t128 -> !tile.view<?x128xbf16>
    %zero = tile.fill 0.0 : !tile.tile<128x128xf32>
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!tile.tile<128x128xf32>) {
      %at = arith.muli %i, %c64 : index
      %as = tile.view %a batch %c0 head %c0 rows %m column %at : !t256 -> !tile.view<?x256xbf16>
      %x = tile.load %as[%c0] : !tile.view<?x256xbf16> -> <128x64xbf16>
      %y = tile.load %bs[%at] : !tile.view<?x128xbf16> -> <64x128xbf16>
      %next = tile.dot %x, %y plus %acc as !tile.tile<128x128xf32> : <128x64xbf16>, <64x128xbf16> -> <128x128xf32>
      scf.yield %next : !tile.tile<128x128xf32>
    }
    %half = tile.cast %sum : <128x128xf32> to <128x128xbf16>
    tile.store %half, %cs[%c0] : <128x128xbf16>, !tile.view<?x128xbf16>
    gpu.return
  }

// Steps of 128 take 32768 bytes each of A and B: four stages of both would be 262144 bytes, three are 196608, and with
// C 229376; 4 x (3 + 3 + 1 + 1) barriers are 256 bytes.
// CHECK-LABEL: gpu.func @three_stages
// CHECK-SAME: #tile.extent<name = "load1", place = #tile.smem<offset = 0, stages = 3>, size = 32768>,
// CHECK-SAME: #tile.extent<name = "load2", place = #tile.smem<offset = 98304, stages = 3>, size = 32768>,
// CHECK-SAME: #tile.extent<name = "store3", place = #tile.smem<offset = 196608>, size = 32768>,
// CHECK-SAME: #tile.extent<name = "barriers", place = #tile.smem<offset = 229376>, size = 256>,
// CHECK-SAME: #tile.extent<name = "tmem_address", place = #tile.smem<offset = 229632>, size = 4>,
// CHECK-SAME: #tile.extent<name = "fill0", place = #tile.tmem<column = 0>, size = 128>]
// CHECK: tile.load {{.*}} -> <128x128xbf16, #tile.smem<offset = 0, stages = 3>>
// CHECK: tile.load {{.*}} -> <128x128xbf16, #tile.smem<offset = 98304, stages = 3>>
// CHECK-COUNT-2: tile.move {{.*}} to
  gpu.func @three_stages(%a: !t256, %b: !t128, %c: !t128) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c1 : !t256
    %k = memref.dim %b, %c1 : !t128
    %steps = arith.ceildivui %k, %c128 : index
    %bs = tile.view %b batch %c0 head %c0 rows %k : !t128 -> !tile.view<?x128xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t128 -> !tile.view<?x128xbf16>
    %zero = tile.fill 0.0 : !tile.tile<128x128xf32>
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!tile.tile<128x128xf32>) {
      %at = arith.muli %i, %c128 : index
      %as = tile.view %a batch %c0 head %c0 rows %m column %at : !t256 -> !tile.view<?x256xbf16>
      %x = tile.load %as[%c0] : !tile.view<?x256xbf16> -> <128x128xbf16>
      %y = tile.load %bs[%at] : !tile.view<?x128xbf16> -> <128x128xbf16>
      %next = tile.dot %x, %y plus %acc as !tile.tile<128x128xf32> : <128x128xbf16>, <128x128xbf16> -> <128x128xf32>
      scf.yield %next : !tile.tile<128x128xf32>
    }
    %half = tile.cast %sum : <128x128xf32> to <128x128xbf16>
    tile.store %half, %cs[%c0] : <128x128xbf16>, !tile.view<?x128xbf16>
    gpu.return
  }

// A product of a product, whose rows are rescaled and divided. What ops say stays: both loads of the loop pass one ring,
// whose stages are as large as the larger tile (128 x 64 x 2 = 16384; 128 x 32 takes a panel as well). Bytes: A 16384 at
// 0, the ring 4 x 16384 at 16384, the output 128 x 64 x 2 = 16384 at 81920, then a number for each of 128 rows for the
// rescaling (512 at 98304) and for the quotient (512 at 98816); barriers 4 x 8 x (1 + 4 + 1 + 1 + 1 + 3) = 352 at 99328;
// the address at 99680. Columns: the output's accumulator 64, the first product 128, it as a factor 128 / 2 = 64.
// CHECK-LABEL: gpu.func @chain
// CHECK-SAME: #tile.extent<name = "load0", place = #tile.smem<offset = 0>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "ring", place = #tile.smem<offset = 16384, stages = 4>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "normalize5", place = #tile.smem<offset = 81920>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "rescale4", place = #tile.smem<offset = 98304>, size = 512>,
// CHECK-SAME: #tile.extent<name = "normalize6", place = #tile.smem<offset = 98816>, size = 512>,
// CHECK-SAME: #tile.extent<name = "barriers", place = #tile.smem<offset = 99328>, size = 352>,
// CHECK-SAME: #tile.extent<name = "tmem_address", place = #tile.smem<offset = 99680>, size = 4>,
// CHECK-SAME: #tile.extent<name = "fill1", place = #tile.tmem<column = 0>, size = 64>,
// CHECK-SAME: #tile.extent<name = "dot2", place = #tile.tmem<column = 64>, size = 128>,
// CHECK-SAME: #tile.extent<name = "cast3", place = #tile.tmem<column = 192>, size = 64>]
// CHECK: %[[A:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 0>>
// Numbers of rows are in registers, as is what no product adds to.
// CHECK: tile.fill 0.000000e+00 : <128x64xf32, #tile.tmem<column = 0>>
// CHECK: tile.fill 0.000000e+00 : <128xf32, #tile.registers>
// CHECK: scf.for
// CHECK: %[[B:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 16384, stages = 4>>
// CHECK: %[[D:.*]] = tile.load {{.*}} -> <128x32xbf16, #tile.smem<offset = 16384, stages = 4>>
// CHECK: %[[S:.*]] = tile.dot %[[A]], %[[B]] transpose_b : {{.*}} -> <128x128xf32, #tile.tmem<column = 64>>
// CHECK: %[[R:.*]] = tile.move %[[S]] : {{.*}} to <128x128xf32, #tile.registers>
// CHECK: %{{.*}}, %[[ALPHA:.*]] = tile.row_max %[[R]]
// CHECK: %[[SENT:.*]] = tile.move %[[ALPHA]] : {{.*}} to <128xf32, #tile.smem<offset = 98304>>
// CHECK: %[[GOT:.*]] = tile.move %[[SENT]] : {{.*}} to <128xf32, #tile.registers>
// CHECK: %[[P:.*]] = tile.cast {{.*}} to <128x128xbf16, #tile.registers>
// CHECK: %[[FACTOR:.*]] = tile.move %[[P]] : {{.*}} to <128x128xbf16, #tile.tmem<column = 192>>
// CHECK: %[[OLD:.*]] = tile.rescale %{{.*}}, %[[GOT]] : <128x64xf32, #tile.tmem<column = 0>>
// CHECK: tile.dot %[[FACTOR]], %[[B]] plus %[[OLD]] {{.*}} -> <128x64xf32, #tile.tmem<column = 0>>
// The result of the loop stays: the quotient is taken where the accumulator is.
// CHECK: %[[SUM:.*]] = tile.move %{{.*}} : {{.*}} to <128xf32, #tile.smem<offset = 98816>>
// CHECK: %[[L:.*]] = tile.move %[[SUM]] : {{.*}} to <128xf32, #tile.registers>
// CHECK: %[[OUT:.*]] = tile.normalize %{{.*}}, %[[L]] : <128x64xf32, #tile.tmem<column = 0>>, {{.*}} to <128x64xbf16, #tile.smem<offset = 81920>>
// CHECK: tile.store %[[OUT]]
  gpu.func @chain(%a: !t64, %b: !t64, %c: !t64) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c1 : !t64
    %n = memref.dim %b, %c1 : !t64
    %steps = arith.ceildivui %n, %c128 : index
    %as = tile.view %a batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t64 -> !tile.view<?x64xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    %zero = tile.fill 0.0 : !tile.tile<128x64xf32>
    %none = tile.fill 0.0 : !tile.tile<128xf32>
    %r:3 = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero, %max = %none, %sum = %none) -> (!tile.tile<128x64xf32>, !tile.tile<128xf32>, !tile.tile<128xf32>) {
      %at = arith.muli %i, %c128 : index
      %y = tile.load %bs[%at] {tile.region = #tile.region<name = "ring">} : !tile.view<?x64xbf16> -> <128x64xbf16>
      %more = tile.load %bs[%at] {tile.region = #tile.region<name = "ring">} : !tile.view<?x64xbf16> -> <128x32xbf16>
      %s = tile.dot %x, %y transpose_b : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
      %newmax, %alpha = tile.row_max %s, %max scale 1.0 threshold 0.0 : <128x128xf32>, <128xf32>
      %e = tile.exp2 %s, %newmax scale 1.0 : <128x128xf32>, <128xf32>
      %newsum = tile.row_sum %e, %sum, %alpha : <128x128xf32>, <128xf32>
      %p = tile.cast %e : <128x128xf32> to <128x128xbf16>
      %old = tile.rescale %acc, %alpha : <128x64xf32>, <128xf32>
      %new = tile.dot %p, %y plus %old as !tile.tile<128x64xf32> : <128x128xbf16>, <128x64xbf16> -> <128x64xf32>
      scf.yield %new, %newmax, %newsum : !tile.tile<128x64xf32>, !tile.tile<128xf32>, !tile.tile<128xf32>
    }
    %o = tile.normalize %r#0, %r#2 : <128x64xf32>, <128xf32> to <128x64xbf16>
    tile.store %o, %cs[%c0] : <128x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }

// A memory map that is there stays, with what lies where it says.
// CHECK-LABEL: gpu.func @by_hand
// CHECK-SAME: tile.kernel = #tile.kernel<target = "sm_100a", memory = [#tile.extent<name = "x", place = #tile.smem<offset = 16384>, size = 16384>, #tile.extent<name = "y", place = #tile.smem<offset = 32768, stages = 2>, size = 32768>, #tile.extent<name = "barriers", place = #tile.smem<offset = 98304>, size = 128>, #tile.extent<name = "tmem_address", place = #tile.smem<offset = 98432>, size = 4>, #tile.extent<name = "s", place = #tile.tmem<column = 256>, size = 128>]
// CHECK: tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 16384>>
// A smaller tile in a ring: stages are as far apart as the region says.
// CHECK: tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 32768, stages = 2, pitch = 32768>>
// CHECK: tile.dot {{.*}} -> <128x128xf32, #tile.tmem<column = 256>>
  gpu.func @by_hand(%a: !t64, %b: !t64) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a", memory = [
      #tile.extent<name = "x", place = #tile.smem<offset = 16384>, size = 16384>,
      #tile.extent<name = "y", place = #tile.smem<offset = 32768, stages = 2>, size = 32768>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 98304>, size = 128>,
      #tile.extent<name = "tmem_address", place = #tile.smem<offset = 98432>, size = 4>,
      #tile.extent<name = "s", place = #tile.tmem<column = 256>, size = 128>]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t64
    %as = tile.view %a batch %c0 head %c0 rows %n : !t64 -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t64 -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "x">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %y = tile.load %bs[%c0] {tile.region = #tile.region<name = "y">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    %s = tile.dot %x, %y transpose_b {tile.region = #tile.region<name = "s">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// On Hopper products are in the registers of the warpgroup, which has 64 rows. Bytes: A 64 x 64 x 2 = 8192 in 4 stages
// at 0, B two panels of 64 x 128 = 16384 in 4 stages at 32768, C 64 x 128 x 2 = 16384 at 98304, 4 x (4 + 4 + 1) barriers
// at 114688. The accumulator has no region, and nothing moves but what is stored.
// CHECK-LABEL: gpu.func @fragments
// CHECK-SAME: tile.kernel = #tile.kernel<target = "sm_90a", memory = [
// CHECK-SAME: #tile.extent<name = "load0", place = #tile.smem<offset = 0, stages = 4>, size = 8192>,
// CHECK-SAME: #tile.extent<name = "load1", place = #tile.smem<offset = 32768, stages = 4>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "store2", place = #tile.smem<offset = 98304>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "barriers", place = #tile.smem<offset = 114688>, size = 288>], boxRows = [64, 64, 64]>
// CHECK: %[[ZERO:.*]] = tile.fill 0.000000e+00 : <64x128xf32, #tile.fragment>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]])
// CHECK: %[[A:.*]] = tile.load {{.*}} -> <64x64xbf16, #tile.smem<offset = 0, stages = 4>>
// CHECK: %[[B:.*]] = tile.load {{.*}} -> <64x128xbf16, #tile.smem<offset = 32768, stages = 4>>
// CHECK: tile.dot %[[A]], %[[B]] plus %[[ACC]] {{.*}} -> <64x128xf32, #tile.fragment>
// CHECK: %[[HALF:.*]] = tile.cast %[[SUM]] : <64x128xf32, #tile.fragment> to <64x128xbf16, #tile.fragment>
// CHECK: %[[OUT:.*]] = tile.move %[[HALF]] : {{.*}} to <64x128xbf16, #tile.smem<offset = 98304>>
// CHECK: tile.store %[[OUT]]
gpu.module @wgmma {
  gpu.func @fragments(%a: !t256, %b: !t128, %c: !t128) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !t256
    %k = memref.dim %b, %c1 : !t128
    %steps = arith.ceildivui %k, %c64 : index
    %bs = tile.view %b batch %c0 head %c0 rows %k : !t128 -> !tile.view<?x128xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t128 -> !tile.view<?x128xbf16>
    %zero = tile.fill 0.0 : !tile.tile<64x128xf32>
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!tile.tile<64x128xf32>) {
      %at = arith.muli %i, %c64 : index
      %as = tile.view %a batch %c0 head %c0 rows %m column %at : !t256 -> !tile.view<?x256xbf16>
      %x = tile.load %as[%c0] : !tile.view<?x256xbf16> -> <64x64xbf16>
      %y = tile.load %bs[%at] : !tile.view<?x128xbf16> -> <64x128xbf16>
      %next = tile.dot %x, %y plus %acc as !tile.tile<64x128xf32> : <64x64xbf16>, <64x128xbf16> -> <64x128xf32>
      scf.yield %next : !tile.tile<64x128xf32>
    }
    %half = tile.cast %sum : <64x128xf32> to <64x128xbf16>
    tile.store %half, %cs[%c0] : <64x128xbf16>, !tile.view<?x128xbf16>
    gpu.return
  }

// A product takes its first factor from registers, and rows are rescaled in place. Bytes: A 64 x 64 x 2 = 8192 at 0, B
// 128 x 64 x 2 = 16384 in 4 stages at 8192, C 8192 at 73728, 4 x 8 x (1 + 4 + 1) = 192 of barriers at 81920.
// CHECK-LABEL: gpu.func @factor
// CHECK-SAME: #tile.extent<name = "load0", place = #tile.smem<offset = 0>, size = 8192>,
// CHECK-SAME: #tile.extent<name = "load1", place = #tile.smem<offset = 8192, stages = 4>, size = 16384>,
// CHECK-SAME: #tile.extent<name = "store2", place = #tile.smem<offset = 73728>, size = 8192>,
// CHECK-SAME: #tile.extent<name = "barriers", place = #tile.smem<offset = 81920>, size = 192>], boxRows = [64, 128, 64]>
// CHECK: %[[B:.*]] = tile.load {{.*}} -> <128x64xbf16, #tile.smem<offset = 8192, stages = 4>>
// CHECK: %[[S:.*]] = tile.dot %{{.*}}, %[[B]] transpose_b : {{.*}} -> <64x128xf32, #tile.fragment>
// CHECK: %{{.*}}, %[[ALPHA:.*]] = tile.row_max %[[S]]
// CHECK: %[[P:.*]] = tile.cast %[[S]] : {{.*}} to <64x128xbf16, #tile.fragment>
// CHECK: %[[OLD:.*]] = tile.rescale %{{.*}}, %[[ALPHA]] : <64x64xf32, #tile.fragment>
// CHECK: tile.dot %[[P]], %[[B]] plus %[[OLD]] {{.*}} -> <64x64xf32, #tile.fragment>
// CHECK: tile.move {{.*}} to <64x64xbf16, #tile.smem<offset = 73728>>
  gpu.func @factor(%a: !t64, %b: !t64, %c: !t64) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c1 : !t64
    %n = memref.dim %b, %c1 : !t64
    %steps = arith.ceildivui %n, %c128 : index
    %as = tile.view %a batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t64 -> !tile.view<?x64xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    %zero = tile.fill 0.0 : !tile.tile<64x64xf32>
    %none = tile.fill 0.0 : !tile.tile<64xf32>
    %r:2 = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero, %max = %none) -> (!tile.tile<64x64xf32>, !tile.tile<64xf32>) {
      %at = arith.muli %i, %c128 : index
      %y = tile.load %bs[%at] : !tile.view<?x64xbf16> -> <128x64xbf16>
      %s = tile.dot %x, %y transpose_b : <64x64xbf16>, <128x64xbf16> -> <64x128xf32>
      %newmax, %alpha = tile.row_max %s, %max scale 1.0 threshold 0.0 : <64x128xf32>, <64xf32>
      %p = tile.cast %s : <64x128xf32> to <64x128xbf16>
      %old = tile.rescale %acc, %alpha : <64x64xf32>, <64xf32>
      %new = tile.dot %p, %y plus %old as !tile.tile<64x64xf32> : <64x128xbf16>, <128x64xbf16> -> <64x64xf32>
      scf.yield %new, %newmax : !tile.tile<64x64xf32>, !tile.tile<64xf32>
    }
    %half = tile.cast %r#0 : <64x64xf32> to <64x64xbf16>
    tile.store %half, %cs[%c0] : <64x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }

// A tile that is multiplied and stored as it was loaded is loaded for each: a store does not signal as a product does.
// CHECK-LABEL: gpu.func @loaded_twice
// CHECK: %[[OWN:.*]] = tile.load {{.*}} -> <64x64xbf16, #tile.smem<offset = 0>>
// CHECK: %[[X:.*]] = tile.load {{.*}} -> <64x64xbf16, #tile.smem<offset = 8192>>
// CHECK: tile.store %[[OWN]]
// CHECK: tile.dot %[[X]], %[[X]]
// CHECK: tile.move
  gpu.func @loaded_twice(%a: !t64, %b: !t64, %c: !t64) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %a, %c1 : !t64
    %as = tile.view %a batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %m : !t64 -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    tile.store %x, %bs[%c0] : <64x64xbf16>, !tile.view<?x64xbf16>
    %s = tile.dot %x, %x transpose_b : <64x64xbf16>, <64x64xbf16> -> <64x64xf32>
    %half = tile.cast %s : <64x64xf32> to <64x64xbf16>
    tile.store %half, %cs[%c0] : <64x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }
}
