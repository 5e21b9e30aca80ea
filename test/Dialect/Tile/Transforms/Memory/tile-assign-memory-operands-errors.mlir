// Operands that a kernel made of a program cannot take.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

// TMA copies rows whose elements follow each other.
gpu.module @sparse {
  // expected-error@+1 {{expected operand 1 to be a memref of rank 4 of f16, bf16 or f32, a memref of rank 3 of f32, a memref in #gpu.address_space<global>, all with a last stride of 1 where they have rows, or an i32, got 'memref<?x?x?x64xbf16, strided<[?, ?, ?, 2]>>'}}
  gpu.func @sparse(%a: memref<?x?x?x64xbf16>, %b: memref<?x?x?x64xbf16, strided<[?, ?, ?, 2]>>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    gpu.return
  }
}

// -----

gpu.module @unknown_stride {
  // expected-error@+1 {{all with a last stride of 1 where they have rows, or an i32, got 'memref<?x?x?x64xbf16, strided<[?, ?, ?, ?]>>'}}
  gpu.func @unknown_stride(%a: memref<?x?x?x64xbf16, strided<[?, ?, ?, ?]>>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    gpu.return
  }
}

// -----

// The same holds for rows of a capture.
#global = #gpu.address_space<global>
gpu.module @capture {
  // expected-error@+1 {{all with a last stride of 1 where they have rows, or an i32, got 'memref<?x?xf32, strided<[?, ?]>, #gpu.address_space<global>>'}}
  gpu.func @capture(%a: memref<?x?xf32, strided<[?, ?]>, #global>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    gpu.return
  }
}

// -----

// A launch passes no memory of a CTA, and no numbers but i32.
gpu.module @workgroup {
  // expected-error@+1 {{or an i32, got 'memref<64xf32, #gpu.address_space<workgroup>>'}}
  gpu.func @workgroup(%a: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    gpu.return
  }
}

// -----

gpu.module @number {
  // expected-error@+1 {{or an i32, got 'f32'}}
  gpu.func @number(%a: f32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    gpu.return
  }
}
