// Ops on tiles whose rows are packed of several query heads: each parses, prints and comes
// back from its own text, from the generic form and from bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>
!q = !tile.tile<128x64xbf16>
!s = !tile.tile<128x128xf32>
!row = !tile.tile<128xf32>
!packed = !tile.view<?x64xbf16, heads = 16>
!slot = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>

// CHECK-LABEL: func.func @memory
func.func @memory(%t: !tensor, %l: !lse, %b: index, %r: index, %h: index, %o: !q, %row: !row, %slot: !slot,
                  %sinks: memref<?xf32>, %out: memref<?x?x?x64xf32>) {
  %v = tile.view %t batch %b head %h of %r group %b, %h rows %r : !tensor -> !packed
  %rows = tile.view %l batch %b head %h of %r rows %r from %b : !lse -> !tile.view<?xf32, heads = 16>
  %wide = tile.view %out batch %b head %h of %r rows %r from %b column %h : memref<?x?x?x64xf32> -> !tile.view<?x64xf32, heads = 16>
  %logits = tile.view %sinks head %h of %r : memref<?xf32> -> !tile.view<f32, heads = 16>
  // CHECK: tile.load %{{.*}}[%{{.*}}] : <?x64xbf16, heads = 16> -> <128x64xbf16>
  %0 = tile.load %v[%r] : !packed -> !q
  // CHECK: tile.load %{{.*}}[%{{.*}}] into %{{.*}} as {{.*}} : <?x64xbf16, heads = 16> -> <128x64xbf16, #tile.smem<offset = 0>>
  %1 = tile.load %v[%r] into %slot as !slot : !packed -> !slot
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] : <128x64xbf16>, <?x64xbf16, heads = 16>
  tile.store %o, %v[%r] : !q, !packed
  // CHECK: tile.store_rows %{{.*}}, %{{.*}}[%{{.*}}] : <128xf32>, <?xf32, heads = 16>
  tile.store_rows %row, %rows[%r] : !row, !tile.view<?xf32, heads = 16>
  // CHECK: tile.write as {{.*}} to %{{.*}}[%{{.*}}] undivided : <?x64xf32, heads = 16>
  tile.write as !tile.tile<128x64xf32> to %wide[%r] undivided : !tile.view<?x64xf32, heads = 16>
  // CHECK: tile.load_rows %{{.*}} by 5.000000e-01 : <f32, heads = 16> -> <128xf32>
  %2 = tile.load_rows %logits by 0.5 : !tile.view<f32, heads = 16> -> !row
  return
}

// CHECK-LABEL: func.func @scores
func.func @scores(%s: !s, %t: !tensor, %i: index) {
  %q = tile.view %t batch %i head %i of %i rows %i : !tensor -> !packed
  %k = tile.view %t batch %i head %i rows %i : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.mask %{{.*}} at %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] to %{{.*}} : <128x128xf32>, <?x64xbf16, heads = 16>, <?x64xbf16>
  %0 = tile.mask %s at %q[%i], %k[%i] to %i : !s, !packed, !tile.view<?x64xbf16>
  // CHECK: tile.modify %{{.*}} at %{{.*}}[%{{.*}}, %{{.*}}] : <128x128xf32>, <?x64xbf16, heads = 16> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  %1 = tile.modify %s at %q[%i, %i] : !s, !packed {
  ^bb0(%e: f32, %row: index, %key: index, %head: index):
    tile.yield %e : f32
  }
  return
}

// CHECK-LABEL: func.func @boxes
func.func @boxes(%t: !tensor, %i: index, %p: !llvm.ptr<3>, %full: !tile.barrier<3>) {
  // CHECK: tile.tma_load %{{.*}}[{{.*}}] from %{{.*}} column 64 behind %{{.*}} before %{{.*}} to %{{.*}} signals
  tile.tma_load %t[%i, %i, %i] from %i column 64 behind %i before %i to %p signals %full[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_store %{{.*}} to %{{.*}}[{{.*}}] from %{{.*}} column 0 : <3>, memref
  tile.tma_store %p to %t[%i, %i, %i] from %i column 0 : !llvm.ptr<3>, !tensor
  return
}
