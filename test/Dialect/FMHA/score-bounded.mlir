// Scores are bounded if the region returns -inf or at most 1024 in magnitude for any score. The kernel's problem says so.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128' --convert-fmha-to-tile | FileCheck %s --implicit-check-not=score_is_bounded

!t = memref<1x256x2x128xf16>

// A soft cap.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score, score_is_bounded>
func.func @cap(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant 50.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %c : f32
        fmha.yield %y : f32
      }
  return
}

// A soft cap with keys that are hidden.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score, score_is_bounded>
func.func @hidden(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant 50.0 : f32
        %inf = arith.constant 0xFF800000 : f32
        %t = math.tanh %s : f32
        %x = arith.mulf %c, %t : f32
        %near = arith.cmpi ult, %i, %j : index
        %y = arith.select %near, %x, %inf : f32
        fmha.yield %y : f32
      }
  return
}

// The limit itself.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score, score_is_bounded>
func.func @largest(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant -1024.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %c : f32
        fmha.yield %y : f32
      }
  return
}

// More than the limit.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score>
func.func @beyond(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant 1025.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %c : f32
        fmha.yield %y : f32
      }
  return
}

// The score itself has no limit.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score>
func.func @score(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant 0.5 : f32
        %y = arith.mulf %s, %c : f32
        fmha.yield %y : f32
      }
  return
}

// A product makes +inf of -inf.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score>
func.func @turned(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %c = arith.constant -1.0 : f32
        %inf = arith.constant 0xFF800000 : f32
        %near = arith.cmpi ult, %i, %j : index
        %x = arith.select %near, %c, %inf : f32
        %y = arith.mulf %x, %c : f32
        fmha.yield %y : f32
      }
  return
}

// +inf is no limit.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score>
func.func @infinite(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %inf = arith.constant 0x7F800000 : f32
        %t = math.tanh %s : f32
        %near = arith.cmpi ult, %i, %j : index
        %y = arith.select %near, %t, %inf : f32
        fmha.yield %y : f32
      }
  return
}

// A region that returns its argument.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score>
func.func @identity(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        fmha.yield %s : f32
      }
  return
}
