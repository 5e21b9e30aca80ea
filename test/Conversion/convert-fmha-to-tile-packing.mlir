// Query heads of a group packed into query tiles: 16 of them in tiles of 128 rows leave 8
// queries a tile, and a CTA has a chunk of the group of one KV head.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=2 pack-heads=16' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=2 pack-heads=off' --convert-fmha-to-tile | FileCheck %s --check-prefix=OFF

!t = memref<2x?x80x64xbf16>
!kv = memref<2x?x2x64xbf16>
!l = memref<2x80x?xf32>

func.func @attention(%q: !t, %k: !kv, %v: !kv, %o: !t, %l: !l, %logits: memref<80xf32>, %slopes: memref<80xf32>) {
  fmha.attention ins(%q, %k, %v : !t, !kv, !kv) sink(%logits : memref<80xf32>) outs(%o, %l : !t, !l)
      {mask = #fmha.mask<causal>} score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
    %slope = fmha.read %slopes[%h] : memref<80xf32>
    %x = arith.addf %s, %slope : f32
    fmha.yield %x : f32
  }
  return
}

// CHECK: %[[QLEN:.*]] = memref.dim %arg0, %c1
// CHECK: %[[HEADS:.*]] = memref.dim %arg0, %c2
// CHECK: %[[KVHEADS:.*]] = memref.dim %arg1, %c2
// The index of heads and batch is (batch x KV heads + KV head) x chunks + chunk. Tiles are ordered by sections, as in convert-fmha-to-tile-sections.mlir.
// CHECK: %[[ROWBLOCKS:.*]] = arith.ceildivui %[[QLEN]], %c16
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWBLOCKS]], %c1
// CHECK: %[[SHORTER:.*]] = arith.divui %[[NUMBER:.*]], %[[HERE:.*]] : index
// CHECK: %[[ROWBLOCK:.*]] = arith.subi %[[LAST]], %[[SHORTER]]
// CHECK: %[[OTHER:.*]] = arith.remui %[[NUMBER]], %[[HERE]]
// CHECK: %[[REST:.*]] = arith.addi %{{.*}}, %[[OTHER]]
// CHECK: %[[GROUP:.*]] = arith.divui %[[HEADS]], %[[KVHEADS]]
// CHECK: %[[CHUNKS:.*]] = arith.ceildivui %[[GROUP]], %c16
// CHECK: %[[GROUPS:.*]] = arith.divui %[[REST]], %[[CHUNKS]]
// CHECK: %[[KVHEAD:.*]] = arith.remui %[[GROUPS]], %[[KVHEADS]]
// CHECK: %[[CHUNK:.*]] = arith.remui %[[REST]], %[[CHUNKS]]
// CHECK: %[[MEMBER:.*]] = arith.muli %[[CHUNK]], %c16
// CHECK: %[[BEFORE:.*]] = arith.muli %[[KVHEAD]], %[[GROUP]]
// CHECK: %[[HEAD:.*]] = arith.addi %[[BEFORE]], %[[MEMBER]]
// CHECK: %[[COUNT:.*]] = arith.subi %[[GROUP]], %[[MEMBER]]
// CHECK: %[[BATCH:.*]] = arith.divui %[[GROUPS]], %[[KVHEADS]]
// The rows of both tiles are 8 queries apart, and the CTA ends after 16.
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROWBLOCK]], %c16
// CHECK: %[[ROW0:.*]] = arith.addi %[[FIRST]], %c0
// CHECK: %[[ROW1:.*]] = arith.addi %[[FIRST]], %c8
// CHECK: arith.addi %[[FIRST]], %c16
// CHECK: %[[QV:.*]] = tile.view %arg0 batch %[[BATCH]] head %[[HEAD]] of %[[COUNT]] group %[[KVHEAD]], %[[MEMBER]] rows %[[QLEN]] : {{.*}} -> <?x64xbf16, heads = 16>
// CHECK: tile.load %[[QV]][%[[ROW0]]]
// CHECK: tile.load %[[QV]][%[[ROW1]]]
// CHECK: %[[KV:.*]] = tile.view %arg1 batch %[[BATCH]] head %[[KVHEAD]] rows %{{.*}} : {{.*}} -> <?x64xbf16>
// CHECK: tile.modify %{{.*}} at %[[QV]][%[[ROW0]], %{{.*}}]
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %[[OWN:.*]]: index):
// CHECK: fmha.read %{{.*}}[%[[OWN]]]
// CHECK: tile.mask %{{.*}} at %[[QV]][%[[ROW0]]], %[[KV]][
// CHECK: %[[OV:.*]] = tile.view %arg3 batch %[[BATCH]] head %[[HEAD]] of %[[COUNT]] group %[[KVHEAD]], %[[MEMBER]] rows %[[QLEN]] : {{.*}} -> <?x64xbf16, heads = 16>
// CHECK: %[[LV:.*]] = tile.view %arg4 batch %[[BATCH]] head %[[HEAD]] of %[[COUNT]] rows %[[QLEN]] : {{.*}} -> <?xf32, heads = 16>
// CHECK: %[[LOGITS:.*]] = tile.view %{{.*}} head %[[HEAD]] of %[[COUNT]] : memref<?xf32> -> <f32, heads = 16>
// CHECK: %[[SINK:.*]] = tile.load_rows %[[LOGITS]] by
// CHECK: tile.add_sink %{{.*}} sink %[[SINK]]
// CHECK: tile.store %{{.*}}, %[[OV]][%[[ROW0]]]
// CHECK: tile.store_rows %{{.*}}, %[[LV]][%[[ROW0]]]
// CHECK: tile.store %{{.*}}, %[[OV]][%[[ROW1]]]

// OFF: gpu.func
// OFF-NOT: {{, heads = }}
// OFF: gpu.return
