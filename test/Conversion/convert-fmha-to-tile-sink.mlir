// A sink: the logit of each row's head, in log2 units, joins the sum that divides and the
// logarithm, behind the loop.

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
// CHECK: arith.remui
// CHECK: %[[HEAD:.*]] = arith.remui
// CHECK: %[[STATE:.*]]:3 = scf.for
// CHECK: scf.yield
// CHECK: %[[LOGITS:.*]] = tile.view %[[SINKS]] head %[[HEAD]] : memref<?xf32> -> <f32>
// CHECK: %[[SUM:.*]] = tile.row_total %[[STATE]]#1
// CHECK: %[[SINK:.*]] = tile.load_rows %[[LOGITS]] by 1.44269502 : <f32> -> <128xf32>
// CHECK: %[[TOTAL:.*]] = tile.add_sink %[[STATE]]#0, %[[SUM]] sink %[[SINK]] scale
// CHECK: tile.normalize %[[STATE]]#2, %[[TOTAL]]
// CHECK: tile.lse %[[STATE]]#0, %[[SUM]] sink %[[SINK]] as !tile.tile<128xf32> scale
