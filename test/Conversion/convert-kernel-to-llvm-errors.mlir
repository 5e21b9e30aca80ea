// A function that neither LLVM nor the GPU has: the kernel would call a library.

// RUN: fmha-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-kernel-to-llvm))'

gpu.module @kernels {
  llvm.func @cube_root(%x: f32) -> f32 attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} {
    // expected-error@+1 {{failed to legalize operation 'math.cbrt'}}
    %0 = math.cbrt %x : f32
    llvm.return %0 : f32
  }
}
