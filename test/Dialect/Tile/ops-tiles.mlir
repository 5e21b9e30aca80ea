// The ops that say which output tiles a CTA does, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK-LABEL: func.func @tiles
func.func @tiles(%b: !tile.barrier<1>, %stage: index) {
  // CHECK-NEXT: tile.tile_count
  %count = tile.tile_count
  // CHECK-NEXT: tile.try_cancel to 1024 signals %{{.*}}[%{{.*}}] : <1>
  tile.try_cancel to 1024 signals %b[%stage] : !tile.barrier<1>
  // CHECK-NEXT: %[[N:.*]] = tile.query_cancel at 1024
  %n = tile.query_cancel at 1024
  // CHECK-NEXT: tile.set_next_tile %[[N]] to 1048
  tile.set_next_tile %n to 1048
  // CHECK-NEXT: tile.inval_barrier %{{.*}} : <1>
  tile.inval_barrier %b : !tile.barrier<1>
  // CHECK-NEXT: tile.next_tile at 1048
  %next = tile.next_tile at 1048
  // CHECK-NEXT: %[[DRAWN:.*]] = tile.draw_tile
  %drawn = tile.draw_tile
  // CHECK-NEXT: tile.announce_tile %[[DRAWN]][%[[STAGE:.*]]]
  tile.announce_tile %drawn[%stage]
  // CHECK-NEXT: tile.await_tile[%[[STAGE]]]
  %awaited = tile.await_tile[%stage]
  // CHECK-NEXT: tile.set_next_tile %[[DRAWN]] to 1048[%[[STAGE]]]
  tile.set_next_tile %drawn to 1048[%stage]
  // CHECK-NEXT: tile.next_tile at 1048[%[[STAGE]]]
  %second = tile.next_tile at 1048[%stage]
  return
}
