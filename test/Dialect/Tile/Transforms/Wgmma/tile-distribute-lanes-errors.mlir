// RUN: fmha-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute)))'

#kernel = #tile.kernel<target = "sm_90a", roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 40>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 40>,
  #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 232>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  gpu.func @condition(%q: !t) kernel attributes {tile.kernel = #kernel} {
    tile.warp_specialize {
      tile.role "load" warps 0 to 1 registers 40 single_thread {
        %yes = arith.constant true
        // expected-error@+1 {{expected one result of type i32, or none, of an op of one thread in a role that loads from pages; give it a role of its own}}
        %any = tile.any_in_warp %yes
        tile.in_lanes 4 {
        ^bb0(%n: index):
          %m = tile.reread %n
        }
      }
    }
    gpu.return
  }
}
