// The derived pipeline of attention, stated as properties: the role of each op, stages that overlap, and the order of products.

// RUN: fmha-compile --target=sm_100a --head-dim=128 --p-slices=2 --emit=mlir --compile-to=placed -o %t.sm100
// RUN: fmha-opt %t.sm100 --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-apply-pipeline)))' | FileCheck %s --check-prefix=SM100
// RUN: fmha-compile --target=sm_90a --head-dim=128 --emit=mlir --compile-to=placed -o %t.sm90
// RUN: fmha-opt %t.sm90 --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-apply-pipeline)))' | FileCheck %s --check-prefix=SM90

// Two tiles in tensor memory: one role multiplies, each tile has a softmax warpgroup, and one warpgroup corrects both. The loads follow the program.
// SM100: scf.for
// SM100: tile.load {{.*}} {tile.partition = #tile.partition<role = "load">}
// SM100: tile.load {{.*}} {tile.partition = #tile.partition<role = "load", order = 1>}
// Q.K of this tile comes after P.V of the same tile for the previous block (orders 0 and 1, stage 1) and before P.V of the other tile.
// SM100: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "mma", order = 2>}
// SM100: tile.row_max {{.*}} {tile.partition = #tile.partition<role = "softmax0"
// SM100: tile.rescale {{.*}} {tile.partition = #tile.partition<role = "correction"
// SM100: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1>}
// SM100: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1, order = 1>}
// SM100: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "mma", order = 5>}
// SM100: tile.row_max {{.*}} {tile.partition = #tile.partition<role = "softmax1"
// SM100: tile.rescale {{.*}} {tile.partition = #tile.partition<role = "correction"
// SM100: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1, order = 3>}
// SM100: tile.dot {{.*}} {tile.partition = #tile.partition<role = "mma", stage = 1, order = 4>}

// Accumulators in registers: a warpgroup per tile. It issues Q.K of the next block, then P.V of this one, which overlaps softmax.
// SM90: scf.for
// SM90: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "consumer0">}
// SM90: tile.row_max {{.*}} {tile.partition = #tile.partition<role = "consumer0", order = [[MAX:[0-9]+]]>}
// SM90: tile.dot {{.*}} {tile.partition = #tile.partition<role = "consumer0", stage = 1, order = 1>}
// SM90: tile.dot {{.*}} transpose_b {tile.partition = #tile.partition<role = "consumer1">}
// SM90: tile.row_max {{.*}} {tile.partition = #tile.partition<role = "consumer1", order = [[MAX]]>}
// SM90: tile.dot {{.*}} {tile.partition = #tile.partition<role = "consumer1", stage = 1, order = 1>}
