// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_90a' --split-input-file --verify-diagnostics

// What kernels of plain threads lack, with a way out at the op.

func.func @scores(%q: memref<1x1x2x64xf32>, %o: memref<1x1x2x64xf32>) {
  // expected-error @below {{plan.C8: expected no score_mod region with family = fma, got one; convert q, k and v to f16 or bf16 and take family = mma}}
  fmha.attention ins(%q, %q, %q : memref<1x1x2x64xf32>, memref<1x1x2x64xf32>, memref<1x1x2x64xf32>)
      outs(%o : memref<1x1x2x64xf32>)
      score(%s, %b, %h, %i, %j, %m, %n) {
        fmha.yield %s : f32
      }
  return
}

// -----

func.func @segments(%q: memref<1x1x2x64xf32>, %o: memref<1x1x2x64xf32>) {
  // expected-error @below {{plan.C8: expected one KV segment with family = fma, got two; compute each with row_max and row_sum and combine them by fmha.merge}}
  fmha.attention ins(%q, %q, %q : memref<1x1x2x64xf32>, memref<1x1x2x64xf32>, memref<1x1x2x64xf32>)
      source2(%q, %q : memref<1x1x2x64xf32>, memref<1x1x2x64xf32>)
      outs(%o : memref<1x1x2x64xf32>)
  return
}

// -----

func.func @packed(%q: memref<1x9x2x64xf32>, %o: memref<1x9x2x64xf32>, %s: memref<3xi32>) {
  // expected-error @below {{plan.C8: expected no packed sequences (cu_seqlens_q, cu_seqlens_k) with family = fma, got some; pad them to [batch, length] with kv_lens}}
  fmha.attention ins(%q, %q, %q : memref<1x9x2x64xf32>, memref<1x9x2x64xf32>, memref<1x9x2x64xf32>)
      cu_seqlens_q(%s : memref<3xi32>) cu_seqlens_k(%s : memref<3xi32>)
      outs(%o : memref<1x9x2x64xf32>)
  return
}

// -----

func.func @head_dim(%q: memref<1x1x2x66xf32>, %o: memref<1x1x2x66xf32>) {
  // expected-error @below {{attention.C17}}
  fmha.attention ins(%q, %q, %q : memref<1x1x2x66xf32>, memref<1x1x2x66xf32>, memref<1x1x2x66xf32>)
      outs(%o : memref<1x1x2x66xf32>)
  return
}

// -----

func.func @head_dim(%q: memref<1x1x2x512xf32>, %o: memref<1x1x2x512xf32>) {
  // expected-error @below {{plan.C2: expected head_dim to be a multiple of 4, the elements of 16 bytes, from 4 to 256 with family = fma, got 512}}
  fmha.attention ins(%q, %q, %q : memref<1x1x2x512xf32>, memref<1x1x2x512xf32>, memref<1x1x2x512xf32>)
      outs(%o : memref<1x1x2x512xf32>)
  return
}

// -----

// Without `family` a schedule by hand is for tensor cores.

func.func @by_hand(%q: memref<1x1x2x64xf32>, %o: memref<1x1x2x64xf32>) {
  // expected-error @below {{attention.C20: expected a schedule that can serve this op; plan.C1: expected q, k and v of f16 or bf16 with family = mma, got f32; take family = fma}}
  fmha.attention ins(%q, %q, %q : memref<1x1x2x64xf32>, memref<1x1x2x64xf32>, memref<1x1x2x64xf32>)
      outs(%o : memref<1x1x2x64xf32>) {schedule = #fmha.schedule<target = "sm_90a">}
  return
}
