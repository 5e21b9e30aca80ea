// C21: a destination shares memory with no other operand, as far as the IR tells.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = memref<1x8x2x64xf16>
func.func @output_is_query(%q: !t, %k: !t) {
  // expected-error@+1 {{fmha.attention C21: expected output and query to share no memory, got one memref for both; give output a memref of its own}}
  fmha.attention ins(%q, %k, %k : !t, !t, !t) outs(%q : !t)
  return
}

// -----

!t = memref<1x8x2x64xf16>
func.func @output_is_value(%q: !t, %v: !t) {
  // expected-error@+1 {{fmha.attention C21: expected output and value to share no memory, got one memref for both}}
  fmha.attention ins(%q, %q, %v : !t, !t, !t) outs(%v : !t)
  return
}

// -----

!t = memref<1x8x2x64xf16>
!part = memref<1x4x2x64xf16, strided<[1024, 128, 64, 1], offset: 512>>
func.func @output_in_key(%q: !part, %k: !t) {
  %o = memref.subview %k[0, 4, 0, 0] [1, 4, 2, 64] [1, 1, 1, 1] : !t to !part
  // expected-error@+1 {{fmha.attention C21: expected output and key to share no memory, got a view of the other one}}
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
  // expected-error@+1 {{fmha.attention C21: expected output and key to share no memory, got a view of the other one}}
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
