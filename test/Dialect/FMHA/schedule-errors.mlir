// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each rule of #fmha.role (R) and #fmha.schedule (S), violated alone, and what the
// parser says of malformed lists.

// -----

// expected-error @below {{role.R1: expected a name, got an empty string}}
func.func private @r1_name() attributes {a = #fmha.role<"", first_warp = 0, warps = 4, registers = 128>}

// -----

// expected-error @below {{role.R2: expected at least one warp, and warps up to 31; got first_warp = 0, warps = 0 in role "a"}}
func.func private @r2_no_warps() attributes {a = #fmha.role<"a", first_warp = 0, warps = 0, registers = 128>}

// -----

// expected-error @below {{role.R2: expected at least one warp, and warps up to 31; got first_warp = 30, warps = 3 in role "a"}}
func.func private @r2_too_many_warps() attributes {a = #fmha.role<"a", first_warp = 30, warps = 3, registers = 128>}

// -----

// expected-error @below {{role.R2: expected at least one warp, and warps up to 31; got first_warp = 4294967295, warps = 2 in role "a"}}
func.func private @r2_overflow() attributes {a = #fmha.role<"a", first_warp = 4294967295, warps = 2, registers = 128>}

// -----

// expected-error @below {{role.R3: expected registers to be a multiple of 8 from 24 to 256, got 100 in role "a"}}
func.func private @r3_not_a_multiple() attributes {a = #fmha.role<"a", first_warp = 0, warps = 4, registers = 100>}

// -----

// expected-error @below {{role.R3: expected registers to be a multiple of 8 from 24 to 256, got 16 in role "a"}}
func.func private @r3_too_few() attributes {a = #fmha.role<"a", first_warp = 0, warps = 4, registers = 16>}

// -----

// expected-error @below {{role.R3: expected registers to be a multiple of 8 from 24 to 256, got 264 in role "a"}}
func.func private @r3_too_many() attributes {a = #fmha.role<"a", first_warp = 0, warps = 4, registers = 264>}

// -----

// expected-error @below {{schedule.S1: expected the name of a target, got an empty string}}
func.func private @s1_target() attributes {a = #fmha.schedule<target = "">}

// -----

// expected-error @below {{schedule.S2: expected q_tiles to be 1, 2 or 3, got 4}}
func.func private @s2_q_tiles() attributes {a = #fmha.schedule<q_tiles = 4>}

// -----

// expected-error @below {{schedule.S3: expected q_tile_rows to be positive and kv_block to be a positive multiple of 16, got 0 and 128}}
func.func private @s3_q_tile_rows() attributes {a = #fmha.schedule<q_tile_rows = 0>}

// -----

// expected-error @below {{schedule.S3: expected q_tile_rows to be positive and kv_block to be a positive multiple of 16, got 128 and 0}}
func.func private @s3_kv_block() attributes {a = #fmha.schedule<kv_block = 0>}

// -----

// expected-error @below {{schedule.S4: expected cta_group to be 1 or 2, got 4}}
func.func private @s4_cta_group() attributes {a = #fmha.schedule<cta_group = 4>}

// -----

// expected-error @below {{expected a number of 32 bits without sign, got -1}}
func.func private @negative_stages() attributes {s = #fmha.schedule<kv_stages = -1>}

// -----

// expected-error @below {{schedule.S5: expected kv_stages, s_stages, p_slices, ctas_per_sm and splits to be positive, got 0, 1, 1, 1 and 1}}
func.func private @s5_kv_stages() attributes {a = #fmha.schedule<kv_stages = 0>}

// -----

// expected-error @below {{schedule.S5: expected kv_stages, s_stages, p_slices, ctas_per_sm and splits to be positive, got 3, 1, 1, 1 and 0}}
func.func private @s5_splits() attributes {a = #fmha.schedule<splits = 0>}

// -----

// expected-error @below {{schedule.S5: expected kv_stages, s_stages, p_slices, ctas_per_sm and splits to be positive, got 3, 1, 0, 1 and 1}}
func.func private @s5_p_slices() attributes {a = #fmha.schedule<p_slices = 0>}

// -----

// expected-error @below {{schedule.S6: expected rescale_threshold to be finite and not negative, got -1.0}}
func.func private @s6_negative() attributes {a = #fmha.schedule<rescale_threshold = -1.0>}

// -----

// expected-error @below {{schedule.S7: expected exp2_emulated to be 0 to 100 percent, got 101}}
func.func private @s7_percentage() attributes {a = #fmha.schedule<exp2_emulated = 101>}

// -----

// expected-error @below {{schedule.S8: expected unique role names, got "a" twice}}
func.func private @s8_names() attributes {a = #fmha.schedule<roles = [#fmha.role<"a", first_warp = 0, warps = 4, registers = 128>, #fmha.role<"a", first_warp = 4, warps = 4, registers = 128>]>}

// -----

// expected-error @below {{schedule.S9: expected one role per warp, got "a" and "b" on warp 3}}
func.func private @s9_overlap() attributes {a = #fmha.schedule<roles = [#fmha.role<"a", first_warp = 0, warps = 4, registers = 128>, #fmha.role<"b", first_warp = 3, warps = 1, registers = 128>]>}

// -----

// expected-error @below {{schedule.S10: expected the same registers for all roles of warpgroup 1, got 24 for "a" and 32 for "b"}}
func.func private @s10_warpgroup() attributes {a = #fmha.schedule<roles = [#fmha.role<"a", first_warp = 4, warps = 1, registers = 24>, #fmha.role<"b", first_warp = 6, warps = 1, registers = 32>]>}

// -----

// expected-error @below {{schedule.S11: expected at most 65536 registers over all warpgroups, got 68608 (3072 too many)}}
func.func private @s11_registers() attributes {a = #fmha.schedule<roles = [#fmha.role<"a", first_warp = 0, warps = 8, registers = 256>, #fmha.role<"b", first_warp = 8, warps = 1, registers = 24>]>}

// -----

// expected-error @below {{schedule.S12: expected key_chunk to be a multiple of 64, value_chunk and o_columns to be multiples of 16, got 32, 0 and 0}}
func.func private @s12_key_chunk() attributes {a = #fmha.schedule<key_chunk = 32>}

// -----

// expected-error @below {{schedule.S12: expected key_chunk to be a multiple of 64, value_chunk and o_columns to be multiples of 16, got 0, 8 and 16}}
func.func private @s12_value_chunk() attributes {a = #fmha.schedule<value_chunk = 8, o_columns = 16>}

// -----

// expected-error @below {{schedule.S12: expected key_chunk to be a multiple of 64, value_chunk and o_columns to be multiples of 16, got 0, 0 and 24}}
func.func private @s12_o_columns() attributes {a = #fmha.schedule<o_columns = 24>}

// -----

// expected-error @below {{schedule.S13: expected v_stages, key_chunk and value_chunk to be 0 with share_kv, since a block is one message of one ring; got 2, 0 and 0}}
func.func private @s13_shared_rings() attributes {a = #fmha.schedule<share_kv = true, v_stages = 2>}

// -----

// expected-error @below {{schedule.S13: expected v_stages, key_chunk and value_chunk to be 0 with share_kv, since a block is one message of one ring; got 0, 64 and 0}}
func.func private @s13_key_chunk() attributes {a = #fmha.schedule<share_kv = true, key_chunk = 64>}

// -----

// expected-error @below {{schedule.S13: expected v_stages, key_chunk and value_chunk to be 0 with share_kv, since a block is one message of one ring; got 0, 0 and 16}}
func.func private @s13_value_chunk() attributes {a = #fmha.schedule<share_kv = true, value_chunk = 16>}

// -----

// expected-error @below {{schedule.S14: expected pack_heads to be a power of two, got 12}}
func.func private @s14_pack_heads() attributes {a = #fmha.schedule<pack_heads = 12>}

// -----

// expected-error @below {{schedule.S14: expected pack_heads to be a power of two, got 0}}
func.func private @s14_no_heads() attributes {a = #fmha.schedule<pack_heads = 0>}

// -----

// expected-error @below {{expected a field, one of target, family, q_tiles, q_tile_rows, kv_block, pack_heads, cta_group, kv_stages, v_stages, key_chunk, value_chunk, kv_copy, share_kv, o_columns, s_stages, p_placement, p_slices, rescale_threshold, p_offset, accumulate, exp2_emulated, mma_order, mma_k, scheduler, ctas_per_sm, splits, split_by, roles, got "stages"}}
func.func private @unknown_field() attributes {a = #fmha.schedule<stages = 3>}

// -----

// Sums of P in f16 overflow: one type is left.
// expected-error @below {{expected one of f32, got "f16"}}
func.func private @sums() attributes {a = #fmha.schedule<accumulate = f16>}

// -----

// expected-error @below {{expected a field, one of first_warp, warps, registers, got "regs"}}
func.func private @unknown_field_of_role() attributes {a = #fmha.role<"a", regs = 3>}

// -----

// expected-error @below {{field "q_tiles" given twice}}
func.func private @field_twice() attributes {a = #fmha.schedule<q_tiles = 1, q_tiles = 2>}

// -----

// expected-error @below {{expected one of auto, tmem, smem, registers, got "global"}}
func.func private @placement() attributes {a = #fmha.schedule<p_placement = global>}

// -----

// expected-error @below {{expected one of single, static, dynamic, got "true"}}
func.func private @scheduler() attributes {a = #fmha.schedule<scheduler = true>}

// -----

// expected-error @below {{expected one of false, true, got "maybe"}}
func.func private @bool() attributes {a = #fmha.schedule<share_kv = maybe>}

// -----

// expected-error @below {{invalid kind of attribute specified}}
func.func private @not_a_role() attributes {a = #fmha.schedule<roles = [3 : i32]>}

// -----

// expected-error @below {{expected a field, one of target, family, q_tiles,}}
func.func private @no_field() attributes {a = #fmha.schedule<3>}

// -----

// expected-error @below {{expected one of auto, tmem, smem, registers}}
func.func private @no_word() attributes {a = #fmha.schedule<p_placement = 3>}

// -----

// A bit pattern of 32 bits is no NaN in 64.
// expected-error @below {{expected a decimal number, such as 8.0, got the bit pattern of}}
func.func private @pattern() attributes {a = #fmha.schedule<rescale_threshold = 0x7FC00000>}
