// A mask as flags, an i1 each, and as the rows of one sequence alone.
func.func @attention(%q: memref<1x?x2x64xf16>, %k: memref<1x?x2x64xf16>, %v: memref<1x?x2x64xf16>, %o: memref<1x?x2x64xf16>,
                     %mask: memref<?x?x?xi1>) {
  fmha.attention ins(%q, %k, %v : memref<1x?x2x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>) outs(%o : memref<1x?x2x64xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %none = arith.constant 0xFF800000 : f32
        %keep = fmha.read %mask[%h, %i, %j] : memref<?x?x?xi1>
        %y = arith.select %keep, %s, %none : f32
        fmha.yield %y : f32
      }
  return
}
