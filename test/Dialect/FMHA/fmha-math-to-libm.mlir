// What libm has is called; what it has not is written out or left to LLVM.

// RUN: fmha-opt %s --fmha-math-to-libm | FileCheck %s

// CHECK-DAG: func.func private @sinf(f32) -> f32
// CHECK-DAG: func.func private @sqrtf(f32) -> f32

// CHECK-LABEL: func.func @calls
// CHECK-SAME: %[[X:.*]]: f32, %[[H:.*]]: f16
func.func @calls(%x: f32, %h: f16) -> (f32, f16, f32) {
  // CHECK: %[[S:.*]] = call @sinf(%[[X]]) : (f32) -> f32
  %s = math.sin %x : f32
  // CHECK: %[[W:.*]] = arith.extf %[[H]] : f16 to f32
  // CHECK: %[[T:.*]] = call @sinf(%[[W]]) : (f32) -> f32
  // CHECK: arith.truncf %[[T]] : f32 to f16
  %t = math.sin %h : f16
  // CHECK: %[[ROOT:.*]] = call @sqrtf(%[[X]]) : (f32) -> f32
  // CHECK: arith.divf %{{.*}}, %[[ROOT]] : f32
  %r = math.rsqrt %x : f32
  return %s, %t, %r : f32, f16, f32
}

// CHECK-LABEL: func.func @expanded
// CHECK-SAME: %[[X:.*]]: f32, %[[A:.*]]: f32, %[[B:.*]]: f32
func.func @expanded(%x: f32, %a: f32, %b: f32) -> (i1, i1, f32) {
  // CHECK-DAG: arith.constant 0x7F800000 : f32
  // CHECK-DAG: arith.constant 1.17549435E-38 : f32
  // CHECK: arith.cmpf oeq
  %i = math.isinf %x : f32
  // CHECK: arith.cmpf oge
  // CHECK: arith.cmpf olt
  // CHECK: arith.andi
  %n = math.isnormal %x : f32
  // CHECK: %[[LESS:.*]] = arith.minimumf %[[X]], %[[B]] : f32
  // CHECK: arith.maximumf %[[LESS]], %[[A]] : f32
  %c = math.clampf %x to [%a, %b] : f32
  return %i, %n, %c : i1, i1, f32
}

// CHECK-LABEL: func.func @left
func.func @left(%x: f32, %n: i32) -> (i1, i32, i32, f32, f32, f32) {
  // CHECK: math.isnan
  %i = math.isnan %x : f32
  // CHECK: math.absi
  %a = math.absi %n : i32
  // CHECK: math.ctlz
  %c = math.ctlz %n : i32
  // CHECK: math.fpowi
  %p = math.fpowi %x, %n : f32, i32
  // CHECK: math.sincos
  %s, %t = math.sincos %x : f32
  return %i, %a, %c, %p, %s, %t : i1, i32, i32, f32, f32, f32
}
