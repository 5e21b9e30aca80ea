// Ops without a kernel that could be serialised.

// RUN: fmha-opt %s --fmha-serialize-kernels --split-input-file --verify-diagnostics

!t = memref<1x256x2x64xf16>
func.func @unplanned(%x: !t, %o: !t) {
  // expected-error@+1 {{has no kernel to serialize; run fmha-plan-schedule and convert-fmha-to-tile first}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
  return
}

// -----

!t = memref<1x256x2x64xf16>
func.func @dangling(%x: !t, %o: !t) {
  // expected-error@+1 {{expected a gpu.module or gpu.binary @gone, which fmha.kernel names, got none; drop fmha.kernel and run convert-fmha-to-tile}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @gone::@fmha_fwd}
  return
}

// -----

!t = memref<1x256x2x64xf16>
func.func private @kernel()
func.func @other_symbol(%x: !t, %o: !t) {
  // expected-error@+1 {{expected a gpu.module or gpu.binary @kernel, which fmha.kernel names, got func.func}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernel::@fmha_fwd}
  return
}
