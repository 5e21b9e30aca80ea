// A window: a thread hides the keys before its row's first one, and a block is masked
// where the last row of the tile hides one of them or the first row one at the end.

// RUN: fmha-compile --head-dim=64 --q-tiles=1 --q-tile-rows=128 --kv-block=128 --p-placement=tmem --window-left=300 --window-right=7 --emit=mlir --compile-to=machine | FileCheck %s

// CHECK: tile.tmem_wait load
// CHECK: %[[BLOCK:.*]] = arith.muli %arg{{[0-9]+}}, %c128
// CHECK: %[[COLUMN:.*]] = arith.addi %[[BLOCK]], %{{.*}} : index
// CHECK: %[[LOWER:.*]] = arith.addi %{{.*}}, %c-300{{.*}} : index
// CHECK: %[[UPPER:.*]] = arith.addi %{{.*}}, %c7{{.*}} : index
// CHECK: %[[COL:.*]] = arith.index_cast %[[COLUMN]]
// CHECK: %[[ENDS:.*]] = arith.subi %{{.*}}, %[[COL]]
// CHECK: %[[UP:.*]] = arith.index_cast %[[UPPER]]
// CHECK: %[[ROWUP:.*]] = arith.addi %{{.*}}, %[[UP]]
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWUP]], %[[COL]]
// The first row's end and the thread's own, ...
// CHECK: %[[BEHIND:.*]] = arith.addi %[[LAST]], %c1_i32
// CHECK: %[[OWNBEHIND:.*]] = arith.addi %[[BEHIND]], %{{.*}} : i32
// CHECK: %[[COMMON:.*]] = arith.minsi %[[ENDS]], %[[BEHIND]]
// CHECK: %[[OWN:.*]] = arith.minsi %[[ENDS]], %[[OWNBEHIND]]
// ... the last row's first key, 127 behind that of the first row, and the own.
// CHECK: %[[LOW:.*]] = arith.index_cast %[[LOWER]]
// CHECK: %[[ROWLOW:.*]] = arith.addi %{{.*}}, %[[LOW]]
// CHECK: %[[BEGINS:.*]] = arith.subi %[[ROWLOW]], %[[COL]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[BEGINS]], %c127_i32
// CHECK: %[[OWNFIRST:.*]] = arith.addi %[[BEGINS]], %{{.*}} : i32
// CHECK: %[[CUTS:.*]] = arith.cmpi slt, %[[COMMON]], %c128_i32
// CHECK: %[[HIDES:.*]] = arith.cmpi sgt, %[[FIRST]], %c0_i32
// CHECK: %[[EDGE:.*]] = arith.ori %[[CUTS]], %[[HIDES]]
// CHECK: scf.if %[[EDGE]]
// CHECK: %[[END:.*]] = vector.broadcast %[[OWN]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK: %[[SEEN:.*]] = arith.select %[[BEFORE]]
// CHECK: %[[BEGIN:.*]] = vector.broadcast %[[OWNFIRST]]
// CHECK: %[[REACHED:.*]] = arith.cmpi sge, %{{.*}}, %[[BEGIN]]
// CHECK: arith.select %[[REACHED]], %[[SEEN]],
