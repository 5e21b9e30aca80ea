// What ops of targets with mma.sync do not take.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @rows(%o: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected rows of a positive number of heads, and rows and columns that are multiples of 8, got 60 x 64 of 1 heads}}
  tile.copy_rows_out 60 x 64 of %p to %o batch %i head %i members %i from %i before %i heads 1 : !llvm.ptr<3>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @vectors(%o: memref<?x?x?x60xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{a static last dimension of whole vectors of 16 bytes, got 'memref<?x?x?x60xbf16>'}}
  tile.copy_rows_out 64 x 64 of %p to %o batch %i head %i members %i from %i before %i heads 1 : !llvm.ptr<3>, memref<?x?x?x60xbf16>
  return
}

// -----

func.func @pending() {
  // expected-error@+1 {{attribute 'pending' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative}}
  "tile.await_copies"() <{pending = -1 : i32}> : () -> ()
  return
}
