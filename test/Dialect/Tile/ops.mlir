// The ops of the tiled and the placed level: each parses, prints and comes back
// from its own text, from the generic form and from bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>
!q = !tile.tile<128x64xbf16>
!s = !tile.tile<128x128xf32>
!p = !tile.tile<128x128xbf16>
!o = !tile.tile<128x64xf32>
!row = !tile.tile<128xf32>
!slot = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!view = !tile.view<?x64xbf16>

// CHECK-LABEL: func.func @written
func.func @written(%out: memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>, %i: index, %o: !o, %row: !row) -> (!q, !row) {
  %t = tile.view %out batch %i head %i rows %i : memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>> -> !tile.view<?x64xf32>
  // CHECK: tile.write %{{.*}} over %{{.*}} : !tile.tile<128x64xf32>, !tile.tile<128xf32> as !tile.tile<128x64xf32> to %{{.*}}[%{{.*}}] : <?x64xf32>
  tile.write %o over %row : !o, !row as !o to %t[%i] : !tile.view<?x64xf32>
  // CHECK: tile.write %{{.*}} over %{{.*}} to %{{.*}}[%{{.*}}] undivided : <?x64xf32>
  tile.write %o over %row : !o, !row as !o to %t[%i] undivided : !tile.view<?x64xf32>
  // CHECK: tile.write as !tile.tile<128x64xf32> to %{{.*}}[%{{.*}}] : <?x64xf32>
  tile.write as !o to %t[%i] : !tile.view<?x64xf32>
  // CHECK: tile.write %{{.*}} undivided offset 8 : <?x64xf32>
  tile.write %o over %row : !o, !row as !o to %t[%i] undivided offset 8 : !tile.view<?x64xf32>
  // CHECK: tile.normalize %{{.*}}, %{{.*}} undivided : <128x64xf32>, <128xf32> to <128x64xbf16>
  %n = tile.normalize %o, %row undivided : !o, !row to !q
  // CHECK: tile.scale %{{.*}} by 1.250000e-01 : <128xf32>
  %s = tile.scale %row by 0.125 : !row
  // CHECK: %[[FACTOR:.*]] = arith.constant 2.500000e-01 : f32
  // CHECK: tile.scale_by %{{.*}}, %[[FACTOR]] : <128xf32>
  %factor = arith.constant 0.25 : f32
  %by = tile.scale_by %row, %factor : !row
  // CHECK: tile.write %{{.*}} over %{{.*}} times %[[FACTOR]] : !tile.tile<128x64xf32>, !tile.tile<128xf32> as !tile.tile<128x64xf32> to %{{.*}}[%{{.*}}] : <?x64xf32>
  tile.write %o over %row times %factor : !o, !row as !o to %t[%i] : !tile.view<?x64xf32>
  // CHECK: tile.normalize %{{.*}}, %{{.*}} times %[[FACTOR]] undivided offset 8 : <128x64xf32>, <128xf32> to <128x64xbf16>
  %scaled = tile.normalize %o, %row times %factor undivided offset 8 : !o, !row to !q
  return %n, %s : !q, !row
}

// CHECK-LABEL: func.func @memory
func.func @memory(%t: !tensor, %l: !lse, %b: index, %r: index, %h: index, %o: !q, %row: !row, %slot: !slot) {
  %v = tile.view %t batch %b head %h rows %r : !tensor -> !view
  %lses = tile.view %l batch %b head %h rows %r : !lse -> !tile.view<?xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}] : <?x64xbf16> -> <128x64xbf16>
  %0 = tile.load %v[%r] : !view -> !q
  // CHECK: tile.load %{{.*}}[%{{.*}}] into %{{.*}} as !tile.tile<128x64xbf16, #tile.smem<offset = 0>> : <?x64xbf16>
  %1 = tile.load %v[%r] into %slot as !slot : !view -> !slot
  // CHECK: tile.slice %{{.*}} from 32 : <128x64xbf16> -> <128x16xbf16>
  %3 = tile.slice %0 from 32 : !q -> !tile.tile<128x16xbf16>
  // CHECK: tile.join %{{.*}}, %{{.*}} : !tile.tile<128x16xbf16>, !tile.tile<128x16xbf16> -> <128x32xbf16>
  %j = tile.join %3, %3 : !tile.tile<128x16xbf16>, !tile.tile<128x16xbf16> -> !tile.tile<128x32xbf16>
  // CHECK: tile.slice %{{.*}} from 32 : <128x64xbf16, #tile.smem<offset = 0>> -> <128x16xbf16, #tile.smem<offset = 64>>
  %4 = tile.slice %1 from 32 : !slot -> !tile.tile<128x16xbf16, #tile.smem<offset = 64>>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] : <128x64xbf16>, <?x64xbf16>
  tile.store %o, %v[%r] : !q, !view
  // CHECK: tile.store_rows %{{.*}}, %{{.*}}[%{{.*}}] : <128xf32>, <?xf32>
  tile.store_rows %row, %lses[%r] : !row, !tile.view<?xf32>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%q: !q, %k: !q, %p: !p, %acc: !o, %c: i1) {
  // CHECK: tile.dot %{{.*}}, %{{.*}} transpose_b : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
  %0 = tile.dot %q, %k transpose_b : !q, !q -> !s
  // CHECK: tile.dot %{{.*}}, %{{.*}} transpose_b negate :
  %1 = tile.dot %q, %k transpose_b negate : !q, !q -> !s
  // CHECK: tile.dot %{{.*}}, %{{.*}} : <128x128xbf16>, <128x64xbf16> -> <128x64xf32>
  %2 = tile.dot %p, %k : !p, !q -> !o
  // CHECK: tile.dot {{.*}} plus %{{.*}} as !tile.tile<128x64xf32> :
  %3 = tile.dot %p, %k plus %acc as !o : !p, !q -> !o
  // CHECK: tile.dot {{.*}} plus %{{.*}} as !tile.tile<128x64xf32> if %{{.*}} :
  %4 = tile.dot %p, %k plus %acc as !o if %c : !p, !q -> !o
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%s: !s, %acc: !o, %m: !row, %l: !row, %t: !tensor, %i: index, %sinks: memref<?xf32>) {
  %q = tile.view %t batch %i head %i rows %i : !tensor -> !view
  %k = tile.view %t batch %i head %i rows %i : !tensor -> !view
  %logits = tile.view %sinks head %i : memref<?xf32> -> !tile.view<f32>
  // CHECK: tile.fill 0xFF800000 : <128xf32>
  %0 = tile.fill 0xFF800000 : !row
  // CHECK: tile.scale %{{.*}} by -5.000000e-01 : <128x128xf32>
  %1 = tile.scale %s by -0.5 : !s
  // CHECK: tile.mask %{{.*}} at %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] : <128x128xf32>, <?x64xbf16>, <?x64xbf16>
  %2 = tile.mask %s at %q[%i], %k[%i] : !s, !view, !view
  // CHECK: tile.mask {{.*}}] to %{{.*}} : <128x128xf32>
  %3 = tile.mask %s at %q[%i], %k[%i] to %i : !s, !view, !view
  // CHECK: tile.mask {{.*}}] from %{{.*}} to %{{.*}} : <128x128xf32>
  %window = tile.mask %s at %q[%i], %k[%i] from %i to %i : !s, !view, !view
  // CHECK: %{{.*}}, %{{.*}} = tile.row_max %{{.*}}, %{{.*}} scale 1.250000e-01 threshold 8.000000e+00 : <128x128xf32>, <128xf32>
  %max, %alpha = tile.row_max %s, %m scale 0.125 threshold 8.0 : !s, !row
  // CHECK: tile.exp2 %{{.*}}, %{{.*}} scale 1.250000e-01 : <128x128xf32>, <128xf32>
  %4 = tile.exp2 %s, %m scale 0.125 : !s, !row
  // CHECK: tile.exp2 %{{.*}}, %{{.*}} scale 1.250000e-01 emulated 25 : <128x128xf32>, <128xf32>
  %emulated = tile.exp2 %s, %m scale 0.125 emulated 25 : !s, !row
  // CHECK: tile.exp2 %{{.*}}, %{{.*}} scale 1.250000e-01 offset 8 emulated 25 : <128x128xf32>, <128xf32>
  %larger = tile.exp2 %s, %m scale 0.125 offset 8 emulated 25 : !s, !row
  // CHECK: tile.row_sum %{{.*}}, %{{.*}}, %{{.*}} offset 8 : <128x128xf32>, <128xf32>
  %less = tile.row_sum %s, %l, %alpha offset 8 : !s, !row
  // CHECK: tile.row_sum %{{.*}}, %{{.*}}, %{{.*}} : <128x128xf32>, <128xf32>
  %5 = tile.row_sum %s, %l, %alpha : !s, !row
  // CHECK: %[[PART:.*]] = tile.row_sum %{{.*}}, %{{.*}}, %{{.*}} offset 8 partial : <128x128xf32>, <128xf32>
  %part = tile.row_sum %s, %l, %alpha offset 8 partial : !s, !row
  // CHECK: tile.row_total %[[PART]] : <128xf32>
  %whole = tile.row_total %part : !row
  // CHECK: tile.cast %{{.*}} : <128x128xf32> to <128x128xbf16>
  %6 = tile.cast %s : !s to !p
  // CHECK: tile.rescale %{{.*}}, %{{.*}} : <128x64xf32>, <128xf32>
  %7 = tile.rescale %acc, %alpha : !o, !row
  // CHECK: tile.normalize %{{.*}}, %{{.*}} : <128x64xf32>, <128xf32> to <128x64xbf16>
  %8 = tile.normalize %acc, %l : !o, !row to !q
  // CHECK: tile.normalize %{{.*}}, %{{.*}} offset 8 : <128x64xf32>, <128xf32> to <128x64xbf16>
  %smaller = tile.normalize %acc, %l offset 8 : !o, !row to !q
  // CHECK: tile.lse %{{.*}}, %{{.*}} scale 1.250000e-01 : <128xf32>
  %9 = tile.lse %m, %l scale 0.125 : !row
  // CHECK: tile.load_rows %{{.*}} by 5.000000e-01 : <f32> -> <128xf32>
  %logit = tile.load_rows %logits by 0.5 : !tile.view<f32> -> !row
  // CHECK: tile.lse %{{.*}}, %{{.*}} sink %{{.*}} as !tile.tile<128xf32> scale 1.250000e-01 : <128xf32>
  %sunk = tile.lse %m, %l sink %logit as !row scale 0.125 : !row
  // CHECK: tile.add_sink %{{.*}}, %{{.*}} sink %{{.*}} scale 1.250000e-01 : <128xf32>
  %total = tile.add_sink %m, %l sink %logit scale 0.125 : !row
  return
}

// CHECK-LABEL: func.func @code
func.func @code(%s: !tile.tile<128x128xf32>, %t: !tensor, %i: index, %slopes: memref<?xf32, strided<[1]>, #gpu.address_space<global>>) {
  // CHECK: %[[Q:.*]] = tile.view
  %q = tile.view %t batch %i head %i rows %i : !tensor -> !view
  // CHECK: tile.modify %{{.*}} at %[[Q]][%[[I:.*]], %[[I]]] : <128x128xf32>, <?x64xbf16> {
  // CHECK-NEXT: ^bb0(%[[E:.*]]: f32, %{{.*}}: index, %[[J:.*]]: index):
  // CHECK-NEXT: %[[SLOPE:.*]] = fmha.read %{{.*}}[%[[J]]] : memref<?xf32, strided<[1]>, #gpu.address_space<global>>
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !view {
  ^bb0(%e: f32, %row: index, %key: index):
    %slope = fmha.read %slopes[%key] : memref<?xf32, strided<[1]>, #gpu.address_space<global>>
    %y = arith.addf %e, %slope : f32
    // CHECK: tile.yield %{{.*}} : f32
    tile.yield %y : f32
  }
  // CHECK: %[[SOME:.*]] = arith.constant true
  %some = arith.constant true
  // CHECK: tile.modify %{{.*}} at %[[Q]][%[[I]], %[[I]]] if %[[SOME]] : <128x128xf32>, <?x64xbf16> {
  %1 = tile.modify %s at %q[%i, %i] if %some : !tile.tile<128x128xf32>, !view {
  ^bb0(%e: f32, %row: index, %key: index):
    tile.yield %e : f32
  }
  return
}

// CHECK-LABEL: func.func @places
func.func @places(%q: !q, %slot: !slot) {
  // CHECK: tile.move %{{.*}} : <128x64xbf16> to <128x64xbf16, #tile.registers>
  %0 = tile.move %q : !q to !tile.tile<128x64xbf16, #tile.registers>
  // CHECK: tile.move %{{.*}} into %{{.*}} as !tile.tile<128x64xbf16, #tile.smem<offset = 0>> : <128x64xbf16> to
  %1 = tile.move %q into %slot as !slot : !q to !slot
  return
}
