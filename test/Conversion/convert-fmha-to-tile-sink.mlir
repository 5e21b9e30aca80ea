// A sink: the head's logit, in log2 units, joins the sum that divides and the logarithm,
// behind the loop.

// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 q-tile-rows=128' --convert-fmha-to-tile | FileCheck %s

!t = memref<1x256x2x128xf16>
!l = memref<1x2x256xf32>

func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %logits: memref<2xf32>) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t)
      sink(%logits : memref<2xf32>) outs(%o, %lse : !t, !l)
  return
}

// CHECK: gpu.func @fmha_fwd(
// CHECK-SAME: %[[SINKS:arg5]]: memref<?xf32>) kernel
// CHECK: %[[HEAD:.*]] = arith.remui
// CHECK: %[[STATE:.*]]:3 = scf.for
// CHECK: scf.yield
// CHECK: %[[LOGIT:.*]] = memref.load %[[SINKS]][%{{.*}}]
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: %[[SINK:.*]] = arith.mulf %[[LOGIT]], %[[LOG2E]]
// CHECK: %[[TOTAL:.*]] = tile.add_sink %[[STATE]]#0, %[[STATE]]#1 sink %[[SINK]] scale
// CHECK: tile.normalize %[[STATE]]#2, %[[TOTAL]]
// CHECK: tile.lse %[[STATE]]#0, %[[STATE]]#1 sink %[[SINK]] scale
