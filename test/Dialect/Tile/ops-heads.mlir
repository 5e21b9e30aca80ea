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
!slot = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>

// CHECK-LABEL: func.func @memory
func.func @memory(%t: !tensor, %l: !lse, %b: index, %r: index, %h: index, %o: !q, %row: !row, %slot: !slot,
                  %sinks: memref<?xf32>, %out: memref<?x?x?x64xf32>) {
  // CHECK: tile.load %{{.*}}[{{.*}}] heads 16 from %{{.*}} : memref<{{.*}}> -> <128x64xbf16>
  %0 = tile.load %t[%b, %r, %h] heads 16 from %r : !tensor -> !q
  // CHECK: tile.load %{{.*}}[{{.*}}] heads 128 from %{{.*}} column %{{.*}} within[%{{.*}}, %{{.*}}] into %{{.*}} as
  %1 = tile.load %t[%b, %r, %h] heads 128 from %r column %r within [%r, %h] into %slot as !slot : !tensor -> !slot
  // CHECK: tile.store %{{.*}}, %{{.*}}[{{.*}}] heads 2 from %{{.*}} column %{{.*}} within[%{{.*}}, %{{.*}}] : <128x64xbf16>
  tile.store %o, %t[%b, %r, %h] heads 2 from %r column %r within [%r, %h] : !q, !tensor
  // CHECK: tile.store_rows %{{.*}}, %{{.*}}[{{.*}}] heads 16 of %{{.*}} from %{{.*}} below %{{.*}} : <128xf32>, memref
  tile.store_rows %row, %l[%b, %h, %r] heads 16 of %h from %r below %r : !row, !lse
  // CHECK: tile.write as {{.*}} to %{{.*}}[{{.*}}] heads 16 of %{{.*}} column %{{.*}} from %{{.*}} below %{{.*}} undivided : memref
  tile.write as !tile.tile<128x64xf32> to %out[%b, %r, %h] heads 16 of %h column %r from %r below %r undivided : memref<?x?x?x64xf32>
  // CHECK: tile.load_rows %{{.*}}[%{{.*}}] heads 16 of %{{.*}} by 5.000000e-01 : memref<?xf32> -> <128xf32>
  %2 = tile.load_rows %sinks[%h] heads 16 of %r by 0.5 : memref<?xf32> -> !row
  return
}

// CHECK-LABEL: func.func @scores
func.func @scores(%s: !s, %i: index) {
  // CHECK: tile.mask %{{.*}} at[%{{.*}}, %{{.*}}] heads 16 keys %{{.*}} to %{{.*}} : <128x128xf32>
  %0 = tile.mask %s at [%i, %i] heads 16 keys %i to %i : !s
  // CHECK: tile.modify %{{.*}} at[%{{.*}}, %{{.*}}] heads 16 from %{{.*}} : <128x128xf32> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  %1 = tile.modify %s at [%i, %i] heads 16 from %i : !s {
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
