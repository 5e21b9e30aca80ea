// Forms of the machine ops for pairs of CTAs, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK-LABEL: func.func @machine
func.func @machine(%k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %dst: !llvm.ptr<3>, %d: !llvm.ptr<6>, %desc: i64,
    %base: i32, %p: i1, %i: index) {
  %b = tile.barrier "kv.full" at 1024 arrivals 2 : !tile.barrier<3>
  // CHECK: tile.tmem_alloc 512 to 2048 pair
  tile.tmem_alloc 512 to 2048 pair
  // CHECK-NEXT: tile.sync_cluster
  tile.sync_cluster
  // CHECK-NEXT: tile.wait %{{.*}}[%{{.*}}] parity %{{.*}} pair : <3>
  tile.wait %b[%i] parity %i pair : !tile.barrier<3>
  // CHECK-NEXT: tile.arrive %{{.*}}[%{{.*}}] pair : <3>
  tile.arrive %b[%i] pair : !tile.barrier<3>
  // CHECK-NEXT: tile.arrive_expect_tx %{{.*}}[%{{.*}}] bytes 8192 pair : <3>
  tile.arrive_expect_tx %b[%i] bytes 8192 pair : !tile.barrier<3>
  // CHECK-NEXT: tile.tma_load %{{.*}} column 64 to %{{.*}} signals %{{.*}}[%{{.*}}] pair :
  tile.tma_load %k[%i, %i, %i] column 64 to %dst signals %b[%i] pair
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK-NEXT: tile.mma %{{.*}} instruction 270599312 accumulate %{{.*}} pair : <6>, !llvm.ptr<6>, i64
  tile.mma %d, %d, %desc instruction 270599312 accumulate %p pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
  // CHECK-NEXT: tile.commit %{{.*}}[%{{.*}}] pair : <3>
  tile.commit %b[%i] pair : !tile.barrier<3>
  // CHECK-NEXT: tile.commit %{{.*}}[%{{.*}}] pair both : <3>
  tile.commit %b[%i] pair both : !tile.barrier<3>
  // CHECK-NEXT: tile.tmem_dealloc %{{.*}} columns 512 pair
  tile.tmem_dealloc %base columns 512 pair
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%q: !tile.tile<128x128xbf16>, %k: !tile.tile<64x128xbf16>, %v: !tile.tile<128x64xbf16>,
    %o: !tile.tile<128x128xf32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}} pair transpose_b : <128x128xbf16>, <64x128xbf16> -> <128x128xf32>
  %s = tile.dot %q, %k pair transpose_b : !tile.tile<128x128xbf16>, !tile.tile<64x128xbf16> -> !tile.tile<128x128xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}} pair plus
  %n = tile.dot %q, %v pair plus %o as !tile.tile<128x128xf32> : !tile.tile<128x128xbf16>, !tile.tile<128x64xbf16> -> !tile.tile<128x128xf32>
  return
}
