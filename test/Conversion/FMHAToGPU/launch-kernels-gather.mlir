// A tensor of which TMA gathers rows has a map with a row at every 16 bytes, up to the last row of the tensor; the strides in elements follow the operands.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_100a kv-copy=gather4},fmha-launch-kernels{checks=off},canonicalize,cse)' | FileCheck %s

// The last row begins (10 * 256 + 0 * 128 + 1 * 72) * 2 = 329 * 16 bytes after the first one.
// CHECK-LABEL: func.func @static
// CHECK:         %[[K:.*]] = memref.extract_aligned_pointer_as_index %arg1
// CHECK:         %[[MAP:.*]] = fmha.tensor_map %[[K]] sizes[%c64, %c330] strides[%c16] {box = array<i32: 64, 1>, element = bf16, swizzle = 3 : i32}
// CHECK:         fmha.tensor_map %{{.*}} sizes[%c64, %c330] strides[%c16]
// CHECK:         gpu.launch_func
// CHECK-SAME:      %[[MAP]] : !llvm.array<16 x i64>
// CHECK-SAME:      %c7_i32 : i32, %c256_i64 : i64, %c128_i64 : i64, %c72_i64 : i64, %c256_i64 : i64, %c128_i64 : i64, %c72_i64 : i64, %c3_i32 : i32
!q = memref<3x3x2x64xbf16>
!k = memref<11x1x2x64xbf16, strided<[256, 128, 72, 1]>>
func.func @static(%q: !q, %k: !k, %v: !k, %o: !q, %lens: memref<3xi32>, %pages: memref<3x7xi32>) {
  fmha.attention ins(%q, %k, %v : !q, !k, !k) kv_lens(%lens : memref<3xi32>) block_tables(%pages : memref<3x7xi32>) outs(%o : !q)
  return
}

// -----

// Extents at run time; that of an empty dimension counts as 1.
// CHECK-LABEL: func.func @dynamic
// CHECK:         %{{.*}}, %{{.*}}, %[[SIZES:.*]]:4, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata %arg1
// CHECK:         %[[SIZE:.*]] = arith.maxui %[[SIZES]]#0, %c1
// CHECK:         %[[LAST:.*]] = arith.subi %[[SIZE]], %c1
// CHECK:         arith.muli %[[LAST]], %[[STRIDES]]#0
// CHECK:         %[[SUM:.*]] = arith.addi
// CHECK:         %[[ALL:.*]] = arith.addi %[[SUM]], %{{.*}}
// CHECK:         %[[CHUNKS:.*]] = arith.divui %[[ALL]], %c8
// CHECK:         arith.addi %[[CHUNKS]], %c1
// CHECK:         fmha.tensor_map %{{.*}} sizes[%c64, %{{.*}}] strides[%c16] {box = array<i32: 64, 1>
!d = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
func.func @dynamic(%q: !d, %k: !d, %v: !d, %o: !d, %lists: memref<?x?x?xi32>) {
  fmha.attention ins(%q, %k, %v : !d, !d, !d) topk(%lists : memref<?x?x?xi32>) outs(%o : !d)
  return
}
