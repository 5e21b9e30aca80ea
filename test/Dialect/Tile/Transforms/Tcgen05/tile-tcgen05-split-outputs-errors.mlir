// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-split-outputs)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>

gpu.module @tiled {
  // expected-error@+1 {{tile-tcgen05-split-outputs}}
  gpu.func @tiled(%q: !t, %n: index) kernel attributes {fmha.schedule = #schedule} {
    %qs = tile.view %q batch %n head %n rows %n : !t -> !w
    %a = tile.load %qs[%n] : !w -> !tile.tile<128x64xbf16>
    gpu.return
  }
}
