// attention.C21: a destination shares memory with no other operand, as far as the IR tells.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = memref<1x8x2x64xf16>
func.func @output_is_query(%q: !t, %k: !t) {
  // expected-error@+1 {{attention.C21: expected output and query to share no memory, got one memref for both; give output a separate memref}}
  fmha.attention ins(%q, %k, %k : !t, !t, !t) outs(%q : !t)
  return
}

// -----

!t = memref<1x8x2x64xf16>
func.func @output_is_value(%q: !t, %v: !t) {
  // expected-error@+1 {{attention.C21: expected output and value to share no memory, got one memref for both}}
  fmha.attention ins(%q, %q, %v : !t, !t, !t) outs(%v : !t)
  return
}

// -----

!t = memref<1x8x2x64xf16>
!part = memref<1x4x2x64xf16, strided<[1024, 128, 64, 1], offset: 512>>
func.func @output_in_key(%q: !part, %k: !t) {
  %o = memref.subview %k[0, 4, 0, 0] [1, 4, 2, 64] [1, 1, 1, 1] : !t to !part
  // expected-error@+1 {{attention.C21: expected output and key to share no memory, got a view of the other one}}
  fmha.attention ins(%q, %k, %k : !part, !t, !t) outs(%o : !part)
  return
}

// -----

// Views of views, and the other way round: the input is the part.
!t = memref<1x8x2x64xf16>
!d = memref<?x8x2x64xf16>
!part = memref<1x4x2x64xf16, strided<[1024, 128, 64, 1]>>
func.func @key_in_output(%q: !t, %o: !t) {
  %c = memref.cast %o : !t to !d
  %back = memref.cast %c : !d to !t
  %k = memref.subview %back[0, 0, 0, 0] [1, 4, 2, 64] [1, 1, 1, 1] : !t to !part
  // expected-error@+1 {{attention.C21: expected output and key to share no memory, got a view of the other one}}
  fmha.attention ins(%q, %k, %k : !t, !part, !part) outs(%o : !t)
  return
}

// -----

// Two views of one buffer may be apart: only the addresses tell.
!t = memref<1x8x1x8xf16>
!bytes = memref<128xi8>
!l = memref<1x1x8xf32>
func.func @two_views(%q: !t, %both: !bytes) {
  %c0 = arith.constant 0 : index
  %l = memref.view %both[%c0][] : !bytes to !l
  %o = memref.view %both[%c0][] : !bytes to !t
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o, %l : !t, !l)
  return
}

// -----

!h = memref<1x8x1x64xf16>
!l = memref<1x1x8xf32, strided<[8, 8, 1]>>
func.func @inputs_may_be_one(%x: !h, %o: !h, %l: !l) {
  fmha.attention ins(%x, %x, %x : !h, !h, !h) outs(%o, %l : !h, !l)
  return
}

// -----

// Slices of one packed array.
!packed = memref<1x8x4x64xf16>
!slice = memref<1x8x1x64xf16, strided<[2048, 256, 64, 1], offset: ?>>
func.func @packed(%p: !packed, %i: index, %j: index) {
  %q = memref.subview %p[0, 0, %i, 0] [1, 8, 1, 64] [1, 1, 1, 1] : !packed to !slice
  %o = memref.subview %p[0, 0, %j, 0] [1, 8, 1, 64] [1, 1, 1, 1] : !packed to !slice
  fmha.attention ins(%q, %q, %q : !slice, !slice, !slice) outs(%o : !slice)
  return
}

// -----

// Tensors are values: a destination may be an input as well.
!t = tensor<1x8x2x64xf16>
func.func @tensors(%x: !t) -> !t {
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) -> !t
  return %o : !t
}

// -----

// Where nothing is executed a view may be its own source.
!t = memref<1x8x2x64xf16>
func.func @own_source(%x: !t) {
  return
^unreachable:
  %o = memref.cast %o : !t to !t
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// What has no elements shares no memory.
!t = memref<1x8x2x64xf16>
!none = memref<1x0x2x64xf16, strided<[1024, 128, 64, 1]>>
func.func @no_keys(%x: !t, %o: !t) {
  %k = memref.subview %o[0, 0, 0, 0] [1, 0, 2, 64] [1, 1, 1, 1] : !t to !none
  fmha.attention ins(%x, %k, %k : !t, !none, !none) outs(%o : !t)
  return
}

// -----

// Two casts of one buffer.
!t = memref<1x8x2x64xf16>
!a = memref<1x8x?x64xf16>
!b = memref<1x?x2x64xf16>
func.func @casts(%x: !t, %k: !t) {
  %q = memref.cast %x : !t to !a
  %o = memref.cast %x : !t to !b
  // expected-error@+1 {{attention.C21: expected output and query to share no memory, got views of one memref; give output a separate memref}}
  fmha.attention ins(%q, %k, %k : !a, !t, !t) outs(%o : !b)
  return
}

// -----

// Transposes, with casts on the way.
!bhsd = memref<1x2x8x64xf16>
!d = memref<1x?x8x64xf16>
!t = memref<1x8x2x64xf16, strided<[1024, 64, 512, 1]>>
func.func @transposes(%x: !bhsd, %k: !t) {
  %q = memref.transpose %x (b, h, s, d) -> (b, s, h, d) : !bhsd to !t
  %c = memref.cast %x : !bhsd to !d
  %back = memref.cast %c : !d to !bhsd
  %o = memref.transpose %back (b, h, s, d) -> (b, s, h, d) : !bhsd to !t
  // expected-error@+1 {{attention.C21: expected output and query to share no memory, got views of one memref;}}
  fmha.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// Shapes of one buffer, and a part of it, however it is cut.
!flat = memref<1x8x128xf16>
!t = memref<1x8x2x64xf16>
!p = memref<1x?x2x64xf16, strided<[1024, 128, 64, 1], offset: ?>>
func.func @shapes(%x: !flat, %q: !p, %i: index, %n: index) {
  %o = memref.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 2, 64] : !flat into !t
  %whole = memref.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 2, 64] : !flat into !t
  %k = memref.subview %whole[0, %i, 0, 0] [1, %n, 2, 64] [1, 1, 1, 1] : !t to !p
  // expected-error@+1 {{attention.C21: expected output and key to share no memory, got views of one memref;}}
  fmha.attention ins(%q, %k, %k : !p, !p, !p) outs(%o : !t)
  return
}

// -----

// Subviews with a row in common.
!t = memref<1x16x2x64xf16>
!part = memref<1x8x2x64xf16, strided<[2048, 128, 64, 1], offset: ?>>
func.func @overlap(%x: !t) {
  %c = memref.cast %x : !t to memref<?x16x2x64xf16>
  %a = memref.subview %x[0, 0, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !t to memref<1x8x2x64xf16, strided<[2048, 128, 64, 1]>>
  %q = memref.cast %a : memref<1x8x2x64xf16, strided<[2048, 128, 64, 1]>> to !part
  %o = memref.subview %c[0, 7, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1]
      : memref<?x16x2x64xf16> to memref<1x8x2x64xf16, strided<[2048, 128, 64, 1], offset: 896>>
  // expected-error@+1 {{attention.C21: expected output and query to share no memory, got views of one memref that overlap;}}
  fmha.attention ins(%q, %q, %q : !part, !part, !part)
      outs(%o : memref<1x8x2x64xf16, strided<[2048, 128, 64, 1], offset: 896>>)
  return
}

// -----

// The same run-time offset.
!packed = memref<1x8x4x64xf16>
!slice = memref<1x8x1x64xf16, strided<[2048, 256, 64, 1], offset: ?>>
func.func @same_offset(%p: !packed, %i: index) {
  %q = memref.subview %p[0, 0, %i, 0] [1, 8, 1, 64] [1, 1, 1, 1] : !packed to !slice
  %o = memref.subview %p[0, 0, %i, 0] [1, 8, 1, 64] [1, 1, 1, 1] : !packed to !slice
  // expected-error@+1 {{attention.C21: expected output and query to share no memory, got views of one memref that overlap;}}
  fmha.attention ins(%q, %q, %q : !slice, !slice, !slice) outs(%o : !slice)
  return
}

// -----

// Two destinations are checked as a pair as well, and so are captures.
!h = memref<1x8x1x64xf16>
!l = memref<1x1x8xf32>
func.func @rows(%x: !h, %o: !h, %l: memref<1x8xf32>) {
  %a = memref.expand_shape %l [[0], [1, 2]] output_shape [1, 1, 8] : memref<1x8xf32> into !l
  %b = memref.expand_shape %l [[0], [1, 2]] output_shape [1, 1, 8] : memref<1x8xf32> into !l
  // expected-error@+1 {{attention.C21: expected row_max and lse to share no memory, got views of one memref;}}
  fmha.attention ins(%x, %x, %x : !h, !h, !h) outs(%o, %a : !h, !l) row_max(%b : !l)
  return
}

// -----

!h = memref<1x8x1x64xf16>
!l = memref<1x1x8xf32>
func.func @capture(%x: !h, %o: !h, %l: memref<1x8xf32>) {
  %a = memref.expand_shape %l [[0], [1, 2]] output_shape [1, 1, 8] : memref<1x8xf32> into !l
  %b = memref.cast %l : memref<1x8xf32> to memref<?x8xf32>
  // expected-error@+1 {{attention.C21: expected lse and a tensor that the region `score` reads to share no memory, got views of one memref;}}
  fmha.attention ins(%x, %x, %x : !h, !h, !h) outs(%o, %a : !h, !l)
      score(%s, %n, %head, %i, %j, %q_len, %kv_len) {
        %e = fmha.read %b[%n, %j] : memref<?x8xf32>
        fmha.yield %e : f32
      }
  return
}

// -----

// Disjoint parts of one buffer: heads of Q, K, V and O in one array, rows of a cache, interleaved
// heads, and views of bytes, whose addresses are known at run time only.
!packed = memref<1x8x8x64xf16>
!q = memref<1x8x2x64xf16, strided<[4096, 512, 64, 1]>>
!k = memref<1x8x2x64xf16, strided<[4096, 512, 64, 1], offset: 128>>
!v = memref<1x8x2x64xf16, strided<[4096, 512, 64, 1], offset: 256>>
!o = memref<1x8x2x64xf16, strided<[4096, 512, 64, 1], offset: 384>>
func.func @apart(%p: !packed) {
  %q = memref.subview %p[0, 0, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !packed to !q
  %k = memref.subview %p[0, 0, 2, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !packed to !k
  %v = memref.subview %p[0, 0, 4, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !packed to !v
  %o = memref.subview %p[0, 0, 6, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !packed to !o
  fmha.attention ins(%q, %k, %v : !q, !k, !v) outs(%o : !o)
  return
}

// -----

!packed = memref<1x8x4x64xf16>
!even = memref<1x8x2x64xf16, strided<[2048, 256, 128, 1]>>
!odd = memref<1x8x2x64xf16, strided<[2048, 256, 128, 1], offset: 64>>
func.func @interleaved(%p: !packed) {
  %q = memref.subview %p[0, 0, 0, 0] [1, 8, 2, 64] [1, 1, 2, 1] : !packed to !even
  %o = memref.subview %p[0, 0, 1, 0] [1, 8, 2, 64] [1, 1, 2, 1] : !packed to !odd
  fmha.attention ins(%q, %q, %q : !even, !even, !even) outs(%o : !odd)
  return
}

// -----

// Parts that overlap may have parts that do not.
!t = memref<1x16x2x64xf16>
!part = memref<1x12x2x64xf16, strided<[2048, 128, 64, 1], offset: 512>>
!low = memref<1x4x2x64xf16, strided<[2048, 128, 64, 1]>>
!high = memref<1x4x2x64xf16, strided<[2048, 128, 64, 1], offset: 1536>>
func.func @parts_of_parts(%x: !t) {
  %a = memref.subview %x[0, 0, 0, 0] [1, 12, 2, 64] [1, 1, 1, 1] : !t to memref<1x12x2x64xf16, strided<[2048, 128, 64, 1]>>
  %b = memref.subview %x[0, 4, 0, 0] [1, 12, 2, 64] [1, 1, 1, 1] : !t to !part
  %q = memref.subview %a[0, 0, 0, 0] [1, 4, 2, 64] [1, 1, 1, 1] : memref<1x12x2x64xf16, strided<[2048, 128, 64, 1]>> to !low
  %o = memref.subview %b[0, 8, 0, 0] [1, 4, 2, 64] [1, 1, 1, 1] : !part to !high
  fmha.attention ins(%q, %q, %q : !low, !low, !low) outs(%o : !high)
  return
}

// -----

// Different rows of one cache, whose numbers are known at run time only.
!cache = memref<1x64x2x64xf16>
!part = memref<1x8x2x64xf16, strided<[8192, 128, 64, 1], offset: ?>>
func.func @rows_of_cache(%x: !cache, %i: index, %j: index) {
  %q = memref.subview %x[0, %i, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !cache to !part
  %o = memref.subview %x[0, %j, 0, 0] [1, 8, 2, 64] [1, 1, 1, 1] : !cache to !part
  fmha.attention ins(%q, %q, %q : !part, !part, !part) outs(%o : !part)
  return
}

// -----

!o = memref<1x?x4x8xf32>
!r = memref<1x4x?xf32>
func.func @merge(%p: memref<?x1x?x4x8xf32>, %m: memref<?x1x4x?xf32>, %x: memref<4x?xf32>, %o: !o, %n: index) {
  %lse = memref.expand_shape %x [[0, 1], [2]] output_shape [1, 4, %n] : memref<4x?xf32> into !r
  %max = memref.expand_shape %x [[0, 1], [2]] output_shape [1, 4, %n] : memref<4x?xf32> into !r
  // expected-error@+1 {{merge.M7: expected row_max and lse to share no memory; give row_max a separate memref}}
  fmha.merge ins(%p, %m, %m : memref<?x1x?x4x8xf32>, memref<?x1x4x?xf32>, memref<?x1x4x?xf32>) outs(%o, %lse : !o, !r)
      row_max(%max : !r)
  return
}
