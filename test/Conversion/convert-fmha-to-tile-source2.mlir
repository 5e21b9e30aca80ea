// Two sources of keys: one loop over the blocks of both, each block with the keys, the
// length and the band of its own source.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128 kv-block=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<2x256x2x128xf16>
!k2 = memref<2x?x2x128xf16>

func.func @attention(%x: !t, %v: !t, %k2: !k2, %v2: !k2, %o: !t, %lens: memref<2xi32>) {
  fmha.attention ins(%x, %x, %v : !t, !t, !t) source2(%k2, %v2 : !k2, !k2) source2_lens(%lens : memref<2xi32>)
      outs(%o : !t) {mask = #fmha.mask<none, left = 300>, source2_mask = #fmha.mask<causal>}
      score(%s, %b, %h, %i, %j, %q_len, %kv_len, %source) {
        %n = arith.index_cast %source : index to i32
        %f = arith.sitofp %n : i32 to f32
        %z = arith.addf %s, %f : f32
        fmha.yield %z : f32
      }
  fmha.attention ins(%x, %x, %x : !t, !t, !t) source2(%k2, %k2 : !k2, !k2) outs(%o : !t)
  return
}

// k2 and v2 follow o, their list the others.
// CHECK: gpu.func @fmha_fwd(%arg0: memref<?x?x?x128xf16
// CHECK-SAME: %arg4: memref<?x?x?x128xf16, {{.*}}>, %arg5: memref<?x?x?x128xf16, {{.*}}>, %arg6: memref<?xi32>)
// CHECK-SAME: source2_mask = #fmha.mask<causal>, source2, source2_lens
// CHECK-DAG: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK-DAG: %[[KVLEN:.*]] = memref.dim %arg1, %c1
// CHECK: %[[BATCH:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]], %[[QLEN]]
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c128
// What a sequence has of source 2, and the blocks that rows of the CTA see of it.
// CHECK: %[[KVLEN2:.*]] = memref.dim %arg4, %c1
// CHECK: %[[ENTRY:.*]] = memref.load %arg6
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[NUMBER]], %{{.*}}
// CHECK: %[[LEN2:.*]] = arith.minsi %[[POSITIVE]], %[[KVLEN2]]
// CHECK: %[[OFFSET2:.*]] = arith.subi %[[LEN2]], %[[QLEN]]
// CHECK: %[[BLOCKS2:.*]] = arith.ceildivui %{{.*}}, %c128
// CHECK: %[[ALL:.*]] = arith.addi %[[BLOCKS]], %[[BLOCKS2]]
// CHECK: scf.for %[[J:[a-z0-9]+]] = %{{.*}} to %[[ALL]]
// CHECK: %[[FIRST1:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[LOWER1:.*]] = arith.addi %[[OFFSET]], %c-300
// CHECK: %[[SECOND:.*]] = arith.cmpi sge, %[[J]], %[[BLOCKS]]
// CHECK: %[[J2:.*]] = arith.subi %[[J]], %[[BLOCKS]]
// CHECK: %[[FIRST2:.*]] = arith.muli %[[J2]], %c128
// CHECK: %[[COLUMN:.*]] = arith.select %[[SECOND]], %[[FIRST2]], %[[FIRST1]]
// CHECK: %[[LENGTH:.*]] = arith.select %[[SECOND]], %[[LEN2]], %[[KVLEN]]
// Source 1 has no upper bound, source 2 no lower one.
// CHECK: %[[LOWER:.*]] = arith.select %[[SECOND]], %c-1073741824{{.*}}, %[[LOWER1]]
// CHECK: %[[UPPER:.*]] = arith.select %[[SECOND]], %[[OFFSET2]], %c1073741824
// Both end inside their tensors, since one does.
// CHECK: %[[KEYS:.*]] = tile.view %arg1 or %arg4 : memref<{{.*}}> if %[[SECOND]] batch %{{.*}} head %{{.*}} rows %[[LENGTH]] from %{{.*}} :
// CHECK: %[[VALUES:.*]] = tile.view %arg2 or %arg5 : memref<{{.*}}> if %[[SECOND]] batch %{{.*}} head %{{.*}} rows %[[LENGTH]] from %{{.*}} :
// CHECK: tile.load %[[KEYS]][%[[COLUMN]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: tile.load %[[VALUES]][%[[COLUMN]]] {tile.region = #tile.region<name = "KV">} :
// CHECK: %[[SOURCE:.*]] = arith.select %[[SECOND]], %c1{{.*}}, %c0
// CHECK: tile.modify
// CHECK: arith.index_cast %[[SOURCE]] : index to i32
// CHECK: tile.mask {{.*}}, %[[KEYS]][%[[COLUMN]]] from %[[LOWER]] to %[[UPPER]] :

// Nothing but lengths ends keys here: no sequences, no bounds.
// CHECK: gpu.module @fmha_fwd_kernel_0
// CHECK: %[[SECOND:.*]] = arith.cmpi sge
// CHECK: %[[KEYS:.*]] = tile.view %arg1 or %arg4 : memref<{{[^>]*>>}} if %[[SECOND]] batch %{{[^ ]*}} head %{{[^ ]*}} rows %{{[^ ]*}} :
// CHECK: tile.load %[[KEYS]][
// CHECK: tile.mask {{.*}}, %[[KEYS]][%{{[a-z0-9_]+}}] :
