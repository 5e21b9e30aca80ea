// Programs for targets that have only kernels of attention.

// RUN: fmha-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

// The one role of mma.sync lowers no copies between roles.
!t = memref<?x?x?x64xbf16>
gpu.module @one_role {
  // expected-error@+1 {{expected a target for programs of tile ops, one of sm_100a, sm_103a, sm_90a, got sm_86, whose kernels have one role and need an fmha.attention; name one of these in tile.kernel}}
  gpu.func @one_role(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_86">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}
