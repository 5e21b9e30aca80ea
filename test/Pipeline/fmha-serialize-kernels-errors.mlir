// Ops without a kernel that could be serialized.

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

// -----

// Somebody else's binary is no kernel of ours.
!t = memref<1x256x2x64xf16>
gpu.binary @foreign [#gpu.object<#nvvm.target, "hello">]
func.func @foreign_binary(%x: !t, %o: !t) {
  // expected-error@+1 {{expected the gpu.binary @foreign with one object in assembly format and an fmha.manifest, as fmha-serialize-kernels makes it, got another one}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @foreign::@fmha_fwd}
  return
}

// -----

!t = memref<1x256x2x64xf16>
gpu.module @kernels {
  llvm.func @fmha_fwd() attributes {nvvm.kernel} { llvm.return }
}
func.func @no_such_function(%x: !t, %o: !t) {
  // expected-error@+1 {{expected an llvm.func @nosuch in @kernels, which fmha.kernel names, got none}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernels::@nosuch}
  return
}

// -----

// The launch manifest comes from the op, the code from the kernel.
!t = memref<1x256x2x64xf16>
gpu.module @kernels {
  llvm.func @fmha_fwd() attributes {nvvm.kernel, fmha.schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1>} { llvm.return }
}
func.func @other_schedule(%x: !t, %o: !t) {
  // expected-error@+1 {{expected a kernel made for this op, with fmha.schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 2,}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernels::@fmha_fwd}
  return
}

// -----

!t = memref<1x256x2x64xf16>
gpu.module @kernels {
  llvm.func @fmha_fwd() attributes {nvvm.kernel, fmha.schedule = #fmha.schedule<target = "sm_100a">,
    fmha.problem = #fmha.problem<dtype = f16, head_dim = 64, head_dim_v = 64, scale = 0.125>} { llvm.return }
}
func.func @other_mask(%x: !t, %o: !t) {
  // expected-error@+1 {{mask = #fmha.mask<causal>, scale = 1.250000e-01, v_in_k>, got #fmha.problem<dtype = f16, head_dim = 64, head_dim_v = 64, scale = 1.250000e-01>}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {mask = #fmha.mask<causal>, schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernels::@fmha_fwd}
  return
}

// -----

// All ops that name a kernel are compared with it before it becomes a binary.
!t = memref<1x256x2x64xf16>
gpu.module @kernels {
  llvm.func @fmha_fwd() attributes {nvvm.kernel, fmha.schedule = #fmha.schedule<target = "sm_100a">,
    fmha.problem = #fmha.problem<dtype = f16, head_dim = 64, head_dim_v = 64, scale = 0.125, v_in_k>} { llvm.return }
}
func.func @two_ops(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernels::@fmha_fwd}
  // expected-error@+1 {{expected a kernel made for this op, with fmha.problem = }}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {mask = #fmha.mask<causal>, schedule = #fmha.schedule<target = "sm_100a">, fmha.kernel = @kernels::@fmha_fwd}
  return
}
