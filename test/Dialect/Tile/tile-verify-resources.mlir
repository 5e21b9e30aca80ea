// A kernel that fits passes at each level that has places; tile-verify-sync.mlir has them all. Earlier there is nothing to ask.

// RUN: fmha-compile --head-dim=128 --p-placement=smem --emit=mlir --compile-to=tiled | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' -o /dev/null
// RUN: fmha-compile --head-dim=128 --p-placement=smem --emit=mlir --compile-to=placed | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// RUN: fmha-compile --head-dim=128 --p-placement=tmem --q-tiles=2 --emit=mlir --compile-to=placed | fmha-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' | FileCheck %s
// CHECK: tile.move

// P lies over its scores, so they must not be read behind it: here the read is moved there.
// RUN: fmha-compile --head-dim=64 --p-placement=tmem --q-tiles=1 --emit=mlir --compile-to=placed -o %t.mlir
// RUN: %python %S/Inputs/read_late.py %t.mlir | not fmha-opt --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-resources)))' 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: R8: overwrites columns [64, 128) of the result of tile.dot, which is read later: move that read ahead, or give the two places of their own
// LATE: note: the other op is here
