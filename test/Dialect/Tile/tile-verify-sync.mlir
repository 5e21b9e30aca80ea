// Every kernel that the compiler makes passes at both levels, whatever P, tiles, mask, outputs and types are.
// The pipeline runs it where asked.

// RUN: fmha-compile --head-dim=64 --emit=mlir | fmha-opt --pass-pipeline='builtin.module(fmha-to-ptx{verify-kernels})' -o /dev/null
// RUN: fmha-opt --pass-pipeline='builtin.module(fmha-to-ptx{verify-kernels})' --dump-pass-pipeline %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES-COUNT-3: tile-verify-sync
// RUN: %python %S/Inputs/verify_kernels.py fmha-compile "fmha-opt" | FileCheck %s --check-prefix=ALL
// ALL: 41 kernels pass at both levels

// Without a schedule it is no kernel of ours.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))' | FileCheck %s
// CHECK-LABEL: gpu.func @other
gpu.module @other {
  gpu.func @other() kernel {
    %b = tile.barrier "b" at 0 arrivals 1 : !tile.barrier<1>
    %c0 = arith.constant 0 : index
    tile.arrive %b[%c0] : !tile.barrier<1>
    gpu.return
  }
}
