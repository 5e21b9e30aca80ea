// RUN: fmha-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-distribute)))'

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 13, p_placement = tmem, scheduler = static, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  gpu.func @nobody_chooses(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    // expected-error@+1 {{has no role "load" of a single thread, which chooses the next tile}}
    tile.warp_specialize {
      tile.role "mma" warps 13 to 14 registers 136 single_thread { }
    }
    gpu.return
  }
}
