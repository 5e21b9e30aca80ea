// RUN: not fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=xml})))' 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph)))' 2>&1 | FileCheck %s --check-prefix=LEVEL

// FORMAT: error: {{.*}}tile-print-loop-graph: expected format text, json or dot, got "xml"
// LEVEL: error: {{.*}}tile-print-loop-graph expects a placed kernel, as tile-assign-memory makes it, got a tiled one; run tile-assign-memory first
gpu.module @tiled {
  gpu.func @tiled(%q: memref<?x?x?x64xbf16>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}
