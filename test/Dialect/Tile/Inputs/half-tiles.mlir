// Query tiles of 64 rows: P in tensor memory, P in shared memory, and O of all columns
// of tensor memory, which leaves S the other lanes.

!t128 = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!t80 = memref<?x?x?x80xbf16, strided<[?, ?, ?, 1]>>
!t512 = memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>

func.func @tmem(%q: !t128, %k: !t128, %v: !t128, %o: !t128, %l: !lse) {
  fmha.attention ins(%q, %k, %v : !t128, !t128, !t128) outs(%o, %l : !t128, !lse)
      {mask = #fmha.mask<causal>, schedule = #fmha.schedule<q_tiles = 1, q_tile_rows = 64, kv_stages = 2>}
  return
}

func.func @smem(%q: !t128, %k: !t128, %v: !t80, %o: !t80) {
  fmha.attention ins(%q, %k, %v : !t128, !t128, !t80) outs(%o : !t80)
      {schedule = #fmha.schedule<q_tiles = 1, q_tile_rows = 64, kv_stages = 2, p_placement = smem>}
  return
}

func.func @apart(%q: !t512, %k: !t512, %v: !t512, %o: !t512) {
  fmha.attention ins(%q, %k, %v : !t512, !t512, !t512) outs(%o : !t512)
      {schedule = #fmha.schedule<q_tiles = 1, q_tile_rows = 64, kv_block = 64, kv_stages = 2, p_placement = smem>}
  return
}
