// #fmha.problem prints in one order, without usual values.

// RUN: fmha-opt %s --verify-roundtrip | FileCheck %s

// CHECK: @usual() attributes {fmha.problem = #fmha.problem<>}
// CHECK: @other() attributes {fmha.problem = #fmha.problem<dtype = f16, head_dim = 64, head_dim_v = 32, mask = #fmha.mask<causal, left = 127>, scale = 1.250000e-01, captures = [memref<f32>, memref<?x?xi8>], lse, kv_lens, sink, score, part>}
// CHECK: @source2() attributes {fmha.problem = #fmha.problem<source2_mask = #fmha.mask<causal>, source2, source2_lens>}
gpu.module @kernels {
  llvm.func @usual() attributes {fmha.problem = #fmha.problem<captures = [], dtype = bf16, head_dim_v = 128, head_dim = 128, mask = #fmha.mask<none>>} { llvm.return }
  llvm.func @other() attributes {fmha.problem = #fmha.problem<part, score, sink, kv_lens, lse, captures = [memref<f32>, memref<4x?xi8>], scale = 0.125, mask = #fmha.mask<causal, left = 127>, head_dim_v = 32, head_dim = 64, dtype = f16>} { llvm.return }
  llvm.func @source2() attributes {fmha.problem = #fmha.problem<source2_lens, source2, source2_mask = #fmha.mask<causal>>} { llvm.return }
}
