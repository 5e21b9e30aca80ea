// A kernel that fits passes at each level that has places; tile-verify-sync.mlir has them all. Earlier there is nothing to ask.

// RUN: fmha-compile --head-dim=128 --p-placement=smem --emit=mlir --compile-to=tiled | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' -o /dev/null
// RUN: fmha-compile --head-dim=128 --p-placement=smem --emit=mlir --compile-to=placed | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// RUN: fmha-compile --head-dim=128 --p-placement=tmem --q-tiles=2 --emit=mlir --compile-to=placed | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// CHECK: tile.move

// P lies over its scores, so they must not be read after it: here the read is moved there.
// RUN: fmha-compile --head-dim=64 --p-placement=tmem --q-tiles=1 --s-stages=1 --p-slices=1 --emit=mlir --compile-to=placed -o %t.mlir
// RUN: %python %S/Inputs/read_late.py %t.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: resources.R8: overwrites columns [64, 128) of the result of tile.dot, which is read later: move that read ahead, or give the two places of their own
// LATE: note: the other op is here

// O must not lie over the second of two S.
// RUN: fmha-compile --head-dim=64 --p-placement=tmem --q-tiles=1 --s-stages=2 --emit=mlir --compile-to=placed -o %t.staged.mlir
// RUN: fmha-opt %t.staged.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' -o /dev/null
// RUN: sed 's/column = 256>/column = 128>/g' %t.staged.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=STAGED
// STAGED: error: resources.R8: overwrites columns {{.*}} of an argument of scf.for, which is read later

// Messages take the only slot of a ring in turn; over a query tile none may come.
// RUN: fmha-compile --head-dim=128 --key-chunk=64 --kv-stages=1 --v-stages=1 --q-tiles=1 --emit=mlir --compile-to=placed -o %t.one.mlir
// RUN: fmha-opt %t.one.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// RUN: sed 's/offset = 32768/offset = 16384/g' %t.one.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=RING
// RING: error: resources.R8: overwrites bytes [16384, 32768) of the result of tile.load, which is read later

// Scores of 64 rows lie in the columns of O, in the other lanes: not if they are put in the same ones.
// RUN: fmha-compile --head-dim=64 --head-dim-v=512 --kv-block=64 --q-tile-rows=64 --s-stages=1 --p-slices=1 --emit=mlir --compile-to=placed -o %t.half.mlir
// RUN: fmha-opt %t.half.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// RUN: sed 's/, lane = 16//' %t.half.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=LANES
// LANES: error: resources.R8: overwrites columns [0, 64) of lanes 0 to 15 of an argument of scf.for, which is read later

// Slices of P are strips of a panel: they share its 128-byte rows and, with 64 bytes each, none of their bytes. Moved by 32 bytes, the second one lies over the first.
// RUN: fmha-compile --head-dim=64 --p-placement=smem --p-slices=4 --q-tiles=1 --kv-stages=2 --emit=mlir --compile-to=placed -o %t.slices.mlir
// RUN: fmha-opt %t.slices.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// RUN: sed 's/offset = 49216/offset = 49184/g' %t.slices.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=STRIPS
// STRIPS: error: resources.R8: overwrites bytes [49184, 65536) of the result of tile.move, which is read later
