// P in slices: in tensor memory and in shared memory, beside chunks of V that are
// shorter, and of query tiles of 64 rows.

!t64 = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

func.func @tmem(%q: !t64, %k: !t64, %v: !t64, %o: !t64) {
  fmha.attention ins(%q, %k, %v : !t64, !t64, !t64) outs(%o : !t64)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, p_slices = 2>}
  return
}

func.func @smem(%q: !t64, %k: !t64, %v: !t64, %o: !t64) {
  fmha.attention ins(%q, %k, %v : !t64, !t64, !t64) outs(%o : !t64)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, p_slices = 4, p_placement = smem>}
  return
}

func.func @chunks(%q: !t64, %k: !t64, %v: !t64, %o: !t64) {
  fmha.attention ins(%q, %k, %v : !t64, !t64, !t64) outs(%o : !t64)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, p_slices = 2, value_chunk = 32>}
  return
}

func.func @half(%q: !t64, %k: !t64, %v: !t64, %o: !t64) {
  fmha.attention ins(%q, %k, %v : !t64, !t64, !t64) outs(%o : !t64)
      {schedule = #fmha.schedule<q_tiles = 1, q_tile_rows = 64, kv_stages = 2, p_slices = 2>}
  return
}
