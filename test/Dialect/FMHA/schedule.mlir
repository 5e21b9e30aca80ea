// RUN: fmha-opt %s | fmha-opt | FileCheck %s

// Absent fields get the defaults of the schedule type, in any order; printing
// writes all of them.

// CHECK-LABEL: func.func private @defaults
// CHECK-SAME: #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 2, q_tile_rows = 128, kv_block = 128,
// CHECK-SAME: pack_heads = 1, cta_group = 1, kv_stages = 3, v_stages = 0, key_chunk = 0, value_chunk = 0,
// CHECK-SAME: kv_copy = tma, share_kv = false, o_columns = 0, s_stages = 1, p_placement = tmem, p_slices = 1,
// CHECK-SAME: rescale_threshold = 8.000000e+00, p_offset = 0, accumulate = f32, exp2_emulated = 0, mma_order = commit,
// CHECK-SAME: mma_k = 16, scheduler = single, ctas_per_sm = 1, splits = 1, split_by = sequence, roles = []>
func.func private @defaults() attributes {s = #fmha.schedule<target = "sm_100a">}

// CHECK-LABEL: func.func private @every_field
// CHECK-SAME: #fmha.schedule<target = "sm_103a", family = mma, q_tiles = 1, q_tile_rows = 64, kv_block = 256,
// CHECK-SAME: pack_heads = 16, cta_group = 2, kv_stages = 4, v_stages = 2, key_chunk = 128, value_chunk = 32,
// CHECK-SAME: kv_copy = cp_async, share_kv = false, o_columns = 256, s_stages = 2, p_placement = smem, p_slices = 2,
// CHECK-SAME: rescale_threshold = 1.000000e-01, p_offset = 9, accumulate = f32, exp2_emulated = 25, mma_order = issue,
// CHECK-SAME: mma_k = 8, scheduler = dynamic, ctas_per_sm = 2, splits = 3,
// CHECK-SAME: roles = [#fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 192>,
// CHECK-SAME: #fmha.role<"load", first_warp = 4, warps = 1, registers = 24>,
// CHECK-SAME: #fmha.role<"mma", first_warp = 5, warps = 1, registers = 24>]>
func.func private @every_field() attributes {s = #fmha.schedule<
    roles = [#fmha.role<"softmax0", registers = 192, first_warp = 0, warps = 4>,
             #fmha.role<"load", first_warp = 4, warps = 1, registers = 24>,
             #fmha.role<"mma", first_warp = 5, warps = 1, registers = 24>],
    splits = 3, ctas_per_sm = 2, s_stages = 2, accumulate = f32, p_offset = 9, scheduler = dynamic, mma_order = issue, mma_k = 8, exp2_emulated = 25, rescale_threshold = 0.1,
    p_slices = 2, p_placement = smem, o_columns = 256, kv_copy = cp_async, value_chunk = 32,
    key_chunk = 128, v_stages = 2, kv_stages = 4, cta_group = 2, kv_block = 256,
    q_tile_rows = 64, pack_heads = 16, q_tiles = 1, target = "sm_103a">}

// CHECK-LABEL: func.func private @shared
// CHECK-SAME: share_kv = true
func.func private @shared() attributes {a = #fmha.schedule<share_kv = true>}

// CHECK-LABEL: func.func private @placements
// CHECK-SAME: p_placement = auto
// CHECK-SAME: p_placement = registers
func.func private @placements() attributes {
  a = #fmha.schedule<p_placement = auto>, b = #fmha.schedule<p_placement = registers>}

// The whole register file, 65536, is not too much.
// CHECK-LABEL: func.func private @all_registers
// CHECK-SAME: registers = 256>
func.func private @all_registers() attributes {
  a = #fmha.schedule<roles = [#fmha.role<"a", first_warp = 0, warps = 8, registers = 256>]>}
