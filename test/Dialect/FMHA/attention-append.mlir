// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s

// CHECK-LABEL: @dense
// CHECK: fmha.attention ins(%{{.*}}) kv_lens(%{{.*}}) append(%[[K:.*]], %[[V:.*]] : memref<2x3x2x64xf32>, memref<2x3x2x64xf32>)
// CHECK-SAME: outs(
func.func @dense(%q: memref<2x3x4x64xf32>, %k: memref<2x9x2x64xf32>, %v: memref<2x9x2x64xf32>, %lens: memref<2xi32>,
                 %kn: memref<2x3x2x64xf32>, %vn: memref<2x3x2x64xf32>, %o: memref<2x3x4x64xf32>) {
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xf32>, memref<2x9x2x64xf32>, memref<2x9x2x64xf32>)
      kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x2x64xf32>, memref<2x3x2x64xf32>)
      outs(%o : memref<2x3x4x64xf32>)
  return
}

// CHECK-LABEL: @rotary
// CHECK: append({{.*}}) rotary half(%{{.*}}, %{{.*}} : memref<?x32xf32>, memref<?x32xf32, strided<[?, 1]>>) outs(
// CHECK: append({{.*}}) rotary interleaved(%{{.*}}, %{{.*}} : memref<9x3xf32>, memref<9x3xf32>) outs(
func.func @rotary(%q: memref<2x3x4x64xbf16>, %k: memref<2x9x2x64xbf16>, %v: memref<2x9x2x64xbf16>, %lens: memref<2xi32>, %kn: memref<2x3x2x64xbf16>,
                  %vn: memref<2x3x2x64xbf16>, %cos: memref<?x32xf32>, %sin: memref<?x32xf32, strided<[?, 1]>>, %few: memref<9x3xf32>, %o: memref<2x3x4x64xbf16>) {
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xbf16>, memref<2x9x2x64xbf16>, memref<2x9x2x64xbf16>)
      kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x2x64xbf16>, memref<2x3x2x64xbf16>)
      rotary half(%cos, %sin : memref<?x32xf32>, memref<?x32xf32, strided<[?, 1]>>) outs(%o : memref<2x3x4x64xbf16>)
  fmha.attention ins(%q, %k, %v : memref<2x3x4x64xbf16>, memref<2x9x2x64xbf16>, memref<2x9x2x64xbf16>)
      kv_lens(%lens : memref<2xi32>) append(%kn, %vn : memref<2x3x2x64xbf16>, memref<2x3x2x64xbf16>)
      rotary interleaved(%few, %few : memref<9x3xf32>, memref<9x3xf32>) outs(%o : memref<2x3x4x64xbf16>)
  return
}

// The caches are written, so that neither read is the other one.
// CHECK-LABEL: @twice
// CHECK-COUNT-2: memref.load
func.func @twice(%q: memref<1x1x1x8xf32>, %k: memref<1x9x1x8xf32>, %v: memref<1x9x1x8xf32>, %lens: memref<1xi32>,
                 %kn: memref<1x1x1x8xf32>, %vn: memref<1x1x1x8xf32>, %o: memref<1x1x1x8xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %before = memref.load %k[%c0, %c0, %c0, %c0] : memref<1x9x1x8xf32>
  fmha.attention ins(%q, %k, %v : memref<1x1x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      kv_lens(%lens : memref<1xi32>) append(%kn, %vn : memref<1x1x1x8xf32>, memref<1x1x1x8xf32>) outs(%o : memref<1x1x1x8xf32>)
  %after = memref.load %k[%c0, %c0, %c0, %c0] : memref<1x9x1x8xf32>
  return %before, %after : f32, f32
}
