// Every kernel that the compiler makes passes at each level, whatever P, tiles, mask, outputs and types are.
// The pipeline runs both verifiers unless it is told not to.

// RUN: fmha-opt --pass-pipeline='builtin.module(fmha-to-ptx)' --dump-pass-pipeline %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PASSES
// The passes on nested modules stand in one line before.
// PASSES: fmha-nested-modules{{.*}}tile-verify-resources{{.*}}tile-verify-sync
// PASSES: tile-assign-memory
// PASSES-NEXT: tile-verify-resources
// PASSES-NEXT: tile-verify-sync
// PASSES: tile-loop-tiles
// PASSES-NEXT: tile-mma-sync-stage-copies
// PASSES-NEXT: tile-verify-resources
// PASSES-NEXT: tile-verify-sync
// PASSES: cse
// PASSES-NEXT: tile-rotate-waits
// PASSES-NEXT: tile-verify-resources
// PASSES-NEXT: tile-verify-sync
// RUN: fmha-opt --pass-pipeline='builtin.module(fmha-to-ptx{verify-kernels=false})' --dump-pass-pipeline %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT-NOT: tile-verify
// WITHOUT: tile-distribute
// WITHOUT-NOT: tile-verify
// RUN: %python %S/Inputs/verify_kernels.py fmha-compile "fmha-opt" | FileCheck %s --check-prefix=ALL
// ALL: 64 kernels pass at each level

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
