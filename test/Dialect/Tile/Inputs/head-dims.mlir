// Attention with head dims that are not whole panels, that differ, that fill tensor
// memory, and that need chunks and passes; schedules written by hand.

!t72 = memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>>
!t40 = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>
!t192 = memref<?x?x?x192xbf16, strided<[?, ?, ?, 1]>>
!t128 = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!t256 = memref<?x?x?x256xbf16, strided<[?, ?, ?, 1]>>
!t512 = memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>>
!t576 = memref<?x?x?x576xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>

func.func @d72_40(%q: !t72, %k: !t72, %v: !t40, %o: !t40) {
  fmha.attention ins(%q, %k, %v : !t72, !t72, !t40) outs(%o : !t40)
      {schedule = #fmha.schedule<q_tiles = 2, kv_stages = 3>}
  return
}

func.func @d192_128(%q: !t192, %k: !t192, %v: !t128, %o: !t128) {
  fmha.attention ins(%q, %k, %v : !t192, !t192, !t128) outs(%o : !t128)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, v_stages = 1, p_placement = smem>}
  return
}

func.func @d256(%q: !t256, %k: !t256, %v: !t256, %o: !t256) {
  fmha.attention ins(%q, %k, %v : !t256, !t256, !t256) outs(%o : !t256)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2>}
  return
}

func.func @d512(%q: !t512, %k: !t512, %v: !t512, %o: !t512, %l: !lse) {
  fmha.attention ins(%q, %k, %v : !t512, !t512, !t512) outs(%o, %l : !t512, !lse)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, key_chunk = 128, value_chunk = 64, o_columns = 256,
                                 p_placement = smem>}
  return
}

func.func @d576_512(%q: !t576, %k: !t576, %o: !t512) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = memref.dim %k, %c0 : !t576
  %n = memref.dim %k, %c1 : !t576
  %h = memref.dim %k, %c2 : !t576
  %v = memref.subview %k[0, 0, 0, 0] [%b, %n, %h, 512] [1, 1, 1, 1] : !t576 to !t512
  fmha.attention ins(%q, %k, %v : !t576, !t576, !t512) outs(%o : !t512)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, key_chunk = 128, value_chunk = 32, o_columns = 256>}
  return
}

func.func @d192_in_k(%q: !t192, %k: !t192, %o: !t128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = memref.dim %k, %c0 : !t192
  %n = memref.dim %k, %c1 : !t192
  %h = memref.dim %k, %c2 : !t192
  %v = memref.subview %k[0, 0, 0, 0] [%b, %n, %h, 128] [1, 1, 1, 1] : !t192 to !t128
  fmha.attention ins(%q, %k, %v : !t192, !t192, !t128) outs(%o : !t128)
      {schedule = #fmha.schedule<q_tiles = 1, kv_stages = 2, share_kv = true>}
  return
}
