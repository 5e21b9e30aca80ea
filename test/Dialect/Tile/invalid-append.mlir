// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// Each case breaks one constraint of tile.append_rows or tile.load_rotated.

func.func @dynamic(%kn: memref<?x?x?x?xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected tensors of four dimensions with f16, bf16 or f8E4M3FN elements and a static last dimension of whole vectors of 16 bytes, got 'memref<?x?x?x?xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x?xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @uneven(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x60xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x60xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{whole vectors of 16 bytes, got 'memref<?x?x?x60xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x60xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x60xbf16>
  return
}

// -----

func.func @rank(%kn: memref<?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected tensors of four dimensions}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @wide(%kn: memref<?x?x?x64xf32>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xf32>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{with f16, bf16 or f8E4M3FN elements}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xf32>, memref<?x?x?x64xbf16>, memref<?x?x?x64xf32>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @columns(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x32xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected new rows with the element type and the last dimension of their cache, 'memref<?x?x?x64xbf16>', got 'memref<?x?x?x32xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @type(%kn: memref<?x?x?x64xf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected new rows with the element type and the last dimension of their cache}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @types(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected caches of one element type, got 'bf16' and 'f16'}}
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xf16>
  return
}

// -----

func.func @page_rows(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected a static power of two as the number of rows per page, got 'memref<?x?x?x64xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v pages %t[%i] : memref<?xi32> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @strided(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x16x?x64xbf16>, %v: memref<?x16x?x64xbf16>, %t: memref<?xi32, strided<[2]>>, %i: index) {
  // expected-error@+1 {{expected a contiguous list, got 'memref<?xi32, strided<[2]>>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v pages %t[%i] : memref<?xi32, strided<[2]>> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x16x?x64xbf16>, memref<?x16x?x64xbf16>
  return
}

// -----

func.func @role(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %i: index) {
  tile.warp_specialize {
    tile.role "load" warps 0 to 1 registers 48 {
      // expected-error@+1 {{expected the op in the body of the kernel, since all threads of the CTA copy the rows once, got it in tile.role; move it out}}
      tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
    }
  }
  return
}

// -----

func.func @angles(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %c: memref<?x33xf32>, %i: index) {
  // expected-error@+1 {{expected cosines with a static number of columns, from 1 to 32, got 'memref<?x33xf32>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v rotary %c, %c : memref<?x33xf32>, memref<?x33xf32> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @sines(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %s: memref<?x4xf32>, %i: index) {
  // expected-error@+1 {{expected sines with 8 columns, as the cosines have, got 'memref<?x4xf32>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v rotary %c, %s : memref<?x8xf32>, memref<?x4xf32> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @varlen(%q: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{expected no first row in a view of rotated rows, got one}}
  %0 = tile.view %q batch %i head %i rows %i from %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  %1 = tile.load_rotated %0[%i] at %i by %c, %c : !tile.view<?x64xbf16>, memref<?x8xf32>, memref<?x8xf32> -> !tile.tile<64x64xbf16>
  return
}

// -----

func.func @rotated_in_role(%q: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %i: index) {
  %0 = tile.view %q batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  tile.warp_specialize {
    tile.role "load" warps 0 to 1 registers 48 {
      // expected-error@+1 {{expected the op in the body of the kernel, since all threads of the CTA load the rows once, got it in tile.role; move it out}}
      %1 = tile.load_rotated %0[%i] at %i by %c, %c : !tile.view<?x64xbf16>, memref<?x8xf32>, memref<?x8xf32> -> !tile.tile<64x64xbf16>
    }
  }
  return
}

// -----

func.func @rotated_in_branch(%q: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %i: index, %if: i1) {
  %0 = tile.view %q batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  scf.if %if {
    // expected-error@+1 {{expected the op in the body of the kernel, since all threads of the CTA load the rows once, got it in scf.if; move it out}}
    %1 = tile.load_rotated %0[%i] at %i by %c, %c : !tile.view<?x64xbf16>, memref<?x8xf32>, memref<?x8xf32> -> !tile.tile<64x64xbf16>
  }
  return
}

// -----

func.func @rotated_heads(%q: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %i: index, %dest: !llvm.ptr<3>) {
  // expected-error@+1 {{expected rows of a positive number of heads, and rows and columns that are multiples of 8, got 64 x 60 of 1 heads}}
  tile.rotate_rows 64 x 60 of %q batch %i head %i members %i from %i before %i heads 1 at %i by %c, %c to %dest : memref<?x?x?x64xbf16>, !llvm.ptr<3>, memref<?x8xf32>, memref<?x8xf32>
  return
}

// -----

func.func @append_in_branch(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %i: index, %if: i1) {
  scf.if %if {
    // expected-error@+1 {{expected the op in the body of the kernel, since all threads of the CTA copy the rows once, got it in scf.if; move it out}}
    tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  }
  return
}

// -----

func.func @two_page_sizes(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x16x?x64xbf16>, %v: memref<?x32x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected caches with one page size, got 'memref<?x16x?x64xbf16>' and 'memref<?x32x?x64xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v pages %t[%i] : memref<?xi32> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x16x?x64xbf16>, memref<?x32x?x64xbf16>
  return
}

// -----

func.func @empty_pages(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x64xbf16>, %k: memref<?x0x?x64xbf16>, %v: memref<?x0x?x64xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected a static power of two as the number of rows per page, got 'memref<?x0x?x64xbf16>'}}
  tile.append_rows %kn, %vn[%i] to %k, %v pages %t[%i] : memref<?xi32> head %i from %i to %i before %i : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x0x?x64xbf16>, memref<?x0x?x64xbf16>
  return
}

// -----

func.func @rotated_bytes(%kn: memref<?x?x?x64xf8E4M3FN>, %vn: memref<?x?x?x64xf8E4M3FN>, %k: memref<?x?x?x64xf8E4M3FN>, %v: memref<?x?x?x64xf8E4M3FN>, %c: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{expected rows of f16 or bf16 to rotate, got 'f8E4M3FN'; rotate the rows before they are quantized}}
  tile.append_rows %kn, %vn[%i] to %k, %v rotary %c, %c : memref<?x8xf32>, memref<?x8xf32> head %i from %i to %i before %i : memref<?x?x?x64xf8E4M3FN>, memref<?x?x?x64xf8E4M3FN>, memref<?x?x?x64xf8E4M3FN>, memref<?x?x?x64xf8E4M3FN>
  return
}

// -----

func.func @negative_splits(%l: memref<?xi32>, %i: index) {
  // expected-error@+1 {{attribute 'splits' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1}}
  %s, %p, %q = tile.find_slot %l[%i] of %i splits -1 keys 5 : memref<?xi32>
  return
}

// -----

func.func @negative_rows(%q: memref<?x?x?x64xbf16>, %c: memref<?x8xf32>, %i: index, %dest: !llvm.ptr<3>) {
  // expected-error@+1 {{attribute 'count' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1}}
  tile.rotate_rows -64 x 64 of %q batch %i head %i members %i from %i before %i heads 1 at %i by %c, %c to %dest : memref<?x?x?x64xbf16>, !llvm.ptr<3>, memref<?x8xf32>, memref<?x8xf32>
  return
}
