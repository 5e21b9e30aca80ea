// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1' --convert-fmha-to-tile --split-input-file | FileCheck %s

// What is written besides: maxima in natural units, the sum that the loop leaves, and
// the accumulator as it is.

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>,
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[M:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[S:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>>, %[[SINK:[a-z0-9]+]]: memref<?xf32>)
// CHECK-SAME: scale = 2.500000e-01, lse, {{.*}}row_max, row_sum, unnormalised, sink, out_f32>
// CHECK: %[[R:.*]]:3 = scf.for
// CHECK: tile.row_max {{.*}} threshold 0.000000e+00
// A sink is in the LSE, and in nothing else.
// CHECK: %[[OV:.*]] = tile.view %[[O]] batch
// CHECK: %[[LV:.*]] = tile.view %[[L]] batch
// CHECK: %[[MV:.*]] = tile.view %[[M]] batch
// CHECK: %[[SV:.*]] = tile.view %[[S]] batch
// CHECK-NOT: tile.add_sink
// CHECK: %[[TOTAL:.*]] = tile.row_total %[[R]]#1 :
// CHECK: tile.write %[[R]]#2 over %[[TOTAL]] {{.*}} as !tile.tile<128x64xf32> to %[[OV]]{{.*}} undivided
// CHECK: %[[LSE:.*]] = tile.lse %[[R]]#0, %[[TOTAL]] sink
// CHECK: tile.store_rows %[[LSE]], %[[LV]][
// The products of which the loop has the maximum are not scaled yet.
// CHECK: %[[MAX:.*]] = tile.scale %[[R]]#0 by 2.500000e-01
// CHECK: tile.store_rows %[[MAX]], %[[MV]][
// CHECK: tile.store_rows %[[TOTAL]], %[[SV]][
func.func @all(%q: memref<1x?x4x64xbf16>, %k: memref<1x?x4x64xbf16>, %sink: memref<4xf32>, %o: memref<1x?x4x64xf32>,
               %l: memref<1x4x?xf32>, %m: memref<1x4x?xf32>, %s: memref<1x4x?xf32>) {
  fmha.attention ins(%q, %k, %k : memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) sink(%sink : memref<4xf32>)
      outs(%o, %l : memref<1x?x4x64xf32>, memref<1x4x?xf32>) row_max(%m : memref<1x4x?xf32>) row_sum(%s : memref<1x4x?xf32>)
      {unnormalised, scale = 0.25 : f64}
  return
}

// -----

// Divided, in f32: the maximum may be a late one.
// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK: tile.row_max {{.*}} threshold 8.000000e+00
// CHECK: tile.write
// CHECK-NOT: undivided
// CHECK-NOT: tile.store %
func.func @f32(%q: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xf32>) {
  fmha.attention ins(%q, %q, %q : memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x?x4x64xf32>)
  return
}

// -----

// Undivided in 16 bits goes the usual way.
// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK: tile.normalize %{{.*}}, %{{.*}} undivided
// CHECK: tile.store
func.func @halves(%q: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xbf16>) {
  fmha.attention ins(%q, %q, %q : memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x?x4x64xbf16>)
      {unnormalised}
  return
}

// -----

// The factor of P leaves sums in the loop, and the accumulator where it is written.
// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK: tile.exp2 {{.*}} offset 5
// CHECK: tile.row_sum {{.*}} offset 5
// CHECK: tile.normalize {{.*}} offset 5
#offset = #fmha.schedule<q_tiles = 1, p_offset = 5>
func.func @offset(%q: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xbf16>) {
  fmha.attention ins(%q, %q, %q : memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x?x4x64xbf16>)
      {schedule = #offset}
  return
}

// -----

// CHECK-LABEL: gpu.func @fmha_fwd(
// CHECK: tile.write {{.*}} undivided offset 5
#offset = #fmha.schedule<q_tiles = 1, rescale_threshold = 0.0, p_offset = 5>
func.func @undivided(%q: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xf32>) {
  fmha.attention ins(%q, %q, %q : memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x?x4x64xf32>)
      {schedule = #offset, unnormalised}
  return
}
