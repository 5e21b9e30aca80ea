// Code on scores stands between the product and the mask: it is given the scaled score,
// and the sequence, head, row, key and lengths that the kernel has; what it reads
// becomes operands of the kernel, each once. The maximum is of what it yields.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<2x256x2x128xf16>

func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %bias: memref<2x256x256xbf16>, %lens: memref<2xi32>) {
  %half = arith.constant 0.5 : f32
  fmha.attention ins(%q, %k, %v : !t, !t, !t) kv_lens(%lens : memref<2xi32>) outs(%o : !t) {scale = -0.25}
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %x = arith.mulf %s, %half : f32
        %r = arith.addi %i, %b : index
        %n = arith.remui %j, %kv_len : index
        %e = fmha.read %bias[%h, %r, %n] : memref<2x256x256xbf16>
        %f = arith.extf %e : bf16 to f32
        %e2 = fmha.read %bias[%h, %j, %q_len] : memref<2x256x256xbf16>
        %f2 = arith.extf %e2 : bf16 to f32
        %y = arith.addf %x, %f : f32
        %z = arith.addf %y, %f2 : f32
        fmha.yield %z : f32
      }
  return
}

// CHECK: gpu.func @fmha_fwd(%[[Q:[^:]*]]: memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
// CHECK-SAME: %[[LENS:arg4]]: memref<?xi32>
// CHECK-SAME: %[[BIAS:arg5]]: memref<?x?x?xbf16, strided<[?, ?, 1]>, #gpu.address_space<global>>) kernel
// CHECK-SAME: captures = [memref<?x?x?xbf16>]
// CHECK: %[[ROWS:.*]] = memref.dim %[[Q]], %
// CHECK: arith.remui %[[ID:.*]], %[[BLOCKS:.*]] :
// CHECK: %[[REST:.*]] = arith.divui %[[ID]], %[[BLOCKS]] :
// CHECK: %[[HEAD:.*]] = arith.remui %[[REST]], %[[HEADS:.*]] :
// CHECK: %[[BATCH:.*]] = arith.divui %[[REST]], %[[HEADS]] :
// CHECK: memref.load %[[LENS]][%[[BATCH]]]
// CHECK: %[[QUERIES:.*]] = tile.view %[[Q]] batch
// CHECK: scf.for
// CHECK: %[[S:.*]] = tile.dot %{{.*}} transpose_b {
// CHECK: %[[M:.*]] = tile.modify %[[S]] at %[[QUERIES]][%[[ROW:.*]], %[[COL:.*]]] {{.*}} {
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[SCALE:.*]] = arith.constant -2.500000e-01 : f32
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[E]], %[[SCALE]] : f32
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: arith.mulf %[[X]], %[[HALF]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.addi %[[I]], %[[BATCH]] : index
// CHECK-NEXT: %[[N:.*]] = arith.remui %[[J]], %{{.*}} : index
// CHECK-NEXT: fmha.read %[[BIAS]][%[[HEAD]], %[[R]], %[[N]]]
// CHECK: fmha.read %[[BIAS]][%[[HEAD]], %[[J]], %[[ROWS]]]
// CHECK: tile.yield
// CHECK: %[[HIDDEN:.*]] = tile.mask %[[M]] at %[[QUERIES]][%[[ROW]]], %{{.*}}[%[[COL]]]
// CHECK: tile.row_max %[[HIDDEN]], %{{.*}} scale 1.44269502

// The last factor goes into the scale of the softmax if it is positive and may be reassociated.

// CHECK: gpu.func @fmha_fwd
// CHECK: tile.modify
// CHECK: %[[BENT:.*]] = math.tanh
// CHECK-NEXT: tile.yield %[[BENT]]
// CHECK: tile.row_max %{{.*}} scale 72.13475
// CHECK: tile.exp2 %{{.*}} scale 72.13475
func.func @capped(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant 50.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %cap fastmath<reassoc> : f32
        fmha.yield %y : f32
      }
  return
}

// Neither is one that has to be rounded as it stands, nor a negative one.

// CHECK: gpu.func @fmha_fwd
// CHECK: math.tanh
// CHECK: %[[CAPPED:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: tile.yield %[[CAPPED]]
// CHECK: tile.exp2 %{{.*}} scale 1.44269502
func.func @rounded(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant 50.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %cap : f32
        fmha.yield %y : f32
      }
  return
}

// CHECK: gpu.func @fmha_fwd
// CHECK: math.tanh
// CHECK: %[[NEGATIVE:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK-NEXT: tile.yield %[[NEGATIVE]]
// CHECK: tile.exp2 %{{.*}} scale 1.44269502
func.func @negative(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant -50.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %cap fastmath<reassoc> : f32
        fmha.yield %y : f32
      }
  return
}

// The constant may be on either side.

// CHECK: gpu.func @fmha_fwd
// CHECK: %[[BENT:.*]] = math.tanh
// CHECK-NEXT: tile.yield %[[BENT]]
// CHECK: tile.exp2 %{{.*}} scale 46.1662
func.func @left(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant 32.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %cap, %t fastmath<reassoc> : f32
        fmha.yield %y : f32
      }
  return
}

// One that makes the scale overflow stays.

// CHECK: gpu.func @fmha_fwd
// CHECK: math.tanh
// CHECK: %[[HUGE:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK-NEXT: tile.yield %[[HUGE]]
// CHECK: tile.exp2 %{{.*}} scale 1.44269502
func.func @huge(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %cap = arith.constant 3.0e38 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %t, %cap fastmath<reassoc> : f32
        fmha.yield %y : f32
      }
  return
}

// What arithmetic makes of constants may stand outside, where CSE or a person put it.

// CHECK: gpu.func @fmha_fwd
// CHECK: tile.modify
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK: %[[SCALED:.*]] = arith.mulf %[[E]],
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[BENT:.*]] = math.tanh %[[TWO]] : f32
// CHECK: %[[Y:.*]] = arith.mulf %[[SCALED]], %[[BENT]] : f32
// CHECK: tile.yield %[[Y]]
func.func @hoisted(%q: memref<1x256x2x128xf16>, %k: memref<1x256x2x128xf16>, %o: memref<1x256x2x128xf16>) {
  %two = arith.constant 2.0 : f32
  %bent = math.tanh %two : f32
  fmha.attention ins(%q, %k, %k : memref<1x256x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16>)
      outs(%o : memref<1x256x2x128xf16>)
      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
        %y = arith.mulf %s, %bent : f32
        fmha.yield %y : f32
      }
  return
}
