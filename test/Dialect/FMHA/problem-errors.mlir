// Fields and rules P1 and P2 of #fmha.problem.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected captures to be memref types, got 1 : i64}}
#p = #fmha.problem<captures = [1]>

// -----

// expected-error@+1 {{expected captures to be memref types, got "x"}}
#p = #fmha.problem<captures = [memref<?xf32>, "x"]>

// -----

// expected-error@+1 {{expected '['}}
#p = #fmha.problem<captures = memref<?xf32>>

// -----

// expected-error@+1 {{expected captures to be memref types, got tensor<?xf32>}}
#p = #fmha.problem<captures = [tensor<?xf32>]>

// -----

// expected-error@+1 {{problem.P1: expected captures to be memref types of rank 0 to 8 with elements f32, f16, bf16, i64, i32, i8 or i1, got rank 9 and elements f32}}
#p = #fmha.problem<captures = [memref<1x1x1x1x1x1x1x1x1xf32>]>

// -----

// expected-error@+1 {{problem.P1: expected captures to be memref types of rank 0 to 8 with elements f32, f16, bf16, i64, i32, i8 or i1, got rank 1 and elements f64}}
#p = #fmha.problem<captures = [memref<?xf64>]>

// -----

// expected-error@+1 {{problem.P2: expected all of kv_num_blocks, kv_indices, block_rows and block_keys, or none}}
#p = #fmha.problem<kv_indices>

// -----

// expected-error@+1 {{problem.P2: expected all of kv_num_blocks, kv_indices, block_rows and block_keys, or none}}
#p = #fmha.problem<block_rows = 64, block_keys = 64>

// -----

// expected-error@+1 {{problem.P2: expected both full_kv_num_blocks and full_kv_indices, and kv_indices with them, or none}}
#p = #fmha.problem<block_rows = 64, block_keys = 64, kv_num_blocks, kv_indices, full_kv_indices>

// -----

// expected-error@+1 {{problem.P2: expected both full_kv_num_blocks and full_kv_indices, and kv_indices with them, or none}}
#p = #fmha.problem<full_kv_num_blocks, full_kv_indices>

// -----

// expected-error@+1 {{expected a field, one of dtype, head_dim, head_dim_v, page_size, rotary_dim, block_rows, block_keys, mask, scale, source2_mask, captures, lse, v_in_k, source2,}}
#p = #fmha.problem<causal>

// -----

// expected-error@+1 {{field "lse" given twice}}
#p = #fmha.problem<lse, lse>

// -----

// expected-error@+1 {{expected one of f16, bf16, f32, e4m3, got "f64"}}
#p = #fmha.problem<dtype = f64>

// -----

// expected-error@+1 {{mask.M1: expected left to be at most 2^30, got 1073741825}}
#p = #fmha.problem<mask = #fmha.mask<none, left = 1073741825>>
