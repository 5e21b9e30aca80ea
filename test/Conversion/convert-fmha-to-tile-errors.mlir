// RUN: fmha-opt %s --convert-fmha-to-tile --split-input-file --verify-diagnostics

// Nothing to do, and nothing done.
func.func @none() { return }

// -----

!t = memref<1x256x2x64xf16>
func.func @unplanned(%x: !t) {
  // expected-error@+1 {{has no schedule; run fmha-plan-schedule first}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t)
  return
}
