// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(fmha-launch-kernels)'

!t = tensor<1x64x2x64xbf16>
func.func @tensors(%q: !t, %o: !t) -> !t {
  // expected-error @below {{expected 'query' to be a memref, got 'tensor<1x64x2x64xbf16>'; run one-shot-bufferize before fmha-launch-kernels, or the pipeline fmha-program-to-llvm}}
  %r = fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) -> !t
  return %r : !t
}

// -----

!t = memref<1x64x2x64xbf16>
func.func @no_kernel(%q: !t, %o: !t) {
  // expected-error @below {{expected a gpu.binary with an fmha.manifest, named by fmha.kernel, got no kernel; run fmha-to-ptx first, or fmha-to-gpu in place of this pass}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}

// -----

!t = memref<1x64x2x64xbf16>
func.func @no_symbol(%q: !t, %o: !t) {
  // expected-error @below {{got no symbol @a::@b}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {fmha.kernel = @a::@b}
  return
}

// -----

gpu.module @a {}
!t = memref<1x64x2x64xbf16>
func.func @not_serialized(%q: !t, %o: !t) {
  // expected-error @below {{got gpu.module @a}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {fmha.kernel = @a::@b}
  return
}

// -----

gpu.binary @a {fmha.manifest = "{}"} [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = "">]
!t = memref<1x64x2x64xbf16>
func.func @broken_manifest(%q: !t, %o: !t) {
  // expected-error @below {{expected the manifest of its kernel to be one that fmha-serialize-kernels wrote, got:}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {fmha.kernel = @a::@b}
  return
}

// -----

gpu.binary @a {fmha.manifest = "{\"schema_version\": 1, \"kernel\": \"fmha_merge\", \"target\": \"sm_90a\", \"head_dim_v\": 64, \"out_dtype\": \"bf16\", \"lse\": true, \"row_max\": false, \"row_sum\": false, \"sink\": false, \"unnormalised\": false, \"grid\": {\"x\": [], \"y\": [], \"z\": []}, \"block\": [128, 1, 1], \"parameters\": []}"} [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = "">]
func.func @other_kernel(%o: memref<3x1x8x2x64xf32>, %m: memref<3x1x2x8xf32>, %s: memref<3x1x2x8xf32>, %out: memref<1x8x2x64xbf16>) {
  // expected-error @below {{expected a kernel without the tensor 'lse', as the op has it, got one with; drop fmha.kernel and run fmha-to-ptx again}}
  fmha.merge ins(%o, %m, %s : memref<3x1x8x2x64xf32>, memref<3x1x2x8xf32>, memref<3x1x2x8xf32>) outs(%out : memref<1x8x2x64xbf16>) {fmha.kernel = @a::@b}
  return
}

// -----

gpu.binary @a {fmha.manifest = "{\"schema_version\": 1, \"kernel\": \"fmha_merge\", \"target\": \"sm_90a\", \"head_dim_v\": 128, \"out_dtype\": \"bf16\", \"lse\": false, \"row_max\": false, \"row_sum\": false, \"sink\": false, \"unnormalised\": false, \"grid\": {\"x\": [], \"y\": [], \"z\": []}, \"block\": [128, 1, 1], \"parameters\": []}"} [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = "">]
func.func @other_head_dim(%o: memref<3x1x8x2x64xf32>, %m: memref<3x1x2x8xf32>, %s: memref<3x1x2x8xf32>, %out: memref<1x8x2x64xbf16>) {
  // expected-error @below {{expected a kernel with head_dim_v = 64, as the op has it, got one with 128; drop fmha.kernel and run fmha-to-ptx again}}
  fmha.merge ins(%o, %m, %s : memref<3x1x8x2x64xf32>, memref<3x1x2x8xf32>, memref<3x1x2x8xf32>) outs(%out : memref<1x8x2x64xbf16>) {fmha.kernel = @a::@b}
  return
}
