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

// Each value is looked at once.
// CHECK: gpu.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f16, scale = {{[0-9.]+}}, score, score_is_bounded>
func.func @squares(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %t0 = math.tanh %s : f32
        %t1 = arith.mulf %t0, %t0 : f32
        %t2 = arith.mulf %t1, %t1 : f32
        %t3 = arith.mulf %t2, %t2 : f32
        %t4 = arith.mulf %t3, %t3 : f32
        %t5 = arith.mulf %t4, %t4 : f32
        %t6 = arith.mulf %t5, %t5 : f32
        %t7 = arith.mulf %t6, %t6 : f32
        %t8 = arith.mulf %t7, %t7 : f32
        %t9 = arith.mulf %t8, %t8 : f32
        %t10 = arith.mulf %t9, %t9 : f32
        %t11 = arith.mulf %t10, %t10 : f32
        %t12 = arith.mulf %t11, %t11 : f32
        %t13 = arith.mulf %t12, %t12 : f32
        %t14 = arith.mulf %t13, %t13 : f32
        %t15 = arith.mulf %t14, %t14 : f32
        %t16 = arith.mulf %t15, %t15 : f32
        %t17 = arith.mulf %t16, %t16 : f32
        %t18 = arith.mulf %t17, %t17 : f32
        %t19 = arith.mulf %t18, %t18 : f32
        %t20 = arith.mulf %t19, %t19 : f32
        %t21 = arith.mulf %t20, %t20 : f32
        %t22 = arith.mulf %t21, %t21 : f32
        %t23 = arith.mulf %t22, %t22 : f32
        %t24 = arith.mulf %t23, %t23 : f32
        %t25 = arith.mulf %t24, %t24 : f32
        %t26 = arith.mulf %t25, %t25 : f32
        %t27 = arith.mulf %t26, %t26 : f32
        %t28 = arith.mulf %t27, %t27 : f32
        %t29 = arith.mulf %t28, %t28 : f32
        %t30 = arith.mulf %t29, %t29 : f32
        %t31 = arith.mulf %t30, %t30 : f32
        %t32 = arith.mulf %t31, %t31 : f32
        %t33 = arith.mulf %t32, %t32 : f32
        %t34 = arith.mulf %t33, %t33 : f32
        %t35 = arith.mulf %t34, %t34 : f32
        %t36 = arith.mulf %t35, %t35 : f32
        %t37 = arith.mulf %t36, %t36 : f32
        %t38 = arith.mulf %t37, %t37 : f32
        %t39 = arith.mulf %t38, %t38 : f32
        %t40 = arith.mulf %t39, %t39 : f32
        fmha.yield %t40 : f32
      }
  return
}
