// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @rank(%a: index, %n: index) {
  // expected-error @below {{tensor_map.E1: expected 1 to 5 sizes, one stride fewer and as many box extents, got 2 sizes, 2 strides and 2 box extents}}
  %map = fmha.tensor_map %a sizes[%n, %n] strides[%n, %n] {box = array<i32: 64, 128>, element = bf16, swizzle = 3 : i32}
  return
}

// -----

func.func @box(%a: index, %n: index) {
  // expected-error @below {{tensor_map.E2: expected box extents from 1 to 256, got 257}}
  %map = fmha.tensor_map %a sizes[%n] strides[] {box = array<i32: 257>, element = bf16, swizzle = 3 : i32}
  return
}

// -----

func.func @element(%a: index, %n: index) {
  // expected-error @below {{tensor_map.E3: expected elements f16, bf16 or f32, got 'i8'}}
  %map = fmha.tensor_map %a sizes[%n] strides[] {box = array<i32: 64>, element = i8, swizzle = 3 : i32}
  return
}

// -----

func.func @swizzle(%a: index, %n: index) {
  // expected-error @below {{tensor_map.E4: expected a swizzle from 0 to 3, got 4}}
  %map = fmha.tensor_map %a sizes[%n] strides[] {box = array<i32: 64>, element = bf16, swizzle = 4 : i32}
  return
}
