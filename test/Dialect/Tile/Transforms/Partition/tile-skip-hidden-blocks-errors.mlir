// Whether CTAs run ahead depends on the schedule and the operands, which have to be those of an attention kernel.

// RUN: fmha-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-skip-hidden-blocks)))'

#schedule = #fmha.schedule<target = "sm_100a", scheduler = static, q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>

gpu.module @operands {
  // expected-error @below {{expected memrefs q, k, v, o of rank 4 and perhaps lse of rank 3 as operands, got '(memref<?x?x?x64xbf16>) -> ()'}}
  gpu.func @operands(%q: memref<?x?x?x64xbf16>) kernel attributes {fmha.schedule = #schedule} {
    gpu.return
  }
}
