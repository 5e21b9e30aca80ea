// The pointers of the ops are types of a dialect that no other op of the file loads.

// RUN: not fmha-opt %s 2>&1 | FileCheck %s

// CHECK: error: use of undeclared SSA value name
tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 64 of f16, f16 to f32 : i64
