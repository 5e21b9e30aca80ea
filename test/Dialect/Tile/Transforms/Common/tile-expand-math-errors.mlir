// Functions that no target computes: fmha.attention refuses them (attention.C25), and so does the pass, in IR that began below.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-expand-math)))' --split-input-file --verify-diagnostics

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>
gpu.module @kernels {
  gpu.func @double(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %d = arith.extf %e : f32 to f64
      // expected-error @below {{expected functions of f32, f16, bf16 or integers, got math.sin of 'f64'; convert its arguments to one of those}}
      %a = math.sin %d : f64
      tile.yield %e : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>
gpu.module @kernels {
  gpu.func @whole(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      %n = arith.index_cast %key : index to i32
      // expected-error @below {{expected functions that targets compute, got math.ipowi; write a power of integers as products}}
      %a = math.ipowi %n, %n : i32
      tile.yield %e : f32
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
!x = !tile.tile<128x128xf32>
gpu.module @kernels {
  gpu.func @index(%q: !t, %i: index) kernel {
    %x = tile.fill 1.0 : !x
    %queries = tile.view %q batch %i head %i rows %i : !t -> !tile.view<?x64xbf16>
    %y = tile.modify %x at %queries[%i, %i] : !x, !tile.view<?x64xbf16> {
    ^bb0(%e: f32, %row: index, %key: index):
      // expected-error @below {{expected functions of f32, f16, bf16 or integers, got math.fpowi of 'index'}}
      %a = math.fpowi %e, %key : f32, index
      tile.yield %a : f32
    }
    gpu.return
  }
}
