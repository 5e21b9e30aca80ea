// RUN: fmha-opt %s --convert-fmha-to-tile --split-input-file --verify-diagnostics

// Nothing to do, and nothing done.
func.func @none() { return }

// -----

!t = memref<1x256x2x64xf16>
func.func @unplanned(%x: !t, %o: !t) {
  // expected-error@+1 {{has no schedule; run fmha-plan-schedule first}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
  return
}

// -----

!t = memref<1x256x2x64xf16>
func.func @without_roles(%x: !t, %o: !t) {
  // expected-error@+1 {{has a schedule without roles; run fmha-plan-schedule first, which adds them}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a">}
  return
}

// -----

!t = memref<1x256x2x64xf16>
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
func.func @dangling(%x: !t, %o: !t) {
  // expected-error@+1 {{expected a gpu.module or gpu.binary @kernels, which fmha.kernel names, got none; drop fmha.kernel to make a kernel}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #schedule, fmha.kernel = @kernels::@fmha_fwd}
  return
}

// -----

// A kernel goes into a module.
!t = memref<1x256x2x64xf16>
gpu.module @device {
  func.func @inside(%x: !t, %o: !t) {
    // expected-error@+1 {{expected a builtin.module as the nearest symbol table, where the kernel goes, got gpu.module; move the op's function into a module}}
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_100a">}
    return
  }
}
